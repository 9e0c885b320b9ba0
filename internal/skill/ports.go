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
	Label                                event.Label // why, of the call as the agent made it
	// Original holds the arguments that the agent gave, if a person's edit has
	// replaced them; What is about those.
	Original    json.RawMessage
	Sensitive   bool
	Undoable    bool
	MoneyMicros int64  // estimate, micro-units
	Title       string // for people, from the manifest's template
	Reason      string // the agent's words; never a title
	// Approval is set at execution, when a person has answered.
	Approval id.ID
	Subject  id.ID // whose data the call holds
	Stream   id.ID
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
	// Decide is the first decision. Deny ends the call, Ask puts it to a person.
	Decide(tx event.Tx, q Question, cause event.Ref) (Verdict, error)
	// Confirm decides again, in the transaction that lets the effect q.EffectID
	// go, and takes what allows it: q.Approval, if it is set, or one use of a
	// grant. Only Allow lets the call go. A second attempt at the same effect is
	// the same use; another effect, other arguments and an approval that is
	// expired, taken back or not yet in force are not allowed (INV-7).
	Confirm(tx event.Tx, q Question, cause event.Ref) (Verdict, error)
}

// Asker asks a person about the call that v decided to ask about, and returns
// the approval. fault.Denied means that a person said no to this before.
type Asker interface {
	Ask(tx event.Tx, q Question, v Verdict) (approval id.ID, err error)
}

// Holdings tells which skills an actor may call. An actor that is not known
// holds nothing.
type Holdings interface {
	Held(tx event.Tx, actor string) (skills []string, err error)
}

// The acts of the roles table that this package does for a person.
const (
	actSettle = "effect.settle"
	actManage = "skill.manage"
)

// People tells what a person may do. identity's roles table stands behind it.
type People interface {
	// May returns fault.Denied unless by, a principal, is an active person of the
	// account whose role may do the act.
	May(tx event.Tx, by, act string) error
}

// Purse reserves the money of a call before it and settles it after. A call
// whose manifest estimates money is refused where there is no purse.
type Purse interface {
	// Reserve returns fault.Limited when a budget of the run does not allow it.
	// Reserving again for the same effect is the same reservation.
	Reserve(tx event.Tx, run, effect id.ID, actor string, micros int64) error
	// Settle ends the reservation: spent is what was paid at most, 0 when
	// nothing happened. Without a reservation it changes nothing.
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
