package event

import (
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Delivery is a committed event in the hand of a reaction or a worker. Only
// bus builds one, from bytes it read back (arch_test), so holding a
// Delivery[SkillInvoke] proves that the journal has that event.
type Delivery[P Payload] struct {
	event   Event
	payload P
}

// NewDelivery wraps a committed event. It refuses one that has no seq yet, was
// erased, or is of another type.
func NewDelivery[P Payload](e Event) (Delivery[P], error) {
	p, ok := e.Payload.(P)
	if e.Seq <= 0 || !ok {
		var want P
		return Delivery[P]{}, fault.New(fault.Invalid, "event %s is no committed %s", e.ID, want.EventType())
	}
	return Delivery[P]{event: e, payload: p}, nil
}

// Event returns the committed event.
func (d Delivery[P]) Event() Event { return d.event }

// Payload returns its payload.
func (d Delivery[P]) Payload() P { return d.payload }

// IsZero reports whether nothing was delivered.
func (d Delivery[P]) IsZero() bool { return d.event.Seq == 0 }

// Lease is the right to work on one row until somebody else takes it over.
// Every write of the work passes it to the store, which refuses a stale one (INV-6).
type Lease struct {
	Account id.ID
	Kind    WorkKind
	ID      id.ID  // of the row: a run, an effect, a delivery
	Node    id.ID  // the process that holds it
	Fence   int64  // grows with each claim
	Attempt int    // 1 for the first claim
	Scope   string // what a halt can name: "agent:coordinator", "workspace:ID"
}

// WorkKind is a kind of leased work.
type WorkKind string

// The kinds of leased work.
const (
	WorkRun      WorkKind = "run"
	WorkEffect   WorkKind = "effect"
	WorkDelivery WorkKind = "delivery"
	WorkCall     WorkKind = "llm_call"
)

// WorkKinds lists every kind: what a scan for left-over work looks for.
func WorkKinds() []WorkKind { return []WorkKind{WorkRun, WorkEffect, WorkDelivery, WorkCall} }
