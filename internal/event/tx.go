package event

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Tx is the only way to read or write state (ADR-0003). Every Store method
// takes one; no Store method opens or commits a transaction. A Tx is used by
// one goroutine and is dead when the function that got it returns.
type Tx interface {
	// Context is the context of the engine, not of the caller: a caller that
	// goes away cannot break a statement half way.
	Context() context.Context
	// Account is the account whose rows and events this transaction may touch.
	Account() id.ID
	// Now is the recorded time of this transaction.
	Now() time.Time
	// NewID returns a fresh id.
	NewID() id.ID
	// Emit adds an event to the transaction. It checks the origin's right,
	// stamps id, times and causes, and returns the event without its Seq.
	Emit(Origin, Draft) (Event, error)
	// Writable is false inside View: Emit and every writing statement refuse.
	Writable() bool

	collector() *Collector
}

// Journal is where transactions come from.
type Journal interface {
	// Do runs f in one transaction: its rows and its events commit together or
	// not at all. f may run more than once and must have no effect outside tx.
	// A refusal before f's first write costs nothing to others.
	Do(ctx context.Context, account id.ID, f func(tx Tx) error) error
	// DoBulk is Do behind all interactive work: imports, rebuilds, erasure.
	DoBulk(ctx context.Context, account id.ID, f func(tx Tx) error) error
	// View runs f over a consistent snapshot that cannot be written.
	View(ctx context.Context, account id.ID, f func(tx Tx) error) error
}

// Draft is an event to be. Only Payload is always required.
type Draft struct {
	Payload   Payload
	Summary   string // one plain sentence, at most 400 bytes; sealed with the payload
	Stream    id.ID  // Nil means the account's own stream
	Addressee id.ID
	// Causes: the first is the direct cause, the others further parents.
	Causes []Ref
	// Label is required for an event without causes. With causes the event's
	// label is the join of theirs, and Label can only lower it.
	Label Label
	// Raise replaces the joined label; it is the one way up (INV-8).
	Raise      Raise
	OccurredAt time.Time // zero means now
	Subject    id.ID     // whose data it is; Nil means the account itself
	Feelings   Feelings
	Evidence   []Reference
}

// RaiseBy is what lifted a label (architecture §7).
type RaiseBy string

// The five ways up.
const (
	RaiseHandle    RaiseBy = "handle"
	RaiseQuote     RaiseBy = "quote"
	RaiseClosedSet RaiseBy = "closed_set"
	RaiseRule      RaiseBy = "rule"
	RaisePerson    RaiseBy = "person"
)

// Raise lifts a label. The body of the event records it.
type Raise struct {
	By    RaiseBy
	Label Label
}

const maxSummary = 400

// Collector implements the emitting half of Tx; the store embeds one.
// Only store makes one (arch_test).
type Collector struct {
	account  id.ID
	ids      *id.Source
	clock    clock.Clock
	now      time.Time
	writable bool
	events   []Event
}

// NewCollector returns a collector for one transaction of one account.
func NewCollector(account id.ID, ids *id.Source, c clock.Clock, writable bool) *Collector {
	return &Collector{account: account, ids: ids, clock: c, now: c.Now(), writable: writable}
}

func (c *Collector) collector() *Collector { return c } //nolint:unused // seals Tx: only what embeds a Collector is one

// Account implements Tx.
func (c *Collector) Account() id.ID { return c.account }

// Now implements Tx.
func (c *Collector) Now() time.Time { return c.now }

// NewID implements Tx.
func (c *Collector) NewID() id.ID { return c.ids.New() }

// Writable implements Tx.
func (c *Collector) Writable() bool { return c.writable }

// Events returns what was emitted so far, in order.
func (c *Collector) Events() []Event { return c.events }

// Emit implements Tx.
func (c *Collector) Emit(o Origin, d Draft) (Event, error) {
	if !c.writable {
		return Event{}, fault.New(fault.Internal, "emit inside a read-only view")
	}
	if d.Payload == nil {
		return Event{}, fault.New(fault.Invalid, "an event needs a payload").On("payload")
	}
	t := d.Payload.EventType()
	if err := o.may(t); err != nil {
		return Event{}, err
	}
	row, _ := Lookup(t)
	label, err := d.label()
	if err != nil {
		return Event{}, err
	}
	if len(d.Summary) > maxSummary || strings.ContainsRune(d.Summary, 0) || !utf8.ValidString(d.Summary) {
		return Event{}, fault.New(fault.Invalid, "a summary is one sentence of at most %d bytes of valid UTF-8", maxSummary).On("summary")
	}
	e := Event{
		Account: c.account, ID: c.ids.New(), Type: t, Version: row.Version,
		Stream: d.Stream, Addressee: d.Addressee, Layer: o.layer, Source: o.source,
		OccurredAt: d.OccurredAt.UTC().Truncate(time.Microsecond), RecordedAt: c.now, Label: label,
		Feelings: d.Feelings, Evidence: d.Evidence, Subject: d.Subject,
		Summary: d.Summary, Payload: d.Payload,
	}
	if e.Stream.IsZero() {
		e.Stream = c.account
	}
	if e.Subject.IsZero() {
		e.Subject = c.account
	}
	if d.OccurredAt.IsZero() {
		e.OccurredAt = c.now
	}
	e.Correlation = e.ID
	if len(d.Causes) > 0 {
		e.Causation = d.Causes[0].ID
		if !d.Causes[0].Correlation.IsZero() {
			e.Correlation = d.Causes[0].Correlation
		}
		for _, p := range d.Causes[1:] {
			e.Parents = append(e.Parents, p.ID)
		}
	}
	c.events = append(c.events, e)
	return e, nil
}

// label returns the label of the event to be.
func (d Draft) label() (Label, error) {
	if d.Raise.By != "" {
		if d.Raise.Label.IsZero() {
			return Label{}, fault.New(fault.Invalid, "a raise needs a label").On("raise")
		}
		return d.Raise.Label, nil
	}
	labels := make([]Label, 0, len(d.Causes)+1)
	for _, c := range d.Causes {
		if c.Label.IsZero() {
			return Label{}, fault.New(fault.Invalid, "cause %s carries no label", c.ID).On("causes")
		}
		labels = append(labels, c.Label)
	}
	if !d.Label.IsZero() {
		labels = append(labels, d.Label)
	}
	if len(labels) == 0 {
		return Label{}, fault.New(fault.Invalid, "an event without a cause needs a label").On("label")
	}
	return Join(labels...), nil
}
