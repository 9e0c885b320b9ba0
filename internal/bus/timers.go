package bus

import (
	"context"
	"log/slog"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Timers says "timer.fired" for each due row, once.
type Timers struct {
	engine Engine
	origin event.Origin // may say timer.fired
	every  time.Duration
	log    *slog.Logger
}

// NewTimers returns the timer service; every bounds how late another node's
// timer is seen here.
func NewTimers(e Engine, o event.Origin, every time.Duration, log *slog.Logger) *Timers {
	return &Timers{engine: e, origin: o, every: every, log: log}
}

// Run fires timers until ctx ends.
func (t *Timers) Run(ctx context.Context) error {
	for {
		wait := t.Once(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-t.engine.TimerSet():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Once fires what is due and returns how long to wait for the next.
func (t *Timers) Once(ctx context.Context) time.Duration {
	for {
		due, next, now, err := t.engine.DueTimers(ctx, 256)
		if err != nil {
			if ctx.Err() == nil {
				t.log.WarnContext(ctx, "read timers", slog.Any("error", err))
			}
			return t.every
		}
		if len(due) == 0 {
			if next.IsZero() {
				return t.every
			}
			return min(max(next.Sub(now), time.Millisecond), t.every)
		}
		failed := false
		for _, d := range due {
			if _, err := t.engine.Fire(ctx, d, t.origin); err != nil {
				if ctx.Err() == nil {
					t.log.WarnContext(ctx, "fire timer", slog.String("account", d.Account.String()), slog.String("kind", d.Kind), slog.Any("error", err))
				}
				if ctx.Err() != nil || fault.Is(err, fault.Unavailable) { // the store itself: the others fare no better
					return t.every
				}
				failed = true // one account in trouble does not stop the others' timers
			}
		}
		if failed {
			return t.every
		}
	}
}
