package skill

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Executable carries out the calls of one skill. It is safe for concurrent use.
type Executable interface {
	// Act carries out one call. It must honour ctx, which ends at the manifest's
	// timeout, and may not start work that outlives it.
	//
	// The kind of its error says what is known: an error made by
	// NotSent means that nothing left; Invalid, NotFound, Conflict, Denied,
	// Unauthorized, Limited, Halted, Stale and Corrupt mean that the act was
	// refused and did not happen; every other error leaves the outcome open and
	// is treated by the effect class.
	Act(ctx context.Context, c Call) (Output, error)
}

// Reconciler is an Executable of class reconcilable.
type Reconciler interface {
	Executable
	// ReadBack asks the target what became of c.Key. It changes nothing.
	ReadBack(ctx context.Context, c Call) (out Output, found bool, err error)
}

// Call is one attempt at one effect.
type Call struct {
	Account, Effect, Run, Workspace id.ID
	Step                            int
	Attempt                         int   // from 1
	Fence                           int64 // grows with every claim; for targets that take a condition
	// Key is the idempotency key: the same for every attempt at this effect.
	Key              string
	Skill, Manifest  string
	Arguments        json.RawMessage // canonical JSON, checked against the input schema
	Actor, Requester string          // principals
	Channel          string          // where the requester is
	Recipient        string          // principal that the requester's answer goes to
	Label            event.Label     // why: the taint of the context the call was made in
	What             []event.Argument
	// Cause is the skill.invoke (or the edit of it) to name as cause of what
	// Commit emits.
	Cause event.Ref
	// Stream and Subject are those of the skill.invoke.
	Stream, Subject id.ID
	// Now is the recorded time of this attempt, Deadline when it ends; both by
	// the database's clock.
	Now, Deadline time.Time

	permitted []manifest.Permission
	secrets   *openSecrets
}

// Bind decodes the arguments into v. An argument that v does not know is
// fault.Invalid.
func (c Call) Bind(v any) error {
	d := json.NewDecoder(bytes.NewReader(c.Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fault.New(fault.Invalid, "arguments of %s: %w", c.Skill, err).On("arguments")
	}
	return nil
}

// Permit returns fault.Denied if the manifest does not declare p. An executable
// calls it before it uses what p stands for.
func (c Call) Permit(p manifest.Permission) error {
	for _, have := range c.permitted {
		if have == p {
			return nil
		}
	}
	return fault.New(fault.Denied, "the manifest of %s does not declare permission %s", c.Skill, p).On("permissions")
}

// Secret returns a secret that the manifest declares. It is fault.Denied for
// any other, and whatever the vault says if there is none. What was read here
// is masked in the recorded output and error.
func (c Call) Secret(ctx context.Context, name string) (secret.String, error) {
	if c.secrets == nil {
		return secret.String{}, fault.New(fault.Denied, "the manifest of %s declares no secret", c.Skill).On("secrets")
	}
	return c.secrets.open(ctx, c.Account, name)
}

// Output is what an act gave.
type Output struct {
	// Value is marshalled to JSON once the act and Commit are over, so it may be
	// a pointer that Commit fills.
	Value any
	// Label lowers the result's label further, for an output whose parts carry
	// labels of their own (the rows of a recall). The zero Label lowers nothing.
	Label event.Label
	// Commit does the whole effect of a skill that lives in our own database. It
	// runs inside the transaction that confirms the effect, so effect and
	// confirmation commit together or not at all. It may run more than once and
	// must have no effect outside tx but filling Value. A fault it returns of a
	// kind that means "refused" (see Executable) fails the call. Such a skill
	// declares class idempotent: an attempt that was cut off has done nothing.
	Commit func(tx event.Tx) error
	// SpentMicros is what the act cost, in micro-units of money. The reservation
	// made for the manifest's estimate is settled to it.
	SpentMicros int64
}

// notSent marks an error of an attempt that is known not to have left.
type notSent struct{ cause error }

func (e *notSent) Error() string { return "nothing was sent: " + e.cause.Error() }
func (e *notSent) Unwrap() error { return e.cause }

// ErrNotSent is what errors.Is finds in an error made by NotSent.
var ErrNotSent = &notSent{}

func (e *notSent) Is(target error) bool { return target == error(ErrNotSent) }

// NotSent says that nothing of this attempt left: the target could not be
// reached at all. The effect goes back to intended and is tried again. An
// executable uses it only before its first byte of a request was written;
// nobody can tell for it, because a dial that fails may be the second hop.
func NotSent(cause error) error {
	if cause == nil {
		return nil
	}
	return &notSent{cause}
}
