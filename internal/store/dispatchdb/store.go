// Package dispatchdb keeps what package dispatch must remember: contacts and
// their addresses, rate windows, routes, what became of messages, held
// messages, the outbox and tasks for later; and it reaches the engine's leases,
// timers and events for it.
//
// Every method runs in the caller's transaction and names its account. It
// imports dispatch and store, holds no state and starts no goroutine.
package dispatchdb

import (
	_ "embed"
	"time"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

var q = store.MustQueries(sqlText)

// Store implements dispatch.Store.
type Store struct{}

// New returns the store.
func New() *Store { return &Store{} }

// named gives an absent row a name that people understand.
func named(err error, what, field string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "there is no such %s", what).On(field)
	}
	return err
}

// Clock implements dispatch.Store.
func (*Store) Clock(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

// LoadEvent implements dispatch.Store.
func (*Store) LoadEvent(tx event.Tx, e id.ID) (event.Event, error) { return store.GetEvent(tx, e) }

// SetTimer implements dispatch.Store.
func (*Store) SetTimer(tx event.Tx, kind, key string, at time.Time) error {
	return store.SetTimer(tx, kind, key, at)
}

// Enqueue implements dispatch.Store.
func (*Store) Enqueue(tx event.Tx, delivery id.ID, scope string, due time.Time) error {
	return store.Enqueue(tx, event.WorkDelivery, delivery, scope, due)
}

// Claim implements dispatch.Store.
func (*Store) Claim(tx event.Tx, delivery id.ID) (event.Lease, error) {
	return store.Claim(tx, event.WorkDelivery, delivery)
}

// Guard implements dispatch.Store.
func (*Store) Guard(tx event.Tx, l event.Lease) error { return store.Guard(tx, l) }

// Finish implements dispatch.Store.
func (*Store) Finish(tx event.Tx, l event.Lease) error { return store.Finish(tx, l) }

// Release implements dispatch.Store.
func (*Store) Release(tx event.Tx, l event.Lease, due time.Time) error {
	return store.Release(tx, l, due)
}

// Take implements dispatch.Store. The row is locked while it is looked at, so
// that two transactions never take one token. A new row clears away up to four
// that tell nothing any more, which keeps the table as small as its use.
func (*Store) Take(tx event.Tx, kind string, key []byte, r dispatch.Rate, now time.Time) (bool, error) {
	us := clock.Micros(now)
	get := func() (b dispatch.Bucket, err error) {
		err = q.Row(tx, "get_bucket", []any{tx.Account(), kind, key}, &b.Level, &b.At)
		return b, err
	}
	b, err := get()
	if fault.Is(err, fault.NotFound) {
		if _, err := q.Exec(tx, "prune_buckets", tx.Account(), tx.Account(), us); err != nil {
			return false, err
		}
		fresh, ok := r.Full(us).Take(us, r)
		n, err := q.Exec(tx, "add_bucket", tx.Account(), kind, key, fresh.Level, fresh.At, fresh.FullAt(r))
		if err != nil || n == 1 {
			return ok, err
		}
		b, err = get() // another transaction was first, and its row is locked now
		if err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	b, ok := b.Take(us, r)
	_, err = q.Exec(tx, "save_bucket", b.Level, b.At, b.FullAt(r), tx.Account(), kind, key)
	return ok, err
}
