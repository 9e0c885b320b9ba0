package dispatch

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Held is a message that waits for a person. Its text is in its event.
type Held struct {
	ID        id.ID
	MessageID id.ID
	EventID   id.ID // inbound.message
	Channel   string
	ThreadID  id.ID
	ContactID id.ID
	Sender    []byte // digest of channel and address
	Proven    bool   // the sender's address was proven
	Reason    string
	State     string // pending, identify, release, dismiss, block
	SettledBy id.ID
	At        time.Time
	SettledAt time.Time
}

const pending = "pending"

// What a person does with a held message.
const (
	actIdentify = "identify"
	actRelease  = "release"
	actDismiss  = "dismiss"
	actBlock    = "block"
)

// batch is how many held messages of one sender are settled in one transaction;
// a timer goes on with the rest.
const batch = 50

func (d *Dispatcher) hold(tx event.Tx, ev event.Event, s sender, reason string) error {
	m := s.message
	h := Held{ID: tx.NewID(), MessageID: m.MessageID, EventID: ev.ID, Channel: m.Channel, ThreadID: m.ThreadID, ContactID: s.contactID(),
		Sender: senderKey(m.Channel, m.Sender), Proven: m.Proof != "none", Reason: reason, State: pending, At: tx.Now()}
	if err := d.store.AddHeld(tx, h); err != nil {
		return err
	}
	_, err := tx.Emit(d.origin, event.Draft{
		Payload: event.MessageHeld{HeldID: h.ID, Channel: m.Channel, MessageID: m.MessageID, ContactID: h.ContactID, Reason: reason},
		Summary: "A message on " + m.Channel + " waits for a person: " + reason + ".",
		Stream:  ev.Stream, Causes: []event.Ref{ev.Ref()}, Subject: ev.Subject,
	})
	return err
}

// HeldMessage is a held message as a person sees it. What the sender wrote is
// data of a stranger, to be shown as such.
type HeldMessage struct {
	Held
	Message event.InboundMessage
	Label   event.Label
	Erased  bool
}

// HeldMessages lists pending messages, oldest first, after one, and how many
// there are in all.
func (d *Dispatcher) HeldMessages(ctx context.Context, account, after id.ID, limit int) (out []HeldMessage, all int64, err error) {
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		out = nil
		list, err := d.store.ListHeld(tx, after, pages(limit))
		if err != nil {
			return err
		}
		for _, h := range list {
			ev, err := d.store.LoadEvent(tx, h.EventID)
			if err != nil {
				return err
			}
			m, ok := ev.Payload.(event.InboundMessage)
			out = append(out, HeldMessage{Held: h, Message: m, Label: ev.Label, Erased: !ok})
		}
		all, err = d.store.CountHeld(tx)
		return err
	})
	return out, all, err
}

// Who says whose address a held message came from: a contact that exists, or a
// new one by its name.
type Who struct {
	ContactID id.ID
	Name      string
}

// Identify says who the sender of a held message is: the contact gets the
// address and is confirmed, and this message, with all others of the address
// that prove it, goes on through the road. Only a person's word does this.
func (d *Dispatcher) Identify(ctx context.Context, account, by, held id.ID, w Who) (Contact, error) {
	if w.ContactID.IsZero() {
		if err := checkText("name", w.Name, maxContactName, true); err != nil {
			return Contact{}, err
		}
	}
	var out Contact
	err := d.settle(ctx, account, by, held, func(tx event.Tx, h Held, ev event.Event, m event.InboundMessage) error {
		c, err := d.name(tx, m, w, by)
		if err != nil {
			return err
		}
		out = c
		return d.settleAll(tx, h, ev, m, actIdentify, by, &c)
	})
	return out, err
}

