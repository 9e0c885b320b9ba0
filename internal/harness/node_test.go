package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/killer"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

// nodeEnv set to 1 makes the worker process of a ground a node: it works off
// leased rows with the real pool.
const nodeEnv = "HARNESS_NODE"

// holdFor is how long a node holds a lease: most of its life, so that a kill
// finds many in its hands.
const holdFor = 100 * time.Millisecond

// takenOverIn is the limit of the issue.
const takenOverIn = 10 * time.Second

// node is the life of a node process.
func (g ground) node(ctx context.Context) error {
	db, err := g.open(ctx, nil)
	if err != nil {
		return err
	}
	o, err := says()
	if err != nil {
		return err
	}
	pool := bus.NewPool(db, event.Origin{}, 200*time.Millisecond, slog.New(slog.DiscardHandler), bus.Worker{Kind: event.WorkRun, Limit: 8,
		Work: func(ctx context.Context, account, item id.ID) error { return g.hold(ctx, db, o, account, item) }})
	failpoint.Hit("node.opened")
	err = pool.Run(ctx)
	db.Close()
	return err
}

// hold claims an item, holds it a while and finishes it, with an event that
// says so in the same commit.
func (g ground) hold(ctx context.Context, db *store.DB, o event.Origin, account, item id.ID) error {
	var l event.Lease
	if err := db.Do(ctx, account, func(tx event.Tx) (err error) {
		l, err = store.Claim(tx, event.WorkRun, item)
		return err
	}); err != nil {
		return err
	}
	failpoint.Hit("node.claimed")
	<-time.After(holdFor)
	return db.Do(context.WithoutCancel(ctx), account, func(tx event.Tx) error {
		if err := store.Guard(tx, l); err != nil {
			failpoint.Hit("node.refused")
			return err
		}
		if err := store.SetTimer(tx, groundKind, item.String(), time.Unix(1, 0)); err != nil {
			return err
		}
		if _, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: groundKind, Key: item.String()},
			Label: event.NewLabel(event.House, event.AccountWide()), Summary: "An item is done."}); err != nil {
			return err
		}
		return store.Finish(tx, l)
	})
}

// TestTortureOfTwoNodes gives two processes on one PostgreSQL the same work and
// ends one: by SIGKILL; by a long sleep from which it wakes with leases that are
// no longer its own; and by a transaction that stands still with its locks. All
// items are done exactly once, and within 10 s.
func TestTortureOfTwoNodes(t *testing.T) {
	for _, end := range []nodeEnd{killedNode, sleepingNode, stuckNode} {
		t.Run(string(end), func(t *testing.T) { t.Parallel(); twoNodes(t, end) })
	}
}

// nodeEnd is how a node stops working.
type nodeEnd string

const (
	killedNode   nodeEnd = "killed"
	sleepingNode nodeEnd = "asleep"
	stuckNode    nodeEnd = "stuck in a transaction"
)

func twoNodes(t *testing.T, end nodeEnd) {
	g := newGround(t, "postgres")
	db, err := g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const items = 96
	ids := id.NewSource(clock.System{}.Now, nil)
	if err := db.Do(t.Context(), g.Account, func(tx event.Tx) error {
		for range items {
			if err := store.Enqueue(tx, event.WorkRun, ids.New(), "agent:harness", time.Unix(1, 0)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	start := func(arms ...failpoint.Arm) *killer.Process {
		t.Helper()
		p, err := killer.Start(killer.Config{Command: []string{os.Args[0]}, Env: []string{g.env(), nodeEnv + "=1"}, Output: &log}, arms...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = p.Kill() })
		return p
	}
	var arms []failpoint.Arm
	if end == stuckNode { // some commit in the middle of its work
		arms = append(arms, failpoint.Arm{Name: "journal.before_commit", Action: failpoint.Block, Count: 25})
	}
	a, b := start(arms...), start()
	both := func() bool { return a.Steps()["node.claimed"] > 8 && b.Steps()["node.claimed"] > 8 }
	waitFor(t, 20*time.Second, "both nodes work", both)
	switch end {
	case killedNode:
		_, err = a.Kill()
	case sleepingNode:
		err = syscall.Kill(a.PID(), syscall.SIGSTOP)
	case stuckNode:
		waitFor(t, 20*time.Second, "one stands still", func() bool { return a.Steps()["journal.before_commit"] >= 25 })
		err = syscall.Kill(a.PID(), syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	done := func() int {
		d, err := g.holds(context.WithoutCancel(t.Context()), db)
		if err != nil {
			t.Fatal(err)
		}
		return len(d.events)
	}
	waitFor(t, takenOverIn+5*time.Second, fmt.Sprintf("all %d items are done", items), func() bool { return done() == items })
	if took := time.Since(ended); took > takenOverIn {
		t.Errorf("taken over after %v, limit %v", took, takenOverIn)
	} else {
		t.Logf("taken over after %v", took)
	}
	if end == sleepingNode {
		if err := syscall.Kill(a.PID(), syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		waitFor(t, 20*time.Second, "the sleeper finds its leases stale", func() bool { return a.Steps()["node.refused"] > 0 })
		stop, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := a.Stop(stop); err != nil {
			t.Errorf("%v\n%s", err, log.String())
		}
	}
	d, err := g.holds(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	rep := harness.Report{Kills: 1, Lost: items - len(d.events)}
	for _, n := range d.events {
		rep.Doubled += n - 1
	}
	if _, err := store.VerifyChain(t.Context(), db, g.Account, nil); err != nil {
		t.Error(err)
	}
	if err := rep.Print(os.Stdout); err != nil || !rep.Good() {
		t.Errorf("%s, %v", rep, err)
	}
}

// TestTortureOfALeaseAcrossAJump: a process dies with leases in its hands, and
// the clock stands an hour earlier when the next one starts. The work goes on.
func TestTortureOfALeaseAcrossAJump(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, -25 * time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			g := newGround(t, "sqlite")
			clk := &jumpy{}
			db, err := g.open(t.Context(), clk)
			if err != nil {
				t.Fatal(err)
			}
			item := id.NewSource(clk.Now, nil).New()
			if err := db.Do(t.Context(), g.Account, func(tx event.Tx) error {
				if err := store.Enqueue(tx, event.WorkRun, item, "agent:harness", time.Unix(1, 0)); err != nil {
					return err
				}
				_, err := store.Claim(tx, event.WorkRun, item)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			db.Close() // the lease stays, as after a kill
			clk.by.Store(int64(by))
			if db, err = g.open(t.Context(), clk); err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			ready, err := db.Ready(t.Context(), 10)
			if err != nil || len(ready) != 1 {
				t.Fatalf("%d items are ready, %v", len(ready), err)
			}
			if err := db.Do(t.Context(), g.Account, func(tx event.Tx) error {
				_, err := store.Claim(tx, event.WorkRun, item)
				return err
			}); err != nil {
				t.Errorf("kind %s: %v", fault.KindOf(err), err)
			}
		})
	}
}
