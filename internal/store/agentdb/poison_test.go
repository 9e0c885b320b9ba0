package agentdb_test

import (
	"context"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store/storetest"
)

// TestAPoisonRunEndsWithAnHonestAnswer: a run that an error of ours stops each
// time is given up; its asker hears of it without the insides, and the thread
// goes on.
func TestAPoisonRunEndsWithAnHonestAnswer(t *testing.T) {
	t.Parallel()
	for name, poison := range map[string]func(w *world){
		"the request cannot be recorded":  func(w *world) { w.models.refuse = fault.New(fault.Internal, "SECRET INSIDES of table runs") },
		"the reply is recorded otherwise": func(w *world) { w.models.twist = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				w := newWorld(t, db, noteScript)
				poison(w)
				run := w.post("hello")
				after := w.post("hello again")
				ctx := context.Background()
				for range 2 {
					if err := w.svc.Work(ctx, db.Account, run); !fault.Is(err, fault.Internal) {
						t.Fatalf("work: %v", err)
					}
				}
				if err := w.svc.GiveUp(ctx, db.Account, run, errBoom); err != nil {
					t.Fatal(err)
				}
				said := w.said(run)
				want(t, said, "I could not finish this")
				for _, inside := range []string{"SECRET", "recorded", "boom"} {
					if strings.Contains(said, inside) {
						t.Errorf("the answer tells the insides: %q", said)
					}
				}
				if a := of[event.AgentResponse](w)[0]; a.ErrorKind != agent.GaveUp || !a.IsError {
					t.Errorf("%+v", a)
				}
				if r := w.run(run); r.State != agent.Finished || r.Outcome != agent.Failed {
					t.Errorf("%+v", r)
				}
				w.exact(run)
				if err := w.svc.GiveUp(ctx, db.Account, run, errBoom); !fault.Is(err, fault.Stale) {
					t.Errorf("given up twice: %v", err)
				}
				w.models.heal()
				w.drain()
				if got := w.said(after); got != "Hello." {
					t.Errorf("the next run said %q", got)
				}
			})
		})
	}
}
