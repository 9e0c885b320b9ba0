package store_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// TestARestoreThatIsCutOffRepeatsNothing: the copy is in its place, and nobody
// began an epoch. A plain start finds no work and no timer of the past.
func TestARestoreThatIsCutOffRepeatsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		ctx := context.Background()
		waits := db.IDs.New()
		db.Do(t, func(tx event.Tx) error {
			if err := store.SetTimer(tx, "remind", "x", db.Clock.Now()); err != nil {
				return err
			}
			if err := store.Enqueue(tx, event.WorkRun, waits, "agent:a", db.Clock.Now()); err != nil {
				return err
			}
			return store.Enqueue(tx, event.WorkEffect, db.IDs.New(), "agent:a", db.Clock.Now())
		})
		dir := filepath.Join(t.TempDir(), "backup")
		blobs := t.TempDir()
		if err := os.WriteFile(filepath.Join(blobs, "a"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := db.Backup(ctx, dir, map[string]string{"blobs": blobs})
		if err != nil {
			t.Fatal(err)
		}
		n := &storetest.DB{Clock: db.Clock, IDs: db.IDs, Options: db.Options, Account: db.Account}
		if db.Options.URL == "" {
			n.Options.Dir = filepath.Join(t.TempDir(), "restored")
			to := filepath.Join(t.TempDir(), "blobs")
			// A first try that died on the way: half a file here, half a database there.
			for path, half := range map[string]string{filepath.Join(to, "a"): "con", filepath.Join(n.Options.Dir, "restoring-witan.db"): "SQLi"} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(half), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := store.RestoreSQLite(ctx, dir, n.Options.Dir, n.Options.Keyring.Path(), map[string]string{"blobs": to}); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(to, "a")); err != nil || string(b) != "content" {
				t.Fatalf("the file came back as %q, %v", b, err)
			}
			n.Reopen(t)
		} else {
			if n.Options.URL, err = storetest.Postgres(t).Create(); err != nil {
				t.Fatal(err)
			}
			n.Reopen(t)
			if err := n.LoadPostgres(ctx, dir); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { n.DB.Close() })
		if ready, err := n.Ready(ctx, 10); err != nil || len(ready) != 0 {
			t.Errorf("work of the past is ready: %v, %v", ready, err)
		}
		if due, _, _, err := n.DueTimers(ctx, 10); err != nil || len(due) != 0 {
			t.Errorf("timers of the past are due: %v, %v", due, err)
		}
		if err := n.Journal.Do(ctx, n.Account, func(tx event.Tx) error { _, err := store.Claim(tx, event.WorkRun, waits); return err }); !fault.Is(err, fault.Stale) {
			t.Errorf("it can be claimed: %v", err)
		}
		sys := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "epoch.started")
		if err := n.BeginEpoch(ctx, n.Account, m.At.UnixMicro(), sys); err != nil {
			t.Fatal(err)
		}
		evs := n.Events(t)
		if p := evs[len(evs)-1].Payload.(event.EpochStarted); p.Held != 2 || p.Schedules != 1 {
			t.Errorf("the new epoch says %+v", p)
		}
		let := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "work.released")
		work, timers, err := n.ReleaseHeld(ctx, n.Account, "person:x", let)
		if err != nil || work != 1 || timers != 1 { // the effect stays
			t.Errorf("released %d and %d, %v", work, timers, err)
		}
		if ready, err := n.Ready(ctx, 10); err != nil || len(ready) != 1 || ready[0].ID != waits {
			t.Errorf("after the release %v is ready, %v", ready, err)
		}
		if due, _, _, err := n.DueTimers(ctx, 10); err != nil || len(due) != 1 {
			t.Errorf("after the release %v is due, %v", due, err)
		}
		if _, _, err := n.ReleaseHeld(ctx, n.Account, "person:x", let); !fault.Is(err, fault.Conflict) {
			t.Errorf("a second release: %v", err)
		}
	})
}

