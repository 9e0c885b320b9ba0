package policydb_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store/policydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

// people is a role book as identity would be.
type people map[id.ID]string

func (p people) RoleOf(_ event.Tx, person id.ID) (string, error) {
	if r, ok := p[person]; ok {
		return r, nil
	}
	return "", fault.New(fault.NotFound, "no such person")
}

// bundle is one account with the standard policy and one agent's run.
type bundle struct {
	*storetest.DB
	t                       testing.TB
	svc                     *policy.Service
	agent                   event.Origin
	owner, operator, viewer id.ID
	run                     id.ID
}

func origins(t testing.TB) (pol, agent event.Origin) {
	return storetest.Origin(t, event.LayerDispatch, event.ClassPolicy, "policy", "policy.decision", "approval.requested", "approval.answered",
			"approval.withdrawn", "approval.closed", "grant.made", "grant.ended", "policy.saved", "autonomy.changed", "halt.set", "halt.cleared"),
		storetest.Origin(t, event.LayerAgent, event.ClassAgent, "agent", "skill.invoke")
}

func setup(t testing.TB, db *storetest.DB) *bundle {
	t.Helper()
	b := &bundle{DB: db, t: t, owner: db.IDs.New(), operator: db.IDs.New(), viewer: db.IDs.New(), run: db.IDs.New()}
	b.svc = b.service(policydb.New())
	var origin event.Origin
	origin, b.agent = origins(t)
	_ = origin
	b.start(db.Account)
	return b
}

func (b *bundle) service(s policy.Store) *policy.Service {
	pol, _ := origins(b.t)
	return policy.New(policy.Config{
		Store: s, Journal: b.Journal, Origins: policy.Origins{Policy: pol},
		People:  people{b.owner: "owner", b.operator: "operator", b.viewer: "viewer"},
		Rewrite: rewrite,
	})
}

// rewrite is what skill does: the path is the target.
func rewrite(_ event.Tx, a policy.Approval, args json.RawMessage) (policy.Request, error) {
	var v struct{ Path string }
	if err := json.Unmarshal(args, &v); err != nil || v.Path == "" {
		return policy.Request{}, fault.New(fault.Invalid, "a path is required").On("path")
	}
	r := a.Request
	r.What, r.Arguments = nil, args
	r.Targets = policy.Known([]policy.Target{{Pointer: "/path", Value: v.Path}})
	return r, nil
}

// start gives an account its policy.
func (b *bundle) start(account id.ID) {
	b.t.Helper()
	if err := b.Journal.Do(context.Background(), account, func(tx event.Tx) error {
		return b.svc.OnAccount(tx, event.Event{ID: account, Label: storetest.House()})
	}); err != nil {
		b.t.Fatal(err)
	}
}

// write is the call of the demo: an agent writes a file.
func (b *bundle) write(change ...func(*policy.Request)) policy.Request {
	r := policy.Request{
		Actor: "agent:scribe", Requester: policy.Known("person:" + b.owner.String()), Trust: policy.Known[int32](1_000_000),
		Workspace: policy.Known(id.Nil), Run: b.run, Skill: "file.write", Manifest: "m1",
		Risk: policy.Known(policy.RiskMedium), Access: policy.Known(policy.AccessWrite),
		Targets: policy.Known([]policy.Target{{Pointer: "/path", Value: "a.md"}}), Arguments: json.RawMessage(`{"content":"hi","path":"a.md"}`),
		Why:        policy.Known(event.NewLabel(event.Person, event.AccountWide())),
		Recipients: policy.Known([]policy.Recipient{}), Channel: policy.Known("console"), Sensitivity: policy.Known(policy.Internal),
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func args(s string) func(*policy.Request) {
	return func(r *policy.Request) {
		r.Arguments = json.RawMessage(s)
		var v struct{ Path string }
		if json.Unmarshal(r.Arguments, &v) == nil && v.Path != "" {
			r.Targets = policy.Known([]policy.Target{{Pointer: "/path", Value: v.Path}})
		}
	}
}

func outside(r *policy.Request) {
	r.Why = policy.Known(event.NewLabel(event.Outside, event.AccountWide()))
}

// cause is an event of the agent to decide about.
func (b *bundle) cause(tx event.Tx) event.Ref {
	b.t.Helper()
	e, err := tx.Emit(b.agent, event.Draft{Payload: event.SkillInvoke{Skill: "file.write", Arguments: json.RawMessage("{}")}, Label: storetest.House()})
	if err != nil {
		b.t.Fatal(err)
	}
	return e.Ref()
}

func (b *bundle) decide(r policy.Request) (d policy.Decision) {
	b.t.Helper()
	b.Do(b.t, func(tx event.Tx) (err error) {
		d, _, err = b.svc.Decide(tx, r, b.cause(tx))
		return err
	})
	return d
}

// ask decides and asks.
func (b *bundle) ask(r policy.Request, change ...func(*policy.AskRequest)) (a policy.Approval) {
	b.t.Helper()
	a, err := b.tryAsk(r, change...)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *bundle) tryAsk(r policy.Request, change ...func(*policy.AskRequest)) (a policy.Approval, err error) {
	err = b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
		ref := b.cause(tx)
		d, _, err := b.svc.Decide(tx, r, ref)
		if err != nil {
			return err
		}
		q := policy.AskRequest{Asker: policy.AskerRun, AskerID: b.run, Request: r, Decision: d, Words: "I want to."}
		for _, f := range change {
			f(&q)
		}
		a, err = b.svc.Ask(tx, q, ref)
		return err
	})
	return a, err
}

