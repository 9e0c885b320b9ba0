package dispatchdb

import (
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
)

// Reserve implements dispatch.Store.
func (*Store) Reserve(tx event.Tx, channel string, thread id.ID, n int) (int64, error) {
	var next int64
	err := q.Row(tx, "reserve", []any{tx.Account(), channel, thread, n}, &next)
	return next - int64(n), err
}

// LockQueue implements dispatch.Store.
func (*Store) LockQueue(tx event.Tx, channel string, thread id.ID) error {
	_, err := q.Exec(tx, "lock_queue", tx.Account(), channel, thread)
	return err
}

// NextQueued implements dispatch.Store.
func (*Store) NextQueued(tx event.Tx, channel string, thread id.ID) (dispatch.Delivery, error) {
	return oneDelivery(tx, "next_queued", tx.Account(), channel, thread)
}

// AddDelivery implements dispatch.Store.
func (*Store) AddDelivery(tx event.Tx, d dispatch.Delivery) (bool, error) {
	n, err := q.Exec(tx, "add_delivery", tx.Account(), d.ID, d.MessageID, d.EventID, d.Channel, d.ThreadID, d.InReplyTo, d.Agent, d.Part, d.Parts,
		d.From, d.To, d.Key, string(d.State), d.Position, d.Attempts, d.Open, d.ErrorKind, d.Provider, clock.Micros(d.QueuedAt), clock.Micros(d.At))
	return n == 1, err
}

// SaveDelivery implements dispatch.Store.
func (*Store) SaveDelivery(tx event.Tx, d dispatch.Delivery) error {
	n, err := q.Exec(tx, "save_delivery", string(d.State), d.Position, d.Attempts, d.Open, d.ErrorKind, d.Provider, clock.Micros(d.QueuedAt), tx.Account(), d.ID)
	if err == nil && n == 0 {
		return noRow("delivery", "deliveryId")
	}
	return err
}

// GetDelivery implements dispatch.Store.
func (*Store) GetDelivery(tx event.Tx, delivery id.ID) (dispatch.Delivery, error) {
	return oneDelivery(tx, "get_delivery", tx.Account(), delivery)
}

// DeliveryByKey implements dispatch.Store.
func (*Store) DeliveryByKey(tx event.Tx, key string) (dispatch.Delivery, error) {
	return oneDelivery(tx, "delivery_by_key", tx.Account(), key)
}

// DeliveryByProvider implements dispatch.Store.
func (*Store) DeliveryByProvider(tx event.Tx, channel string, provider []byte) (dispatch.Delivery, error) {
	return oneDelivery(tx, "delivery_by_provider", tx.Account(), channel, provider)
}

// Answers implements dispatch.Store.
func (*Store) Answers(tx event.Tx, message id.ID) ([]dispatch.Delivery, error) {
	return eachDelivery(tx, "answers", tx.Account(), message)
}

// ListDeliveries implements dispatch.Store.
func (*Store) ListDeliveries(tx event.Tx, state dispatch.DeliveryState, after id.ID, limit int) ([]dispatch.Delivery, error) {
	return eachDelivery(tx, "list_deliveries", tx.Account(), string(state), after[:], limit)
}

func oneDelivery(tx event.Tx, query string, args ...any) (dispatch.Delivery, error) {
	d, err := scanDelivery(func(dest ...any) error { return q.Row(tx, query, args, dest...) })
	return d, named(err, "delivery", "deliveryId")
}

func eachDelivery(tx event.Tx, query string, args ...any) (out []dispatch.Delivery, err error) {
	err = q.Each(tx, query, args, func(scan func(...any) error) error {
		d, err := scanDelivery(scan)
		out = append(out, d)
		return err
	})
	return out, err
}

func scanDelivery(scan func(...any) error) (d dispatch.Delivery, err error) {
	var state string
	var queued, at int64
	err = scan(&d.ID, &d.MessageID, &d.EventID, &d.Channel, &d.ThreadID, &d.InReplyTo, &d.Agent, &d.Part, &d.Parts, &d.From, &d.To, &d.Key, &state,
		&d.Position, &d.Attempts, &d.Open, &d.ErrorKind, &d.Provider, &queued, &at)
	d.State, d.QueuedAt, d.At = dispatch.DeliveryState(state), clock.FromMicros(queued), clock.FromMicros(at)
	return d, err
}
