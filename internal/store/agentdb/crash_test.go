package agentdb_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
)

// dying is a journal whose process dies at its nth commit: with it done, or just
// before. Everything after that fails, as it would for a dead process.
type dying struct {
	event.Journal
	at    int
	after bool
	n     int
	dead  bool
}

func (d *dying) Do(ctx context.Context, a id.ID, f func(event.Tx) error) error {
	if d.dead {
		return errBoom
	}
	if d.n++; d.n == d.at && !d.after {
		d.dead = true
		return errBoom
	}
	err := d.Journal.Do(ctx, a, f)
	if d.n == d.at {
		d.dead = true
		return errBoom
	}
	return err
}

func TestACrashAtAnyCommitRepeatsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", confirmed(`{}`))
		const commits = 4 // of the agent in one round trip with a call
		for at := 1; at <= commits; at++ {
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("commit %d, after it: %v", at, after)
				asked := w.models.asked()
				run := w.post("write it")
				w.svc.Journal = &dying{Journal: db.Journal, at: at, after: after}
				for range 3 { // the process works until it dies
					if err := w.svc.Work(context.Background(), db.Account, run); err != nil {
						break
					}
				}
				if !w.svc.Journal.(*dying).dead {
					t.Fatalf("%s: it did not come to that", name)
				}
				w.restart()
				w.drain()
				want(t, w.said(run), "It is written")
				w.exact(run)
				w.skills.mu.Lock()
				for call, n := range w.skills.done {
					if n != 1 {
						t.Errorf("%s: call %s was made %d times", name, call, n)
					}
				}
				w.skills.mu.Unlock()
				requests, replies := map[id.ID]int{}, map[id.ID]int{}
				for _, r := range of[event.LLMRequest](w) {
					requests[r.CallID]++
				}
				for _, r := range of[event.LLMResponse](w) {
					replies[r.CallID]++
				}
				for call, n := range requests {
					if n != 1 || replies[call] != 1 {
						t.Errorf("%s: model call %s was recorded %d times with %d replies", name, call, n, replies[call])
					}
				}
				// Only a reply that was not recorded is asked for again, once, under its id.
				if n := w.models.asked() - asked; n < 2 || n > 3 {
					t.Errorf("%s: the model was asked %d times", name, n)
				}
			}
		}
	})
}

// restart ends the process and starts another one, with the dead one's leases
// run out.
func (w *world) restart() {
	w.t.Helper()
	w.db.Clock.Advance(time.Minute)
	w.db.Reopen(w.t)
	w.svc = w.service(w.db)
	w.db.React(w.reactions())
}

func TestAnotherNodeTakesOverAndTheFirstIsStale(t *testing.T) {
	t.Parallel()
	db := storetest.OpenPostgres(t)
	w := newWorld(t, db, noteScript)
	other := db.Second(t)
	other.React(w.reactions())
	second := w.service(other)
	run := w.post("hello")
	w.models.mu.Lock()
	w.models.during = func(context.Context) { // the first node hangs; the other finds its lease run out
		w.models.mu.Lock()
		w.models.during = nil
		w.models.mu.Unlock()
		db.Clock.Advance(time.Minute)
		if err := second.Work(context.Background(), db.Account, run); err != nil {
			t.Errorf("take over: %v", err)
		}
	}
	w.models.mu.Unlock()
	err := w.svc.Work(context.Background(), db.Account, run)
	if err == nil {
		// The run is over: the first node found nothing left to record.
		if r := w.run(run); r.State != agent.Finished {
			t.Errorf("%+v", r)
		}
	}
	if got := w.said(run); got != "Hello." {
		t.Errorf("said %q", got)
	}
	if n := len(of[event.LLMResponse](w)); n != 1 {
		t.Errorf("%d replies are recorded, want 1", n)
	}
	w.exact(run)
}
