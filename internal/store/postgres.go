package store

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// The bounds of PostgreSQL's write path (architecture §4): unbounded writers
// on one account queue on its head row and collapse to a quarter of the speed.
const (
	perAccount = 4
	maxConns   = 20
	maxRetries = 10
)

// pgEngine is a pool of connections to one PostgreSQL.
type pgEngine struct {
	pool  *pgxpool.Pool
	mu    sync.Mutex
	gates map[id.ID]*gate // guarded by mu; one per account in use
	// dirty collects accounts with new commits for the next NOTIFY.
	dirty   map[id.ID]bool // guarded by mu
	notify  chan struct{}
	hashers sync.Pool
}

// gate bounds the transactions in flight of one account on this node.
type gate struct {
	slots chan struct{}
	users int // guarded by pgEngine.mu
}

// openPostgres connects, retrying with back-off, and migrates.
func (db *DB) openPostgres(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(db.opts.URL)
	if err != nil {
		return fault.New(fault.Invalid, "the database URL cannot be read").On("database").
			WithFix("use postgres://USER@HOST:PORT/NAME") // the URL may hold a password: never show it
	}
	cfg.MaxConns = maxConns
	cfg.MinIdleConns = 2
	cfg.ConnConfig.RuntimeParams["application_name"] = "witan"
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if _, set := cfg.ConnConfig.RuntimeParams["synchronous_commit"]; !set {
		cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	}
	// A node that vanishes in mid-transaction must not keep its row locks until
	// TCP gives up: another takes its work over within 10 s.
	if _, set := cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"]; !set {
		cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "2000"
	}
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "connect to PostgreSQL")
	}
	if err := db.awaitPostgres(ctx, pool); err != nil {
		pool.Close()
		return err
	}
	var version int
	if err := pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil || version < 150000 {
		pool.Close()
		return fault.New(fault.Invalid, "PostgreSQL 15 or later is needed, this is %d", version/10000).On("database")
	}
	std := stdlib.OpenDBFromPool(pool)
	err = migrate(ctx, std, Postgres, db.log)
	_ = std.Close()
	if err != nil {
		pool.Close()
		return err
	}
	db.pg = &pgEngine{pool: pool, gates: map[id.ID]*gate{}, dirty: map[id.ID]bool{}, notify: make(chan struct{}, 1)}
	db.pg.hashers.New = func() any { return event.NewHasher() }
	return nil
}

// awaitPostgres retries a server that does not answer, for about 90 s, and then
// gives up. It never turns to SQLite instead (seed 003 "Data Persistence").
func (db *DB) awaitPostgres(ctx context.Context, pool *pgxpool.Pool) error {
	limit := db.opts.ConnectFor
	if limit == 0 {
		limit = 90 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fault.New(fault.Unavailable, "PostgreSQL did not answer for %s", limit).On("database").
			WithFix("start it, or check host, port and password; Witan does not fall back to SQLite"))
	defer cancel()
	wait := 100 * time.Millisecond
	for {
		err := pool.Ping(ctx)
		if err == nil {
			return nil
		}
		if code := pgCode(err); code != "" && code != "57P03" { // it answers, and says no
			return fault.New(fault.Unavailable, "PostgreSQL refuses the connection (%s)", code).On("database")
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		db.log.WarnContext(ctx, "PostgreSQL does not answer yet", slog.Duration("retry_in", wait))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, 10*time.Second)
	}
}

func (p *pgEngine) enter(ctx context.Context, account id.ID) (*gate, error) {
	p.mu.Lock()
	g := p.gates[account]
	if g == nil {
		g = &gate{slots: make(chan struct{}, perAccount)}
		p.gates[account] = g
	}
	g.users++
	p.mu.Unlock()
	select {
	case g.slots <- struct{}{}:
		return g, nil
	case <-ctx.Done():
		p.leave(account, g, false)
		return nil, ctx.Err()
	}
}

func (p *pgEngine) leave(account id.ID, g *gate, held bool) {
	if held {
		<-g.slots
	}
	p.mu.Lock()
	if g.users--; g.users == 0 {
		delete(p.gates, account)
	}
	p.mu.Unlock()
}

