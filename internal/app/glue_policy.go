package app

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// gate answers skill's questions with policy's decisions: it fills skill's
// Decider and Asker.
type gate struct {
	policy *policy.Service
}

// request builds policy's request of a call. What the manifest or the call does
// not say stays unknown, and an unknown input counts against the call.
func request(q skill.Question) (policy.Request, error) {
	r := policy.Request{
		Actor: q.Actor, Run: q.RunID, Skill: q.Skill, Manifest: q.Manifest, Arguments: q.Arguments,
		Invoke: q.InvokeID, Subject: q.Subject,
		Requester: policy.Known(q.Requester), Trust: policy.Known(q.Trust), Workspace: policy.Known(q.Workspace),
		Channel: policy.Known(q.Channel), Why: policy.Known(q.Label),
	}
	if v, err := policy.ParseRisk(string(q.Risk)); err == nil {
		r.Risk = policy.Known(v)
	}
	if v, err := policy.ParseAccess(string(q.Access)); err == nil {
		r.Access = policy.Known(v)
	}
	targets := make([]policy.Target, 0, len(q.Targets))
	for _, t := range q.Targets {
		targets = append(targets, policy.Target{Pointer: t.Pointer, Value: t.Value})
	}
	r.Targets = policy.Known(targets)
	r.Sensitivity = policy.Known(policy.Internal)
	if q.Sensitive {
		r.Sensitivity = policy.Known(policy.Restricted)
	}
	r.Recipients = recipients(q)
	for _, a := range q.What {
		l, err := event.ParseLabel(a.Label)
		if err != nil {
			return r, err
		}
		r.What = append(r.What, policy.ArgumentLabel{Pointer: a.Pointer, Label: l})
	}
	slices.SortFunc(r.What, func(a, b policy.ArgumentLabel) int { return cmp.Compare(a.Pointer, b.Pointer) })
	if q.Original != nil {
		return policy.MarkEdited(r, q.Original)
	}
	return r, nil
}

// recipients says who will see what leaves. A write stays in the account. What
// is sent goes to the targets that name a principal, else to anybody. A read of
// a place outside tells that place what was asked: harmless when a person chose
// it, a way out when outside text did.
func recipients(q skill.Question) policy.Maybe[[]policy.Recipient] {
	anyone := policy.Known([]policy.Recipient{{Principal: policy.Anyone}})
	switch q.Access {
	case manifest.Write, manifest.Delete:
		return policy.Known([]policy.Recipient{})
	case manifest.Read:
		if len(q.Targets) > 0 && q.Label.Integrity() == event.Outside && outward(q) {
			return anyone
		}
		return policy.Known([]policy.Recipient{})
	case manifest.Send:
		return addressees(q, anyone)
	}
	return anyone
}

// addressees are the targets of a call that sends. Over which channel it leaves
// is what the call says: word to the requester somewhere else is no answer.
func addressees(q skill.Question, anyone policy.Maybe[[]policy.Recipient]) policy.Maybe[[]policy.Recipient] {
	var out []policy.Recipient
	over := q.Channel
	for _, t := range q.Targets {
		if t.Pointer == "/channel" {
			over = t.Value
		}
	}
	for _, t := range q.Targets {
		if t.Pointer == "/channel" {
			continue
		}
		kind, name, _ := strings.Cut(t.Value, ":")
		if (kind != "person" && kind != "contact") || name == "" {
			return anyone
		}
		out = append(out, policy.Recipient{Principal: t.Value, Channel: over})
	}
	if len(out) == 0 {
		return anyone
	}
	return policy.Known(out)
}

// outward reports whether a reading call names a place on the network.
func outward(q skill.Question) bool {
	return slices.ContainsFunc(q.Targets, func(t manifest.Target) bool { return strings.Contains(t.Value, "://") })
}

