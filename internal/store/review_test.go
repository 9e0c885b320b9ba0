package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
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

// sayOf says something of a subject.
func sayOf(tx event.Tx, o event.Origin, subject id.ID, key string) error {
	_, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: "said", Key: key}, Subject: subject,
		Label: event.NewLabel(event.House, event.AccountWide())})
	return err
}

// occupy holds the lane until the returned function is called.
func occupy(db *DB) (release func()) {
	entered, leave := make(chan struct{}), make(chan struct{})
	go func() {
		_ = db.Do(context.Background(), id.ID{9, 6: 0x70, 8: 0x80}, func(event.Tx) error {
			close(entered)
			<-leave
			return errors.New("nothing")
		})
	}()
	<-entered
	return func() { close(leave) }
}

// waiting counts the jobs that wait for the lane.
func (l *lane) waiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.queues {
		for _, js := range l.queues[k].byAcct {
			n += len(js)
		}
	}
	return n
}

func awaitQueue(db *DB, n int) {
	for db.lite.lane.waiting() < n {
		<-time.After(50 * time.Microsecond)
	}
}

func readAll(t *testing.T, db *DB, account id.ID) (out []event.Event) {
	t.Helper()
	if err := db.View(context.Background(), account, func(tx event.Tx) (err error) {
		out, err = EventsAfter(tx, 0, 10_000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAKeyOfAVoidedBatchIsForgotten: the first member of a batch makes a
// subject's key, the second reads its row, and the batch is rolled back. What is
// sealed afterwards must open with a key that has a row.
func TestAKeyOfAVoidedBatchIsForgotten(t *testing.T) {
	t.Parallel()
	db, o := openLane(t, 0)
	account, subject := db.ids.New(), db.ids.New()
	commits, events := 0, false
	db.lite.inject = func(text string) (error, error) {
		events = events || strings.HasPrefix(text, "INSERT INTO events")
		if text == "COMMIT" && events {
			if commits++; commits == 1 {
				return errors.New("disk I/O error (10)"), nil
			}
		}
		return nil, nil
	}
	db.lite.lane.reset()
	acked := fillBatch(db, account, func(i int) (context.Context, func(event.Tx) error) {
		return context.Background(), func(tx event.Tx) error { return sayOf(tx, o, subject, fmt.Sprint("m", i)) }
	})
	if len(acked) != 8 || commits < 2 {
		t.Fatalf("%d acknowledged, %d commits", len(acked), commits)
	}
	db.keys.dropAccount(account) // a restart
	for _, e := range readAll(t, db, account) {
		if e.Erased {
			t.Fatalf("event %d cannot be opened any more", e.Seq)
		}
	}
}

// TestAnErasureTakesWhatWasSaidBeforeItInOneBatch: acknowledged before the
// erasure, in the same turn of the lane, and yet gone with it.
func TestAnErasureTakesWhatWasSaidBeforeItInOneBatch(t *testing.T) {
	t.Parallel()
	db, o := openLane(t, 0)
	sys, err := event.NewOrigin(event.LayerSystem, event.ClassSystem, "test", "subject.erased")
	if err != nil {
		t.Fatal(err)
	}
	account, subject := db.ids.New(), db.ids.New()
	release := occupy(db)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if err := db.Do(context.Background(), account, func(tx event.Tx) error { return sayOf(tx, o, subject, fmt.Sprint("before", i)) }); err != nil {
				t.Error(err)
			}
		})
	}
	awaitQueue(db, 4)
	wg.Go(func() {
		if err := db.Erase(context.Background(), account, subject, "person:x", sys); err != nil {
			t.Error(err)
		}
	})
	awaitQueue(db, 5)
	release()
	wg.Wait()
	if err := db.Do(context.Background(), account, func(tx event.Tx) error { return sayOf(tx, o, subject, "after") }); err != nil {
		t.Fatal(err)
	}
	for _, e := range readAll(t, db, account) {
		if p, ok := e.Payload.(event.TimerFired); ok && p.Key != "after" {
			t.Errorf("event %d of the erased subject can be read: %s", e.Seq, p.Key)
		} else if e.Erased && e.Seq == 6 {
			t.Error("what is said after an erasure must be readable")
		}
	}
	if _, err := VerifyChain(context.Background(), db, account, nil); err != nil {
		t.Fatal(err)
	}
}

// TestTheEpochIsPublishedAsItIs: tails of this process learn the new epoch with
// its first event, and erasing does not leave the lane with an old key epoch.
func TestTheEpochIsPublishedAsItIs(t *testing.T) {
	t.Parallel()
	db, o := openLane(t, 0)
	sys, err := event.NewOrigin(event.LayerSystem, event.ClassSystem, "test", "epoch.started")
	if err != nil {
		t.Fatal(err)
	}
	account := db.ids.New()
	say := func(tx event.Tx) error { return sayOf(tx, o, account, "x") }
	if err := db.Do(context.Background(), account, say); err != nil {
		t.Fatal(err)
	}
	if err := db.BeginEpoch(context.Background(), account, 0, sys); err != nil {
		t.Fatal(err)
	}
	var tip Tip
	for i := 0; tip.Seq < 2; i++ { // the hub is told after the answer
		if i > 1000 {
			t.Fatalf("the hub knows %+v", tip)
		}
		<-time.After(time.Millisecond)
		db.hub.mu.Lock()
		tip = db.hub.tips[account]
		db.hub.mu.Unlock()
	}
	if tip.Epoch != 2 {
		t.Fatalf("the hub knows %+v", tip)
	}
}

// TestBulkWorkGetsItsTurn: an interactive load that never ends does not keep an
// erasure or the router waiting for ever.
func TestBulkWorkGetsItsTurn(t *testing.T) {
	t.Parallel()
	l := &lane{}
	a := id.ID{1}
	for range 3 * patience {
		l.queues[0].push(&job{account: a})
	}
	bulk := &job{account: a}
	l.queues[1].push(bulk)
	for i := 0; ; i++ {
		if i > patience {
			t.Fatalf("%d interactive jobs passed it", i)
		}
		if l.next() == bulk {
			break
		}
	}
}

// TestTheLogOfTheDatabaseShrinksAgain: once no reader holds an old snapshot the
// write-ahead log goes back to its bound.
func TestTheLogOfTheDatabaseShrinksAgain(t *testing.T) {
	t.Parallel()
	k, err := secret.OpenOrCreate(filepath.Join(t.TempDir(), "keys", "keyring"), secret.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(context.Background(), Options{Dir: t.TempDir(), Clock: clock.System{}, IDs: id.NewSource(clock.System{}.Now, nil),
		Keyring: k, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	account := db.ids.New()
	write := func(n int, text string) {
		for i := range n {
			if err := db.Do(context.Background(), account, func(tx event.Tx) error {
				return SetTimer(tx, text, fmt.Sprint(i), time.Unix(1<<40, 0))
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- db.View(context.Background(), account, func(tx event.Tx) error {
			_, _, err := HeadOf(tx)
			close(held)
			<-leave
			return err
		})
	}()
	<-held
	write(60, strings.Repeat("x", 1<<20))
	if n := db.lite.walSize(); n < walHard {
		t.Fatalf("the log has %d bytes: nothing to shrink", n)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i := 0; db.lite.walSize() > walHard; i++ {
		if i > 100 {
			t.Fatalf("the log still has %d bytes", db.lite.walSize())
		}
		write(1, "small")
		<-time.After(20 * time.Millisecond)
	}
}

// TestAnErasedKeyLeavesTheFiles: not even the log beside the database holds the
// wrapped key for long.
func TestAnErasedKeyLeavesTheFiles(t *testing.T) {
	t.Parallel()
	db, o := openLane(t, 0)
	sys, err := event.NewOrigin(event.LayerSystem, event.ClassSystem, "test", "subject.erased")
	if err != nil {
		t.Fatal(err)
	}
	account, subject := db.ids.New(), db.ids.New()
	if err := db.Do(context.Background(), account, func(tx event.Tx) error { return sayOf(tx, o, subject, "x") }); err != nil {
		t.Fatal(err)
	}
	var wrapped []byte
	if err := db.View(context.Background(), account, func(tx event.Tx) error {
		var made int64
		return keySQL.Row(tx, "get_key", []any{account, subject}, &wrapped, &made)
	}); err != nil {
		t.Fatal(err)
	}
	holds := func() (in []string) {
		for _, name := range []string{dbFile, dbFile + "-wal"} {
			if b, err := os.ReadFile(filepath.Join(db.opts.Dir, name)); err == nil && bytes.Contains(b, wrapped) {
				in = append(in, name)
			}
		}
		return in
	}
	if len(holds()) == 0 {
		t.Fatal("the test does not see the key where it is")
	}
	seen, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() { // an old snapshot keeps the log as it is for a while
		done <- db.View(context.Background(), account, func(tx event.Tx) error {
			_, _, err := HeadOf(tx)
			close(seen)
			<-leave
			return err
		})
	}()
	<-seen
	if err := db.Erase(context.Background(), account, subject, "person:x", sys); err != nil {
		t.Fatal(err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i := 0; len(holds()) > 0; i++ {
		if i > 300 {
			t.Fatalf("the key is still in %v", holds())
		}
		<-time.After(10 * time.Millisecond)
	}
}
