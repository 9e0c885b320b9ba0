package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/storetest"
)

// desk lets policy answer skill's questions, in the few words of these tests.
type desk struct{ policy *policy.Service }

func (d *desk) request(q skill.Question) policy.Request {
	r := policy.Request{Actor: q.Actor, Run: q.RunID, Skill: q.Skill, Manifest: q.Manifest, Arguments: q.Arguments, Invoke: q.InvokeID, Subject: q.Subject,
		Requester: policy.Known(q.Requester), Trust: policy.Known(q.Trust), Workspace: policy.Known(q.Workspace), Channel: policy.Known(q.Channel),
		Why: policy.Known(q.Label), Dreaming: policy.Known(false), Commitments: policy.Known[[]policy.Commitment](nil),
		Recipients: policy.Known[[]policy.Recipient](nil), Sensitivity: policy.Known(policy.Internal)}
	if v, err := policy.ParseRisk(string(q.Risk)); err == nil {
		r.Risk = policy.Known(v)
	}
	if v, err := policy.ParseAccess(string(q.Access)); err == nil {
		r.Access = policy.Known(v)
	}
	var targets []policy.Target
	for _, t := range q.Targets {
		targets = append(targets, policy.Target{Pointer: t.Pointer, Value: t.Value})
	}
	r.Targets = policy.Known(targets)
	return r
}

func verdict(d policy.Decision, e event.Event) skill.Verdict {
	return skill.Verdict{Answer: skill.Answer(d.Effect.String()), Call: d.Digest, Rule: d.Rule, Event: e.Ref(), Reason: strings.Join(d.Sentences(), " ")}
}

func (d *desk) Decide(tx event.Tx, q skill.Question, cause event.Ref) (skill.Verdict, error) {
	out, e, err := d.policy.Decide(tx, d.request(q), cause)
	return verdict(out, e), err
}

func (d *desk) Confirm(tx event.Tx, q skill.Question, cause event.Ref) (skill.Verdict, error) {
	out, e, err := d.policy.Confirm(tx, policy.Execution{Request: d.request(q), Approval: q.Approval, Use: q.EffectID}, cause)
	return verdict(out, e), err
}

func (d *desk) Ask(tx event.Tx, q skill.Question, v skill.Verdict) (id.ID, error) {
	r := d.request(q)
	out, err := d.policy.Preview(tx, r)
	if err != nil {
		return id.Nil, err
	}
	a, err := d.policy.Ask(tx, policy.AskRequest{Asker: policy.AskerRun, AskerID: q.RunID, Request: r, Decision: out, Words: q.Reason, Reversible: q.Undoable}, v.Event)
	return a.ID, err
}

// puts is the one skill here: it fails in a way that nobody can tell, so that a
// person must settle it.
type puts struct{}

func (puts) Act(context.Context, skill.Call) (skill.Output, error) {
	return skill.Output{}, fault.New(fault.Unknown, "the line went dead")
}

type skillSet struct{ *skill.Registry }

func (s skillSet) kinds() map[manifest.Kind]skill.Executables {
	return map[manifest.Kind]skill.Executables{manifest.Builtin: s.Registry}
}

func testSkills() (skillSet, error) {
	put := func(name string, risk manifest.Risk, access manifest.Access) skill.Registration {
		return skill.Registration{Exec: puts{}, Manifest: manifest.Manifest{Name: name, Version: "1", Kind: manifest.Builtin, Description: "Puts a note somewhere.",
			Title: "Put {text}", Risk: risk, Access: access, Class: manifest.ClassOnce, TimeoutMS: 1000, OutputLabel: "house", Target: []string{"/to"},
			Input: json.RawMessage(`{"additionalProperties":false,"properties":{"text":{"type":"string"},"to":{"type":"string"}},"required":["text","to"],"type":"object"}`)}}
	}
	r, err := skill.NewRegistry(put("note.put", manifest.RiskMedium, manifest.Delete), put("note.burn", manifest.RiskHigh, manifest.Delete))
	return skillSet{r}, err
}

// ask makes the coordinator want something that policy asks about, and returns
// the effect that waits.
func (h *house) ask(name, text string) skill.Effect {
	h.t.Helper()
	var ev event.Event
	err := h.db.Journal.Do(ctx(), h.account, func(tx event.Tx) error {
		head, err := h.deps.Skills.Head(tx)
		if err != nil {
			return err
		}
		it, _ := head.Find(name)
		run := tx.NewID()
		ev, err = tx.Emit(h.origin.As("coordinator"), event.Draft{Stream: run, Label: storetest.House(), Payload: event.SkillInvoke{
			RunID: run, Step: 1, CallID: "c1", Actor: "agent:coordinator", Requester: h.owner.Principal.By(), Skill: name, Manifest: it.Hash, Catalogue: head.Number,
			Arguments: json.RawMessage(fmt.Sprintf(`{"text":%q,"to":"wall"}`, text)), Trust: 1_000_000, Channel: "console", Reason: "because"}})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	var out skill.Effect
	if err := h.db.Journal.View(ctx(), h.account, func(tx event.Tx) error {
		all, err := h.deps.Skills.Effects(tx, skill.Filter{Limit: 200})
		for _, e := range all {
			if e.Cause == ev.ID {
				out = e
			}
		}
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	if out.State != skill.Asked {
		h.t.Fatalf("the effect is %s (%s), not asked about", out.State, out.Reason)
	}
	return out
}
