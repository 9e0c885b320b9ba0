package dispatch

import (
	"context"
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// noAnswer stands for an answer without a word: whoever asked must not wait.
const noAnswer = "I have nothing to say to this."

// OnResponse is the reaction to agent.response: the answer goes back the way
// the message came. A run whose answers go nowhere (a delegation) is left to
// whoever caused it.
func (d *Dispatcher) OnResponse(tx event.Tx, ev event.Event) error {
	r, ok := ev.Payload.(event.AgentResponse)
	if !ok {
		return nil
	}
	f, err := d.store.FateOfRun(tx, r.RunID)
	if fault.Is(err, fault.NotFound) || err == nil && f.Channel == "" {
		return nil
	}
	if err != nil {
		return err
	}
	out := Outgoing{Channel: f.Channel, ThreadID: f.ThreadID, PersonID: f.PersonID, ContactID: f.ContactID, Address: f.Address,
		Text: r.Text, InReplyTo: f.MessageID, RunID: r.RunID, Agent: r.Agent, IsError: r.IsError, Key: AnswerKey(ev.ID)}
	if !f.PersonID.IsZero() {
		out.ContactID = id.Nil
	}
	if out.Text == "" {
		out.Text, out.IsError = noAnswer, true
	}
	_, err = d.Send(tx, out, ev.Ref())
	return err
}

// OnNotice is the reaction to inbound.event: a medium's own word about a
// message of ours becomes a receipt. Anybody else's word is only recorded.
func (d *Dispatcher) OnNotice(tx event.Tx, ev event.Event) error {
	n, ok := ev.Payload.(event.InboundEvent)
	if !ok || n.Kind != "delivery" || n.ProviderID == "" || ev.Label.Integrity() < event.Known {
		return nil
	}
	var data struct {
		State string `json:"state"`
	}
	if json.Unmarshal(n.Data, &data) != nil {
		return nil //nolint:nilerr // a word that cannot be read stays recorded and says nothing
	}
	row, err := d.store.DeliveryByProvider(tx, n.Channel, providerKey(n.Channel, n.ProviderID))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r := event.DeliveryReceipt{DeliveryID: row.ID, MessageID: row.MessageID, Channel: row.Channel, State: data.State, ProviderID: n.ProviderID, Attempt: row.Attempts}
	to := id.Nil
	switch data.State {
	case "delivered", "read":
	case "failed": // it bounced
		if to, err = d.ports.People.Owner(tx); err != nil {
			return err
		}
		row.State, row.ErrorKind = Failed, fault.Denied.String()
		r.ErrorKind, r.Error = row.ErrorKind, "the medium gave it back"
		if err := d.store.SaveDelivery(tx, row); err != nil {
			return err
		}
	default:
		return nil
	}
	sent, err := d.store.LoadEvent(tx, row.EventID)
	if err != nil {
		return err
	}
	_, err = tx.Emit(d.origin, event.Draft{Payload: r, Summary: "A delivery on " + r.Channel + " is " + r.State + ".",
		Stream: sent.Stream, Addressee: to, Causes: []event.Ref{ev.Ref(), sent.Ref()}, Subject: sent.Subject})
	return err
}

// Answer tells what became of a message: waiting, answered, held or rejected,
// and what was said to it so far. A message of another channel is fault.NotFound.
func (d *Dispatcher) Answer(ctx context.Context, account id.ID, channel string, message id.ID) (state, reason string, said []event.OutboundMessage, err error) {
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		f, err := d.store.GetFate(tx, message)
		if err == nil && f.Channel != channel {
			err = fault.New(fault.NotFound, "there is no such message").On("messageId")
		}
		if err != nil {
			return err
		}
		reason = f.Reason
		state, said, err = d.Said(tx, f)
		return err
	})
	return state, reason, said, err
}

// Said tells how far a message came and what was said to it, in the caller's
// view: who also reads the run must read both in one, or an answer that comes
// between the two readings is an answer without words.
func (d *Dispatcher) Said(tx event.Tx, f Fate) (state string, said []event.OutboundMessage, err error) {
	if f.Outcome != Tasked {
		return string(f.Outcome), nil, nil
	}
	state = "waiting"
	rows, err := d.store.Answers(tx, f.MessageID)
	if err != nil {
		return "", nil, err
	}
	for _, r := range rows {
		ev, err := d.store.LoadEvent(tx, r.EventID)
		if err != nil {
			return "", nil, err
		}
		if m, ok := ev.Payload.(event.OutboundMessage); ok {
			said = append(said, m)
		}
		state = "answered"
	}
	return state, said, nil
}

// Fate returns what became of a message, whatever its channel.
func (d *Dispatcher) Fate(ctx context.Context, account, message id.ID) (f Fate, err error) {
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		f, err = d.FateOf(tx, message)
		return err
	})
	return f, err
}

// FateOf is Fate in the caller's view.
func (d *Dispatcher) FateOf(tx event.Tx, message id.ID) (Fate, error) {
	return d.store.GetFate(tx, message)
}
