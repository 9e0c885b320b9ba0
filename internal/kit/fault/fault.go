// Package fault classifies errors so that each edge (HTTP, MCP, CLI exit code)
// can answer from exactly one table.
//
// Purpose: a Kind says what sort of failure happened; Field and Fix say which
// input was wrong and what to do. Internal causes are wrapped, never shown to a
// user: an edge prints Message, Field and Fix only.
//
// It imports the standard library only and starts no goroutine.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind is the class of a failure. The zero Kind is Internal.
type Kind uint8

// The kinds, in the order of the table in docs/cli.md.
const (
	Internal     Kind = iota // a bug or an unexpected failure of ours
	Invalid                  // the input breaks a rule; Field names it
	NotFound                 // the thing does not exist (or not for this account)
	Conflict                 // the thing changed, or the state forbids the act
	Denied                   // policy or role says no
	Unauthorized             // nobody is signed in, or the credential is wrong
	Limited                  // a rate, size or budget limit was met
	Unavailable              // a store, model or peer cannot be reached; try again
	Timeout                  // it took longer than its deadline
	Cancelled                // the caller went away, or a person cancelled it
	Halted                   // a stop is in force
	Stale                    // a lease, version or digest is no longer current
	Unknown                  // the outcome of an effect cannot be told
	Corrupt                  // stored bytes do not match their proof
)

var names = [...]string{
	"internal", "invalid", "not_found", "conflict", "denied", "unauthorized", "limited",
	"unavailable", "timeout", "cancelled", "halted", "stale", "unknown", "corrupt",
}

// String returns the wire name of the kind, in snake_case.
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Kinds returns every kind, for tables that must be complete.
func Kinds() []Kind {
	out := make([]Kind, len(names))
	for i := range out {
		out[i] = Kind(i)
	}
	return out
}

// Error is a classified error that is safe to show, but for its cause.
type Error struct {
	Kind    Kind
	Message string // one plain sentence, lower case, no trailing period
	Field   string // the input at fault, if any ("skills[2].name")
	Fix     string // what the reader can do about it, if we know
	cause   error
}

// Error renders message, field and fix; the cause is added for logs.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.cause != nil {
		b.WriteString(": ")
		b.WriteString(e.cause.Error())
	}
	return b.String()
}

// Unwrap returns the wrapped cause.
func (e *Error) Unwrap() error { return e.cause }

// New returns an error of kind k with a formatted message. A %w verb keeps its cause.
func New(k Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Kind: k, Message: err.Error()}
	if c := errors.Unwrap(err); c != nil {
		e.Message = strings.TrimSuffix(strings.TrimSuffix(err.Error(), c.Error()), ": ")
		e.cause = c
	}
	return e
}

// Wrap gives err the kind k and says what was being done.
// It returns nil for a nil err and keeps the kind of an error that has one already.
func Wrap(k Kind, err error, doing string) error {
	if err == nil {
		return nil
	}
	if have := KindOf(err); have != Internal {
		k = have
	}
	return &Error{Kind: k, Message: doing, cause: err}
}

// On returns a copy of e that names the input at fault.
func (e *Error) On(field string) *Error { c := *e; c.Field = field; return &c }

// WithFix returns a copy of e that says what to do.
func (e *Error) WithFix(format string, args ...any) *Error {
	c := *e
	c.Fix = fmt.Sprintf(format, args...)
	return &c
}

// KindOf returns the kind of the first classified error in err's chain.
// Context errors map to Timeout and Cancelled; everything else is Internal.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return Internal
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return Internal
}

// Is reports whether err is of kind k.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }

// Public returns what may be shown outside: message, field and fix without causes.
// An unclassified error is shown as "internal error".
func Public(err error) (msg, field, fix string) {
	var e *Error
	if !errors.As(err, &e) || e.Kind == Internal {
		switch KindOf(err) {
		case Timeout:
			return "it took too long", "", ""
		case Cancelled:
			return "it was cancelled", "", ""
		}
		return "internal error", "", "the log has the details"
	}
	return e.Message, e.Field, e.Fix
}
