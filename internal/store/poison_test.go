package store_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// hurried is an engine whose clock goes on by two minutes with each scan.
type hurried struct {
	*store.DB
	db *storetest.DB
}

func (h hurried) Ready(ctx context.Context, limit int) ([]event.Lease, error) {
	h.db.Clock.Advance(2 * time.Minute)
	return h.DB.Ready(ctx, limit)
}

// work runs a pool with one worker until stop is closed.
func work(t *testing.T, db *storetest.DB, stop <-chan struct{}, w bus.Worker) {
	t.Helper()
	o := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "pool", "work.held")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = bus.NewPool(hurried{db.DB, db}, o, time.Millisecond, slog.New(slog.DiscardHandler), w).Run(ctx)
	})
	select {
	case <-stop:
	case <-ctx.Done():
		t.Error("the pool did not come to its end")
	}
	cancel()
	wg.Wait()
}

// TestWorkThatAlwaysFailsIsHeldAfterFiveTries: the tries are counted in the row,
// so that a restart forgives none; an error that passes is no try.
func TestWorkThatAlwaysFailsIsHeldAfterFiveTries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		item := db.IDs.New()
		db.Do(t, func(tx event.Tx) error {
			return store.Enqueue(tx, event.WorkDelivery, item, "agent:a", storetest.Start)
		})
		held := make(chan struct{})
		db.React(storetest.Reactions{{Name: "test", On: []event.Type{"work.held"}, Run: func(_ event.Tx, e event.Event) error {
			if h := e.Payload.(event.WorkHeld); h.WorkID == item && h.Reason == "poison" && h.Kind == "delivery" {
				close(held)
			}
			return nil
		}}})
		tries := 0
		fails := func(stopAt int, stop chan struct{}) bus.Worker {
			return bus.Worker{Kind: event.WorkDelivery, Limit: 1, Work: func(ctx context.Context, account, item id.ID) error {
				if err := db.Journal.Do(ctx, account, func(tx event.Tx) error {
					_, err := store.Claim(tx, event.WorkDelivery, item) // a lease that is not given back
					return err
				}); err != nil {
					return err // an offer that was overtaken is no try
				}
				tries++
				if tries == stopAt {
					close(stop)
				}
				switch tries {
				case 1, 2, 3:
					return []error{fault.New(fault.Unavailable, "away"), fault.New(fault.Conflict, "moved"), fault.New(fault.Timeout, "slow")}[tries-1]
				case 5:
					panic("broken")
				}
				return fault.New(fault.Internal, "broken")
			}}
		}
		first := make(chan struct{})
		work(t, db, first, fails(6, first)) // two failures are counted for sure, the third perhaps: the process ends in it
		work(t, db, held, fails(-1, nil))
		if tries < 3+bus.MaxFailures || tries > 3+bus.MaxFailures+1 {
			t.Errorf("tried %d times", tries)
		}
		var list []store.HeldWork
		db.See(t, func(tx event.Tx) (err error) { list, err = store.ListHeld(tx); return err })
		if len(list) != 1 || list[0].ID != item || list[0].Reason != bus.HeldPoison {
			t.Fatalf("held: %+v", list)
		}
		// A person lets it try again, and the count begins anew.
		o := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "work.released")
		if n, _, err := db.ReleaseHeld(context.Background(), db.Account, "person:mira", o); n != 1 || err != nil {
			t.Fatalf("released %d: %v", n, err)
		}
		done, again := make(chan struct{}), 0
		work(t, db, done, bus.Worker{Kind: event.WorkDelivery, Limit: 1, Work: func(ctx context.Context, account, item id.ID) error {
			if again++; again == 1 {
				return fault.New(fault.Corrupt, "broken again")
			}
			defer close(done)
			return db.Journal.Do(ctx, account, func(tx event.Tx) error {
				l, err := store.Claim(tx, event.WorkDelivery, item)
				if err != nil {
					return err
				}
				return store.Finish(tx, l)
			})
		}})
		db.See(t, func(tx event.Tx) (err error) { list, err = store.ListHeld(tx); return err })
		if len(list) != 0 {
			t.Errorf("still held: %+v", list)
		}
	})
}

// TestAWorkerWithALastWordIsAskedForIt: work is given up where its kind knows
// how, and held only when that fails as well.
func TestAWorkerWithALastWordIsAskedForIt(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	item := db.IDs.New()
	db.Do(t, func(tx event.Tx) error { return store.Enqueue(tx, event.WorkRun, item, "agent:a", storetest.Start) })
	held := make(chan struct{})
	db.React(storetest.Reactions{{Name: "test", On: []event.Type{"work.held"}, Run: func(event.Tx, event.Event) error { close(held); return nil }}})
	gaveUp := 0
	work(t, db, held, bus.Worker{Kind: event.WorkRun, Limit: 1,
		Work: func(context.Context, id.ID, id.ID) error { return fault.New(fault.Corrupt, "broken") },
		GiveUp: func(_ context.Context, _, _ id.ID, cause error) error {
			if gaveUp++; gaveUp == 1 {
				return fault.New(fault.Unavailable, "the store is away")
			}
			return cause
		}})
	if gaveUp != 2 {
		t.Errorf("given up %d times", gaveUp)
	}
}
