package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

func openLane(t *testing.T, maxPages int) (*DB, event.Origin) {
	t.Helper()
	c := clock.System{}
	k, err := secret.OpenOrCreate(filepath.Join(t.TempDir(), "keys", "keyring"), secret.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(context.Background(), Options{Dir: t.TempDir(), Clock: c, IDs: id.NewSource(c.Now, nil), Keyring: k,
		Log: slog.New(slog.DiscardHandler), MaxPages: maxPages})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	o, err := event.NewOrigin(event.LayerSystem, event.ClassSystem, "test", "timer.fired")
	if err != nil {
		t.Fatal(err)
	}
	return db, o
}

func say(tx event.Tx, o event.Origin, key string) error {
	if err := SetTimer(tx, "said", key, time.Unix(1, 0)); err != nil {
		return err
	}
	_, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: "said", Key: key},
		Label: event.NewLabel(event.House, event.AccountWide())})
	return err
}

// fillBatch runs eight closures in one batch of the lane and returns which of
// them were acknowledged.
func fillBatch(db *DB, account id.ID, member func(i int) (context.Context, func(tx event.Tx) error)) map[string]bool {
	release := make(chan struct{})
	// Buffered: the lane may be there before anybody waits.
	entered := make(chan struct{}, 1)
	go func() { // holds the lane until all eight wait
		_ = db.Do(context.Background(), id.ID{9, 6: 0x70, 8: 0x80}, func(event.Tx) error {
			select {
			case entered <- struct{}{}:
			default:
			}
			<-release
			return errors.New("nothing")
		})
	}()
	<-entered
	var mu sync.Mutex
	acked := map[string]bool{}
	var wg sync.WaitGroup
	for i := range 8 {
		ctx, f := member(i)
		queued := len(db.lite.lane.queued())
		wg.Go(func() {
			if db.Do(ctx, account, f) == nil {
				mu.Lock()
				acked[fmt.Sprint("m", i)] = true
				mu.Unlock()
			}
		})
		for len(db.lite.lane.queued()) == queued { // in order
			<-time.After(50 * time.Microsecond)
		}
	}
	close(release)
	wg.Wait()
	return acked
}

func (l *lane) queued() (out []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, js := range l.queues[0].byAcct {
		out = append(out, js...)
	}
	return out
}

