package skill

import (
	"context"
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Question is everything that a decision about a call may look at. It is made
// by the same code when a call is asked for and when it is carried out.
type Question struct {
	InvokeID, RunID, EffectID, Workspace id.ID
	Step                                 int
	CallID                               string
	Actor, Requester                     string
	Trust                                int32 // the requester's, micro-units
	Channel, Recipient                   string
	Skill, Manifest                      string
	Catalogue                            int
	Risk                                 manifest.Risk
	Access                               manifest.Access
	Class                                manifest.Class
	Targets                              []manifest.Target
	Arguments                            json.RawMessage // canonical
	What                                 []event.Argument
	Label                                event.Label // why
	Sensitive                            bool
	Undoable                             bool
	MoneyMicros                          int64  // estimate, micro-units
	Title                                string // for people, from the manifest's template
	Reason                               string // the agent's words; never a title
	// Approval is set at execution, when a person has answered.
	Approval id.ID
	// Execution says that this is the second decision, right before the effect.
	Execution bool
	Subject   id.ID // whose data the call holds
	Stream    id.ID
}

// Answer is what policy said.
type Answer string

// The three answers.
const (
	Allow Answer = "allow"
	Ask   Answer = "ask"
	Deny  Answer = "deny"
)

// Verdict is one decision.
type Verdict struct {
	Answer Answer
	// Call is policy's digest of the exact call: skill and manifest hash,
	// arguments, targets, labels, requester. Two calls with the same digest are
	// the same call.
	Call   string
	Rule   string
	Reason string // one sentence for the agent
	// Event is the policy.decision.
	Event event.Ref
}

// Decider decides about a call and records the decision as an event caused by
// cause. policy.Service stands behind it.
type Decider interface {
	Decide(tx event.Tx, q Question, cause event.Ref) (Verdict, error)
}

// Asker asks a person about the call that v decided to ask about, and returns
// the approval.
type Asker interface {
	Ask(tx event.Tx, q Question, v Verdict) (approval id.ID, err error)
}

// Approvals tells whether a person's answer covers a call now. Check refuses
// with fault.Denied, Stale or Conflict when the approval is not answered with
// allow, is expired or taken back, was used by another effect, or is bound to
// another digest. The same effect may check again: a retry is the same call.
type Approvals interface {
	Check(tx event.Tx, approval, effect id.ID, call string) error
}

// Holdings tells which skills an actor may call. An actor that is not known
// holds nothing.
type Holdings interface {
	Held(tx event.Tx, actor string) (skills []string, err error)
}

// Purse reserves the money of a call before it and settles it after. A call
// whose manifest estimates money is refused where there is no purse.
type Purse interface {
	// Reserve returns fault.Limited when a budget of the run does not allow it.
	Reserve(tx event.Tx, run, effect id.ID, actor string, micros int64) error
	// Settle ends the reservation: spent is what was paid at most, 0 when
	// nothing happened.
	Settle(tx event.Tx, run, effect id.ID, spent int64) error
}

// Vault opens secrets by name. fault.NotFound if there is none.
type Vault interface {
	Secret(ctx context.Context, account id.ID, name string) (secret.String, error)
}

// Deliveries turns a committed skill.invoke into a delivery. Only bus can.
type Deliveries interface {
	SkillInvoke(ctx context.Context, account, event id.ID) (event.Delivery[event.SkillInvoke], error)
}

// Executables finds what carries out skills of one kind.
type Executables interface {
	// Find returns the executable of a name and the hash of the manifest it was
	// written for; false if there is none. The hash must be the catalogue's.
	Find(name string) (exec Executable, hash string, ok bool)
}
