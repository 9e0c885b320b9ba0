package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

var testSQL = store.MustQueries(`
-- name: add_timer
INSERT INTO timers (account_id, kind, key, due_at, held) VALUES (?, 'once', ?, 1, 0) RETURNING due_at
-- name: answers
SELECT count(*) FROM timers WHERE account_id = ? AND kind = 'answer' AND key = ?
-- name: seen
SELECT count(*) FROM timers WHERE account_id = ? AND kind = 'seen' AND key LIKE ?
-- name: add_by_with
WITH k AS (SELECT 'by' AS kind) INSERT INTO timers (account_id, kind, key, due_at, held) SELECT ?, k.kind, 'with', 1, 0 FROM k RETURNING due_at
`)

// TestAnErrorThatCameWithTheRowsIsNotSwallowed: PostgreSQL reports a broken rule
// of INSERT ... RETURNING with the rows and ends the transaction. A closure that
// goes on as if nothing had been must not be told that it is saved.
func TestAnErrorThatCameWithTheRowsIsNotSwallowed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		for _, each := range []bool{false, true} {
			key := fmt.Sprint("each", each)
			add := func(tx event.Tx) error {
				var due int64
				if each {
					return testSQL.Each(tx, "add_timer", []any{tx.Account(), key}, func(scan func(...any) error) error { return scan(&due) })
				}
				return testSQL.Row(tx, "add_timer", []any{tx.Account(), key}, &due)
			}
			err := db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
				if err := store.SetTimer(tx, "rest", key, db.Clock.Now()); err != nil {
					return err
				}
				if err := add(tx); err != nil {
					return err
				}
				if err := add(tx); !fault.Is(err, fault.Conflict) {
					t.Errorf("the second row: %v", err)
				}
				return nil // swallowed
			})
			due, _, _, derr := db.DueTimers(context.Background(), 10)
			if derr != nil {
				t.Fatal(derr)
			}
			if err == nil || len(due) != 0 {
				t.Errorf("each=%v: answered %v, %d rows are durable", each, err, len(due))
			}
		}
	})
}

// TestAWriteBehindWithIsAWrite: a batch without writes is rolled back.
func TestAWriteBehindWithIsAWrite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		db.Do(t, func(tx event.Tx) error {
			var due int64
			return testSQL.Row(tx, "add_by_with", []any{tx.Account()}, &due)
		})
		if due, _, _, err := db.DueTimers(context.Background(), 10); err != nil || len(due) != 1 {
			t.Fatalf("%d rows are durable, %v", len(due), err)
		}
	})
}

// TestTheScanFindsTheRestBehindALongLine: neither halted work nor a long line of
// one kind hides what else is due.
func TestTheScanFindsTheRestBehindALongLine(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		last := db.IDs.New()
		db.Do(t, func(tx event.Tx) error {
			for i := range 60 {
				kind, scope := event.WorkRun, "agent:halted"
				if i%2 == 0 {
					kind, scope = event.WorkEffect, "agent:slow"
				}
				if err := store.Enqueue(tx, kind, db.IDs.New(), scope, storetest.Start.Add(-time.Hour)); err != nil {
					return err
				}
			}
			if err := store.Stop(tx, "agent:halted"); err != nil {
				return err
			}
			if err := store.Enqueue(tx, event.WorkRun, last, "agent:other", storetest.Start.Add(-time.Minute)); err != nil {
				return err
			}
			return store.Enqueue(tx, event.WorkDelivery, last, "account", storetest.Start.Add(-time.Minute))
		})
		ready, err := db.Ready(context.Background(), 5)
		if err != nil {
			t.Fatal(err)
		}
		got := map[event.WorkKind]bool{}
		for _, l := range ready {
			if l.Scope == "agent:halted" {
				t.Fatalf("halted work is offered: %+v", l)
			}
			if l.ID == last {
				got[l.Kind] = true
			}
		}
		if !got[event.WorkRun] || !got[event.WorkDelivery] {
			t.Fatalf("found %v of the rest among %d", got, len(ready))
		}
	})
}

