package channel

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Trust is how far a medium can be trusted to say who speaks (seed 000).
type Trust string

// The three trust levels of a channel.
const (
	TrustHigh   Trust = "high"
	TrustMedium Trust = "medium"
	TrustLow    Trust = "low"
)

// Micro returns the level in micro-units (1,000,000 = 1.0), and false for a
// word that is no level. The values are the documented defaults of seed 000.
func (t Trust) Micro() (int32, bool) {
	switch t {
	case TrustHigh:
		return 1_000_000, true
	case TrustMedium:
		return 600_000, true
	case TrustLow:
		return 300_000, true
	}
	return 0, false
}

// Traits are the fixed properties of a channel.
type Traits struct {
	Name  string // unique in the installation: a letter, then letters, digits and dashes
	Trust Trust
	// Push is true if a message must be carried to the medium. A pull channel's
	// readers fetch it here: recording it is delivering it.
	Push bool
	// Idempotent says that the medium drops a second message with the same key,
	// so an attempt whose outcome is not known may be repeated.
	Idempotent bool
	Limit      Limit // of one message; the zero Limit means none
}

// Outgoing is one part of a message on its way to a medium.
type Outgoing struct {
	Account   id.ID
	Message   event.OutboundMessage // Text is this part's text
	Part      int                   // from 1
	Parts     int
	ThreadRef string // the medium's own name of the thread; "" if it never named one
}

// Receipt is what a medium answered to a delivery.
type Receipt struct {
	State      string // sent or delivered; "" means sent
	ProviderID string // the medium's id of the message, if it gave one
	ThreadRef  string // the medium's name of the thread, for later answers in it
}

// Adapter is one medium. It is safe for concurrent use.
type Adapter interface {
	// Traits returns the same value for the adapter's whole life.
	Traits() Traits
	// Deliver carries one part to the medium. The key is the same for every
	// attempt of the part; an adapter hands it to the medium if that takes one.
	// The kind of the error says what is known:
	//   - fault.Unavailable, fault.Limited: the medium did not take it; try again
	//   - fault.Invalid, fault.Denied, fault.NotFound: it never will
	//   - fault.Unknown, fault.Timeout, fault.Cancelled and any other: it may have
	// An error with a method RetryAfter() time.Duration names the earliest retry.
	Deliver(ctx context.Context, out Outgoing, key string) (Receipt, error)
}

// Runner is an adapter that fetches from its medium by itself. Run returns when
// ctx ends; an error ends the adapter and is shown as its state. It reads its
// place with Intake.Cursor and moves it with Inbound.Cursor.
type Runner interface {
	Adapter
	Run(ctx context.Context, account id.ID, in *Intake) error
}

// RetryError is a temporary refusal that names the earliest retry.
type RetryError struct {
	Err   *fault.Error
	After time.Duration
}

// Error implements error.
func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns the classified error.
func (e *RetryError) Unwrap() error { return e.Err }

// RetryAfter returns how long to wait at least.
func (e *RetryError) RetryAfter() time.Duration { return e.After }