// do runs one closure in one plain transaction; no lane, no savepoints.
func (p *pgEngine) do(ctx context.Context, db *DB, account id.ID, f func(event.Tx) error) error {
	g, err := p.enter(ctx, account)
	if err != nil {
		return err
	}
	defer p.leave(account, g, true)
	skip := map[voidKey]bool{}
	for attempt := 0; ; attempt++ {
		x, h, err := p.once(ctx, db, account, f, skip)
		if err == nil {
			db.commits.Add(1)
			db.keepKeys(x)
			db.durable(x)
			if len(x.Events()) > 0 {
				db.hub.publish(account, h.epoch, h.seq, db.hub.marks(account, x))
				p.tell(account)
			}
			return nil
		}
		var re *reactionError
		var own *closureError
		code := pgCode(err)
		switch {
		case errors.As(err, &own):
			return own.err
		case attempt >= maxRetries:
			return db.classify(err, "transaction")
		case code == "40001" || code == "40P01":
			backoff(attempt)
		case errors.As(err, &re):
			if code := pgCode(re.err); code == "40001" || code == "40P01" {
				backoff(attempt)
				continue
			}
			db.voids.add(re.key)
			skip[re.key] = true
		default:
			return db.classify(err, "transaction")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// closureError is what a closure says itself: no failure of the engine, whatever
// its kind.
type closureError struct{ err error }

func (e *closureError) Error() string { return e.err.Error() }
func (e *closureError) Unwrap() error { return e.err }

// backoff waits a little before a retry; jitter keeps two writers from meeting again.
func backoff(attempt int) {
	d := time.Duration(1<<min(attempt, 6)) * time.Millisecond
	<-time.After(d/2 + rand.N(d)) //nolint:gosec // spreads retries; decides nothing
}

func (p *pgEngine) once(ctx context.Context, db *DB, account id.ID, f func(event.Tx) error, skip map[voidKey]bool) (x *tx, h head, err error) {
	c, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, h, err
	}
	ctx = context.WithoutCancel(ctx) // from here on the caller cannot break a statement half way
	ex := &pgExec{conn: c, begin: "BEGIN"}
	defer func() {
		if err != nil {
			ex.rollback(ctx)
		}
		ex.release()
	}()
	x = db.newTx(ctx, account, ex, true)
	x.tries = skip
	if err = db.runMember(x, f); err != nil {
		switch {
		case isReaction(err):
		case x.fatal != nil:
			err = x.fatal
		default:
			err = &closureError{err}
		}
		return x, h, err
	}
	var b pgx.Batch
	if len(x.Events()) > 0 {
		if h, err = x.lockHead(); err != nil {
			return x, h, x.orFatal(err)
		}
		hasher := p.hashers.Get().(*event.Hasher)
		err = x.finish(&h, hasher)
		p.hashers.Put(hasher)
		if err != nil {
			return x, h, x.orFatal(err)
		}
		x.appendPostgres(&b, &h)
	}
	if err = ex.end(ctx, &b); err != nil && c.Conn().IsClosed() {
		ex.release() // many may ask at once: none may keep a dead connection's place in the pool meanwhile
		switch landed, told := x.landedPostgres(ctx, p); {
		case !told:
			err = fault.New(fault.Unknown, "the database went away during the commit: whether it was saved cannot be told: %w", err)
		case landed:
			err = nil // the answer was lost, the commit was not
		}
	}
	return x, h, err
}

func (x *tx) orFatal(err error) error {
	if x.fatal != nil {
		return x.fatal
	}
	return err
}

// lockHead locks the account's head row, after the last domain row.
func (x *tx) lockHead() (head, error) {
	h, _, err := x.readHead("head")
	if !fault.Is(err, fault.NotFound) {
		return h, err
	}
	if _, err := appendSQL.Exec(x, "new_head", x.Account(), make([]byte, 32)); err != nil {
		return h, err
	}
	h, _, err = x.readHead("head")
	return h, err
}

// appendPostgres queues all events, the deferred rows and the head: they leave
// in one trip together with COMMIT.
func (x *tx) appendPostgres(b *pgx.Batch, h *head) {
	add := appendSQL.Text("add_event", Postgres)
	evs := x.Events()
	for i := range evs {
		b.Queue(add, eventArgs(&evs[i])...)
	}
	for _, d := range x.deferred {
		e := evs[d.index]
		b.Queue(appendSQL.Text("add_deferred", Postgres), bind([]any{x.Account(), e.Seq, d.subscriber, e.Stream, e.ID})...)
	}
	b.Queue(appendSQL.Text("set_head", Postgres), bind([]any{h.seq, h.hash[:], clock.Micros(h.recorded), x.Account()})...)
}

// landedPostgres asks, on a new connection, whether a commit whose answer was
// lost is durable: its last event is there or not. The server may still be at
// it, so the head row comes first: it is free once that transaction has ended.
func (x *tx) landedPostgres(ctx context.Context, p *pgEngine) (landed, told bool) {
	evs := x.Events()
	if len(evs) == 0 {
		return false, false
	}
	ctx, cancel := context.WithTimeout(ctx, landedFor)
	defer cancel()
	last := evs[len(evs)-1]
	for attempt := 0; ctx.Err() == nil; attempt++ { // a server that crashed recovers first
		var n int
		_, err := p.pool.Exec(ctx, "SELECT seq FROM journal_heads WHERE account_id = $1 FOR SHARE", last.Account[:])
		if err == nil {
			err = p.pool.QueryRow(ctx, "SELECT count(*) FROM events WHERE account_id = $1 AND id = $2", last.Account[:], last.ID[:]).Scan(&n)
		}
		if err == nil {
			return n == 1, true
		}
		backoff(attempt)
	}
	return false, false
}

// landedFor bounds how long a commit whose answer was lost is asked about.
const landedFor = 30 * time.Second

func (p *pgEngine) view(ctx context.Context, db *DB, account id.ID, f func(event.Tx) error) error {
	c, err := p.pool.Acquire(ctx)
	if err != nil {
		return db.classify(err, "view")
	}
	defer c.Release()
	ex := &pgExec{conn: c, begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
	defer ex.rollback(context.WithoutCancel(ctx))
	x := db.newTx(ctx, account, ex, false)
	return guarded(func() error { return f(x) })
}

// tell marks an account for the next NOTIFY.
func (p *pgEngine) tell(account id.ID) {
	p.mu.Lock()
	p.dirty[account] = true
	p.mu.Unlock()
	select {
	case p.notify <- struct{}{}:
	default:
	}
}

// leaveWork takes the heartbeat away, so that other nodes need not wait for it
// to run out before they take over what this one still held.
func (p *pgEngine) leaveWork(node id.ID) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = p.pool.Exec(ctx, "DELETE FROM nodes WHERE id = $1", node[:]) // else the heartbeat runs out
}

func (p *pgEngine) close() { p.pool.Close() }
