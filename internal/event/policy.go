package event

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/kit/id"
)

// PolicyDecision is one answer of policy.Decide, with the rule that won.
type PolicyDecision struct {
	InvokeID   id.ID           `json:"invokeId,omitzero"` // the skill.invoke it answers
	RunID      id.ID           `json:"runId,omitzero"`
	Skill      string          `json:"skill"`
	Effect     string          `json:"effect"`         // allow, ask, deny
	Asks       []string        `json:"asks,omitempty"` // kinds of the ASKs that are not answered: rule, autonomy, label, guardrail, commitment
	Rule       string          `json:"rule"`           // the winner: "rule 3", "guardrail 1", "default", "dream"
	Version    int             `json:"version"`        // of the policy
	Reasons    []string        `json:"reasons,omitempty"`
	Losers     json.RawMessage `json:"losers,omitempty"`    // rules that matched and lost; the others follow from request and version
	Digest     string          `json:"digest"`              // of the exact call
	GrantID    id.ID           `json:"grantId,omitzero"`    // the grant that answered an ASK
	Execution  bool            `json:"execution"`           // the second decision, right before the effect
	Request    json.RawMessage `json:"request,omitempty"`   // canonical request, for backtest; arguments stand in the invoke, if it names one
	ApprovalID id.ID           `json:"approvalId,omitzero"` // the approval that answered an ASK
}

// ApprovalRequested says that a person is asked, and about which exact call.
type ApprovalRequested struct {
	ApprovalID id.ID           `json:"approvalId"`
	Key        string          `json:"key"`   // AP-318
	Asker      string          `json:"asker"` // run, mcp_session, plan_step, draft
	AskerID    id.ID           `json:"askerId"`
	InvokeID   id.ID           `json:"invokeId,omitzero"`
	RunID      id.ID           `json:"runId,omitzero"`
	Actor      string          `json:"actor"` // principal that wants to act
	Requester  string          `json:"requester,omitempty"`
	Skill      string          `json:"skill"`
	Arguments  json.RawMessage `json:"arguments"`
	Call       string          `json:"call"`   // digest of the exact call
	Digest     string          `json:"digest"` // of the call, the expiry and the uses: what an answer names
	Asks       []string        `json:"asks"`   // kinds of ASK: rule, autonomy, label, guardrail, commitment
	Rule       string          `json:"rule"`
	Version    int             `json:"version"` // of the policy
	Risk       string          `json:"risk"`    // "" is unknown
	Reasons    []string        `json:"reasons,omitempty"`
	Reason     string          `json:"reason,omitempty"` // the asker's words
	ExpiresAt  int64           `json:"expiresAt"`        // microseconds
}

// ApprovalAnswered is a person's answer. It binds to the digest that was shown.
type ApprovalAnswered struct {
	ApprovalID  id.ID           `json:"approvalId"`
	PersonID    id.ID           `json:"personId"`
	Answer      string          `json:"answer"`         // allow, deny, edit
	Scope       string          `json:"scope"`          // once, session, grant
	Digest      string          `json:"digest"`         // that was shown
	Next        string          `json:"next,omitempty"` // after an edit: the digest that is open now
	Call        string          `json:"call"`           // digest of the exact call, after an edit the new one
	GrantID     id.ID           `json:"grantId,omitzero"`
	Endorsement id.ID           `json:"endorsement,omitzero"` // the answer also lifts the label for (skill, target, run)
	InvokeID    id.ID           `json:"invokeId,omitzero"`
	RunID       id.ID           `json:"runId,omitzero"`
	Arguments   json.RawMessage `json:"arguments,omitempty"` // when they are not those that were asked for first
	Reason      string          `json:"reason,omitempty"`
	EffectiveAt int64           `json:"effectiveAt"` // microseconds
	Via         string          `json:"via"`         // console, cli, api
}

// ApprovalWithdrawn says that a person took an answer back before it took
// effect. The approval is open again; what the answer gave is gone.
type ApprovalWithdrawn struct {
	ApprovalID id.ID `json:"approvalId"`
	InvokeID   id.ID `json:"invokeId,omitzero"`
	RunID      id.ID `json:"runId,omitzero"`
	PersonID   id.ID `json:"personId"`
}

// ApprovalClosed ends an approval without a person's answer.
type ApprovalClosed struct {
	ApprovalID id.ID  `json:"approvalId"`
	InvokeID   id.ID  `json:"invokeId,omitzero"`
	RunID      id.ID  `json:"runId,omitzero"`
	How        string `json:"how"` // expired, cancelled, superseded
}

