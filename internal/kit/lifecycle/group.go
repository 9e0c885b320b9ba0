package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// DefaultGrace is how long Stop waits for one service if Options says nothing.
const DefaultGrace = 10 * time.Second

// Options of a group. The zero value is ready for use.
type Options struct {
	Grace  time.Duration // how long Stop waits for one service; 0 means DefaultGrace
	Logger *slog.Logger  // may be nil
}

// Group runs services. Use NewGroup, then Add, then either Run, or Start and
// Stop. All methods but Add are safe for concurrent use; Add must come before
// Start.
type Group struct {
	grace time.Duration
	log   *slog.Logger

	all []*member // written by Add only, that is before Start

	mu      sync.Mutex
	started bool  // guarded by mu
	stopped bool  // guarded by mu
	stopErr error // result of the first Stop; written before stopDone is closed

	stopDone chan struct{} // closed by the first Stop when it is through

	failOnce sync.Once
	failure  error         // written before failed is closed
	failed   chan struct{} // closed by the first failure
}

// member is one service of a group.
type member struct {
	name    string
	service Service
	cancel  context.CancelCauseFunc // nil until started
	done    chan struct{}           // closed by the goroutine that calls Run
	err     error                   // of Run after it was told to stop; written before done is closed
}

// NewGroup returns an empty group.
func NewGroup(o Options) *Group {
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Group{grace: o.Grace, log: o.Logger, failed: make(chan struct{}), stopDone: make(chan struct{})}
}

// Add appends a service under a name that errors and logs will use. It panics
// when the group has been started, which is a bug of the caller.
func (g *Group) Add(name string, s Service) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		panic("lifecycle: Add(" + name + ") after Start")
	}
	g.all = append(g.all, &member{name: name, service: s, done: make(chan struct{})})
}

// Start starts the services in order and returns when all are ready. On an
// error those already started are stopped again, and the error is returned.
//
// ctx bounds the start only: cancelling it later does not stop the services.
// Its values (trace ids) are seen by them.
func (g *Group) Start(ctx context.Context) error {
	g.mu.Lock()
	if g.started {
		g.mu.Unlock()
		return errors.New("group was started before")
	}
	g.started = true
	g.mu.Unlock()
	for _, m := range g.all {
		if err := g.startOne(ctx, m); err != nil {
			g.fail(err)
			return errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}
	return nil
}

func (g *Group) startOne(ctx context.Context, m *member) error {
	select {
	case <-g.failed: // an earlier service died while later ones were starting
		return g.failure
	default:
	}
	if err := context.Cause(ctx); err != nil {
		return &Error{m.name, "start", err}
	}
	if s, ok := m.service.(Starter); ok {
		if err := guard(func() error { return s.Start(ctx) }); err != nil {
			return &Error{m.name, "start", err}
		}
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	g.mu.Lock()
	m.cancel = cancel
	g.mu.Unlock()
	g.log.DebugContext(ctx, "service started", "service", m.name)
	go g.run(run, m) // waited for by Stop, through m.done
	return nil
}

// run is the goroutine of one service.
func (g *Group) run(ctx context.Context, m *member) {
	defer close(m.done)
	err := guard(func() error { return m.service.Run(ctx) })
	var crash *PanicError
	told := ctx.Err() != nil
	switch {
	case errors.As(err, &crash):
		g.log.ErrorContext(ctx, "service panicked", "service", m.name, "value", fmt.Sprint(crash.Value), "stack", string(crash.Stack))
	case told && (err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return
	case errors.Is(err, ErrFinished):
		return
	case err == nil:
		err = ErrReturned
	}
	err = &Error{m.name, "run", err}
	if told {
		m.err = err // Stop reports it
		return
	}
	g.fail(err)
}

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// fail records the first failure.
func (g *Group) fail(err error) {
	g.failOnce.Do(func() { g.failure = err; close(g.failed) })
}

// Failed is closed when a service has failed; Err then says how.
func (g *Group) Failed() <-chan struct{} { return g.failed }

// Err returns the first failure, or nil.
func (g *Group) Err() error {
	select {
	case <-g.failed:
		return g.failure
	default:
		return nil
	}
}

// Run starts the group, waits until ctx is done or a service fails, and stops
// it. It returns the first failure joined with what went wrong in stopping, and
// nil when ctx ended a healthy group.
func (g *Group) Run(ctx context.Context) error {
	if err := g.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-g.failed:
	}
	return errors.Join(g.Err(), g.Stop(context.WithoutCancel(ctx)))
}
