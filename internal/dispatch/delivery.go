package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states. Recorded is the whole life of a delivery to a pull channel.
const (
	Recorded  DeliveryState = "recorded"
	Queued    DeliveryState = "queued"
	Sending   DeliveryState = "sending" // an attempt began; after a crash its outcome is not known
	Delivered DeliveryState = "sent"    // the medium has it
	Failed    DeliveryState = "failed"  // given up, and reported
	Unknown   DeliveryState = "unknown" // it may be out; a person settles it
)

// Delivery is one part of an outbound message in the outbox. Its text is in its event.
type Delivery struct {
	ID        id.ID
	MessageID id.ID
	EventID   id.ID // outbound.message
	Channel   string
	ThreadID  id.ID
	InReplyTo id.ID
	Agent     string
	Part      int // from 1
	Parts     int
	From, To  int // bytes of the message's text
	Key       string
	State     DeliveryState
	Position  int64 // in its thread's queue
	Attempts  int
	Open      int // attempts whose outcome is not known
	ErrorKind string
	Provider  []byte // digest of the medium's id
	QueuedAt  time.Time
	At        time.Time
}

func (r Delivery) settled() bool { return r.State != Queued && r.State != Sending }

// scope is what a halt can name to stop the delivery.
func (r Delivery) scope() string {
	if r.Agent != "" {
		return "agent:" + r.Agent
	}
	return "channel:" + r.Channel
}

