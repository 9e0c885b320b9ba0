package store

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Options say which engine to open and what comes in from outside.
type Options struct {
	Dir     string // data folder of SQLite
	URL     string // PostgreSQL connection string; set means PostgreSQL
	Clock   clock.Clock
	IDs     *id.Source
	Random  io.Reader // nonces; nil means crypto/rand
	Keyring *secret.Keyring
	Log     *slog.Logger
	// VirtualClock makes the database's clock follow Clock. For tests only:
	// nodes with clocks of their own would disagree on leases.
	VirtualClock bool
	// ConnectFor bounds how long a PostgreSQL that does not answer is retried
	// (seed 003 "Data Persistence"). Zero means 90 s.
	ConnectFor time.Duration
	// MaxPages limits a SQLite file, for disk-full tests. Zero means no limit.
	MaxPages int
}

// Reactor runs the reactions of committed facts inside the appending
// transaction. bus implements it.
type Reactor interface {
	// Subscribers names who reacts to a type, in table order.
	Subscribers(event.Type) []string
	// React runs one subscriber's reaction.
	React(tx event.Tx, subscriber string, e event.Event) error
}

// DB is an open engine. It implements event.Journal and is safe for concurrent use.
type DB struct {
	dialect Dialect
	opts    Options
	clock   clock.Clock
	ids     *id.Source
	keyring *secret.Keyring
	log     *slog.Logger
	node    id.ID

	reactor atomic.Pointer[Reactor]
	lite    *sqliteEngine
	pg      *pgEngine

	keys     *keyCache
	voids    *voids
	hub      *hub
	commits  atomic.Int64
	skew     atomic.Int64 // how far the database's clock is before ours, in ns, at the last heartbeat
	workHook atomic.Pointer[func([]event.Lease)]

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Open opens the engine that o names and migrates it. It never falls back to
// another engine.
func Open(ctx context.Context, o Options) (*DB, error) {
	switch {
	case o.Clock == nil || o.IDs == nil || o.Keyring == nil || o.Log == nil:
		return nil, fault.New(fault.Internal, "store: Clock, IDs, Keyring and Log are required")
	case o.URL == "" && o.Dir == "":
		return nil, fault.New(fault.Invalid, "neither a data folder nor a database URL is set").On("data")
	}
	db := &DB{opts: o, clock: o.Clock, ids: o.IDs, keyring: o.Keyring, log: o.Log, node: o.IDs.New(),
		keys: newKeyCache(), voids: newVoids(), hub: newHub()}
	var err error
	if o.URL != "" {
		db.dialect = Postgres
		err = db.openPostgres(ctx)
	} else {
		err = db.openSQLite(ctx)
	}
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	db.stop = stop
	if db.pg != nil { // SQLite needs no heartbeat: the folder's lock proves that nobody else is alive
		if err := db.beat(run); err != nil {
			db.Close()
			return nil, err
		}
		db.loop(run, 2*time.Second, db.heartbeat)
		db.loop(run, time.Second, db.pollHeads)
		db.wg.Go(func() { db.pg.listen(run, db) })
	} else {
		db.loop(run, 250*time.Millisecond, db.lite.checkpoint)
	}
	return db, nil
}

// loop runs f every period until Close.
func (db *DB) loop(ctx context.Context, every time.Duration, f func(context.Context)) {
	db.wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				f(ctx)
			}
		}
	})
}

// Close ends the engine's goroutines and closes the database.
func (db *DB) Close() {
	if db.stop != nil {
		db.stop()
	}
	db.wg.Wait()
	db.hub.close()
	if db.lite != nil {
		db.lite.close()
	}
	if db.pg != nil {
		db.pg.leaveWork(db.node)
		db.pg.close()
	}
}

// Dialect tells which engine is open.
func (db *DB) Dialect() Dialect { return db.dialect }

// Node is the id of this process among the nodes of the database.
func (db *DB) Node() id.ID { return db.node }

// Commits returns how many durable commits were made since Open.
func (db *DB) Commits() int64 { return db.commits.Load() }

// SetReactor installs the reactions. Call it before the first Do.
func (db *DB) SetReactor(r Reactor) { db.reactor.Store(&r) }

func (db *DB) react() Reactor {
	if p := db.reactor.Load(); p != nil {
		return *p
	}
	return nil
}

// Do implements event.Journal.
func (db *DB) Do(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	return db.do(ctx, account, f, false)
}

// DoBulk implements event.Journal.
func (db *DB) DoBulk(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	return db.do(ctx, account, f, true)
}

func (db *DB) do(ctx context.Context, account id.ID, f func(event.Tx) error, bulk bool) error {
	if account.IsZero() {
		return fault.New(fault.Internal, "a transaction needs an account")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if db.node.IsZero() {
		return fault.New(fault.Internal, "write through a reader")
	}
	if db.lite != nil {
		return db.lite.lane.do(ctx, account, f, bulk)
	}
	return db.pg.do(ctx, db, account, f)
}

// doAlone is Do for what changes keys or the epoch. In the lane it shares its
// transaction with nobody: one append phase seals the events of a whole batch,
// so what was said before an erasure would be sealed after it.
func (db *DB) doAlone(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	if db.lite == nil {
		return db.do(ctx, account, f, true)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.lite.lane.queue(&job{ctx: ctx, account: account, f: f, alone: true, done: make(chan error, 1)}, true)
}

// View implements event.Journal.
func (db *DB) View(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	if db.lite != nil {
		return db.lite.view(ctx, db, account, f)
	}
	return db.pg.view(ctx, db, account, f)
}

// newTx returns a transaction over ex.
func (db *DB) newTx(ctx context.Context, account id.ID, ex executor, writable bool) *tx {
	return &tx{Collector: event.NewCollector(account, db.ids, db.clock, writable), ctx: ctx, db: db, ex: ex}
}

// durable tells the world about a commit: wake-ups, tails, fresh work.
func (db *DB) durable(x *tx) {
	for _, f := range x.after {
		f()
	}
	if len(x.work) > 0 {
		if h := db.workHook.Load(); h != nil {
			(*h)(x.work)
		}
	}
}
