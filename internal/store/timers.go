package store

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
)

var timerSQL = MustQueries(`
-- name: set_timer
INSERT INTO timers (account_id, kind, key, due_at, held) VALUES (?, ?, ?, ?, 0)
ON CONFLICT (account_id, kind, key) DO UPDATE SET due_at = excluded.due_at, held = 0
-- name: cancel_timer
DELETE FROM timers WHERE account_id = ? AND kind = ? AND key = ?
-- name: take_timer
DELETE FROM timers WHERE account_id = ? AND kind = ? AND key = ? AND due_at = ? AND held = 0
`)

// SetTimer makes "timer.fired" with this kind and key happen once, at or soon
// after at. Setting it again moves it.
func SetTimer(t event.Tx, kind, key string, at time.Time) error {
	_, err := timerSQL.Exec(t, "set_timer", t.Account(), kind, key, clock.Micros(at))
	if err == nil {
		db := mustTx(t).db
		AfterCommit(t, db.hub.timerSet)
	}
	return err
}

// CancelTimer removes a timer; one that fired or never was is no error.
func CancelTimer(t event.Tx, kind, key string) error {
	_, err := timerSQL.Exec(t, "cancel_timer", t.Account(), kind, key)
	return err
}

// DueTimers lists timers that are due by the database's clock, over all
// accounts, and when the next one is due (zero if none).
func (db *DB) DueTimers(ctx context.Context, limit int) (due []bus.DueTimer, next, now time.Time, err error) {
	err = db.View(ctx, system(), func(t event.Tx) error {
		var err error
		if now, err = DBNow(t); err != nil {
			return err
		}
		if err := nodeSQL.Each(t, "due", []any{clock.Micros(now), limit}, func(scan func(...any) error) error {
			var d bus.DueTimer
			var us int64
			if err := scan(&d.Account, &d.Kind, &d.Key, &us); err != nil {
				return err
			}
			d.DueAt = clock.FromMicros(us)
			due = append(due, d)
			return nil
		}); err != nil {
			return err
		}
		var us int64
		if err := nodeSQL.Row(t, "next_due", nil, &us); err != nil {
			return err
		}
		next = clock.FromMicros(us)
		return nil
	})
	return due, next, now, err
}

// Fire turns a due timer into its event, exactly once: whoever removes the row
// says it. It reports false if somebody else was first or the timer was moved.
func (db *DB) Fire(ctx context.Context, d bus.DueTimer, o event.Origin) (fired bool, err error) {
	err = db.Do(ctx, d.Account, func(t event.Tx) error {
		n, err := timerSQL.Exec(t, "take_timer", d.Account, d.Kind, d.Key, clock.Micros(d.DueAt))
		if err != nil {
			return err
		}
		if fired = n == 1; !fired {
			return nil
		}
		_, err = t.Emit(o, event.Draft{
			Payload: event.TimerFired{Kind: d.Kind, Key: d.Key, DueAt: clock.Micros(d.DueAt)},
			Label:   event.NewLabel(event.House, event.AccountWide()),
			Summary: "The timer " + d.Kind + " came due.",
		})
		return err
	})
	return fired, err
}

// TimerSet returns a channel that is signalled when a timer was set here, so
// that the wait for the next one can be cut short.
func (db *DB) TimerSet() <-chan struct{} { return db.hub.timers }

func (h *hub) timerSet() {
	select {
	case h.timers <- struct{}{}:
	default:
	}
}