// GrantMade is a scoped, expiring permission. It only ever answers an ASK.
type GrantMade struct {
	GrantID   id.ID             `json:"grantId"`
	Holder    string            `json:"holder"`              // principal
	Skill     string            `json:"skill"`               // glob
	Manifest  string            `json:"manifest,omitempty"`  // "" binds to no version of the skill
	Targets   []string          `json:"targets,omitempty"`   // globs
	Arguments map[string]string `json:"arguments,omitempty"` // pointer to glob
	Access    []string          `json:"access"`
	MaxRisk   string            `json:"maxRisk"`
	Uses      int               `json:"uses"`           // 0 means no count
	ExpiresAt int64             `json:"expiresAt"`      // microseconds
	RunID     id.ID             `json:"runId,omitzero"` // a session grant
	PersonID  id.ID             `json:"personId"`
	Cause     id.ID             `json:"cause,omitzero"` // the approval it answers
}

// GrantEnded says that a grant was revoked or used up.
type GrantEnded struct {
	GrantID  id.ID  `json:"grantId"`
	How      string `json:"how"` // revoked, used, withdrawn
	PersonID id.ID  `json:"personId,omitzero"`
}

// PolicySaved says that the rules have a new version.
type PolicySaved struct {
	Version  int             `json:"version"`
	PersonID id.ID           `json:"personId,omitzero"`
	By       string          `json:"by"`
	Old      json.RawMessage `json:"old,omitempty"`
	New      json.RawMessage `json:"new"`
	Comment  string          `json:"comment,omitempty"`
}

// AutonomyChanged says that the dial of an agent, or of all, was moved.
type AutonomyChanged struct {
	Scope    string `json:"scope"` // account, agent:NAME
	Old      int    `json:"old"`
	New      int    `json:"new"`
	PersonID id.ID  `json:"personId"`
}

// HaltSet stops an account, a workspace or an agent. Anyone may say it.
type HaltSet struct {
	Scope  string `json:"scope"` // account, workspace:ID, agent:NAME
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// HaltCleared lifts a stop.
type HaltCleared struct {
	Scope string `json:"scope"`
	By    string `json:"by"`
}

// EventType and sealed close the set of payloads.
func (PolicyDecision) EventType() Type    { return "policy.decision" }
func (ApprovalRequested) EventType() Type { return "approval.requested" }
func (ApprovalAnswered) EventType() Type  { return "approval.answered" }
func (ApprovalWithdrawn) EventType() Type { return "approval.withdrawn" }
func (ApprovalClosed) EventType() Type    { return "approval.closed" }
func (GrantMade) EventType() Type         { return "grant.made" }
func (GrantEnded) EventType() Type        { return "grant.ended" }
func (PolicySaved) EventType() Type       { return "policy.saved" }
func (AutonomyChanged) EventType() Type   { return "autonomy.changed" }
func (HaltSet) EventType() Type           { return "halt.set" }
func (HaltCleared) EventType() Type       { return "halt.cleared" }

func (PolicyDecision) sealed()    {}
func (ApprovalRequested) sealed() {}
func (ApprovalAnswered) sealed()  {}
func (ApprovalWithdrawn) sealed() {}
func (ApprovalClosed) sealed()    {}
func (GrantMade) sealed()         {}
func (GrantEnded) sealed()        {}
func (PolicySaved) sealed()       {}
func (AutonomyChanged) sealed()   {}
func (HaltSet) sealed()           {}
func (HaltCleared) sealed()       {}

var policyRows = []Row{
	row[PolicyDecision](1, layers(LayerDispatch), classes(ClassPolicy), "What policy decided about one call, and by which rule."),
	row[ApprovalRequested](1, layers(LayerDispatch), classes(ClassPolicy), "A person is asked about one exact call."),
	row[ApprovalAnswered](1, layers(LayerDispatch), classes(ClassPolicy), "A person answered, bound to the digest that was shown."),
	row[ApprovalWithdrawn](1, layers(LayerDispatch), classes(ClassPolicy), "A person took an answer back before it took effect; the approval is open again."),
	row[ApprovalClosed](1, layers(LayerDispatch), classes(ClassPolicy), "An approval ended without an answer."),
	row[GrantMade](1, layers(LayerDispatch), classes(ClassPolicy), "A person gave a scoped, expiring permission."),
	row[GrantEnded](1, layers(LayerDispatch), classes(ClassPolicy), "A grant was revoked or used up."),
	row[PolicySaved](1, layers(LayerDispatch), classes(ClassPolicy), "The rules have a new version."),
	row[AutonomyChanged](1, layers(LayerDispatch), classes(ClassPolicy), "The autonomy dial was moved."),
	row[HaltSet](1, layers(LayerDispatch), classes(ClassPolicy), "Everything in a scope stops."),
	row[HaltCleared](1, layers(LayerDispatch), classes(ClassPolicy), "A stop was lifted."),
}