func verdict(d policy.Decision, e event.Event) skill.Verdict {
	v := skill.Verdict{Call: d.Digest, Rule: d.Rule, Event: e.Ref(), Reason: strings.Join(d.Sentences(), " ")}
	switch d.Effect {
	case policy.Allow:
		v.Answer = skill.Allow
	case policy.Ask:
		v.Answer = skill.Ask
	default:
		v.Answer = skill.Deny
	}
	return v
}

// Decide implements skill.Decider.
func (g gate) Decide(tx event.Tx, q skill.Question, cause event.Ref) (skill.Verdict, error) {
	r, err := request(q)
	if err != nil {
		return skill.Verdict{}, err
	}
	d, e, err := g.policy.Decide(tx, r, cause)
	return verdict(d, e), err
}

// Confirm implements skill.Decider.
func (g gate) Confirm(tx event.Tx, q skill.Question, cause event.Ref) (skill.Verdict, error) {
	r, err := request(q)
	if err != nil {
		return skill.Verdict{}, err
	}
	d, e, err := g.policy.Confirm(tx, policy.Execution{Request: r, Approval: q.Approval, Use: q.EffectID}, cause)
	return verdict(d, e), err
}

// Ask implements skill.Asker.
func (g gate) Ask(tx event.Tx, q skill.Question, v skill.Verdict) (id.ID, error) {
	r, err := request(q)
	if err != nil {
		return id.Nil, err
	}
	d, err := g.policy.Preview(tx, r)
	if err != nil {
		return id.Nil, err
	}
	asker := q.RunID
	if asker.IsZero() {
		asker = q.InvokeID
	}
	a, err := g.policy.Ask(tx, policy.AskRequest{Asker: policy.AskerRun, AskerID: asker, Request: r, Decision: d, Words: q.Reason,
		Reversible: q.Undoable, Evidence: []event.Reference{{Kind: event.RefEvent, ID: q.InvokeID}}}, v.Event)
	return a.ID, err
}

// rewrite builds the call of an approval anew with a person's arguments.
func rewrite(s *skill.Service) policy.Rewrite {
	return func(tx event.Tx, a policy.Approval, arguments json.RawMessage) (policy.Request, error) {
		q, err := s.Requestion(tx, a.Invoke, arguments)
		if err != nil {
			return policy.Request{}, err
		}
		q.Original = nil // policy itself marks what the person changed
		return request(q)
	}
}

// peopleOf fills policy's and dispatch's ports about people, in the caller's transaction.
type peopleOf struct {
	store  identity.Store
	agents agent.Store
}

// RoleOf implements policy.People.
func (p peopleOf) RoleOf(tx event.Tx, person id.ID) (string, error) {
	got, err := p.store.GetPerson(tx, person)
	if err != nil {
		return "", err
	}
	if got.State != identity.Active {
		return "", fault.New(fault.NotFound, "the account has no active person %s", person)
	}
	return string(got.Role), nil
}

// May implements the port of the services that do what a person wants.
func (p peopleOf) May(tx event.Tx, by, act string) error {
	return identity.May(tx, p.store, by, identity.Act(act))
}

// Readers implements dispatch.People.
func (p peopleOf) Readers(tx event.Tx) ([]string, error) {
	people, err := p.store.ListPeople(tx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, x := range people {
		if x.State == identity.Active {
			out = append(out, "person:"+x.ID.String())
		}
	}
	defined, err := p.agents.ListCurrent(tx)
	for _, d := range defined {
		out = append(out, "agent:"+d.Agent)
	}
	return out, err
}

// Owner implements dispatch.People: the owner who is here longest.
func (p peopleOf) Owner(tx event.Tx) (id.ID, error) {
	people, err := p.store.ListPeople(tx)
	if err != nil {
		return id.Nil, err
	}
	var owner id.ID
	for _, x := range people {
		if x.Role == identity.Owner && x.State == identity.Active && (owner.IsZero() || x.ID.String() < owner.String()) {
			owner = x.ID
		}
	}
	if owner.IsZero() {
		return owner, fault.New(fault.NotFound, "the account has no owner yet")
	}
	return owner, nil
}
