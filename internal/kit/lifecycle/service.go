package lifecycle

import (
	"context"
	"errors"
	"fmt"
)

// Service runs until its context is done.
//
// Run blocks. It returns nil or an error that wraps ctx.Err() for a clean stop.
// The context is cancelled when the service is to stop, and carries the reason
// as its cause.
type Service interface {
	Run(ctx context.Context) error
}

// Starter is a Service with a set-up that can fail and that later services rely
// on (open a listener, take a lock). Start must return within the time limit of
// the group's Start context, and must not leave goroutines behind on an error.
type Starter interface {
	Service
	Start(ctx context.Context) error
}

// Func makes a function a Service.
type Func func(ctx context.Context) error

// Run implements Service.
func (f Func) Run(ctx context.Context) error { return f(ctx) }

// ErrFinished is returned by a service that has nothing left to do. The group goes
// on without it.
var ErrFinished = errors.New("finished")

// ErrReturned is the failure of a service that returned nil without being told
// to stop.
var ErrReturned = errors.New("returned before it was told to stop")

// ErrStopping is the cause with which services are cancelled by a plain Stop.
var ErrStopping = errors.New("stopping")

// Error is the failure of one service.
type Error struct {
	Service string // the name given to Add
	Doing   string // "start" or "run"
	Err     error
}

// Error renders "service NAME: DOING: cause".
func (e *Error) Error() string { return "service " + e.Service + ": " + e.Doing + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// PanicError is a panic that was caught in a service.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // of the goroutine that panicked; for the log only
}

// Error renders the value; the stack is kept apart.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error { err, _ := e.Value.(error); return err }

// HangError names the services that did not stop in time. Their goroutines are
// still running; the only thing left to do is to end the process.
type HangError struct {
	Hanging []string // were told to stop and waited for
	Unasked []string // were told to stop when no time was left to wait for them
}

// Error names the services.
func (e *HangError) Error() string {
	s := fmt.Sprintf("services hang in stop: %v", e.Hanging)
	if len(e.Unasked) > 0 {
		s += fmt.Sprintf("; no time left to wait for: %v", e.Unasked)
	}
	return s
}