// queue writes the parts at the end of their thread's queue. Only the head of
// a queue is work; settling it makes the next one work, so deliveries of one
// thread go out in order and nobody polls.
func (d *Dispatcher) queue(tx event.Tx, row Delivery, parts []string, now time.Time) error {
	row.State = Queued
	place, err := d.store.Reserve(tx, row.Channel, row.ThreadID, len(parts))
	if err != nil {
		return err
	}
	_, err = d.store.NextQueued(tx, row.Channel, row.ThreadID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	head := err != nil
	at, key := 0, row.Key
	for i, p := range parts {
		if i > 0 {
			row.ID = tx.NewID()
		}
		row.Part, row.From, row.To, row.Position, row.Key = i+1, at, at+len(p), place+int64(i), partKey(key, i+1)
		if err := d.add(tx, row); err != nil {
			return err
		}
		if head && i == 0 {
			if err := d.store.Enqueue(tx, row.ID, row.scope(), now); err != nil {
				return err
			}
		}
		at += len(p)
	}
	return nil
}

// Deliver is the worker of one delivery: it claims it, carries it to its medium
// and records what is known. fault.Stale and fault.Halted come from the claim
// and mean that there is nothing to do here now.
//
// A delivery found in state sending was cut off by a crash. It is tried once
// more under the same key, if the medium drops a second one; then it is left to
// a person. Nothing is ever replayed after its receipt.
func (d *Dispatcher) Deliver(ctx context.Context, account, delivery id.ID) error {
	var lease event.Lease
	var row Delivery
	var m event.OutboundMessage
	var over bool
	err := d.journal.Do(ctx, account, func(tx event.Tx) (err error) {
		if lease, err = d.store.Claim(tx, delivery); err != nil {
			return err
		}
		row, m, over, err = d.begin(tx, lease, delivery)
		return err
	})
	if err != nil || over {
		return err
	}
	failpoint.Hit("delivery.sending")
	m.Text = m.Text[row.From:row.To]
	attempt, cancel := context.WithTimeoutCause(ctx, d.config.Delivery.Timeout, fault.New(fault.Timeout, "the channel did not answer in time"))
	receipt, failed := d.ports.Outlet.Deliver(attempt, account, m, row.Part, row.Key)
	cancel()
	failpoint.Hit("delivery.answered")
	// What is known now must be written even if the process is asked to stop.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config.Delivery.Timeout)
	defer cancel()
	return d.journal.Do(rest, account, func(tx event.Tx) error {
		if err := d.store.Guard(tx, lease); err != nil {
			return err
		}
		if failed == nil {
			return d.arrive(tx, lease, row, m, receipt)
		}
		return d.fail(tx, lease, row, m, failed)
	})
}

// begin takes the first commit of an attempt: sending, or the end without one.
func (d *Dispatcher) begin(tx event.Tx, lease event.Lease, delivery id.ID) (row Delivery, m event.OutboundMessage, over bool, err error) {
	if row, err = d.store.GetDelivery(tx, delivery); err != nil {
		return row, m, false, err
	}
	if row.settled() { // a notice of the medium, or a person, was first
		return row, m, true, d.store.Finish(tx, lease)
	}
	ev, err := d.store.LoadEvent(tx, row.EventID)
	if err != nil {
		return row, m, false, err
	}
	now, err := d.store.Clock(tx)
	if err != nil {
		return row, m, false, err
	}
	m, readable := ev.Payload.(event.OutboundMessage)
	_, idempotent := d.ports.Outlet.Push(row.Channel)
	if row.State == Sending {
		row.Open++
	}
	switch {
	case row.State == Sending && (row.Open > 1 || !idempotent):
		return row, m, true, d.close(tx, lease, row, ev, Unknown, fault.New(fault.Unknown, "the process ended during an attempt"))
	case !readable:
		return row, m, true, d.close(tx, lease, row, ev, Failed, fault.New(fault.NotFound, "the message was erased"))
	case now.Sub(row.QueuedAt) > d.config.Delivery.MaxAge:
		return row, m, true, d.close(tx, lease, row, ev, Failed, fault.New(fault.Timeout, "it could not be delivered within %s", d.config.Delivery.MaxAge))
	}
	row.State = Sending
	row.Attempts++
	return row, m, false, d.store.SaveDelivery(tx, row)
}

// arrive records that the medium has the part.
func (d *Dispatcher) arrive(tx event.Tx, lease event.Lease, row Delivery, m event.OutboundMessage, r event.DeliveryReceipt) error {
	ev, err := d.store.LoadEvent(tx, row.EventID)
	if err != nil {
		return err
	}
	row.State, row.ErrorKind, row.Provider = Delivered, "", providerKey(row.Channel, r.ProviderID)
	if r.ThreadRef != "" {
		if err := d.ports.Outlet.Bind(tx, row.Channel, row.ThreadID, m.Address, r.ThreadRef); err != nil {
			return err
		}
	}
	r.DeliveryID, r.MessageID, r.Channel, r.Attempt = row.ID, row.MessageID, row.Channel, row.Attempts
	if err := d.receipt(tx, ev, r, id.Nil); err != nil {
		return err
	}
	return d.leave(tx, lease, row)
}

// fail records a failed attempt: to be tried again, given up, or not known.
func (d *Dispatcher) fail(tx event.Tx, lease event.Lease, row Delivery, m event.OutboundMessage, failed error) error {
	ev, err := d.store.LoadEvent(tx, row.EventID)
	if err != nil {
		return err
	}
	_, idempotent := d.ports.Outlet.Push(row.Channel)
	switch fault.KindOf(failed) {
	case fault.Unavailable, fault.Limited:
	case fault.Invalid, fault.Denied, fault.NotFound, fault.Unauthorized, fault.Conflict:
		return d.close(tx, lease, row, ev, Failed, failed)
	default: // it may be out
		if !idempotent {
			return d.close(tx, lease, row, ev, Unknown, failed)
		}
	}
	now, err := d.store.Clock(tx)
	if err != nil {
		return err
	}
	due := now.Add(d.wait(row.Attempts, failed))
	if last := row.QueuedAt.Add(d.config.Delivery.MaxAge); due.After(last) {
		if !now.Before(last) {
			return d.close(tx, lease, row, ev, Failed, failed)
		}
		due = last // one last attempt
	}
	row.State, row.ErrorKind = Queued, fault.KindOf(failed).String()
	if err := d.store.SaveDelivery(tx, row); err != nil {
		return err
	}
	if err := d.receipt(tx, ev, receiptOf(row, "retrying", failed), id.Nil); err != nil {
		return err
	}
	return d.store.Release(tx, lease, due)
}

// wait is how long to wait before the next attempt: doubling up to the cap,
// half of it by chance, and at least what the medium asked for.
func (d *Dispatcher) wait(attempts int, failed error) time.Duration {
	w := d.config.Delivery.Cap
	if n := attempts - 1; n < 30 {
		w = min(d.config.Delivery.Backoff<<max(n, 0), w)
	}
	if half := int64(w / 2); half > 0 {
		w = w - time.Duration(half) + time.Duration(d.ports.Jitter(half))
	}
	var asked interface{ RetryAfter() time.Duration }
	if errors.As(failed, &asked) {
		w = max(w, asked.RetryAfter())
	}
	return w
}

// close ends a delivery without success and reports it to the owner.
func (d *Dispatcher) close(tx event.Tx, lease event.Lease, row Delivery, ev event.Event, s DeliveryState, why error) error {
	row.State, row.ErrorKind = s, fault.KindOf(why).String()
	owner, err := d.ports.People.Owner(tx)
	if err != nil {
		return err
	}
	if err := d.receipt(tx, ev, receiptOf(row, string(s), why), owner); err != nil {
		return err
	}
	return d.leave(tx, lease, row)
}

// leave takes a settled delivery out of its queue and makes the next one work.
func (d *Dispatcher) leave(tx event.Tx, lease event.Lease, row Delivery) error {
	if err := d.store.LockQueue(tx, row.Channel, row.ThreadID); err != nil {
		return err
	}
	if err := d.store.SaveDelivery(tx, row); err != nil {
		return err
	}
	if err := d.store.Finish(tx, lease); err != nil {
		return err
	}
	return d.advance(tx, row.Channel, row.ThreadID)
}

// advance makes the head of a queue work. The caller holds the queue.
func (d *Dispatcher) advance(tx event.Tx, channel string, thread id.ID) error {
	next, err := d.store.NextQueued(tx, channel, thread)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := d.store.Clock(tx)
	if err != nil {
		return err
	}
	return d.store.Enqueue(tx, next.ID, next.scope(), now)
}

const maxErrorText = 300

func receiptOf(row Delivery, state string, why error) event.DeliveryReceipt {
	msg, _, _ := fault.Public(why)
	if len(msg) > maxErrorText {
		msg = msg[:maxErrorText]
	}
	return event.DeliveryReceipt{DeliveryID: row.ID, MessageID: row.MessageID, Channel: row.Channel, State: state,
		ErrorKind: fault.KindOf(why).String(), Error: msg, Attempt: row.Attempts}
}

// receipt says what is known of a delivery. Its label and subject are the message's.
func (d *Dispatcher) receipt(tx event.Tx, ev event.Event, r event.DeliveryReceipt, to id.ID) error {
	_, err := tx.Emit(d.origin, event.Draft{Payload: r, Summary: "A delivery on " + r.Channel + " is " + r.State + ".",
		Stream: ev.Stream, Addressee: to, Causes: []event.Ref{ev.Ref()}, Subject: ev.Subject})
	return err
}
