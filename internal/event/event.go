package event

import (
	"time"

	"github.com/witan-run/witan/internal/kit/id"
)

// Type is the wire name of an event ("inbound.message"). Never renamed, only superseded.
type Type string

// Payload is the typed body of an event. The set is closed: only this package
// can add to it. Payloads hold ids, strings, integers, booleans, times in
// microseconds and raw JSON, never domain structs, so old events still decode.
//
//sumtype:decl
type Payload interface {
	// EventType returns the wire name.
	EventType() Type
	sealed()
}

// Reference points at a record that speaks for the event (seed 001 §2 "evidence").
type Reference struct {
	Kind RefKind
	ID   id.ID
}

// RefKind is the kind of thing a Reference points at.
type RefKind uint8

// The kinds of evidence.
const (
	RefMemory RefKind = iota + 1
	RefBelief
	RefEvent
	RefEntity
	RefDocument
	RefLLMCall
	RefEffect
)

// Feelings are the optional appraisal values of seed 001 §2, in micro-units
// (1,000,000 = 1.0); nil means "not given".
type Feelings struct {
	Salience, Confidence, Valence, Arousal *int32
}

// Event is one entry of the journal. Header fields hold no free text; what
// people wrote is in the sealed body (architecture §4).
type Event struct {
	Account     id.ID
	Seq         int64 // dense per account from 1; 0 while the transaction runs
	ID          id.ID
	Type        Type
	Version     int
	Stream      id.ID // order is kept per stream; the account's id for account-wide facts
	Addressee   id.ID // who must react: an agent, a mind, a person; Nil for nobody in particular
	Layer       Layer
	Source      string
	Parents     []id.ID // further causes, besides Causation
	Causation   id.ID   // parent_event_id: the event that directly caused this one
	Correlation id.ID   // the round trip it belongs to
	OccurredAt  time.Time
	RecordedAt  time.Time
	Label       Label
	Feelings    Feelings
	Evidence    []Reference
	Subject     id.ID // whose data key seals the body
	BodyCommit  [32]byte
	Hash        [32]byte
	Sealed      []byte // the stored body; nil in readers that did not ask for it

	Summary string  // one sentence; "" when erased
	Payload Payload // nil when erased
	Erased  bool    // the subject's key was destroyed; the chain still verifies
}

// Ref returns what a later event needs to name this one as its cause.
func (e Event) Ref() Ref { return Ref{ID: e.ID, Correlation: e.Correlation, Label: e.Label} }

// Ref names an event as a cause. It carries the label, so that nothing can be
// derived from an event without its taint.
type Ref struct {
	ID          id.ID
	Correlation id.ID
	Label       Label
}
