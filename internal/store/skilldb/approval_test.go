package skilldb_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/storetest"
)

func asking(t *testing.T, db *storetest.DB) *bench {
	t.Helper()
	b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
	b.desk.answers["do.it"] = skill.Ask
	return b
}

// An approval authorises exactly the call that was shown (INV-7).
func TestEachArgumentChangedAfterApprovalIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		for _, args := range []string{
			`{"to":["ann"],"what":"coffee"}`, // another value
			`{"to":["eve"],"what":"tea"}`,    // another target
			`{"to":["ann","eve"],"what":"tea"}`,
			`{"to":[],"what":"tea"}`,
			`{"what":"tea"}`, // one left out
		} {
			e := b.call(t, "do.it", `{"to":["ann"],"what":"tea"}`)
			// The answer names the digest that was shown, and smuggles others in.
			p := b.desk.approvals[e.Approval]
			p.state = "allowed"
			b.Do(t, func(tx event.Tx) error {
				_, err := tx.Emit(b.desk.origin, event.Draft{Payload: event.ApprovalAnswered{ApprovalID: e.Approval, PersonID: b.IDs.New(), Answer: "allow",
					Scope: "once", Digest: p.call, Call: p.call, Arguments: json.RawMessage(args), Via: "api"}, Label: storetest.House(), Summary: "Forged."})
				return err
			})
			b.mustWork(t, e.ID, skill.Denied)
		}
		if n := len(b.world.calls()); n != 0 {
			t.Fatalf("something left %d times", n)
		}
	})
}

func TestAnAnswerAboutAnotherCallIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		e := b.call(t, "do.it", `{"what":"tea"}`)
		p := b.desk.approvals[e.Approval]
		p.state = "allowed"
		b.Do(t, func(tx event.Tx) error {
			_, err := tx.Emit(b.desk.origin, event.Draft{Payload: event.ApprovalAnswered{ApprovalID: e.Approval, PersonID: b.IDs.New(), Answer: "allow",
				Digest: "another", Call: "another", Via: "api"}, Label: storetest.House(), Summary: "Forged."})
			return err
		})
		b.mustWork(t, e.ID, skill.Refused)
		if r, _ := b.result(t, e.ID); r.ErrorKind != "stale" {
			t.Errorf("result %+v", r)
		}
	})
}

func TestAReplayedApprovalIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		e := b.call(t, "do.it", `{"what":"tea"}`)
		b.answer(t, e.Approval, "allow", "", db.Clock.Now())
		b.mustWork(t, e.ID, skill.Confirmed)
		b.answer(t, e.Approval, "allow", "", db.Clock.Now()) // said again: the effect has ended
		b.want(t, e.ID, skill.Confirmed)
		if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
			t.Errorf("work: %v", err)
		}
		// Another effect cannot take the same approval: neither by the desk nor in the table.
		b.desk.approvals[e.Approval].state = "open"
		again := b.call(t, "do.it", `{"what":"tea"}`)
		if again.State == skill.Asked && again.Approval == e.Approval {
			t.Fatal("two effects wait for one answer")
		}
		b.Do(t, func(tx event.Tx) error {
			stolen := e
			stolen.ID, stolen.Cause, stolen.Key, stolen.State = tx.NewID(), tx.NewID(), "other", skill.Asked
			added, err := b.store.AddEffect(tx, stolen, skill.Step{State: skill.Asked, EventID: tx.NewID(), At: tx.Now()})
			if added {
				t.Error("two rows hold one approval")
			}
			return err
		})
		if n := len(b.world.calls()); n != 1 {
			t.Errorf("done %d times", n)
		}
	})
}

func TestTwoEqualCallsDoNotShareAnAnswer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		first := b.invocation("do.it", `{"what":"tea"}`)
		_, e1 := b.emit(t, first)
		b.desk.approvals[e1.Approval].call = "shared" // whatever the desk does, it hands out the same approval
		b.desk.mu.Lock()
		b.desk.shared = e1.Approval
		b.desk.mu.Unlock()
		e2 := b.call(t, "do.it", `{"what":"tea"}`)
		if e2.State != skill.Denied {
			t.Fatalf("second call is %s", e2.State)
		}
		if r, _ := b.result(t, e2.ID); r.ErrorKind != "conflict" {
			t.Errorf("result %+v", r)
		}
	})
}