// name gives the sender's address to the contact that a person names, and
// confirms it.
func (d *Dispatcher) name(tx event.Tx, m event.InboundMessage, w Who, by id.ID) (Contact, error) {
	have, err := d.store.ContactByAddress(tx, m.Channel, m.Sender)
	known := err == nil
	if err != nil && !fault.Is(err, fault.NotFound) {
		return have, err
	}
	switch {
	case known && !w.ContactID.IsZero() && have.ID != w.ContactID:
		return have, taken(m.Channel)
	case !known && w.ContactID.IsZero():
		return d.addContact(tx, Contact{Name: w.Name, Status: Confirmed, Confidence: confidenceConfirmed}, m.Channel, m.Sender, person(by))
	case !known:
		if have, err = d.store.GetContact(tx, w.ContactID); err != nil {
			return have, err
		}
		if have.Status == Blocked {
			return have, fault.New(fault.Conflict, "this contact is blocked").On("contactId").WithFix("unblock it first, if you mean it")
		}
		if err := d.addAddress(tx, have, m.Channel, m.Sender, person(by)); err != nil {
			return have, err
		}
	case w.Name != "":
		have.Name = w.Name
	}
	if have.Status == Confirmed && w.Name == "" {
		return have, nil
	}
	if err := setStatus(&have, Confirmed); err != nil {
		return have, err
	}
	return d.saveContact(tx, have, "", "", person(by), event.Draft{Label: said(), Subject: have.ID})
}

// Release lets one held message through and says nothing of its sender: the
// next one is held again.
func (d *Dispatcher) Release(ctx context.Context, account, by, held id.ID) error {
	return d.settle(ctx, account, by, held, func(tx event.Tx, h Held, ev event.Event, m event.InboundMessage) error {
		cause, err := d.settled(tx, h, ev, actRelease, by, h.ContactID)
		if err != nil {
			return err
		}
		return d.replay(tx, h, ev, m, cause)
	})
}

// Dismiss settles one held message; nobody answers it, and its sender stays
// who they were.
func (d *Dispatcher) Dismiss(ctx context.Context, account, by, held id.ID) error {
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actDecide); err != nil {
			return err
		}
		h, ev, err := d.lockHeld(tx, held)
		if err != nil {
			return err
		}
		_, err = d.settled(tx, h, ev, actDismiss, by, h.ContactID)
		return err
	})
}

// Block blocks the sender of a held message and settles all that is held of
// them. An address that was only claimed blocks no confirmed contact: the
// claim may be the lie.
func (d *Dispatcher) Block(ctx context.Context, account, by, held id.ID) error {
	return d.settle(ctx, account, by, held, func(tx event.Tx, h Held, ev event.Event, m event.InboundMessage) error {
		c, err := d.store.ContactByAddress(tx, m.Channel, m.Sender)
		switch {
		case fault.Is(err, fault.NotFound):
			c, err = d.addContact(tx, Contact{Name: m.SenderName, Status: Blocked}, m.Channel, m.Sender, person(by))
		case err != nil:
		case c.Status == Confirmed && !h.Proven:
			return fault.New(fault.Conflict, "nothing proves that this contact sent the message").On("heldId").
				WithFix("dismiss the message, or block the contact itself")
		default:
			if err = setStatus(&c, Blocked); err == nil {
				c, err = d.saveContact(tx, c, "", "", person(by), event.Draft{Label: said(), Subject: c.ID})
			}
		}
		if err != nil {
			return err
		}
		return d.settleAll(tx, h, ev, m, actBlock, by, &c)
	})
}

func (d *Dispatcher) settle(ctx context.Context, account, by, held id.ID, f func(event.Tx, Held, event.Event, event.InboundMessage) error) error {
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actDecide); err != nil {
			return err
		}
		h, ev, err := d.lockHeld(tx, held)
		if err != nil {
			return err
		}
		m, ok := ev.Payload.(event.InboundMessage)
		if !ok {
			return fault.New(fault.Conflict, "the message was erased").On("heldId").WithFix("dismiss it")
		}
		return f(tx, h, ev, m)
	})
}

func (d *Dispatcher) lockHeld(tx event.Tx, held id.ID) (Held, event.Event, error) {
	h, err := d.store.LockHeld(tx, held)
	if err != nil {
		return h, event.Event{}, err
	}
	if h.State != pending {
		return h, event.Event{}, fault.New(fault.Conflict, "somebody decided about this message: %s", h.State).On("heldId")
	}
	ev, err := d.store.LoadEvent(tx, h.EventID)
	return h, ev, err
}

// settleAll settles the message that was looked at and others of its sender.
func (d *Dispatcher) settleAll(tx event.Tx, h Held, ev event.Event, m event.InboundMessage, act string, by id.ID, c *Contact) error {
	if err := d.settleOne(tx, h, ev, m, act, by, c); err != nil {
		return err
	}
	return d.settleRest(tx, h, act, by, c)
}