func durable(t *testing.T, db *DB, account id.ID) (rows, events map[string]bool) {
	t.Helper()
	rows, events = map[string]bool{}, map[string]bool{}
	due, _, _, err := db.DueTimers(context.Background(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range due {
		rows[d.Key] = true
	}
	if err := db.View(context.Background(), account, func(tx event.Tx) error {
		evs, err := EventsAfter(tx, 0, 1000)
		for _, e := range evs {
			if events[e.Payload.(event.TimerFired).Key] {
				t.Errorf("%s stands twice", e.Payload.(event.TimerFired).Key)
			}
			events[e.Payload.(event.TimerFired).Key] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyChain(context.Background(), db, account, nil); err != nil {
		t.Fatal(err)
	}
	return rows, events
}

// TestTheAcknowledgedSetIsTheDurableSet breaks a batch of eight at every
// position, in every way that experiment F1 found to corrupt a lane of savepoints.
func TestTheAcknowledgedSetIsTheDurableSet(t *testing.T) {
	t.Parallel()
	ioerr := errors.New("disk I/O error (10)")
	ways := map[string]func(db *DB, o event.Origin, pos int) func(i int) (context.Context, func(event.Tx) error){
		"the caller is cancelled in mid-statement": func(_ *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			return func(i int) (context.Context, func(event.Tx) error) {
				ctx, cancel := context.WithCancel(context.Background())
				return ctx, func(tx event.Tx) error {
					if err := say(tx, o, fmt.Sprint("m", i)); err != nil {
						return err
					}
					if i == pos {
						cancel()
					}
					return SetTimer(tx, "more", fmt.Sprint("m", i), time.Unix(1, 0))
				}
			}
		},
		"a refusal after a write": func(_ *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			return func(i int) (context.Context, func(event.Tx) error) {
				return context.Background(), func(tx event.Tx) error {
					if err := say(tx, o, fmt.Sprint("m", i)); err != nil || i != pos {
						return err
					}
					return errors.New("refused late")
				}
			}
		},
		"the page limit is reached": func(_ *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			return func(i int) (context.Context, func(event.Tx) error) {
				return context.Background(), func(tx event.Tx) error {
					if i == pos {
						if err := SetTimer(tx, strings.Repeat("x", 8<<20), "big", time.Unix(1, 0)); err == nil {
							return errors.New("the page limit did not bite")
						}
					}
					return say(tx, o, fmt.Sprint("m", i))
				}
			}
		},
		"a closure swallows an engine error": func(_ *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			return func(i int) (context.Context, func(event.Tx) error) {
				return context.Background(), func(tx event.Tx) error {
					err := say(tx, o, fmt.Sprint("m", i))
					if i == pos {
						_ = SetTimer(tx, strings.Repeat("x", 8<<20), "big", time.Unix(1, 0))
					}
					return err
				}
			}
		},
		"a panic": func(_ *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			return func(i int) (context.Context, func(event.Tx) error) {
				return context.Background(), func(tx event.Tx) error {
					if err := say(tx, o, fmt.Sprint("m", i)); err != nil {
						return err
					}
					if i == pos {
						panic("broken closure")
					}
					return nil
				}
			}
		},
	}
	for name, after := range map[string]bool{"IOERR before a statement": false, "IOERR after a statement": true} {
		ways[name] = func(db *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			n := 0
			db.lite.inject = func(text string) (error, error) {
				if strings.HasPrefix(text, "INSERT INTO timers") {
					if n++; n == pos+1 {
						if after {
							return nil, ioerr
						}
						return ioerr, nil
					}
				}
				return nil, nil
			}
			return plain(o)
		}
	}
	for name, after := range map[string]bool{"COMMIT fails": false, "COMMIT fails though it landed": true} {
		ways[name] = func(db *DB, o event.Origin, pos int) func(int) (context.Context, func(event.Tx) error) {
			n, events := 0, false
			db.lite.inject = func(text string) (error, error) {
				events = events || strings.HasPrefix(text, "INSERT INTO events")
				if text == "COMMIT" && events { // the batch's own, then that of a member alone
					if n++; n == 1+pos%2 {
						if after {
							return nil, ioerr
						}
						return ioerr, nil
					}
				}
				return nil, nil
			}
			return plain(o)
		}
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for pos := range 8 {
				db, o := openLane(t, 400)
				account := db.ids.New()
				member := way(db, o, pos)
				db.lite.lane.reset()
				acked := fillBatch(db, account, member)
				rows, events := durable(t, db, account)
				for i := range 8 {
					k := fmt.Sprint("m", i)
					if acked[k] != rows[k] || acked[k] != events[k] {
						t.Fatalf("position %d: %s acknowledged=%v, row=%v, event=%v", pos, k, acked[k], rows[k], events[k])
					}
				}
				if len(acked) < 7 {
					t.Fatalf("position %d: only %d of 8 acknowledged", pos, len(acked))
				}
			}
		})
	}
}

func plain(o event.Origin) func(int) (context.Context, func(event.Tx) error) {
	return func(i int) (context.Context, func(event.Tx) error) {
		return context.Background(), func(tx event.Tx) error { return say(tx, o, fmt.Sprint("m", i)) }
	}
}

// reset makes the lane's connection take up the injector: a closure runs on the
// lane's own goroutine.
func (l *lane) reset() {
	_ = l.do(context.Background(), id.ID{8, 6: 0x70, 8: 0x80}, func(event.Tx) error { l.eng.ex.inject = l.eng.inject; return nil }, false)
}
