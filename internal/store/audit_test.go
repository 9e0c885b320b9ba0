package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// tamper runs SQL past the engine, as somebody with the file or the database
// owner's password would.
func tamper(t *testing.T, db *storetest.DB, statements ...string) {
	t.Helper()
	if db.Options.URL != "" {
		c, err := pgx.Connect(context.Background(), db.Options.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		for _, s := range append([]string{"SET session_replication_role = replica"}, statements...) {
			if _, err := c.Exec(context.Background(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		return
	}
	c, err := sql.Open("sqlite", filepath.Join(db.Options.Dir, "witan.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range append([]string{"DROP TRIGGER events_no_update", "DROP TRIGGER events_no_delete"}, statements...) {
		if _, err := c.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func emitN(t testing.TB, db *storetest.DB, n int) {
	t.Helper()
	o := timerOrigin(t)
	for i := range n {
		db.Do(t, func(tx event.Tx) error { _, err := tx.Emit(o, draft(fmt.Sprint(i))); return err })
	}
}

func TestVerifyFindsEveryTampering(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		sql     []string
		wantSeq int64
	}{
		{"an edited header", []string{"UPDATE events SET source = 'forged' WHERE seq = 5"}, 5},
		{"an edited label", []string{"UPDATE events SET label = 'p:a' WHERE seq = 6"}, 6},
		{"an edited body", []string{"UPDATE events SET body = body_commit WHERE seq = 4"}, 4},
		{"a body edited together with its digest", []string{"UPDATE events SET body = (SELECT body FROM events WHERE seq = 3), body_commit = (SELECT body_commit FROM events WHERE seq = 3) WHERE seq = 4"}, 4},
		{"a deleted event", []string{"DELETE FROM events WHERE seq = 7"}, 7},
		{"two events swapped", []string{"UPDATE events SET seq = 100 WHERE seq = 3", "UPDATE events SET seq = 3 WHERE seq = 4", "UPDATE events SET seq = 4 WHERE seq = 100"}, 3},
		{"a truncated tail", []string{"DELETE FROM events WHERE seq >= 9"}, 9},
		{"a moved head", []string{"UPDATE journal_heads SET seq = 3"}, 10},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				emitN(t, db, 9)
				if r, err := store.VerifyChain(context.Background(), db.Journal, db.Account, nil); err != nil || r.Events != 10 {
					t.Fatalf("before: %+v, %v", r, err)
				}
				tamper(t, db, c.sql...)
				_, err := store.VerifyChain(context.Background(), db.Journal, db.Account, nil)
				var bad *store.BadEvent
				if !errors.As(err, &bad) || bad.Seq != c.wantSeq || !fault.Is(err, fault.Corrupt) {
					t.Fatalf("got %v, want the first bad event %d", err, c.wantSeq)
				}
			})
		})
	}
}

func TestACheckpointFindsAChainRewrittenFromGenesis(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		emitN(t, db, 5)
		o := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "checkpoint.signed")
		c, err := db.SignCheckpoint(context.Background(), db.Account, o)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back store.Checkpoint
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if _, err := store.VerifyChain(context.Background(), db.Journal, db.Account, []store.Checkpoint{back}); err != nil {
			t.Fatal(err)
		}
		// A forger with every key rewrites the whole chain consistently.
		tamper(t, db, "DELETE FROM events", "DELETE FROM journal_heads")
		db.Reopen(t)
		emitN(t, db, 9)
		if _, err := store.VerifyChain(context.Background(), db.Journal, db.Account, nil); err != nil {
			t.Fatalf("the forgery is not even consistent: %v", err)
		}
		var bad *store.BadEvent
		if _, err := store.VerifyChain(context.Background(), db.Journal, db.Account, []store.Checkpoint{back}); !errors.As(err, &bad) {
			t.Fatalf("the checkpoint did not find it: %v", err)
		}
		raw[len(raw)/2] ^= 1
		if err := json.Unmarshal(raw, &back); err == nil {
			t.Fatal("a changed checkpoint was read")
		}
	})
}

func TestTheJournalIsAppendOnly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"UPDATE events SET source = 'x'", "DELETE FROM events"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			db := storetest.OpenSQLite(t)
			c, err := sql.Open("sqlite", filepath.Join(db.Options.Dir, "witan.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Exec(text); err == nil {
				t.Error("sqlite allowed it")
			}
			pg := storetest.OpenPostgres(t)
			p, err := pgx.Connect(context.Background(), pg.Options.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close(context.Background())
			if _, err := p.Exec(context.Background(), text); err == nil {
				t.Error("postgres allowed it")
			}
		})
	}
}