func TestAPersonEditsTheCall(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		e := b.call(t, "do.it", `{"what":"tea"}`)
		b.answer(t, e.Approval, "allow", `{"what":"water"}`, db.Clock.Now())
		got := b.mustWork(t, e.ID, skill.Confirmed)
		c := b.world.calls()[0]
		if string(c.Arguments) != `{"what":"water"}` || got.Edit.IsZero() || c.Key != e.Key {
			t.Errorf("call %+v", c)
		}
		q := b.desk.confirmed[len(b.desk.confirmed)-1]
		if string(q.Original) != `{"what":"tea"}` || q.Targets[0].Value != "water" {
			t.Errorf("question %+v", q)
		}
		_, ev := b.result(t, e.ID)
		if len(ev.Parents) != 1 || ev.Parents[0] != got.Edit {
			t.Errorf("the result does not name the answer: %v", ev.Parents)
		}
		// An edit that breaks the schema refuses the call.
		e = b.call(t, "do.it", `{"what":"tea"}`)
		b.answer(t, e.Approval, "allow", `{"what":7}`, db.Clock.Now())
		b.want(t, e.ID, skill.Refused)
		if r, _ := b.result(t, e.ID); r.ErrorKind != "invalid" {
			t.Errorf("result %+v", r)
		}
	})
}

func TestAnAnswerTakesEffectWhenItSays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		e := b.call(t, "do.it", `{"what":"tea"}`)
		due := db.Clock.Now().Add(5 * time.Second)
		b.answer(t, e.Approval, "allow", "", due)
		if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
			t.Fatalf("it began before its time: %v", err)
		}
		// Taken back: it waits again, and the work is gone.
		b.Do(t, func(tx event.Tx) error {
			_, err := tx.Emit(b.desk.origin, event.Draft{Payload: event.ApprovalWithdrawn{ApprovalID: e.Approval, PersonID: b.IDs.New()}, Label: storetest.House(), Summary: "Taken back."})
			return err
		})
		b.want(t, e.ID, skill.Asked)
		b.Clock.Advance(time.Minute)
		if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
			t.Fatalf("it began after it was taken back: %v", err)
		}
		b.answer(t, e.Approval, "allow", "", db.Clock.Now())
		b.mustWork(t, e.ID, skill.Confirmed)
	})
}

func TestQuestionsEndWithoutAnAllowance(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := asking(t, db)
		e := b.call(t, "do.it", `{"what":"tea"}`)
		b.Do(t, func(tx event.Tx) error {
			_, err := tx.Emit(b.desk.origin, event.Draft{Payload: event.ApprovalAnswered{ApprovalID: e.Approval, PersonID: b.IDs.New(), Answer: "deny", Reason: "not today",
				EffectiveAt: clock.Micros(db.Clock.Now())}, Label: storetest.House(), Summary: "No."})
			return err
		})
		b.want(t, e.ID, skill.Denied)
		if r, _ := b.result(t, e.ID); r.State != "denied" || r.Error != "a person said no: not today" {
			t.Errorf("result %+v", r)
		}
		for how, kind := range map[string]string{"expired": "timeout", "cancelled": "cancelled", "superseded": "cancelled"} {
			e := b.call(t, "do.it", `{"what":"`+how+`"}`)
			closed := event.ApprovalClosed{ApprovalID: e.Approval, How: how}
			b.Do(t, func(tx event.Tx) error {
				_, err := tx.Emit(b.desk.origin, event.Draft{Payload: closed, Label: storetest.House(), Summary: "Closed."})
				return err
			})
			b.want(t, e.ID, skill.Denied)
			if r, _ := b.result(t, e.ID); r.ErrorKind != kind {
				t.Errorf("%s: result %+v", how, r)
			}
		}
		// What a person said no to is not asked again.
		b.desk.denied = map[string]bool{"do.it": true}
		e = b.call(t, "do.it", `{"what":"tea"}`)
		if e.State != skill.Denied || !e.Approval.IsZero() {
			t.Errorf("row %+v", e)
		}
	})
}

func TestACancelledRunCallsOffWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }),
			lazy(base("ask.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		b.desk.answers["ask.it"] = skill.Ask
		began := b.call(t, "do.it", `{"what":"one"}`)
		b.mustWork(t, began.ID, skill.Confirmed)
		waits, asked := b.call(t, "do.it", `{"what":"two"}`), b.call(t, "ask.it", `{"what":"three"}`)
		other := b.invocation("do.it", `{"what":"four"}`)
		other.RunID = b.IDs.New()
		_, elsewhere := b.emit(t, other)
		b.Do(t, func(tx event.Tx) error {
			_, err := tx.Emit(b.agent, event.Draft{Payload: event.RunCancelled{RunID: b.run, By: "person:p1"}, Label: storetest.House(), Summary: "Cancelled."})
			return err
		})
		b.want(t, began.ID, skill.Confirmed)
		b.want(t, elsewhere.ID, skill.Intended)
		for _, e := range []id.ID{waits.ID, asked.ID} {
			b.want(t, e, skill.Denied)
			if r, _ := b.result(t, e); r.ErrorKind != "cancelled" {
				t.Errorf("result %+v", r)
			}
			if err := b.work(e); !fault.Is(err, fault.Stale) {
				t.Errorf("work: %v", err)
			}
		}
	})
}
