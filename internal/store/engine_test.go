package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

func timerOrigin(t testing.TB) event.Origin {
	return storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "timer.fired")
}

func draft(key string) event.Draft {
	return event.Draft{Payload: event.TimerFired{Kind: "test", Key: key}, Label: storetest.House(), Summary: "A test fact."}
}

func TestEventsCommitWithTheirRowsAndReadBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		var stream = db.IDs.New()
		db.Do(t, func(tx event.Tx) error {
			d := draft("a")
			d.Stream = stream
			if _, err := tx.Emit(o, d); err != nil {
				return err
			}
			return store.SetTimer(tx, "k", "a", db.Clock.Now())
		})
		evs := db.Events(t)
		if len(evs) != 2 || evs[1].Seq != 2 || evs[1].Stream != stream {
			t.Fatalf("events: %+v", evs)
		}
		if p, ok := evs[1].Payload.(event.TimerFired); !ok || p.Key != "a" || evs[1].Summary != "A test fact." {
			t.Fatalf("payload came back as %#v", evs[1].Payload)
		}
	})
}

func TestARefusalLeavesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		no := fault.New(fault.Denied, "no")
		for _, write := range []bool{false, true} {
			err := db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
				if write {
					if err := store.SetTimer(tx, "k", "gone", db.Clock.Now()); err != nil {
						return err
					}
				}
				if _, err := tx.Emit(o, draft("gone")); err != nil {
					return err
				}
				return no
			})
			if !errors.Is(err, no) {
				t.Fatalf("write=%v: got %v", write, err)
			}
		}
		if n := len(db.Events(t)); n != 1 {
			t.Fatalf("%d events after refusals, want 1", n)
		}
		due, _, _, err := db.DueTimers(context.Background(), 10)
		if err != nil || len(due) != 0 {
			t.Fatalf("timers left: %v, %v", due, err)
		}
	})
}

func TestSeqIsDenseUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		const writers, each = 16, 25
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					err := db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
						if i%5 == 4 && w%2 == 0 {
							return fault.New(fault.Invalid, "refused")
						}
						_, err := tx.Emit(o, draft(fmt.Sprint(w, "-", i)))
						return err
					})
					if err != nil && !fault.Is(err, fault.Invalid) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		evs := db.Events(t)
		for i, e := range evs {
			if e.Seq != int64(i+1) {
				t.Fatalf("event %d has seq %d", i, e.Seq)
			}
		}
		if want := 1 + writers*each - 8*5; len(evs) != want {
			t.Fatalf("%d events, want %d", len(evs), want)
		}
	})
}

func TestReactionsRunInTheAppendingTransaction(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		db.React(storetest.Reactions{{Name: "copy", On: []event.Type{"timer.fired"}, Run: func(tx event.Tx, e event.Event) error {
			if p := e.Payload.(event.TimerFired); p.Key == "first" {
				_, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: "test", Key: "second"}, Causes: []event.Ref{e.Ref()}})
				return err
			}
			return nil
		}}})
		before := db.Commits()
		db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft("first")); return err })
		if n := db.Commits() - before; n != 1 {
			t.Fatalf("%d commits for an event and its reaction, want 1", n)
		}
		evs := db.Events(t)
		if len(evs) != 3 || evs[2].Causation != evs[1].ID || evs[2].Correlation != evs[1].ID {
			t.Fatalf("reaction's event is not linked: %+v", evs[1:])
		}
	})
}

func TestAFailingReactionIsLeftToTheRouterAndTheAppendIsNotLost(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		db.React(storetest.Reactions{
			{Name: "bad", On: []event.Type{"timer.fired"}, Run: func(tx event.Tx, e event.Event) error {
				if err := store.SetTimer(tx, "bad", e.ID.String(), db.Clock.Now()); err != nil {
					return err
				}
				panic("broken handler")
			}},
			{Name: "good", On: []event.Type{"timer.fired"}, Run: func(tx event.Tx, e event.Event) error {
				return store.SetTimer(tx, "good", e.ID.String(), db.Clock.Now())
			}},
		})
		for range 3 {
			db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft("x")); return err })
		}
		due, _, _, err := db.DueTimers(context.Background(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range due {
			if d.Kind != "good" {
				t.Fatalf("a failed reaction left rows: %+v", d)
			}
		}
		if len(due) != 3 || len(db.Events(t)) != 4 {
			t.Fatalf("%d good rows, %d events; want 3 and 4", len(due), len(db.Events(t)))
		}
	})
}

func TestEngineQueries(t *testing.T) {
	t.Parallel()
	for _, q := range store.EngineQueries() {
		storetest.Queries(t, q)
	}
}
