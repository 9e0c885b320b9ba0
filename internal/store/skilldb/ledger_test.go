package skilldb_test

import (
	"context"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/skilldb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, skilldb.Q)
}

// done is an executable that does its act in the world and says so.
func (b *bench) done() exec {
	return func(_ context.Context, c skill.Call) (skill.Output, error) {
		n := b.world.do(c)
		return skill.Output{Value: map[string]any{"times": n}}, nil
	}
}

// lazy lets an option refer to the bench that it is an option of.
func lazy(m manifest.Manifest, f func(b *bench) skill.Executable) option {
	return func(b *bench) { b.regs = append(b.regs, skill.Registration{Manifest: m, Exec: f(b)}) }
}

func TestAnAllowedCallHappensOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		does := func(b *bench) skill.Executable { return b.done() }
		b := setup(t, db, lazy(base("do.idempotent", manifest.ClassIdempotent), does), lazy(base("do.once", manifest.ClassOnce), does))
		for i, class := range []manifest.Class{manifest.ClassIdempotent, manifest.ClassOnce} {
			e := b.call(t, "do."+string(class), `{"what":"tea"}`)
			if e.State != skill.Intended || e.Key != skill.Key(b.run, e.Step, e.CallID) || e.Decision.IsZero() {
				t.Fatalf("row %+v", e)
			}
			b.noResult(t, e.ID)
			e = b.mustWork(t, e.ID, skill.Confirmed)
			if got := b.world.count(e.Key); got != 1 || e.Attempt != 1 {
				t.Fatalf("done %d times in %d attempts", got, e.Attempt)
			}
			if got, want := b.walk(t, e.ID), "intended dispatching confirmed"; got != want {
				t.Errorf("walked %q, want %q", got, want)
			}
			r, ev := b.result(t, e.ID)
			if string(r.Output) != `{"times":1}` || r.State != "confirmed" || r.CallID != e.CallID || e.Result != ev.ID || ev.Causation != e.Cause {
				t.Errorf("result %+v", r)
			}
			// The work is gone: nobody does it again.
			if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
				t.Errorf("working again: %v", err)
			}
			if c := b.world.calls()[i]; c.Key != e.Key || c.Fence == 0 || c.Attempt != 1 || c.Deadline.IsZero() || c.Requester != "person:p1" {
				t.Errorf("call %+v", c)
			}
		}
	})
}

func TestAReadLeavesOneRowAndNoDispatching(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("look.up", manifest.ClassRead), func(b *bench) skill.Executable { return b.done() }))
		e := b.call(t, "look.up", `{"what":"tea"}`)
		b.mustWork(t, e.ID, skill.Confirmed)
		if got, want := b.walk(t, e.ID), "intended confirmed"; got != want {
			t.Errorf("walked %q, want %q", got, want)
		}
		for _, ev := range b.Events(t) {
			if ev.Type == "effect.changed" {
				t.Error("a read moved in the ledger")
			}
		}
	})
}

func TestPolicyDeniesAndAsks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		b.desk.answers["do.it"] = skill.Deny
		e := b.call(t, "do.it", `{"what":"tea"}`)
		if e.State != skill.Denied {
			t.Fatalf("state %s", e.State)
		}
		if r, _ := b.result(t, e.ID); r.State != "denied" || r.Error != "rule 1 says deny" || r.ErrorKind != "denied" {
			t.Errorf("result %+v", r)
		}
		b.desk.answers["do.it"] = skill.Ask
		e = b.call(t, "do.it", `{"what":"tea"}`)
		if e.State != skill.Asked || e.Approval.IsZero() {
			t.Fatalf("row %+v", e)
		}
		b.noResult(t, e.ID)
		if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
			t.Errorf("work before the answer: %v", err)
		}
		b.answer(t, e.Approval, "allow", "", db.Clock.Now())
		b.want(t, e.ID, skill.Intended)
		b.mustWork(t, e.ID, skill.Confirmed)
		if n := b.world.count(e.Key); n != 1 {
			t.Errorf("done %d times", n)
		}
		if got, want := b.walk(t, e.ID), "asked intended dispatching confirmed"; got != want {
			t.Errorf("walked %q, want %q", got, want)
		}
	})
}

func TestPolicyThatCannotBeReadDecidesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		b.desk.broken = fault.New(fault.Unavailable, "the policy cannot be read")
		if err := b.work(e.ID); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("work: %v", err)
		}
		b.want(t, e.ID, skill.Intended)
		if n := len(b.world.calls()); n != 0 {
			t.Fatalf("something left %d times", n)
		}
		b.desk.broken = nil
		b.mustWork(t, e.ID, skill.Confirmed) // nothing was lost
	})
}

func TestADenyAtExecutionRefuses(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		for _, stricter := range []skill.Answer{skill.Deny, skill.Ask} {
			b.desk.confirm = nil
			e := b.call(t, "do.it", `{"what":"tea"}`)
			b.desk.confirm = map[string]skill.Answer{"do.it": stricter}
			b.mustWork(t, e.ID, skill.Denied)
			if r, _ := b.result(t, e.ID); r.State != "denied" {
				t.Errorf("result %+v", r)
			}
		}
		if n := len(b.world.calls()); n != 0 {
			t.Errorf("something left %d times", n)
		}
	})
}

func TestTheSameCallTwiceIsOneEffect(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		p := b.invocation("do.it", `{"what":"tea"}`)
		_, e := b.emit(t, p)
		if _, again := b.emit(t, p); !again.ID.IsZero() {
			t.Fatal("the same call made a second row")
		}
		b.mustWork(t, e.ID, skill.Confirmed)
		b.emit(t, p) // after the end: the recorded result is said again
		other := p
		other.Arguments = []byte(`{"what":"coffee"}`)
		b.emit(t, other)
		var states []string
		for _, r := range b.results(t) {
			states = append(states, r.State+" "+string(r.Output)+r.ErrorKind)
		}
		want := []string{`confirmed {"times":1}`, `confirmed {"times":1}`, "refused conflict"}
		if len(states) != 3 || states[0] != want[0] || states[1] != want[1] || states[2] != want[2] {
			t.Errorf("results %q, want %q", states, want)
		}
		if n := len(b.world.calls()); n != 1 {
			t.Errorf("done %d times", n)
		}
	})
}

func TestAnInvokeNeedsARowAndADelivery(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		// A foreign account finds neither the effect nor the event.
		foreign := db.NewAccount(t)
		if err := b.s.Work(context.Background(), foreign, e.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("foreign account: %v", err)
		}
		if _, err := b.SkillInvoke(context.Background(), foreign, e.Cause); !fault.Is(err, fault.NotFound) {
			t.Errorf("foreign delivery: %v", err)
		}
		// An event that is not committed, or of another type, makes no delivery.
		if _, err := event.NewDelivery[event.SkillInvoke](event.Event{Payload: event.SkillInvoke{}}); err == nil {
			t.Error("an uncommitted event made a delivery")
		}
		b.mustWork(t, e.ID, skill.Confirmed)
	})
}
