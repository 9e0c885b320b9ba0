package store

import (
	"context"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// tx is the engine's event.Tx: the emitting half from event, the statements here.
type tx struct {
	*event.Collector
	ctx   context.Context //nolint:containedctx // the engine's, for the life of one transaction
	db    *DB
	ex    executor
	wrote bool  // a writing statement was sent
	fatal error // an engine error: the transaction cannot be trusted any more
	// rehead makes the append phase read the head row again: this transaction
	// changed its epochs, and what the lane remembers of it is old.
	rehead bool

	raw        [][]byte   // encoded body per emitted event
	deferred   []deferral // reactions left to the router
	depth      []int      // reaction depth per emitted event
	current    int        // depth of the event being reacted to
	undeferred int        // deferred rows that this transaction worked off
	after      []func()   // wake-ups, run once the commit is durable
	work       []event.Lease
	newKeys    map[id.ID]*dataKey // subject keys made or read here; known to others only after the commit
	tries      map[voidKey]bool   // reactions to leave to the router in this run
	pending    map[voidKey]bool   // (subscriber, stream) with older events waiting
	ahead      map[voidKey]bool   // the same, of members before this one in the lane batch
}

// deferral is a reaction that the router runs after the commit.
type deferral struct {
	subscriber string
	index      int // into the collector's events
}

func mustTx(t event.Tx) *tx {
	x, ok := t.(*tx)
	if !ok {
		panic("store: a Tx of another engine")
	}
	return x
}

// Context implements event.Tx.
func (x *tx) Context() context.Context { return x.ctx }

func (x *tx) exec(text string, args []any) (int64, error) {
	if x.fatal != nil {
		return 0, x.fatal
	}
	x.wrote = true
	n, err := x.ex.exec(x.ctx, text, args)
	return n, x.note(err)
}

func (x *tx) query(text string, args []any) (rows, error) {
	if x.fatal != nil {
		return nil, x.fatal
	}
	if writes(text) {
		x.wrote = true
	}
	r, err := x.ex.query(x.ctx, text, args)
	return r, x.note(err)
}

// writes reports whether a statement that yields rows also changes some.
func writes(text string) bool {
	w, rest, _ := strings.Cut(text, " ")
	if strings.EqualFold(w, "with") { // WITH ... INSERT is a write as well
		rest = strings.ToUpper(rest)
		return strings.Contains(rest, "INSERT ") || strings.Contains(rest, "UPDATE ") || strings.Contains(rest, "DELETE ")
	}
	return !strings.EqualFold(w, "select")
}

// note remembers an error of a statement, whatever the closure makes of it: a
// closure that swallows it must not commit half of its work. On PostgreSQL every
// failed statement ends the transaction; SQLite is held to the same rule, so that
// no closure learns to swallow errors on one engine only.
func (x *tx) note(err error) error {
	if err != nil {
		x.fatal = err
	}
	return err
}

// classify turns a driver error into a fault that names the query.
func (x *tx) classify(err error, name string) error {
	if err == nil {
		return nil
	}
	return x.db.classify(err, name)
}

// AfterCommit runs f once the transaction is durable. For wake-ups only: f is
// lost in a crash.
func AfterCommit(t event.Tx, f func()) { x := mustTx(t); x.after = append(x.after, f) }

// DBNow returns the database's clock, by which leases and expiries are judged:
// nodes with clocks of their own agree on it.
func DBNow(t event.Tx) (time.Time, error) {
	x := mustTx(t)
	return x.db.dbNow(x.ctx, x.ex)
}

// Emit implements event.Tx; it also notes how deep in reactions the event stands.
func (x *tx) Emit(o event.Origin, d event.Draft) (event.Event, error) {
	e, err := x.Collector.Emit(o, d)
	if err != nil {
		return e, err
	}
	raw, err := event.EncodeBody(e, d.Raise)
	if err != nil {
		x.fatal = err // the event stands in the list: this transaction must not commit
		return e, err
	}
	x.raw = append(x.raw, raw)
	x.depth = append(x.depth, x.current)
	return e, nil
}
