package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
)

const full = `{"count":3,"deep":{"flag":true,"note":"n"},"list":["a","b"],"text":"hello","to":"shop"}`

// still fails if anything happens in the world within a moment: the workers
// look once a second, and commits wake them at once.
func still(t testing.TB, d *deed, want int) {
	t.Helper()
	<-time.After(1500 * time.Millisecond)
	if got := d.did(); len(got) != want {
		t.Fatalf("done %d times, want %d: %q", len(got), want, got)
	}
}

func TestEachArgumentChangedAfterApprovalIsRefusedAtTheRealGate(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	// The button's five seconds leave the approval allowed and unused meanwhile.
	if _, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Via: policy.ViaConsole}); err != nil {
		t.Fatal(err)
	}
	e := w.effect(a.Invoke)
	changed := []string{
		strings.Replace(full, `3`, `4`, 1), strings.Replace(full, `true`, `false`, 1), strings.Replace(full, `"n"`, `"m"`, 1),
		strings.Replace(full, `["a","b"]`, `["b","a"]`, 1), strings.Replace(full, `["a","b"]`, `["a"]`, 1), strings.Replace(full, `["a","b"]`, `["a","b","c"]`, 1),
		strings.Replace(full, `hello`, `hellp`, 1), strings.Replace(full, `shop`, `shoq`, 1), strings.Replace(full, `,"text":"hello"`, ``, 1),
		strings.Replace(full, `hello`, "h\u0435llo", 1), strings.Replace(full, `hello`, `hello `, 1),
	}
	w.clock.forward(0)
	for _, args := range changed {
		if err := w.do(func(tx event.Tx) error {
			q, err := w.p.skills.Requestion(tx, a.Invoke, []byte(args))
			if err != nil {
				return err
			}
			for _, original := range []json.RawMessage{q.Original, nil} { // with the person's mark and without
				q.Original = original
				q.Approval, q.EffectID = a.ID, e.ID
				v, err := gate{policy: w.p.policy}.Confirm(tx, q, event.Ref{ID: a.Invoke, Label: q.Label})
				if err != nil {
					return err
				}
				if v.Answer == skill.Allow {
					t.Errorf("the approval carries %s", args)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.approval(a.ID); got.State != policy.StateAllowed || !got.Use.IsZero() {
		t.Errorf("the approval is %s and used by %s", got.State, got.Use)
	}
	w.clock.forward(6 * time.Second)
	if s := w.said("cli", m); s.IsError {
		t.Errorf("answer: %s", s.Text)
	}
	if got := d.did(); len(got) != 1 || got[0] != full {
		t.Errorf("done: %q", got)
	}
	w.exact(last[event.RunFinished](w).RunID)
}

func TestAReplayedApprovalIsRefusedAtTheRealGate(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: func(s scene) []llm.Part {
		switch s.step {
		case 0, 1: // the very same call twice
			return calls("thing.do", full)
		}
		return says("Over.")
	}})
	m := w.tell("go")
	first := w.open(1)[0]
	w.allow(first)
	second := w.open(1)[0]
	if second.ID == first.ID || len(d.did()) != 1 {
		t.Fatalf("the second call rides on the first approval: %q", d.did())
	}
	_, err := w.answer(first, policy.AnswerRequest{Answer: policy.AnswerAllow})
	refused(t, "answer a used approval", err, fault.Conflict)
	_, err = w.answer(second, policy.AnswerRequest{Answer: policy.AnswerAllow, Digest: first.Digest})
	refused(t, "the first digest for the second call", err, fault.Conflict)
	// Another effect asks the gate to take the used approval.
	if err := w.do(func(tx event.Tx) error {
		q, err := w.p.skills.Requestion(tx, second.Invoke, nil)
		if err != nil {
			return err
		}
		q.Approval = first.ID
		v, err := gate{policy: w.p.policy}.Confirm(tx, q, event.Ref{ID: second.Invoke, Label: q.Label})
		if err == nil && v.Answer == skill.Allow {
			t.Error("a used approval carries another effect")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.answer(second, policy.AnswerRequest{Answer: policy.AnswerDeny, Reason: "not twice"}); err != nil {
		t.Fatal(err)
	}
	s := w.said("cli", m)
	if !strings.Contains(s.Text, "Not done: thing.do") || !strings.Contains(s.Text, "not twice") {
		t.Errorf("the answer hides the denial: %s", s.Text)
	}
	if got := d.did(); len(got) != 1 {
		t.Errorf("done: %q", got)
	}
	w.exact(s.RunID)
}

func TestAnExpiredApprovalEndsHonestly(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	w.clock.forward(24*time.Hour + time.Second)
	_, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow})
	refused(t, "answer after the end", err, fault.Conflict)
	s := w.said("cli", m)
	if !strings.Contains(s.Text, "Not done: thing.do") || !strings.Contains(s.Text, "nobody answered in time") {
		t.Errorf("answer: %s", s.Text)
	}
	if got := w.approval(a.ID); got.State != policy.StateExpired || len(d.did()) != 0 {
		t.Errorf("%s, done %q", got.State, d.did())
	}
	w.exact(s.RunID)
}

func TestAnAllowanceThatRunsOutBeforeItIsUsedCarriesNothing(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	if err := w.p.policy.Halt(context.Background(), w.p.account, "person:"+w.me.PersonID.String(), "account", ""); err != nil {
		t.Fatal(err)
	}
	w.allow(a)
	still(t, d, 0)
	w.clock.forward(25 * time.Hour)
	if err := w.p.policy.Resume(context.Background(), w.p.account, w.me.PersonID, "account"); err != nil {
		t.Fatal(err)
	}
	s := w.said("cli", m)
	if len(d.did()) != 0 || !strings.Contains(s.Text, "Not done: thing.do") {
		t.Errorf("done %q, answer %s", d.did(), s.Text)
	}
	w.exact(s.RunID)
}

func TestAButtonMayBeTakenBackForFiveSecondsAndAProgramMeansIt(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	pressed, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Via: policy.ViaConsole})
	if err != nil {
		t.Fatal(err)
	}
	if hold := pressed.EffectiveAt.Sub(pressed.AnsweredAt); hold != 5*time.Second {
		t.Errorf("a button holds for %v", hold)
	}
	still(t, d, 0)
	if _, err := w.p.policy.Withdraw(context.Background(), w.p.account, w.me.PersonID, a.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.forward(time.Minute)
	still(t, d, 0)
	if e := w.effect(a.Invoke); e.State != skill.Asked {
		t.Errorf("after the undo the effect is %s", e.State)
	}
	// Allowed again, by a program: at once.
	again := w.open(1)[0]
	meant := w.allow(again)
	if !meant.EffectiveAt.Equal(meant.AnsweredAt) {
		t.Errorf("an API answer waits %v", meant.EffectiveAt.Sub(meant.AnsweredAt))
	}
	s := w.said("cli", m)
	if len(d.did()) != 1 {
		t.Errorf("done %q", d.did())
	}
	_, err = w.p.policy.Withdraw(context.Background(), w.p.account, w.me.PersonID, a.ID)
	var live *policy.LiveError
	if !errors.As(err, &live) || live.Live.State != policy.StateUsed {
		t.Errorf("too late to take back: %v", err)
	}
	w.exact(s.RunID)
}

func TestAnEditedCallRunsExactlyWhatWasShown(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	edited := `{"count":1,"text":"goodbye","to":"other shop"}`
	b, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerEdit, Arguments: json.RawMessage(edited)})
	if err != nil {
		t.Fatal(err)
	}
	if b.Digest == a.Digest || b.Call == a.Call || b.State != policy.StateOpen {
		t.Fatalf("the edit left the digest: %+v", b)
	}
	_, err = w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Digest: a.Digest})
	refused(t, "the digest before the edit", err, fault.Conflict)
	for _, bad := range []string{`{"to":1}`, `{"text":"no target"}`, `{"to":"x","more":1}`, `[1]`, `{"to":"x"`} {
		_, err = w.answer(b, policy.AnswerRequest{Answer: policy.AnswerEdit, Arguments: json.RawMessage(bad)})
		refused(t, "an edit to "+bad, err, fault.Invalid)
	}
	w.allow(b)
	s := w.said("cli", m)
	if got := d.did(); len(got) != 1 || got[0] != edited {
		t.Errorf("done %q, shown %s", got, edited)
	}
	var shown event.PolicyDecision
	for _, e := range w.events("policy.decision") {
		if v := e.Payload.(event.PolicyDecision); v.Execution && v.Effect == "allow" {
			shown = v
		}
	}
	if shown.Digest != b.Call || shown.ApprovalID != a.ID {
		t.Errorf("it went under digest %s of %s, shown was %s", shown.Digest, shown.ApprovalID, b.Call)
	}
	w.exact(s.RunID)
}

