package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// witness is a reaction that writes down, in its own transaction, when it saw
// which event of a stream: the n-th.
type witness struct {
	db    *storetest.DB
	o     event.Origin
	mu    sync.Mutex
	tries map[id.ID]int // guarded by mu
}

func (w *witness) run(tx event.Tx, e event.Event) error {
	w.mu.Lock()
	w.tries[e.ID]++
	try := w.tries[e.ID]
	w.mu.Unlock()
	var n int
	if err := testSQL.Row(tx, "seen", []any{tx.Account(), e.Stream.String() + "/%"}, &n); err != nil {
		return err
	}
	if err := store.SetTimer(tx, "seen", fmt.Sprintf("%s/%06d/%s", e.Stream, n, e.ID), storetest.Start); err != nil {
		return err
	}
	p := e.Payload.(event.TimerFired)
	switch {
	case p.Kind == "bad" && try <= 2: // inline, and with others in the router
		return errors.New("not yet")
	case p.Kind == "panic" && try == 1:
		panic("not yet")
	}
	if p.Kind == "chain" && p.DueAt > 0 { // deeper than a transaction goes
		_, err := tx.Emit(w.o, event.Draft{Payload: event.TimerFired{Kind: "chain", Key: "x", DueAt: p.DueAt - 1}, Stream: e.Stream, Causes: []event.Ref{e.Ref()}})
		return err
	}
	return nil
}

// TestReactionsTakeEffectOnceAndInOrder: writers on every node, reactions that
// fail, panic and go deeper than a transaction, routers that meet each other. Per
// stream the effects are those of the journal, in its order, each once (INV-4).
func TestReactionsTakeEffectOnceAndInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := &witness{db: db, o: timerOrigin(t), tries: map[id.ID]int{}}
		table, err := bus.NewTable(
			bus.Reaction{Name: "witness", On: []event.Type{"timer.fired"}, Run: w.run},
			bus.Reaction{Name: "other", On: []event.Type{"timer.fired"}, Run: func(event.Tx, event.Event) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		nodes := []*storetest.DB{db}
		if db.Options.URL != "" {
			nodes = append(nodes, db.Second(t))
		}
		router := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "router", "subscriber.parked", "subscriber.unparked")
		streams := []id.ID{db.IDs.New(), db.IDs.New(), db.IDs.New()}
		ctx, cancel := context.WithCancel(context.Background())
		one := bus.NewRouter(db.DB, table, router, time.Hour, slog.New(slog.DiscardHandler))
		var writers, routers sync.WaitGroup
		for k, n := range nodes {
			n.React(table)
			r := bus.NewRouter(n.DB, table, router, 3*time.Millisecond, slog.New(slog.DiscardHandler))
			routers.Go(func() { _ = r.Run(ctx) })
			for wr := range 4 {
				writers.Go(func() {
					for i := range 25 {
						kind, left := "good", int64(0)
						switch i % 8 {
						case 3:
							kind = "bad"
						case 5:
							kind = "panic"
						case 7:
							kind, left = "chain", 19
						}
						if err := n.Journal.Do(ctx, db.Account, func(tx event.Tx) error {
							for s := range 1 + i%2 {
								d := draft("x")
								d.Payload, d.Stream = event.TimerFired{Kind: kind, Key: "x", DueAt: left}, streams[(i+wr+k+s)%len(streams)]
								if _, err := tx.Emit(w.o, d); err != nil {
									return err
								}
							}
							return nil
						}); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		writers.Wait()
		for i := 0; ; i++ {
			accounts, err := db.DeferredAccounts(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(accounts) == 0 {
				break
			}
			if i > 3000 {
				t.Fatal("the routers do not come to an end")
			}
			<-time.After(10 * time.Millisecond)
			var parked []bus.Deferred // two routers that meet the same failure
			db.See(t, func(tx event.Tx) (err error) { parked, err = store.Parked(tx, 10); return err })
			for _, d := range parked {
				if err := one.Unpark(ctx, db.Account, "person:x", d.Subscriber, d.Stream, false); err != nil && !fault.Is(err, fault.NotFound) { // the other router had it in hand
					t.Fatal(err)
				}
			}
		}
		cancel()
		routers.Wait()
		want := map[string][]string{}
		for _, e := range db.Events(t) {
			if e.Type == "timer.fired" {
				want[e.Stream.String()] = append(want[e.Stream.String()], e.ID.String())
			}
		}
		due, _, _, err := db.DueTimers(context.Background(), 100_000)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, d := range due {
			keys = append(keys, d.Key)
		}
		slices.Sort(keys)
		got := map[string][]string{}
		for _, k := range keys {
			f := strings.Split(k, "/")
			got[f[0]] = append(got[f[0]], f[2])
		}
		for s, w := range want {
			if !slices.Equal(got[s], w) {
				for i := range w {
					if i >= len(got[s]) || got[s][i] != w[i] {
						t.Fatalf("stream %s: %d events, %d effects; the first wrong one is %d", s, len(w), len(got[s]), i)
					}
				}
				t.Fatalf("stream %s: %d events, %d effects", s, len(w), len(got[s]))
			}
		}
	})
}

// TestAWorkerGetsWhatComesMeanwhile: work that is woken while its worker is still
// busy with it is looked at again, and work beyond the queue's bound is found.
func TestAWorkerGetsWhatComesMeanwhile(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	item := db.IDs.New()
	db.Do(t, func(tx event.Tx) error { return store.Enqueue(tx, event.WorkRun, item, "agent:a", storetest.Start) })
	var rounds atomic.Int64
	done := make(chan struct{})
	pool := bus.NewPool(db.DB, event.Origin{}, time.Hour, slog.New(slog.DiscardHandler), bus.Worker{Kind: event.WorkRun, Limit: 4,
		Work: func(ctx context.Context, account, item id.ID) error {
			return db.Journal.Do(ctx, account, func(tx event.Tx) error {
				l, err := store.Claim(tx, event.WorkRun, item)
				if err != nil {
					return err
				}
				if rounds.Load() == 0 {
					rounds.Add(1)
					if err := store.Wait(tx, l); err != nil {
						return err
					}
					// Committed with the sleep, offered while this worker is still busy.
					return store.Wake(tx, event.WorkRun, item, storetest.Start)
				}
				close(done)
				return store.Finish(tx, l)
			})
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = pool.Run(ctx) })
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("the second look never came")
	}
	cancel()
	wg.Wait()
}