// TestABackupHoldsItsTipsAndItsKeys: the signed tips of a backup made under load
// are in the copy, and so is the key that the newest event needs.
func TestABackupHoldsItsTipsAndItsKeys(t *testing.T) {
	t.Parallel()
	db, o := storetest.OpenSQLite(t), timerOrigin(t)
	emitSome(t, db, o, 30)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := db.Options.Keyring.Rotate(secret.PurposeAccount); err != nil {
				t.Error(err)
			}
			_ = db.Journal.Do(ctx, db.IDs.New(), func(tx event.Tx) error { _, err := tx.Emit(o, draft("x")); return err })
		}
	})
	<-time.After(20 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "backup")
	m, err := db.Backup(context.Background(), dir, nil)
	cancel()
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "restored")
	keys := filepath.Join(t.TempDir(), "keys", "keyring")
	if err := store.RestoreSQLite(context.Background(), dir, to, keys, nil); err != nil {
		t.Fatal(err)
	}
	n := &storetest.DB{Clock: db.Clock, IDs: db.IDs, Options: db.Options, Account: db.Account}
	n.Options.Dir = to
	if n.Options.Keyring, err = secret.Open(keys, secret.Options{}); err != nil {
		t.Fatal(err)
	}
	n.Reopen(t)
	t.Cleanup(func() { n.DB.Close() })
	accounts, err := store.Accounts(context.Background(), n.Journal)
	if err != nil || len(accounts) < 2 {
		t.Fatalf("%d accounts, %v", len(accounts), err)
	}
	for _, a := range accounts {
		if _, err := store.VerifyChain(context.Background(), n.Journal, a, m.Heads); err != nil {
			t.Errorf("account %s: %v", a, err)
		}
		if err := n.Journal.View(context.Background(), a, func(tx event.Tx) error {
			_, err := store.EventsAfter(tx, 0, 100)
			return err
		}); err != nil {
			t.Errorf("account %s: %v", a, err)
		}
	}
}

// TestTwoCutsDoNotCrossEachOther: a segment that was written from another
// beginning is refused and leaves no archive, and nothing is cut that a reaction
// still waits for.
func TestTwoCutsDoNotCrossEachOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		ctx := context.Background()
		o := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "segment.cut")
		dir := t.TempDir()
		emitSome(t, db, timerOrigin(t), 40)
		var wg sync.WaitGroup
		for _, upto := range []int64{10, 20, 30, 35} {
			wg.Go(func() {
				if _, err := db.Cut(ctx, db.Account, store.CutOptions{Dir: dir, Upto: upto, Least: 1, By: "person:x"}, o); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		r, err := store.VerifyChain(ctx, db.Journal, db.Account, nil)
		if err != nil || r.Base == 0 {
			t.Fatalf("verify: %+v, %v", r, err)
		}
		if n, err := store.VerifyArchive(ctx, db.Journal, db.Account, dir); err != nil || n != r.Base {
			t.Fatalf("the archives hold %d events, the base is %d: %v", n, r.Base, err)
		}
		db.React(storetest.Reactions{{Name: "bad", On: []event.Type{"timer.fired"}, Run: func(event.Tx, event.Event) error {
			return fault.New(fault.Internal, "no")
		}}})
		emitSome(t, db, timerOrigin(t), 2)
		at := tip(t, db)
		before, _ := filepath.Glob(filepath.Join(dir, "*"))
		if _, err := db.Cut(ctx, db.Account, store.CutOptions{Dir: dir, Upto: at.Seq - 1, Least: 1, By: "person:x"}, o); !fault.Is(err, fault.Conflict) {
			t.Errorf("an event that a reaction waits for was cut: %v", err)
		}
		if after, _ := filepath.Glob(filepath.Join(dir, "*")); len(after) != len(before) {
			t.Errorf("archives after a refusal: %v", after)
		}
	})
}