func TestErasureRemovesTheTextAndTheChainStillVerifies(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		erase := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "subject.erased")
		subject := db.IDs.New()
		say := func(key string) {
			db.Do(t, func(tx event.Tx) error {
				d := draft(key)
				d.Subject = subject
				_, err := tx.Emit(o, d)
				return err
			})
		}
		say("private")
		emitN(t, db, 2)
		if err := db.Erase(context.Background(), db.Account, subject, "person:x", erase); err != nil {
			t.Fatal(err)
		}
		say("afterwards")
		evs := db.Events(t)
		if !evs[1].Erased || evs[1].Payload != nil || evs[1].Summary != "" {
			t.Fatalf("the body is still there: %+v", evs[1])
		}
		if last := evs[len(evs)-1]; last.Erased {
			t.Fatal("what is said after an erasure must be readable")
		}
		r, err := store.VerifyChain(context.Background(), db.Journal, db.Account, nil)
		if err != nil || r.Events != 6 {
			t.Fatalf("verify: %+v, %v", r, err)
		}
		db.Reopen(t)
		if evs := db.Events(t); !evs[1].Erased {
			t.Fatal("a restart brought the body back")
		}
	})
}

func TestBackupUnderLoadRestoresIntoANewEpoch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		o := timerOrigin(t)
		item := db.IDs.New()
		db.Do(t, func(tx event.Tx) error {
			if err := store.SetTimer(tx, "remind", "x", db.Clock.Now()); err != nil {
				return err
			}
			return store.Enqueue(tx, event.WorkEffect, item, "agent:a", db.Clock.Now())
		})
		emitN(t, db, 50)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error { _, err := tx.Emit(o, draft("load")); return err })
				}
			}
		}()
		dir := filepath.Join(t.TempDir(), "backup")
		if _, err := db.Backup(context.Background(), dir, nil); err != nil {
			t.Fatal(err)
		}
		close(stop)
		<-stopped
		n := &storetest.DB{Clock: db.Clock, IDs: db.IDs, Options: db.Options, Account: db.Account}
		if db.Options.URL == "" {
			n.Options.Dir = filepath.Join(t.TempDir(), "restored")
			if err := store.RestoreSQLite(context.Background(), dir, n.Options.Dir, n.Options.Keyring.Path(), nil); err != nil {
				t.Fatal(err)
			}
			n.Reopen(t)
		} else {
			url, err := storetest.Postgres(t).Create()
			if err != nil {
				t.Fatal(err)
			}
			n.Options.URL = url
			n.Reopen(t)
			if err := n.LoadPostgres(context.Background(), dir); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { n.DB.Close() })
		sys := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "epoch.started")
		if err := n.BeginEpoch(context.Background(), n.Account, 1, sys); err != nil {
			t.Fatal(err)
		}
		if _, err := store.VerifyChain(context.Background(), n.Journal, n.Account, nil); err != nil {
			t.Fatal(err)
		}
		ready, err := n.Ready(context.Background(), 100)
		if err != nil || len(ready) != 0 {
			t.Fatalf("work of the past is ready: %v, %v", ready, err)
		}
		due, _, _, err := n.DueTimers(context.Background(), 100)
		if err != nil || len(due) != 0 {
			t.Fatalf("timers of the past are due: %v, %v", due, err)
		}
		var held []store.HeldWork
		n.See(t, func(tx event.Tx) error {
			tip, _, err := store.HeadOf(tx)
			if err == nil && tip.Epoch != 2 {
				t.Errorf("epoch %d, want 2", tip.Epoch)
			}
			if err == nil {
				held, err = store.ListHeld(tx)
			}
			return err
		})
		if len(held) != 1 || held[0].ID != item {
			t.Fatalf("held: %+v", held)
		}
	})
}

func TestADataFolderHasOneProcess(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	if _, err := store.Open(context.Background(), db.Options); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a second open: %v", err)
	}
}

func TestACutSegmentVerifiesWithItsArchive(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		ctx := context.Background()
		o := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "test", "segment.cut")
		dir := t.TempDir()
		emitN(t, db, 20)
		if _, err := db.Cut(ctx, db.Account, store.CutOptions{Dir: dir, Upto: 10, By: "person:x"}, o); !fault.Is(err, fault.Invalid) {
			t.Fatalf("a small segment was cut: %v", err)
		}
		for _, upto := range []int64{10, 15} {
			if _, err := db.Cut(ctx, db.Account, store.CutOptions{Dir: dir, Upto: upto, Least: 5, By: "person:x"}, o); err != nil {
				t.Fatal(err)
			}
		}
		r, err := store.VerifyChain(ctx, db.Journal, db.Account, nil)
		if err != nil || r.Base != 15 || r.Events != 8 {
			t.Fatalf("verify: %+v, %v", r, err)
		}
		if n, err := store.VerifyArchive(ctx, db.Journal, db.Account, dir); err != nil || n != 15 {
			t.Fatalf("archive: %d, %v", n, err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := store.VerifyArchive(ctx, db.Journal, db.Account, dir); err == nil {
			t.Fatal("a missing archive was not found")
		}
		emitN(t, db, 1)
	})
}
