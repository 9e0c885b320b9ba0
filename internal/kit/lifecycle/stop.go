package lifecycle

import (
	"context"
	"errors"
	"time"
)

// Stop stops the services in reverse order and waits for each up to the grace
// time, and for all of them until ctx is done. It returns *HangError naming
// those that did not come back, joined with the errors of those that failed on
// the way out. A second Stop waits for the first and returns its result; Stop
// before Start does nothing.
func (g *Group) Stop(ctx context.Context) error {
	g.mu.Lock()
	first := !g.stopped && g.started
	if first {
		g.stopped = true
	}
	idle := !g.started
	g.mu.Unlock()
	if idle {
		return nil
	}
	if !first {
		select {
		case <-g.stopDone:
			return g.stopErr
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer close(g.stopDone)
	g.stopErr = g.stop(ctx)
	return g.stopErr
}

func (g *Group) stop(ctx context.Context) error {
	cause := ErrStopping
	if err := g.Err(); err != nil {
		cause = err
	}
	var hang HangError
	var errs []error
	for i := len(g.all) - 1; i >= 0; i-- {
		m := g.all[i]
		g.mu.Lock()
		cancel := m.cancel
		g.mu.Unlock()
		if cancel == nil { // never started
			continue
		}
		cancel(cause)
		switch g.await(ctx, m) {
		case stopped:
			g.log.DebugContext(ctx, "service stopped", "service", m.name)
			if m.err != nil {
				errs = append(errs, m.err)
			}
		case hangs:
			g.log.ErrorContext(ctx, "service hangs in stop", "service", m.name)
			hang.Hanging = append(hang.Hanging, m.name)
		case unasked:
			hang.Unasked = append(hang.Unasked, m.name)
		}
	}
	if len(hang.Hanging)+len(hang.Unasked) > 0 {
		errs = append([]error{&hang}, errs...)
	}
	return errors.Join(errs...)
}

type outcome int

const (
	stopped outcome = iota
	hangs
	unasked // ctx was over before we began to wait
)

// await waits for a service that has been cancelled.
func (g *Group) await(ctx context.Context, m *member) outcome {
	late := ctx.Err() != nil
	timer := time.NewTimer(g.grace)
	defer timer.Stop()
	select {
	case <-m.done:
		return stopped
	case <-timer.C:
	case <-ctx.Done():
	}
	select { // both may have been ready: being back counts
	case <-m.done:
		return stopped
	default:
	}
	if late {
		return unasked
	}
	return hangs
}