// shifted is a node's clock that is wrong by so much.
type shifted time.Duration

func (s shifted) Now() time.Time { return clock.System{}.Now().Add(time.Duration(s)) }

// TestANodeWithAWrongClockOffersFreshWork: due times are the database's, so is
// what a node offers to its workers at the commit.
func TestANodeWithAWrongClockOffersFreshWork(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			db := storetest.OpenPostgres(t)
			o := db.Options
			o.VirtualClock, o.Clock = false, shifted(by)
			n, err := store.Open(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(n.Close)
			var offered atomic.Int64
			n.OnWork(func(ls []event.Lease) { offered.Add(int64(len(ls))) })
			item := db.IDs.New()
			if err := n.Do(context.Background(), db.Account, func(tx event.Tx) error {
				now, err := store.DBNow(tx)
				if err != nil {
					return err
				}
				if err := store.Enqueue(tx, event.WorkEffect, db.IDs.New(), "agent:a", now.Add(time.Minute)); err != nil {
					return err
				}
				return store.Enqueue(tx, event.WorkRun, item, "agent:a", now)
			}); err != nil {
				t.Fatal(err)
			}
			if offered.Load() != 1 {
				t.Fatalf("%d offers, want that of the work that is due", offered.Load())
			}
			if err := n.Do(context.Background(), db.Account, func(tx event.Tx) error {
				_, err := store.Claim(tx, event.WorkRun, item)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// away makes the transactions of the router fail as a database that went away.
type away struct {
	bus.Engine
	on atomic.Bool
}

func (a *away) DropDeferred(tx event.Tx, d bus.Deferred) (bool, error) {
	if a.on.Load() {
		return false, fault.New(fault.Unavailable, "the disk is full")
	}
	return a.Engine.DropDeferred(tx, d)
}

// TestAStoreThatIsAwayParksNothing: what the router cannot do because of the
// store, it does later. What fails by itself is parked at the second try, and
// its stream queues behind it.
func TestAStoreThatIsAwayParksNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		router := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "router", "subscriber.parked", "subscriber.unparked")
		var broken atomic.Bool
		broken.Store(true)
		table, err := bus.NewTable(bus.Reaction{Name: "count", On: []event.Type{"timer.fired"}, Run: func(tx event.Tx, e event.Event) error {
			if broken.Load() {
				return errors.New("it does not work")
			}
			return store.SetTimer(tx, "seen", e.ID.String(), db.Clock.Now())
		}})
		if err != nil {
			t.Fatal(err)
		}
		db.React(table)
		db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft("x")); return err })
		e := &away{Engine: db.DB}
		e.on.Store(true)
		r := bus.NewRouter(e, table, router, time.Hour, slog.New(slog.DiscardHandler))
		parked := func() (n int) {
			db.See(t, func(tx event.Tx) error {
				rows, err := store.Parked(tx, 10)
				n = len(rows)
				return err
			})
			return n
		}
		for range 4 {
			r.Once(context.Background())
		}
		if parked() != 0 {
			t.Fatal("a store that was away parked a stream")
		}
		e.on.Store(false)
		for range 4 {
			r.Once(context.Background())
		}
		if parked() != 1 {
			t.Fatal("what fails by itself was not parked")
		}
		broken.Store(false)
		db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft("y")); return err })
		r.Once(context.Background())
		if due, _, _, err := db.DueTimers(context.Background(), 10); err != nil || len(due) != 0 {
			t.Fatalf("a later event overtook the parked one: %v, %v", due, err)
		}
		if err := r.Unpark(context.Background(), db.Account, "person:x", "count", db.Account, false); err != nil {
			t.Fatal(err)
		}
		r.Once(context.Background())
		if due, _, _, err := db.DueTimers(context.Background(), 10); err != nil || len(due) != 2 {
			t.Fatalf("after unpark: %v, %v", due, err)
		}
	})
}

