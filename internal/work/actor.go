package work

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Actor is who does something, as the door that let them in knows them.
type Actor struct {
	Principal string // person:ID, contact:ID, agent:NAME, worker:NAME, machine, or system
	Channel   string // the channel that a message came by; "" for none
	// Workspace binds a worker: it sees this workspace only, and writes to an
	// ongoing task only with the fence of its own claim. Nil is nobody's worker.
	Workspace id.ID
	Fence     int64 // the claim that is named; 0 names none
	Trust     int32 // micro-units
	Subject   id.ID // whose words it writes; Nil means the account's
	// Label is required without Causes; with them it can only lower theirs.
	Label  event.Label
	Causes []event.Ref
}

// fullTrust is that of the account's own people, in micro-units.
const fullTrust = 1_000_000

// Person is a person of the account who acts for themself, through any door.
func Person(principal string, person id.ID, label event.Label) Actor {
	return Actor{Principal: principal, Subject: person, Trust: fullTrust, Label: label}
}

func (a Actor) worker() bool { return !a.Workspace.IsZero() }

// person reports whether somebody with a person's reach acts: a person, or the
// machine, which is whoever has the data folder.
func (a Actor) person() bool {
	return strings.HasPrefix(a.Principal, "person:") || a.Principal == "machine"
}

// kind is the seed's word for who made something.
func (a Actor) kind() Assignee {
	if a.person() || strings.HasPrefix(a.Principal, "contact:") {
		return Human
	}
	return Agent
}

// sender is the seed's word for who wrote a message.
func (a Actor) sender() string {
	if a.Channel != "" {
		return a.Channel
	}
	return string(a.kind())
}

func (a Actor) subject(tx event.Tx) id.ID {
	if a.Subject.IsZero() {
		return tx.Account()
	}
	return a.Subject
}

func (a Actor) check() error {
	if a.Principal == "" || len(a.Principal) > maxRef || a.Label.IsZero() && len(a.Causes) == 0 {
		return fault.New(fault.Internal, "work: an actor needs a principal, and a label or a cause")
	}
	return nil
}

// Assignee is who is to do a task, in the seed's two words. The richer value is
// AssigneeRef.
type Assignee string

// The two assignees.
const (
	Human Assignee = "human"
	Agent Assignee = "agent"
)

// Valid reports whether a is one of the two.
func (a Assignee) Valid() bool { return a == Human || a == Agent }

// checkRef says whether a reference names somebody of the kind.
func checkRef(a Assignee, ref string) error {
	kind, name, ok := strings.Cut(ref, ":")
	switch {
	case ref == "":
		return nil
	case len(ref) > maxRef, !ok, name == "", !plain(ref):
	case a == Human && kind == "person", a == Agent && (kind == "agent" || kind == "worker"):
		return nil
	}
	return fault.New(fault.Invalid, "%q names no %s", clip(ref), a).On("assigneeRef").
		WithFix("write person:ID for a human, agent:NAME or worker:NAME for an agent")
}

// resident reports whether a reference names a resident agent, which gets its
// tasks by dispatch and never by a claim.
func resident(ref string) bool { return strings.HasPrefix(ref, "agent:") }
