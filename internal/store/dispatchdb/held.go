package dispatchdb

import (
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// AddHeld implements dispatch.Store.
func (*Store) AddHeld(tx event.Tx, h dispatch.Held) error {
	_, err := q.Exec(tx, "add_held", tx.Account(), h.ID, h.MessageID, h.EventID, h.Channel, h.ThreadID, h.ContactID, h.Sender, h.Proven,
		h.Reason, h.State, h.SettledBy, clock.Micros(h.At), clock.Micros(h.SettledAt))
	return err
}

// LockHeld implements dispatch.Store.
func (*Store) LockHeld(tx event.Tx, held id.ID) (dispatch.Held, error) {
	h, err := scanHeld(func(d ...any) error { return q.Row(tx, "lock_held", []any{tx.Account(), held}, d...) })
	return h, named(err, "held message", "heldId")
}

// SettleHeld implements dispatch.Store.
func (*Store) SettleHeld(tx event.Tx, h dispatch.Held) error {
	n, err := q.Exec(tx, "settle_held", h.State, h.SettledBy, clock.Micros(h.SettledAt), h.ContactID, tx.Account(), h.ID)
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "somebody decided about this message").On("heldId")
	}
	return err
}

// ListHeld implements dispatch.Store.
func (*Store) ListHeld(tx event.Tx, after id.ID, limit int) ([]dispatch.Held, error) {
	return eachHeld(tx, "list_held", tx.Account(), after[:], limit)
}

// HeldOf implements dispatch.Store.
func (*Store) HeldOf(tx event.Tx, sender []byte, provenOnly bool, limit int) ([]dispatch.Held, error) {
	return eachHeld(tx, "held_of", tx.Account(), sender, provenOnly, limit)
}

// CountHeld implements dispatch.Store.
func (*Store) CountHeld(tx event.Tx) (n int64, err error) {
	err = q.Row(tx, "count_held", []any{tx.Account()}, &n)
	return n, err
}

func eachHeld(tx event.Tx, query string, args ...any) (out []dispatch.Held, err error) {
	err = q.Each(tx, query, args, func(scan func(...any) error) error {
		h, err := scanHeld(scan)
		out = append(out, h)
		return err
	})
	return out, err
}

func scanHeld(scan func(...any) error) (h dispatch.Held, err error) {
	var at, settled int64
	err = scan(&h.ID, &h.MessageID, &h.EventID, &h.Channel, &h.ThreadID, &h.ContactID, &h.Sender, &h.Proven, &h.Reason, &h.State, &h.SettledBy, &at, &settled)
	h.At, h.SettledAt = clock.FromMicros(at), clock.FromMicros(settled)
	return h, err
}
