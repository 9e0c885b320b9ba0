package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Request is one exact call and all that bears on it. Everything is given;
// Decide reads nothing else. A Maybe that is left empty is an unknown input and
// counts against the call (see Decide).
type Request struct {
	Actor     string          // principal who acts: agent:NAME, mind:NAME, worker:ID, person:ID
	Requester Maybe[string]   // principal for whom; Known("") is nobody: a timer, the agent's own idea
	Trust     Maybe[int32]    // the requester's, micro-units 0 to 1,000,000
	Workspace Maybe[id.ID]    // Known(Nil) is "in no workspace"
	Run       id.ID           // Nil is no run: no session grant and no endorsement can cover it
	Skill     string          // name
	Manifest  string          // content hash of the manifest
	Risk      Maybe[Risk]     //
	Access    Maybe[Access]   //
	Targets   Maybe[[]Target] // what the manifest says is acted on; Known(none) is nothing in particular
	Arguments json.RawMessage // canonical JSON object

	Why  Maybe[event.Label] // join of everything that was in the context
	What []ArgumentLabel    // arguments whose label is not Why, sorted by pointer

	Sensitivity Maybe[Sensitivity]
	// Recipients are all who will see what leaves, each cc and host included;
	// Known(none) says that nothing leaves.
	Recipients Maybe[[]Recipient]
	Channel    Maybe[string] // where the requester is

	Autonomy     Maybe[int] // 0 to 100, of the actor in this account
	Now          Maybe[time.Time]
	Dreaming     Maybe[bool]
	Commitments  Maybe[[]Commitment]
	Grants       Maybe[[]Grant]       // of this actor, those in force at Now
	Endorsements Maybe[[]Endorsement] // of this run

	// Invoke and Subject are carried along for the record; they decide nothing.
	Invoke  id.ID // the skill.invoke event; Nil for another asker
	Subject id.ID // whose data the arguments are; Nil is the account
}

// Target is one thing that is acted on, and the argument that names it.
type Target struct {
	Pointer string `json:"pointer,omitempty"` // "" if no argument names it
	Value   string `json:"value"`
}

// ArgumentLabel is the label of the argument at or under a pointer: "what".
type ArgumentLabel struct {
	Pointer string
	Label   event.Label
}

// Recipient is somebody who will see what leaves. Public is any reader.
type Recipient struct {
	Principal string       `json:"principal"`         // person:ID, contact:ID, agent:NAME, ... or Anyone
	Channel   string       `json:"channel,omitempty"` // over which it leaves
	Trust     Maybe[int32] `json:"trust,omitzero"`    // micro-units
	// Stranger is set for a person:ID that is no active person of the account: an
	// id alone is nobody. Decide of a Service fills it.
	Stranger bool `json:"stranger,omitempty"`
}

// Anyone is the principal of a recipient that is no contact of the account: a
// web host, a published page.
const Anyone = "public"

// audience returns who reads what this recipient gets. Whatever is not surely
// one known principal is everybody.
func (r Recipient) audience() event.Audience {
	switch kind, name, _ := strings.Cut(r.Principal, ":"); kind {
	case "person", "agent", "mind", "worker", "workspace", "contact":
		if name != "" && !r.Stranger {
			return event.Only(r.Principal)
		}
	}
	return event.Public()
}

// class says where the recipient stands, seen from the requester.
func (r Recipient) class(requester, channel string) recipientClass {
	switch kind, _, _ := strings.Cut(r.Principal, ":"); {
	case r.Stranger:
	case requester != "" && r.Principal == requester && channel != "" && r.Channel == channel:
		return toRequester
	case kind == "person", kind == "agent", kind == "mind", kind == "worker", kind == "workspace":
		return toAccount
	}
	return toOutside
}

// Commitment is a promise of a mind that demands approval for some calls. It
// can never give permission (seed 001 §9).
type Commitment struct {
	ID     id.ID  `json:"id"`
	Skill  string `json:"skill"`            // glob
	Target string `json:"target,omitempty"` // glob; "" is any
}

// Endorsement is a person's answer to a label ASK. It covers one skill, one set
// of targets and one run, and, for what leaves, data of no narrower audience
// than the person saw.
type Endorsement struct {
	ID      id.ID
	Run     id.ID
	Skill   string
	Targets string      // digest of the target values
	Label   event.Label // of what the person saw: join of why and every what
}

// check refuses a request that is broken, as against unknown.
func (r *Request) check() error {
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	if kind, name, ok := strings.Cut(r.Actor, ":"); !ok || kind == "" || name == "" {
		return bad("actor", "%q is no principal", r.Actor)
	}
	if r.Skill == "" || r.Manifest == "" {
		return bad("skill", "a call names its skill and its manifest")
	}
	if v, ok := r.Risk.Get(); ok && v.String() == "" {
		return bad("risk", "%d is no risk", v)
	}
	if v, ok := r.Access.Get(); ok && v.String() == "" {
		return bad("access", "%d is no access", v)
	}
	if v, ok := r.Sensitivity.Get(); ok && v.String() == "" {
		return bad("sensitivity", "%d is no sensitivity", v)
	}
	if v, ok := r.Autonomy.Get(); ok && (v < 0 || v > maxAutonomy) {
		return bad("autonomy", "%d is not between 0 and 100", v)
	}
	if v, ok := r.Why.Get(); ok && v.IsZero() {
		return bad("why", "a call carries a label")
	}
	for i, w := range r.What {
		if !validPointer(w.Pointer) || w.Label.IsZero() {
			return bad("what", "argument label %d names no argument or no label", i)
		}
	}
	if !slices.IsSortedFunc(r.What, func(a, b ArgumentLabel) int { return strings.Compare(a.Pointer, b.Pointer) }) {
		return bad("what", "argument labels stand in the order of their pointers")
	}
	return nil
}

// whatOf returns the label of one argument value: the closest entry at or above
// its pointer, else why. An unknown why is an outside one for nobody.
func (r *Request) whatOf(pointer string) event.Label {
	best := -1
	for i, w := range r.What {
		if beneath(pointer, w.Pointer) && (best < 0 || len(w.Pointer) > len(r.What[best].Pointer)) {
			best = i
		}
	}
	if best >= 0 {
		return r.What[best].Label
	}
	return r.why()
}

func (r *Request) why() event.Label {
	return r.Why.Or(event.NewLabel(event.Outside, event.Only()))
}

// requester returns the requester and where they are; unknown is nobody.
func (r *Request) requester() (who, channel string) { return r.Requester.Or(""), r.Channel.Or("") }
