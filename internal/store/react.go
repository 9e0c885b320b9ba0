package store

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// maxDepth is how deep reactions may cause reactions inside one transaction;
// what lies deeper is left to the router, so nothing can loop in the lane.
const maxDepth = 16

// voidKey names one reaction on one stream.
type voidKey struct {
	subscriber string
	stream     id.ID
}

// reactionError says that an inline reaction failed: the transaction is void
// and is run again with that reaction left to the router.
type reactionError struct {
	key voidKey
	err error
}

func (e *reactionError) Error() string {
	return fmt.Sprintf("reaction %s: %v", e.key.subscriber, e.err)
}
func (e *reactionError) Unwrap() error { return e.err }

// voids remembers which reactions voided transactions on which stream: one
// that did so twice goes router-first there, so that a bad message does not
// slow the lane.
type voids struct {
	mu sync.Mutex
	n  map[voidKey]int // guarded by mu; bounded by forget
}

func newVoids() *voids { return &voids{n: map[voidKey]int{}} }

const maxVoids = 10_000

func (v *voids) add(k voidKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.n) >= maxVoids {
		clear(v.n)
	}
	v.n[k]++
}

func (v *voids) routerFirst(k voidKey) bool { v.mu.Lock(); defer v.mu.Unlock(); return v.n[k] >= 2 }
func (v *voids) forget(k voidKey)           { v.mu.Lock(); delete(v.n, k); v.mu.Unlock() }

// runMember runs a closure and the reactions of all that it emits.
func (db *DB) runMember(x *tx, f func(event.Tx) error) error {
	if err := guarded(func() error { return f(x) }); err != nil {
		return err
	}
	if x.fatal != nil {
		return db.classify(x.fatal, "transaction")
	}
	return db.runReactions(x)
}

// runReactions walks the emitted events, oldest first; reactions append to the
// same list. The order of subscribers is the order of the subscriptions table.
func (db *DB) runReactions(x *tx) error {
	r := db.react()
	if r == nil {
		return nil
	}
	if err := db.lockStreams(x, r); err != nil {
		return err
	}
	for i := 0; i < len(x.Events()); i++ {
		e := x.Events()[i]
		subs := r.Subscribers(e.Type)
		if len(subs) == 0 {
			continue
		}
		if err := db.loadPending(x, e.Stream); err != nil {
			return err
		}
		for _, sub := range subs {
			k := voidKey{sub, e.Stream}
			if x.depth[i] >= maxDepth || x.tries[k] || x.pending[k] || x.ahead[k] || db.voids.routerFirst(k) {
				x.deferred = append(x.deferred, deferral{sub, i})
				if x.pending == nil {
					x.pending = map[voidKey]bool{}
				}
				x.pending[k] = true
				continue
			}
			x.current = x.depth[i] + 1
			err := guarded(func() error { return r.React(x, sub, e) })
			if err == nil && x.fatal != nil {
				err = x.fatal
			}
			if err != nil {
				return &reactionError{key: k, err: err}
			}
		}
	}
	return nil
}

// lockStreams takes the streams of a closure's own events in one order on
// PostgreSQL: two closures that speak on the same streams, each the other way
// round, would wait for each other until the server ends one, a second later.
func (db *DB) lockStreams(x *tx, r Reactor) error {
	if db.pg == nil || len(x.Events()) < 2 {
		return nil
	}
	var streams []id.ID
	for i := range x.Events() {
		e := &x.Events()[i]
		if len(r.Subscribers(e.Type)) > 0 && !slices.Contains(streams, e.Stream) {
			streams = append(streams, e.Stream)
		}
	}
	if len(streams) < 2 {
		return nil // the walk takes it
	}
	slices.SortFunc(streams, func(a, b id.ID) int { return bytes.Compare(a[:], b[:]) })
	for _, s := range streams {
		if err := db.loadPending(x, s); err != nil {
			return err
		}
	}
	return nil
}

// guarded turns a panic into an error: no handler may take the process down.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