// settleRest settles the other held messages of h's sender, a batch at a time.
// An unproven one may be somebody else's, so identifying leaves it alone.
func (d *Dispatcher) settleRest(tx event.Tx, first Held, act string, by id.ID, c *Contact) error {
	rest, err := d.store.HeldOf(tx, first.Sender, act == actIdentify, batch)
	if err != nil {
		return err
	}
	for _, h := range rest {
		ev, err := d.store.LoadEvent(tx, h.EventID)
		if err != nil {
			return err
		}
		m, ok := ev.Payload.(event.InboundMessage)
		if !ok { // erased: nobody can read it any more
			_, err = d.settled(tx, h, ev, actDismiss, by, c.ID)
		} else {
			err = d.settleOne(tx, h, ev, m, act, by, c)
		}
		if err != nil {
			return err
		}
	}
	if len(rest) < batch {
		return nil
	}
	now, err := d.store.Clock(tx)
	if err != nil {
		return err
	}
	return d.store.SetTimer(tx, timerRelease, first.ID.String(), now)
}

// goOn settles the next batch of what a person decided about.
func (d *Dispatcher) goOn(tx event.Tx, key string) error {
	which, err := id.Parse(key)
	if err != nil {
		return nil //nolint:nilerr // a timer whose key is no id is none of ours: nothing is due
	}
	first, err := d.store.LockHeld(tx, which)
	if err != nil || first.State != actIdentify && first.State != actBlock {
		return err
	}
	c, err := d.store.GetContact(tx, first.ContactID)
	if err != nil {
		return err
	}
	if c.Status == Blocked != (first.State == actBlock) { // another decision came after
		return nil
	}
	return d.settleRest(tx, first, first.State, first.SettledBy, &c)
}

func (d *Dispatcher) settleOne(tx event.Tx, h Held, ev event.Event, m event.InboundMessage, act string, by id.ID, c *Contact) error {
	h.ContactID = c.ID
	cause, err := d.settled(tx, h, ev, act, by, c.ID)
	if err != nil || act == actBlock {
		return err
	}
	return d.replay(tx, h, ev, m, cause)
}

// settled writes a decision about one held message, and the fate of what goes
// no further.
func (d *Dispatcher) settled(tx event.Tx, h Held, ev event.Event, act string, by, contactID id.ID) (event.Ref, error) {
	h.State, h.SettledBy, h.SettledAt, h.ContactID = act, by, tx.Now(), contactID
	if err := d.store.SettleHeld(tx, h); err != nil {
		return event.Ref{}, err
	}
	e, err := tx.Emit(d.origin, event.Draft{
		Payload: event.HeldSettled{HeldID: h.ID, MessageID: h.MessageID, PersonID: by, Action: act, ContactID: contactID},
		Summary: "A person decided about a held message: " + act + ".",
		Stream:  ev.Stream, Causes: []event.Ref{ev.Ref()}, Subject: ev.Subject,
	})
	if err != nil || act == actIdentify || act == actRelease {
		return e.Ref(), err
	}
	f, err := d.store.GetFate(tx, h.MessageID)
	if err != nil {
		return e.Ref(), err
	}
	f.Outcome, f.Reason, f.ContactID = Rejected, act, contactID
	return e.Ref(), d.store.SetFate(tx, f)
}

// replay sends a held message on its way. A person looked at it, so size, rates
// and floor have nothing to say any more; who serves it, its label and its
// trust are judged anew.
func (d *Dispatcher) replay(tx event.Tx, h Held, ev event.Event, m event.InboundMessage, cause event.Ref) error {
	f, err := d.store.GetFate(tx, h.MessageID)
	if err != nil {
		return err
	}
	s := sender{message: m}
	if err := d.resolve(tx, &s); err != nil {
		return err
	}
	if s.standing == StandingBlocked {
		return fault.New(fault.Conflict, "the sender is blocked").On("heldId").WithFix("unblock the contact first")
	}
	channel, known := d.ports.Outlet.Trust(m.Channel)
	if !known {
		return fault.New(fault.Conflict, "there is no channel %q any more", m.Channel).On("heldId")
	}
	agent, err := d.route(tx, ev, s)
	if err != nil {
		return err
	}
	if agent == "" { // who was asked for is gone
		agent = d.config.DefaultAgent
	}
	f.Outcome, f.Reason, f.Agent, f.ContactID = Tasked, "", agent, s.contactID()
	f.Trust = d.config.Trust.Score(channel, confidence(s.standing, s.contact), d.risk(m.Text))
	if err := d.give(tx, &f, ev, s, cause); err != nil {
		return err
	}
	return d.store.SetFate(tx, f)
}