// TestAWakeUpIsNotLost: work goes to sleep while it is woken. Whoever wakes it
// and the worker both take the row, so one sees what the other did.
func TestAWakeUpIsNotLost(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		ctx := context.Background()
		for i := range 40 {
			item, key := db.IDs.New(), fmt.Sprint("answer", i)
			var l event.Lease
			db.Do(t, func(tx event.Tx) (err error) {
				if err := store.Enqueue(tx, event.WorkRun, item, "agent:a", storetest.Start); err != nil {
					return err
				}
				l, err = store.Claim(tx, event.WorkRun, item)
				return err
			})
			woken := make(chan error, 1)
			go func() {
				woken <- db.Journal.Do(ctx, db.Account, func(tx event.Tx) error {
					if err := store.SetTimer(tx, "answer", key, storetest.Start); err != nil {
						return err
					}
					return store.Wake(tx, event.WorkRun, item, storetest.Start)
				})
			}()
			slept := false
			if err := db.Journal.Do(ctx, db.Account, func(tx event.Tx) error {
				if err := store.Guard(tx, l); err != nil {
					return err
				}
				var n int
				if err := testSQL.Row(tx, "answers", []any{tx.Account(), key}, &n); err != nil {
					return err
				}
				if slept = n == 0; !slept {
					return store.Finish(tx, l)
				}
				return store.Wait(tx, l)
			}); err != nil {
				t.Fatal(err)
			}
			if err := <-woken; err != nil {
				t.Fatal(err)
			}
			if !slept {
				continue
			}
			ready := false
			list, err := db.Ready(ctx, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				ready = ready || x.ID == item
			}
			if !ready {
				t.Fatalf("round %d: it sleeps with its answer there", i)
			}
		}
	})
}

// TestANodeThatLeavesGivesItsWorkAway: after a stop in order nobody waits for
// its heartbeat to run out.
func TestANodeThatLeavesGivesItsWorkAway(t *testing.T) {
	t.Parallel()
	db := storetest.OpenPostgres(t)
	n := db.Second(t)
	item := db.IDs.New()
	db.Do(t, func(tx event.Tx) error { return store.Enqueue(tx, event.WorkRun, item, "agent:a", storetest.Start) })
	claim := func(d *storetest.DB) error {
		return d.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
			_, err := store.Claim(tx, event.WorkRun, item)
			return err
		})
	}
	if err := claim(n); err != nil {
		t.Fatal(err)
	}
	if err := claim(db); !fault.Is(err, fault.Stale) {
		t.Fatalf("taken from a living node: %v", err)
	}
	n.DB.Close()
	if ready, err := db.Ready(context.Background(), 10); err != nil || len(ready) != 1 {
		t.Fatalf("ready: %v, %v", ready, err)
	}
	if err := claim(db); err != nil {
		t.Fatal(err)
	}
}

// broken fails to fire the timers of one account.
type broken struct {
	bus.Engine
	account id.ID
}

func (b broken) Fire(ctx context.Context, d bus.DueTimer, o event.Origin) (bool, error) {
	if d.Account == b.account {
		return false, fault.New(fault.Corrupt, "its key does not open")
	}
	return b.Engine.Fire(ctx, d, o)
}

// TestOneAccountsTroubleStopsNoOthersTimers: the timer that fails is the oldest,
// and it stays so.
func TestOneAccountsTroubleStopsNoOthersTimers(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	other := db.NewAccount(t)
	for i, a := range []id.ID{db.Account, other} {
		if err := db.Journal.Do(context.Background(), a, func(tx event.Tx) error {
			return store.SetTimer(tx, "x", "y", storetest.Start.Add(time.Duration(i)*time.Second))
		}); err != nil {
			t.Fatal(err)
		}
	}
	db.Clock.Advance(time.Minute)
	timers := bus.NewTimers(broken{db.DB, db.Account}, timerOrigin(t), time.Second, slog.New(slog.DiscardHandler))
	if wait := timers.Once(context.Background()); wait != time.Second {
		t.Errorf("looks again after %v", wait)
	}
	due, _, _, err := db.DueTimers(context.Background(), 10)
	if err != nil || len(due) != 1 || due[0].Account != db.Account {
		t.Fatalf("due: %+v, %v", due, err)
	}
}
