package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

const producers = 64

// drive runs b.N calls of f from 64 producers.
func drive(b *testing.B, f func(i int64) error) {
	b.Helper()
	var n atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range producers {
		wg.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func appendOne(db *storetest.DB, o event.Origin) func(i int64) error {
	return func(i int64) error {
		return db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
			if err := store.SetTimer(tx, "bench", fmt.Sprint(i%10_000), db.Clock.Now()); err != nil {
				return err
			}
			_, err := tx.Emit(o, draft("bench"))
			return err
		})
	}
}

func BenchmarkAppendSQLite(b *testing.B) {
	db := storetest.OpenSQLite(b)
	drive(b, appendOne(db, timerOrigin(b)))
	b.StopTimer()
	db.DB.Close()
	if st, err := os.Stat(filepath.Join(db.Options.Dir, "witan.db")); err == nil && b.N > 1000 {
		b.ReportMetric(float64(st.Size())/float64(b.N), "B/event")
	}
	db.Reopen(b)
}

// BenchmarkBareSQLite is the limit: the same rows, prepared, group commit, no
// hash, no seal, no journal.
func BenchmarkBareSQLite(b *testing.B) {
	db := storetest.OpenSQLite(b)
	drive(b, appendOne(db, timerOrigin(b))) // one warm row set to copy
	db.DB.Close()
	path := filepath.Join(db.Options.Dir, "witan.db")
	c, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(0)&_pragma=cache_size(-32768)")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	bareGroup(b, c)
	db.Reopen(b)
}

func bareGroup(b *testing.B, c *sql.DB) {
	b.Helper()
	ctx := context.Background()
	conn, err := c.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	ev, err := conn.PrepareContext(ctx, `INSERT INTO events (account_id, seq, id, type, version, layer, source, occurred_at, recorded_at, label, body_commit, hash, body)
		VALUES (?, ?, ?, 'timer.fired', 1, 5, 'test', ?, ?, 'h:a', ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	row, err := conn.PrepareContext(ctx, `INSERT INTO timers (account_id, kind, key, due_at, held) VALUES (?, 'bench', ?, ?, 0)
		ON CONFLICT (account_id, kind, key) DO UPDATE SET due_at = excluded.due_at, held = 0`)
	if err != nil {
		b.Fatal(err)
	}
	type job struct {
		i    int64
		done chan error
	}
	jobs := make(chan job, producers)
	var wg sync.WaitGroup
	wg.Go(func() {
		acct, hash, body := make([]byte, 16), make([]byte, 32), make([]byte, 130)
		for j := range jobs {
			batch := []job{j}
			_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
			for err == nil {
				last := batch[len(batch)-1]
				eid := make([]byte, 16)
				for k := range 8 {
					eid[k] = byte(last.i >> (56 - 8*k))
				}
				if _, err = row.ExecContext(ctx, acct, fmt.Sprint(last.i%10_000), last.i); err == nil {
					_, err = ev.ExecContext(ctx, acct, last.i, eid, last.i, last.i, hash, hash, body)
				}
				if len(batch) == producers {
					break
				}
				select {
				case n, ok := <-jobs:
					if ok {
						batch = append(batch, n)
						continue
					}
				default:
				}
				break
			}
			if err == nil {
				_, err = conn.ExecContext(ctx, "COMMIT")
			}
			for _, x := range batch {
				x.done <- err
			}
		}
	})
	drive(b, func(i int64) error {
		j := job{i, make(chan error, 1)}
		jobs <- j
		return <-j.done
	})
	b.StopTimer()
	close(jobs)
	wg.Wait()
}

func BenchmarkAppendPostgresOneAccount(b *testing.B) {
	db := storetest.OpenPostgres(b)
	drive(b, appendOne(db, timerOrigin(b)))
}
