package api

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// approvalView is a request to act, with the exact call.
type approvalView struct {
	ID       id.ID  `json:"id"`
	Key      string `json:"key"`             // AP-318
	Title    string `json:"title,omitempty"` // from the manifest, never the asker's words
	State    string `json:"state"`
	Revision int64  `json:"revision"`
	// Digest is what an answer must name: it stands for this very call.
	Digest string `json:"digest"`

	Asker     string          `json:"asker"` // run, mcp_session, plan_step, draft
	AskerID   id.ID           `json:"askerId,omitzero"`
	Actor     string          `json:"actor"`
	Requester string          `json:"requester,omitempty"`
	RunID     id.ID           `json:"runId,omitzero"`
	Skill     string          `json:"skill"`
	Manifest  string          `json:"manifest"`
	Risk      string          `json:"risk,omitempty"`
	Access    string          `json:"access,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Original  json.RawMessage `json:"original,omitempty"` // that was asked for first, if a person edited it
	Targets   []targetView    `json:"targets"`
	Recipient []string        `json:"recipients"` // principals who will see what leaves
	Why       string          `json:"why,omitempty"`
	What      []argumentLabel `json:"what,omitempty"`

	Asks       []string       `json:"asks"`
	Rule       string         `json:"rule"`
	Policy     int            `json:"policy"` // version
	Reasons    []string       `json:"reasons"`
	Words      string         `json:"words,omitempty"` // the asker's: a claim, never a title
	Evidence   []evidenceView `json:"evidence,omitempty"`
	Reversible bool           `json:"reversible"`
	AskedAt    time.Time      `json:"askedAt"`
	ExpiresAt  time.Time      `json:"expiresAt"`
	EventID    id.ID          `json:"eventId"` // approval.requested
	InvokeID   id.ID          `json:"invokeId,omitzero"`
	Erased     bool           `json:"erased,omitempty"`

	Answer      string    `json:"answer,omitempty"` // allow, deny
	AnsweredBy  id.ID     `json:"answeredBy,omitzero"`
	AnsweredAt  time.Time `json:"answeredAt,omitzero"`
	Scope       string    `json:"scope,omitempty"`
	Via         string    `json:"via,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	EffectiveAt time.Time `json:"effectiveAt,omitzero"` // an allowed call may start from here on
	Grant       id.ID     `json:"grantId,omitzero"`
	Use         id.ID     `json:"effectId,omitzero"` // what used it up
}

type targetView struct {
	Pointer string `json:"pointer,omitempty"` // "" if no argument names it
	Value   string `json:"value"`
}

type argumentLabel struct {
	Pointer string `json:"pointer"`
	Label   string `json:"label"`
}

type evidenceView struct {
	Kind string `json:"kind"`
	ID   id.ID  `json:"id"`
}

func viewApproval(a policy.Approval) approvalView {
	r := a.Request
	v := approvalView{
		ID: a.ID, Key: a.Key, State: string(a.State), Revision: a.Revision, Digest: a.Digest, Asker: string(a.Asker), AskerID: a.AskerID,
		Actor: r.Actor, Requester: r.Requester.Or(""), RunID: r.Run, Skill: r.Skill, Manifest: r.Manifest,
		Arguments: r.Arguments, Original: a.Original, Targets: []targetView{}, Recipient: []string{}, Asks: []string{},
		Rule: a.Rule, Policy: a.Version, Reasons: policy.Sentences(a.Reasons), Words: a.Words, Reversible: a.Reversible,
		AskedAt: a.AskedAt, ExpiresAt: a.ExpiresAt, EventID: a.Requested.ID, InvokeID: a.Invoke, Erased: a.Erased,
		Answer: string(a.Answer), AnsweredBy: a.AnsweredBy, AnsweredAt: a.AnsweredAt, Scope: string(a.Scope), Via: string(a.Via),
		Reason: a.Reason, EffectiveAt: a.EffectiveAt, Grant: a.Grant, Use: a.Use,
	}
	if risk, ok := a.Risk.Get(); ok {
		v.Risk = risk.String()
	}
	if access, ok := r.Access.Get(); ok {
		v.Access = access.String()
	}
	if why, ok := r.Why.Get(); ok {
		v.Why = why.String()
	}
	for _, t := range r.Targets.Or(nil) {
		v.Targets = append(v.Targets, targetView{t.Pointer, t.Value})
	}
	for _, p := range r.Recipients.Or(nil) {
		v.Recipient = append(v.Recipient, p.Principal)
	}
	for _, w := range r.What {
		v.What = append(v.What, argumentLabel{w.Pointer, w.Label.String()})
	}
	for _, k := range a.Asks {
		v.Asks = append(v.Asks, k.String())
	}
	v.Evidence = viewEvidence(a.Evidence)
	return v
}

func viewEvidence(refs []event.Reference) (out []evidenceView) {
	for _, r := range refs {
		out = append(out, evidenceView{refKind(r.Kind), r.ID})
	}
	return out
}

func refKind(k event.RefKind) string {
	switch k {
	case event.RefMemory:
		return "memory"
	case event.RefBelief:
		return "belief"
	case event.RefEvent:
		return "event"
	case event.RefEntity:
		return "entity"
	case event.RefDocument:
		return "document"
	case event.RefLLMCall:
		return "llm_call"
	case event.RefEffect:
		return "effect"
	}
	return "unknown"
}
