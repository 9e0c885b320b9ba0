package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Reason says what went wrong on the way to a model, finer than a fault kind.
type Reason string

// The reasons.
const (
	Unreachable  Reason = "unreachable"  // no connection: refused, no such host, TLS
	Slow         Reason = "slow"         // no first byte in time
	Stalled      Reason = "stalled"      // bytes stopped coming
	TooLong      Reason = "too_long"     // the whole call took longer than allowed
	Truncated    Reason = "truncated"    // the reply ended before its end
	Malformed    Reason = "malformed"    // the reply is not what the provider documents
	TooLarge     Reason = "too_large"    // the reply is larger than allowed
	RateLimited  Reason = "rate_limited" // 429
	Overloaded   Reason = "overloaded"   // 503, 529
	ServerError  Reason = "server_error" // any other 5xx
	NoQuota      Reason = "no_quota"     // the provider's account has no money or quota left
	BadKey       Reason = "bad_key"      // 401, 403
	NoModel      Reason = "no_model"     // 404
	BadRequest   Reason = "bad_request"  // any other 4xx
	Redirected   Reason = "redirected"   // 3xx: never followed, a key would travel along
	Gone         Reason = "gone"         // the caller went away
	Unanswerable Reason = "unanswerable" // a script or a recording has no line for this request
	OverBudget   Reason = "over_budget"  // our own limit
	BadOutput    Reason = "bad_output"   // the answer does not fit the schema that was asked for
	NoProvider   Reason = "no_provider"  // nothing is configured for the role
	BadConfig    Reason = "bad_config"   // a key, address or setting cannot be used
)

// kinds maps every reason to what an edge shows.
func (r Reason) kind() fault.Kind {
	switch r {
	case Slow, Stalled, TooLong:
		return fault.Timeout
	case RateLimited, NoQuota, TooLarge, OverBudget:
		return fault.Limited
	case BadKey:
		return fault.Unauthorized
	case NoModel, Unanswerable:
		return fault.NotFound
	case BadRequest, Redirected, BadConfig:
		return fault.Invalid
	case Gone:
		return fault.Cancelled
	}
	return fault.Unavailable
}

// again reports whether the same call may succeed a moment later.
func (r Reason) again() bool {
	switch r {
	case Unreachable, Slow, Stalled, Truncated, Malformed, RateLimited, Overloaded, ServerError:
		return true
	}
	return false
}

// Failure is an error on the way to a model. Its text never holds a secret.
type Failure struct {
	Provider   string
	Reason     Reason
	Status     int           // HTTP status, 0 if there was none
	RetryAfter time.Duration // as the provider asked; 0 if it did not
	Attempts   int           // how often it was tried
	err        *fault.Error
}

// NewFailure returns a failure of a provider; the reason gives its fault kind.
// The text must be scrubbed already.
func NewFailure(provider string, r Reason, format string, args ...any) *Failure {
	return &Failure{Provider: provider, Reason: r, err: fault.New(r.kind(), "%s: %s", provider, fmt.Sprintf(format, args...))}
}

// WithFix returns a copy of f that says what to do.
func (f *Failure) WithFix(format string, args ...any) *Failure {
	c := *f
	c.err = f.err.WithFix(format, args...)
	return &c
}

// On returns a copy of f that names the input at fault.
func (f *Failure) On(field string) *Failure {
	c := *f
	c.err = f.err.On(field)
	return &c
}

// Error implements error.
func (f *Failure) Error() string {
	s := f.err.Error()
	if f.Attempts > 1 {
		s += fmt.Sprintf(" (tried %d times)", f.Attempts)
	}
	return s
}

// Unwrap returns the classified error.
func (f *Failure) Unwrap() error { return f.err }

// ReasonOf returns the reason of the first Failure in err's chain, or "".
func ReasonOf(err error) Reason {
	if f := failureOf(err); f != nil {
		return f.Reason
	}
	return ""
}

func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// CutShort reports whether err is a reply that stopped coming, by an end or by a
// timeout. A wire that has the whole answer by then only lost what follows it.
func CutShort(err error) bool {
	r := ReasonOf(err)
	return r == Truncated || r == Stalled
}

// Elsewhere reports whether another provider may be tried after err: only for
// unavailable, limited and timeout. A wrong key or a bad request is ours to
// repair, and a budget of our own is met everywhere.
func Elsewhere(err error) bool {
	if ReasonOf(err) == OverBudget {
		return false
	}
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Limited, fault.Timeout:
		return true
	}
	return false
}