func TestTwoApprovalsOfOneRunAreAnsweredApart(t *testing.T) {
	t.Parallel()
	one, two := write("thing.one", "medium"), write("thing.two", "high")
	w := try(t, setup{race: true, deeds: []*deed{one, two}, mind: once("thing.one", `{"to":"a"}`, "thing.two", `{"to":"b"}`)})
	m := w.tell("go")
	list := w.open(2)
	for _, a := range list {
		r := policy.AnswerRequest{Answer: policy.AnswerAllow}
		if a.Request.Skill == "thing.two" {
			r = policy.AnswerRequest{Answer: policy.AnswerDeny, Reason: "too much"}
		}
		_, err := w.answer(a, policy.AnswerRequest{Answer: r.Answer, Reason: r.Reason, Digest: list[0].Digest + list[1].Digest})
		refused(t, "the digest of something else", err, fault.Conflict)
		if _, err := w.answer(a, r); err != nil {
			t.Fatal(err)
		}
	}
	s := w.said("cli", m)
	if len(one.did()) != 1 || len(two.did()) != 0 || !strings.Contains(s.Text, "Not done: thing.two") || strings.Contains(s.Text, "thing.one") {
		t.Errorf("done %q and %q; answer %s", one.did(), two.did(), s.Text)
	}
	w.exact(s.RunID)
}

