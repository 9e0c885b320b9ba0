package bus

import (
	"context"
	"log/slog"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// MaxFailures is how often work may fail, for no passing reason, before it is
// given up. The tries are counted in its row, so a restart forgives none.
const MaxFailures = 5

// failureWaits are the waits after the failures before the last one.
func failureWaits() []time.Duration {
	return []time.Duration{time.Second, 4 * time.Second, 15 * time.Second, time.Minute}
}

// HeldPoison is the reason of work that failed until it was held.
const HeldPoison = "poison"

// passing reports whether an error says nothing against the work itself: a store
// or a peer that is away, a race that somebody else won, a stop in force.
func passing(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Cancelled, fault.Limited, fault.Conflict, fault.Stale, fault.Halted:
		return true
	default:
	}
	return false
}

// fail counts a failure, and gives the work up that failed too often: it would
// be tried for ever, and whoever waits for it would never hear.
func (p *Pool) fail(ctx context.Context, l *lineup, it item, log *slog.Logger, cause error) {
	n := 0
	if err := p.engine.Do(ctx, it.account, func(tx event.Tx) (err error) {
		n, err = p.engine.Strike(tx, it.kind, it.id, failureWaits())
		return err
	}); err != nil {
		log.WarnContext(ctx, "count a failure", slog.Any("error", err))
		return
	}
	if n < MaxFailures {
		return
	}
	log.ErrorContext(ctx, "work is given up", slog.Int("tries", n), slog.Any("error", cause))
	if l.GiveUp != nil {
		err := l.GiveUp(ctx, it.account, it.id, cause)
		if err == nil || passing(err) { // the next failure tries to give it up again
			return
		}
		log.ErrorContext(ctx, "give work up", slog.Any("error", err))
	}
	if err := p.hold(ctx, it); err != nil {
		log.WarnContext(ctx, "hold work", slog.Any("error", err))
	}
}

// hold leaves work to a person, who sees it among what is held.
func (p *Pool) hold(ctx context.Context, it item) error {
	return p.engine.Do(ctx, it.account, func(tx event.Tx) error {
		if err := p.engine.Hold(tx, it.kind, it.id, HeldPoison); err != nil {
			return err
		}
		_, err := tx.Emit(p.origin, event.Draft{
			Payload: event.WorkHeld{Kind: string(it.kind), WorkID: it.id, Reason: HeldPoison},
			Label:   event.NewLabel(event.House, event.AccountWide()),
			Summary: "Work failed time after time; it waits for a person.",
		})
		return err
	})
}
