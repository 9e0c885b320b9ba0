package skill

import (
	"slices"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// State is where an effect stands in the ledger.
type State string

// The states (architecture §5).
const (
	Asked       State = "asked"       // a person is asked
	Intended    State = "intended"    // may be carried out; nothing left yet
	Dispatching State = "dispatching" // bytes may be leaving, or have left
	Confirmed   State = "confirmed"   // it happened
	Failed      State = "failed"      // it did not happen, and will not
	Unknown     State = "unknown"     // nobody can tell; a person settles it
	Held        State = "held"        // kept back after a restore; a person decides
	Denied      State = "denied"      // policy or a person said no
	Refused     State = "refused"     // the call itself is not acceptable
)

// States returns every state.
func States() []State {
	return []State{Asked, Intended, Dispatching, Confirmed, Failed, Unknown, Held, Denied, Refused}
}

// Final reports whether nothing can change any more.
func (s State) Final() bool {
	return s == Confirmed || s == Failed || s == Denied || s == Refused
}

// moves is every transition that the ledger allows; a trigger in both engines
// holds the part of it that keeps effects from being lost or done twice.
func (s State) moves(to State) bool {
	switch s {
	case Asked:
		return slices.Contains([]State{Intended, Denied, Refused, Failed}, to)
	case Intended:
		return slices.Contains([]State{Asked, Dispatching, Confirmed, Failed, Denied, Refused, Held}, to)
	case Dispatching:
		return slices.Contains([]State{Dispatching, Intended, Confirmed, Failed, Unknown, Held}, to)
	case Unknown:
		return slices.Contains([]State{Unknown, Confirmed, Failed}, to)
	case Held:
		return slices.Contains([]State{Intended, Unknown, Confirmed, Failed}, to)
	case Confirmed, Failed, Denied, Refused:
	}
	return false
}

// Effect is one row of the ledger. It holds no free text: what the call says
// stands in its event, what came of it in the result's.
type Effect struct {
	ID        id.ID
	Cause     id.ID // the skill.invoke
	RunID     id.ID
	Step      int
	CallID    string
	Actor     string // principal
	Requester string // principal
	Workspace id.ID
	Skill     string
	Manifest  string // hash
	Catalogue int
	Class     manifest.Class
	State     State
	Attempt   int    // of dispatching; 0 before the first
	Key       string // idempotency key, fixed for good
	Call      string // digest of the exact call, by policy
	Approval  id.ID  // that answers an ASK; Nil if none was needed
	Edit      id.ID  // approval.answered whose arguments replace the cause's
	Decision  id.ID  // latest policy.decision
	Result    id.ID  // skill.result; Nil until final
	Fence     int64  // of the latest lease that wrote
	Node      id.ID  // that holds the attempt
	Deadline  time.Time
	Reason    string // code: a fault kind, or why it waits
	// Before is the state from which an effect was held or became unknown.
	Before State
	// Settling says that a person asked to read the outcome back.
	Settling  bool
	Label     event.Label
	Stream    id.ID
	CreatedAt time.Time
	ChangedAt time.Time
	Version   int64 // grows with every change; updates name the one they saw
}

// Step is one line of an effect's history. Rows are appended only.
type Step struct {
	Number  int
	State   State
	Attempt int
	Fence   int64
	Node    id.ID
	EventID id.ID // effect.changed, or the event that caused the row
	Reason  string
	At      time.Time
}

// Filter selects effects for a list, newest first.
type Filter struct {
	Run    id.ID // Nil means any
	State  State // "" means any
	Before id.ID // ids below this one: the last of the page before
	Limit  int   // 1 to 200; 0 means 50
}
