package dispatch

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Fate is what became of an inbound message, and the way its answer goes. A
// task that no message caused has one too, under the message id of its task.
type Fate struct {
	MessageID id.ID
	EventID   id.ID // inbound.message, or what caused the task
	Channel   string
	ThreadID  id.ID
	Outcome   Outcome
	Reason    string
	RunID     id.ID // of the run that answers; zero if none does
	Agent     string
	ContactID id.ID
	PersonID  id.ID
	Address   string // where the answer goes
	Subject   id.ID  // whose data Address is
	Label     event.Label
	Trust     Trust
	At        time.Time
}

// OnInbound is the reaction to inbound.message: it runs the gates and gives the
// message to an agent, holds it or rejects it. It is the only way in.
func (d *Dispatcher) OnInbound(tx event.Tx, ev event.Event) error {
	m, ok := ev.Payload.(event.InboundMessage)
	if !ok {
		return nil // erased before it was looked at: nobody may read it any more
	}
	s, r, err := d.gates(tx, m)
	if err != nil {
		return err
	}
	agent := ""
	if !r.stops() {
		if agent, err = d.route(tx, ev, s); err != nil {
			return err
		}
		if agent == "" {
			r.outcome, r.reason = Rejected, "unknown_agent"
		}
	}
	f := Fate{MessageID: m.MessageID, EventID: ev.ID, Channel: m.Channel, ThreadID: m.ThreadID, Outcome: r.outcome, Reason: r.reason,
		Agent: agent, ContactID: s.contactID(), PersonID: m.PersonID, Address: m.Sender, Subject: ev.Subject, Label: ev.Label, Trust: r.trust, At: tx.Now()}
	switch r.outcome {
	case InHold:
		err = d.hold(tx, ev, s, r.reason)
	case Rejected:
		_, err = tx.Emit(d.origin, event.Draft{
			Payload: event.MessageRejected{Channel: m.Channel, MessageID: m.MessageID, ContactID: s.contactID(),
				Reason: r.reason, Value: r.value, Limit: r.limit},
			Summary: "A message on " + m.Channel + " was turned away: " + r.reason + ".",
			Stream:  ev.Stream, Causes: []event.Ref{ev.Ref()}, Subject: ev.Subject,
		})
	default:
		err = d.give(tx, &f, ev, s, ev.Ref())
	}
	if err != nil {
		return err
	}
	return d.store.AddFate(tx, f)
}

// give turns a message that passed into a task and notes it in f. cause is the
// inbound message itself, or the decision that released it.
func (d *Dispatcher) give(tx event.Tx, f *Fate, ev event.Event, s sender, cause event.Ref) error {
	m := s.message
	if s.contact == nil { // the agent's answer needs somebody to go to
		c, err := d.meet(tx, ev, m)
		if err != nil {
			return err
		}
		s.contact = &c
		f.ContactID = c.ID
	}
	draft := event.Draft{
		Summary: f.Agent + " has work from " + m.Channel + ".",
		Stream:  ev.Stream, Causes: []event.Ref{cause}, Subject: ev.Subject,
	}
	if s.standing != StandingPerson {
		a, err := d.audience(tx, s.contact.ID)
		if err != nil {
			return err
		}
		draft.Label = lower(a)
		if s.standing == StandingConfirmed {
			// The rule of architecture §7: what a confirmed contact provably wrote is house.
			draft.Raise = event.Raise{By: event.RaiseRule, Label: event.NewLabel(event.House, a)}
		}
	}
	f.RunID = tx.NewID()
	draft.Payload = event.AgentTask{
		TaskID: tx.NewID(), Agent: f.Agent, RunID: f.RunID, ThreadID: m.ThreadID, MessageID: m.MessageID, Channel: m.Channel,
		ContactID: s.contact.ID, Requester: s.principal(), Trust: f.Trust.Score, Text: m.Text,
	}
	e, err := tx.Emit(d.origin, draft)
	f.Label = e.Label
	return err
}

// meet makes a provisional contact of an unknown address that a channel's
// policy, or a person, lets through.
func (d *Dispatcher) meet(tx event.Tx, ev event.Event, m event.InboundMessage) (Contact, error) {
	c, err := d.addContact(tx, Contact{Name: m.SenderName, Status: Provisional, Confidence: confidenceProvisional},
		m.Channel, m.Sender, "dispatch", ev.Ref())
	if fault.Is(err, fault.Conflict) { // another transaction met it first
		return d.store.ContactByAddress(tx, m.Channel, m.Sender)
	}
	return c, err
}

// route chooses the agent: who a person or a confirmed contact asked for, else
// the most specific route, else the default. "" means that there is no such
// agent. Strangers choose nothing.
func (d *Dispatcher) route(tx event.Tx, ev event.Event, s sender) (string, error) {
	m := s.message
	if m.Agent != "" && (s.standing == StandingPerson || s.standing == StandingConfirmed) {
		ok, err := d.ports.Agents.Serves(tx, m.Agent)
		if err != nil || !ok {
			return "", err
		}
		return m.Agent, d.stick(tx, ev, s)
	}
	agent, err := d.store.Route(tx, m.ThreadID, s.contactID(), m.Channel)
	if fault.Is(err, fault.NotFound) {
		return d.config.DefaultAgent, nil
	}
	return agent, err
}

// stick keeps a thread with the agent that was asked for in it.
func (d *Dispatcher) stick(tx event.Tx, ev event.Event, s sender) error {
	m := s.message
	have, err := d.store.Route(tx, m.ThreadID, id.Nil, "")
	if err == nil && have == m.Agent || err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return d.saveRoute(tx, Route{Kind: RouteThread, Key: m.ThreadID.String(), Agent: m.Agent}, s.principal(), ev.Stream, ev.Ref())
}
