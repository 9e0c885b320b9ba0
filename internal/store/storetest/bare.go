package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Bare writes the rows of one small closure, an event and a guarded row, with
// no journal: no chain, no seal, no lane, no reactions. It is what the engine is
// held against. The rows are those of the real tables, with their indexes.
type Bare interface {
	// Put writes the rows of number i; it returns when they are durable. Numbers
	// of one account differ.
	Put(account [16]byte, i int64) error
	Close()
}

const (
	bareEvent = `INSERT INTO events (account_id, seq, id, type, version, layer, source, occurred_at, recorded_at, label, body_commit, hash, body)
 VALUES (?, ?, ?, 'timer.fired', 1, 5, 'bare', ?, ?, 'h:a', ?, ?, ?)`
	bareRow = `INSERT INTO timers (account_id, kind, key, due_at, held) VALUES (?, 'bare', ?, ?, 0)
 ON CONFLICT (account_id, kind, key) DO UPDATE SET due_at = excluded.due_at, held = 0`
	bareBody = 130  // bytes, as a sealed small event has them
	bareKeys = 2000 // guarded rows
)

// bareID makes an id of a number that no other has.
func bareID(account [16]byte, i int64) []byte {
	out := make([]byte, 16)
	for k := range 8 {
		out[k] = byte(i >> (56 - 8*k))
		out[8+k] = account[8+k] ^ byte(i>>(8*k))
	}
	return out
}

// bareLite is a prepared group commit on one connection.
type bareLite struct {
	db   *sql.DB
	jobs chan bareJob
	done sync.WaitGroup
}

type bareJob struct {
	account [16]byte
	i       int64
	done    chan error
}

// NewBareSQLite opens the migrated database of a data folder that nobody else
// has open. batch bounds a group.
func NewBareSQLite(dir string, batch int) (Bare, error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "witan.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(0)&_pragma=cache_size(-32768)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	b := &bareLite{db: db, jobs: make(chan bareJob, batch)}
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	event, err := conn.PrepareContext(ctx, bareEvent)
	if err != nil {
		return nil, err
	}
	row, err := conn.PrepareContext(ctx, bareRow)
	if err != nil {
		return nil, err
	}
	b.done.Go(func() {
		defer conn.Close()
		hash, body := make([]byte, 32), make([]byte, bareBody)
		for j := range b.jobs {
			group := []bareJob{j}
			_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
			for err == nil {
				last := group[len(group)-1]
				if _, err = row.ExecContext(ctx, last.account[:], fmt.Sprint(last.i%bareKeys), last.i); err == nil {
					_, err = event.ExecContext(ctx, last.account[:], last.i, bareID(last.account, last.i), last.i, last.i, hash, hash, body)
				}
				if len(group) == batch {
					break
				}
				select {
				case n, ok := <-b.jobs:
					if ok {
						group = append(group, n)
						continue
					}
				default:
				}
				break
			}
			if err == nil {
				_, err = conn.ExecContext(ctx, "COMMIT")
			}
			for _, x := range group {
				x.done <- err
			}
		}
	})
	return b, nil
}

// Put implements Bare.
func (b *bareLite) Put(account [16]byte, i int64) error {
	j := bareJob{account, i, make(chan error, 1)}
	b.jobs <- j
	return <-j.done
}

// Close implements Bare.
func (b *bareLite) Close() { close(b.jobs); b.done.Wait(); _ = b.db.Close() }

// barePost is one plain transaction for each closure.
type barePost struct{ pool *pgxpool.Pool }

// NewBarePostgres opens a migrated database with so many connections.
func NewBarePostgres(url string, conns int) (Bare, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(conns)
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	return &barePost{pool}, err
}

const (
	barePgEvent = `INSERT INTO events (account_id, seq, id, type, version, layer, source, occurred_at, recorded_at, label, body_commit, hash, body)
 VALUES ($1, $2, $3, 'timer.fired', 1, 5, 'bare', $4, $5, 'h:a', $6, $7, $8)`
	barePgRow = `INSERT INTO timers (account_id, kind, key, due_at, held) VALUES ($1, 'bare', $2, $3, 0)
 ON CONFLICT (account_id, kind, key) DO UPDATE SET due_at = excluded.due_at, held = 0`
)

// Put implements Bare: the row with BEGIN in one trip, the event with COMMIT in
// the other, as the engine sends them.
func (b *barePost) Put(account [16]byte, i int64) error {
	ctx := context.Background()
	c, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	hash, body := make([]byte, 32), make([]byte, bareBody)
	var first, second pgx.Batch
	first.Queue("BEGIN")
	first.Queue(barePgRow, account[:], fmt.Sprint(i%bareKeys), i)
	if err := c.SendBatch(ctx, &first).Close(); err != nil {
		return err
	}
	second.Queue(barePgEvent, account[:], i, bareID(account, i), i, i, hash, hash, body)
	second.Queue("COMMIT")
	return c.SendBatch(ctx, &second).Close()
}

// Close implements Bare.
func (b *barePost) Close() { b.pool.Close() }