func TestAGrantAnswersOnlyWhatItMayAndNeverAGuardrail(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	if _, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Scope: policy.ScopeGrant}); err != nil {
		t.Fatal(err)
	}
	w.said("cli", m)
	m = w.tell("go on") // the same call in another run: the grant answers
	s := w.said("cli", m)
	if len(d.did()) != 2 {
		t.Fatalf("the grant did not answer: %q", d.did())
	}
	w.exact(s.RunID)
	wide := policy.GrantSpec{Skill: "**", Targets: []string{"**"}, Arguments: map[string]string{"/to": "**", "/text": "**", "/count": "**", "/list": "**", "/deep": "**"},
		Access: []policy.Access{policy.AccessWrite}, MaxRisk: policy.RiskCritical, ExpiresAt: clock.Micros(w.clock.Now().Add(time.Hour))}
	if _, err := w.p.policy.MakeGrant(context.Background(), w.p.account, w.me.PersonID, "agent:coordinator", wide); err != nil {
		t.Fatal(err)
	}
	// A guardrail that asks: no grant answers it, and it can make none.
	w.rule(func(p *policy.Document) {
		p.Guardrails = append(p.Guardrails, policy.Rule{ID: 1, Effect: policy.Ask, Skill: []string{"thing.*"}})
	})
	m = w.tell("again")
	a = w.open(1)[0]
	for _, scope := range []policy.Scope{policy.ScopeGrant, policy.ScopeSession} {
		_, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Scope: scope})
		refused(t, "a grant out of a guardrail's question", err, fault.Invalid)
	}
	// Between the answer and the act the owner forbids it.
	if _, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Via: policy.ViaConsole}); err != nil {
		t.Fatal(err)
	}
	w.rule(func(p *policy.Document) {
		p.Guardrails = append(p.Guardrails, policy.Rule{ID: 2, Effect: policy.Deny, Skill: []string{"thing.*"}})
	})
	w.clock.forward(10 * time.Second)
	s = w.said("cli", m)
	if len(d.did()) != 2 || !strings.Contains(s.Text, "Not done: thing.do") {
		t.Errorf("a guardrail was passed: %q, %s", d.did(), s.Text)
	}
	w.exact(s.RunID)
	s = w.said("cli", w.tell("and again"))
	if len(d.did()) != 2 || !strings.Contains(s.Text, "Not done: thing.do") {
		t.Errorf("a guardrail was passed: %q, %s", d.did(), s.Text)
	}
	w.exact(s.RunID)
}

// A button that grants may be taken back too: until then its grant carries
// nothing, in no run.
func TestAGrantIsNotInForceBeforeItsAnswerIs(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	w.tell("go")
	a := w.open(1)[0]
	if _, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Scope: policy.ScopeGrant, Via: policy.ViaConsole}); err != nil {
		t.Fatal(err)
	}
	w.tell("the same in another thread")
	other := w.open(1)[0]
	still(t, d, 0)
	if _, err := w.p.policy.Withdraw(context.Background(), w.p.account, w.me.PersonID, a.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.forward(time.Minute)
	still(t, d, 0)
	if other.ID == a.ID {
		t.Error("one approval for two runs")
	}
}

func TestAnEditCannotPassAGuardrail(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	w.rule(func(p *policy.Document) {
		p.Guardrails = append(p.Guardrails, policy.Rule{ID: 1, Effect: policy.Deny, Target: []string{"bank"}})
	})
	w.tell("go")
	a := w.open(1)[0]
	_, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerEdit, Arguments: json.RawMessage(`{"to":"bank"}`)})
	refused(t, "an edit into a guardrail", err, fault.Denied)
	if got := w.approval(a.ID); got.Digest != a.Digest || got.Original != nil {
		t.Errorf("the refused edit left its mark: %+v", got)
	}
	if _, err := w.p.policy.Answer(context.Background(), w.p.account, id.Nil, policy.AnswerRequest{Approval: a.ID, Digest: a.Digest, Answer: policy.AnswerAllow, Via: policy.ViaAPI}); !fault.Is(err, fault.Denied) {
		t.Errorf("nobody answers: %v", err)
	}
}