func (b *bundle) answer(a policy.Approval, with policy.Answer, change ...func(*policy.AnswerRequest)) (policy.Approval, error) {
	r := policy.AnswerRequest{Approval: a.ID, Digest: a.Digest, Answer: with, Via: policy.ViaCLI}
	for _, f := range change {
		f(&r)
	}
	return b.svc.Answer(context.Background(), b.Account, b.owner, r)
}

func (b *bundle) allow(a policy.Approval, change ...func(*policy.AnswerRequest)) policy.Approval {
	b.t.Helper()
	a, err := b.answer(a, policy.AnswerAllow, change...)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *bundle) get(approval id.ID) (a policy.Approval) {
	b.t.Helper()
	b.See(b.t, func(tx event.Tx) (err error) { a, err = b.svc.GetApproval(tx, approval); return err })
	return a
}

// confirm decides again, at the execution of an effect.
func (b *bundle) confirm(r policy.Request, approval, use id.ID) (d policy.Decision) {
	b.t.Helper()
	b.Do(b.t, func(tx event.Tx) (err error) {
		d, _, err = b.svc.Confirm(tx, policy.Execution{Request: r, Approval: approval, Use: use}, b.cause(tx))
		return err
	})
	return d
}

func (b *bundle) check(a policy.Approval, call string, use id.ID) error {
	return b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error { return b.svc.Check(tx, a.ID, call, use) })
}

// save changes the policy in force.
func (b *bundle) save(change func(*policy.Document)) {
	b.t.Helper()
	var d policy.Document
	var base int
	b.See(b.t, func(tx event.Tx) error {
		t, err := b.svc.Current(tx)
		if err == nil {
			d, base = t.Document(), t.Version()
		}
		return err
	})
	d.Rules, d.Guardrails = append([]policy.Rule{}, d.Rules...), append([]policy.Rule{}, d.Guardrails...)
	change(&d)
	if _, err := b.svc.Save(context.Background(), b.Account, b.owner, base, d, ""); err != nil {
		b.t.Fatal(err)
	}
}

// count counts events of a type.
func (b *bundle) count(t event.Type) (n int) {
	for _, e := range b.Events(b.t) {
		if e.Type == t {
			n++
		}
	}
	return n
}

func wantKind(t testing.TB, err error, k fault.Kind, doing string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != k {
		t.Errorf("%s: %v, want kind %v", doing, err, k)
	}
}

func wantLive(t testing.TB, err error, state policy.State, doing string) {
	t.Helper()
	var live *policy.LiveError
	if !errors.As(err, &live) || fault.KindOf(err) != fault.Conflict || live.Live.State != state {
		t.Errorf("%s: %v, want a conflict that shows %s", doing, err, state)
	}
}

func canonical(t testing.TB, v any) json.RawMessage {
	b, err := canon.JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const day = 24 * time.Hour
