package dispatch

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Undelivered lists deliveries that ended failed or unknown, oldest first,
// after one: what a person should look at.
func (d *Dispatcher) Undelivered(ctx context.Context, account id.ID, s DeliveryState, after id.ID, limit int) (out []Delivery, err error) {
	if s != Failed && s != Unknown {
		return nil, fault.New(fault.Invalid, "%q is not failed or unknown", s).On("state")
	}
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		out, err = d.store.ListDeliveries(tx, s, after, pages(limit))
		return err
	})
	return out, err
}

// Settle records a person's word on a delivery that is unknown or failed: it
// arrived after all, or it is given up.
func (d *Dispatcher) Settle(ctx context.Context, account, by, delivery id.ID, arrived bool) error {
	return d.decide(ctx, account, by, delivery, func(tx event.Tx, row *Delivery) (string, error) {
		if arrived {
			row.State, row.ErrorKind = Delivered, ""
		} else {
			row.State = Failed
		}
		return string(row.State), nil
	})
}

// Resend puts a delivery that is unknown or failed at the end of its thread's
// queue again, under the same key, because a person says so.
func (d *Dispatcher) Resend(ctx context.Context, account, by, delivery id.ID) error {
	return d.decide(ctx, account, by, delivery, func(tx event.Tx, row *Delivery) (string, error) {
		if push, _ := d.ports.Outlet.Push(row.Channel); !push {
			return "", fault.New(fault.Conflict, "nothing can be carried to channel %s now", row.Channel).On("channel")
		}
		place, err := d.store.Reserve(tx, row.Channel, row.ThreadID, 1)
		if err != nil {
			return "", err
		}
		now, err := d.store.Clock(tx)
		if err != nil {
			return "", err
		}
		_, err = d.store.NextQueued(tx, row.Channel, row.ThreadID)
		row.State, row.Position, row.QueuedAt, row.Open = Queued, place, now, 0
		if fault.Is(err, fault.NotFound) {
			err = d.store.Enqueue(tx, row.ID, row.scope(), now)
		}
		return "retrying", err
	})
}

func (d *Dispatcher) decide(ctx context.Context, account, by, delivery id.ID, f func(event.Tx, *Delivery) (string, error)) error {
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actDecide); err != nil {
			return err
		}
		row, err := d.store.GetDelivery(tx, delivery)
		if err != nil {
			return err
		}
		if row.State != Failed && row.State != Unknown {
			return fault.New(fault.Conflict, "the delivery is %s", row.State).On("deliveryId")
		}
		ev, err := d.store.LoadEvent(tx, row.EventID)
		if err != nil {
			return err
		}
		state, err := f(tx, &row)
		if err != nil {
			return err
		}
		if err := d.store.SaveDelivery(tx, row); err != nil {
			return err
		}
		return d.receipt(tx, ev, event.DeliveryReceipt{DeliveryID: row.ID, MessageID: row.MessageID, Channel: row.Channel,
			State: state, Attempt: row.Attempts, By: person(by)}, id.Nil)
	})
}
