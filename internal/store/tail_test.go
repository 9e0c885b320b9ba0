package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

var errEnough = errors.New("enough")

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func emitSome(t testing.TB, db *storetest.DB, o event.Origin, n int) {
	t.Helper()
	for i := range n {
		db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft(fmt.Sprint(i))); return err })
	}
}

func tip(t testing.TB, db *storetest.DB) (out bus.Tip) {
	t.Helper()
	db.See(t, func(tx event.Tx) (err error) { out, _, err = store.HeadOf(tx); return err })
	return out
}

// deaf is an engine whose wake-ups do not come: what a tail reads on a node that
// has not heard yet of another node's commits.
type deaf struct{ bus.Engine }

type silence struct {
	bus.Watch
	c chan struct{}
}

func (s silence) Wake() <-chan struct{} { return s.c }

func (d deaf) Watch(account id.ID) bus.Watch {
	return silence{d.Engine.Watch(account), make(chan struct{})}
}

// TestAReaderAheadOfTheSharedReadIsNotReset: a reader that has just been told of
// a commit joins a feed that has not read it yet. Its position is a good one.
func TestAReaderAheadOfTheSharedReadIsNotReset(t *testing.T) {
	t.Parallel()
	db, o := storetest.OpenSQLite(t), timerOrigin(t)
	tails := bus.NewTails(deaf{db.DB}, quiet())
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	joined := make(chan struct{})
	wg.Go(func() { // the feed stands at the tip of now
		_ = tails.Follow(ctx, db.Account, bus.Tip{Epoch: 1}, func(bus.Batch) error { close(joined); return nil })
	})
	<-joined
	emitSome(t, db, o, 3)
	at := tip(t, db)
	emitSome(t, db, o, 1)
	if err := tails.Follow(ctx, db.Account, at, func(b bus.Batch) error {
		if b.Reset || len(b.Marks) != 1 || b.Marks[0].Seq != at.Seq+1 {
			t.Errorf("the reader at %+v got %+v", at, b)
		}
		return errEnough
	}); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	err := tails.Follow(ctx, db.Account, bus.Tip{Epoch: 1, Seq: 1000}, func(b bus.Batch) error { // never was
		if !b.Reset {
			t.Errorf("a position ahead of the journal got %+v", b)
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
}

// TestANewEpochEndsTheTails: readers come again and are told that their position
// is void.
func TestANewEpochEndsTheTails(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "epoch.started")
		tails := bus.NewTails(db.DB, quiet())
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		at := tip(t, db)
		var once sync.Once
		err := tails.Follow(ctx, db.Account, bus.Tip{Epoch: 1}, func(bus.Batch) error {
			once.Do(func() {
				if err := db.BeginEpoch(ctx, db.Account, 0, o); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
		if err != nil {
			t.Fatalf("the tail ended with %v", err)
		}
		if err := tails.Follow(ctx, db.Account, at, func(b bus.Batch) error {
			if !b.Reset || b.Epoch != 2 {
				t.Errorf("got %+v", b)
			}
			return errEnough
		}); !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
	})
}

// forgetful keeps no marks: the feed reads the journal, as it does for another
// node's commits.
type forgetful struct{ bus.Watch }

func (f forgetful) Take() (bus.Tip, []bus.Mark, bool) {
	tip, _, _ := f.Watch.Take()
	return tip, nil, false
}

// flaky keeps no marks and fails one read of them.
type flaky struct {
	bus.Engine
	fail atomic.Bool
}

func (f *flaky) Watch(account id.ID) bus.Watch { return forgetful{f.Engine.Watch(account)} }

func (f *flaky) MarksAfter(tx event.Tx, after int64, limit int) ([]bus.Mark, error) {
	if f.fail.CompareAndSwap(true, false) {
		return nil, fault.New(fault.Unavailable, "the database went away")
	}
	return f.Engine.MarksAfter(tx, after, limit)
}

// TestAFailedReadOfATailIsTriedAgain: the wake-up of the last commit is spent,
// and there may be no other for hours.
func TestAFailedReadOfATailIsTriedAgain(t *testing.T) {
	t.Parallel()
	db, o := storetest.OpenSQLite(t), timerOrigin(t)
	e := &flaky{Engine: db.DB}
	tails := bus.NewTails(e, quiet())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	emitSome(t, db, o, 1)
	at := tip(t, db)
	err := tails.Follow(ctx, db.Account, bus.Tip{Epoch: 1, Seq: at.Seq - 1}, func(b bus.Batch) error {
		if b.Marks[len(b.Marks)-1].Seq > at.Seq {
			return errEnough
		}
		go func() { // once the reader waits for the feed
			<-time.After(20 * time.Millisecond)
			e.fail.Store(true)
			emitSome(t, db, o, 1)
		}()
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
}

// reading counts the reads of marks.
type reading struct {
	bus.Engine
	n atomic.Int64
}

func (r *reading) MarksAfter(tx event.Tx, after int64, limit int) ([]bus.Mark, error) {
	r.n.Add(1)
	return r.Engine.MarksAfter(tx, after, limit)
}

// TestOwnCommitsCostTheTailsNoRead: what this node wrote itself is handed on as
// it was written, the same marks that the journal would give.
func TestOwnCommitsCostTheTailsNoRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o, e := timerOrigin(t), &reading{Engine: db.DB}
		tails := bus.NewTails(e, quiet())
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		emitSome(t, db, o, 1)
		from := tip(t, db)
		const more = 50
		var got []bus.Mark
		var joined int64
		err := tails.Follow(ctx, db.Account, bus.Tip{Epoch: 1, Seq: from.Seq - 1}, func(b bus.Batch) error {
			if joined == 0 {
				joined = e.n.Load()
				go emitSome(t, db, o, more) // ends before the test does: all of it is awaited below
				return nil
			}
			if got = append(got, b.Marks...); len(got) == more {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		if n := e.n.Load() - joined; n > more/10 { // one on joining; on PostgreSQL the poll of the heads may be first
			t.Errorf("%d reads for %d commits", n, more)
		}
		db.See(t, func(tx event.Tx) error {
			want, err := store.MarksAfter(tx, from.Seq, more)
			if !slices.Equal(got, want) {
				t.Errorf("handed on %v, the journal has %v", got, want)
			}
			return err
		})
	})
}

// TestTailsUnderLoad: fast and slow readers see every event once and in order,
// whenever they join.
func TestTailsUnderLoad(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		tails := bus.NewTails(db.DB, quiet())
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		const events = 900
		var wg sync.WaitGroup
		for r := range 6 {
			wg.Go(func() {
				<-time.After(time.Duration(r) * 10 * time.Millisecond)
				at := int64(0)
				err := tails.Follow(ctx, db.Account, bus.Tip{Epoch: 1}, func(b bus.Batch) error {
					for _, m := range b.Marks {
						if m.Seq != at+1 {
							return fmt.Errorf("%d after %d", m.Seq, at)
						}
						at = m.Seq
					}
					if at >= events+1 {
						return errEnough
					}
					if r%2 == 1 {
						<-time.After(2 * time.Millisecond)
					}
					return nil
				})
				if !errors.Is(err, errEnough) {
					t.Errorf("reader %d: %v", r, err)
				}
			})
		}
		for w := range 3 {
			wg.Go(func() {
				for range events / 3 {
					if err := db.Journal.Do(ctx, db.Account, func(tx event.Tx) error { _, err := tx.Emit(o, draft(fmt.Sprint(w))); return err }); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}
