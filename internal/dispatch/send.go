package dispatch

import (
	"fmt"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Outgoing is a message that wants to leave.
type Outgoing struct {
	Channel   string
	ThreadID  id.ID // zero begins a thread
	PersonID  id.ID // recipient: one of these three
	ContactID id.ID
	Address   string // an address on Channel; with a ContactID, which of its addresses ("" takes the first)
	Text      string
	InReplyTo id.ID // the inbound message it answers
	RunID     id.ID
	Agent     string
	IsError   bool
	// Key names the message for ever: sending under a key that was used returns
	// what was sent first.
	Key string
	// Label lowers the label of the causes further.
	Label event.Label
}

// Sent says what became of an Outgoing.
type Sent struct {
	MessageID, ThreadID, DeliveryID id.ID
	State                           string // recorded, queued, blocked
	Reason                          string // of blocked
	Repeat                          bool
}

// maxOutbound is the longest text that leaves in one message, in bytes.
const maxOutbound = 1 << 20

// Send is the one way out (arch_test names its callers). It finds the
// recipient, runs the filters and the audience check, and writes
// outbound.message and its deliveries in the caller's transaction. A message
// that may not leave becomes outbound.blocked and Sent.State says so; that is no
// error, because the record of it must commit. It confirms nobody.
func (d *Dispatcher) Send(tx event.Tx, out Outgoing, causes ...event.Ref) (Sent, error) {
	if out.Key == "" || len(causes) == 0 {
		return Sent{}, fault.New(fault.Internal, "an outgoing message needs a key and a cause")
	}
	if err := checkText("text", out.Text, maxOutbound, true); err != nil {
		return Sent{}, err
	}
	if first, err := d.store.DeliveryByKey(tx, out.Key); err == nil {
		return Sent{MessageID: first.MessageID, ThreadID: first.ThreadID, DeliveryID: first.ID, State: string(first.State), Repeat: true}, nil
	} else if !fault.Is(err, fault.NotFound) {
		return Sent{}, err
	}
	to, reason, err := d.recipient(tx, &out)
	if err != nil || reason != "" {
		return d.block(tx, out, to, reason, "", causes, err)
	}
	for _, f := range d.ports.Filters {
		passed, rule, err := f.Pass(tx, out)
		if err != nil || rule != "" {
			return d.block(tx, out, to, "filter", f.Name()+":"+rule, causes, err)
		}
		out = passed
	}
	labels := []event.Label{}
	for _, c := range causes {
		labels = append(labels, c.Label)
	}
	if !out.Label.IsZero() {
		labels = append(labels, out.Label)
	}
	may, err := d.ports.Audience.May(tx, event.Join(labels...), to.principal)
	if err != nil || !may {
		return d.block(tx, out, to, "audience", "", causes, err)
	}
	return d.post(tx, out, to, causes)
}

// addressee is who a message goes to.
type addressee struct {
	principal string
	subject   id.ID // whose data the message is
}

// recipient completes out and returns who it goes to, or why it cannot.
func (d *Dispatcher) recipient(tx event.Tx, out *Outgoing) (addressee, string, error) {
	if _, ok := d.ports.Outlet.Trust(out.Channel); !ok {
		return addressee{principal: stranger}, "unknown_channel", nil
	}
	if !out.PersonID.IsZero() {
		if out.Address == "" {
			out.Address = out.PersonID.String()
		}
		return addressee{person(out.PersonID), out.PersonID}, "", nil
	}
	c, err := d.recipientContact(tx, out)
	if fault.Is(err, fault.NotFound) && out.ContactID.IsZero() && out.Address != "" { // nobody's address: a stranger
		return addressee{stranger, event.SenderSubject(tx.Account(), out.Channel, out.Address)}, "", nil
	}
	if err != nil {
		return addressee{}, "", err
	}
	to := addressee{contact(c.ID), c.ID}
	if out.Address == "" {
		return to, "no_address", nil
	}
	to.subject = event.SenderSubject(tx.Account(), out.Channel, out.Address)
	if c.Status == Blocked {
		return to, "blocked_contact", nil
	}
	return to, "", nil
}

// recipientContact finds the contact by id or by address, and the address.
func (d *Dispatcher) recipientContact(tx event.Tx, out *Outgoing) (Contact, error) {
	if out.ContactID.IsZero() {
		c, err := d.store.ContactByAddress(tx, out.Channel, out.Address)
		if err == nil {
			out.ContactID = c.ID
		}
		return c, err
	}
	c, err := d.store.GetContact(tx, out.ContactID)
	if err != nil {
		return c, err
	}
	ids, err := d.store.ListIdentities(tx, c.ID)
	if err != nil {
		return c, err
	}
	wanted := out.Address
	out.Address = ""
	for _, i := range ids {
		if i.Channel == out.Channel && (wanted == "" || i.Address == wanted) {
			out.Address = i.Address
			break
		}
	}
	return c, nil
}

// block records that a message may not leave. An error of whoever looked at it
// goes to the caller instead: what could not be checked is not decided.
func (d *Dispatcher) block(tx event.Tx, out Outgoing, to addressee, reason, rule string, causes []event.Ref, err error) (Sent, error) {
	if err != nil {
		return Sent{}, err
	}
	_, err = tx.Emit(d.origin, event.Draft{
		Payload: event.OutboundBlocked{Channel: out.Channel, ThreadID: out.ThreadID, ContactID: out.ContactID, InReplyTo: out.InReplyTo,
			RunID: out.RunID, Agent: out.Agent, Address: out.Address, Text: out.Text, Reason: reason, Rule: rule},
		Summary: "A message may not leave: " + reason + ".",
		Stream:  out.ThreadID, Causes: causes, Label: out.Label, Subject: to.subject,
	})
	return Sent{ThreadID: out.ThreadID, State: "blocked", Reason: reason}, err
}

// post writes the message and its deliveries.
func (d *Dispatcher) post(tx event.Tx, out Outgoing, to addressee, causes []event.Ref) (Sent, error) {
	if out.ThreadID.IsZero() {
		out.ThreadID = tx.NewID()
		if err := d.ports.Outlet.Open(tx, out.Channel, out.ThreadID, out.PersonID, out.Address); err != nil {
			return Sent{}, err
		}
	}
	push, _ := d.ports.Outlet.Push(out.Channel)
	parts := []string{out.Text}
	if push {
		parts = d.ports.Outlet.Split(out.Channel, out.Text)
	}
	now, err := d.store.Clock(tx)
	if err != nil {
		return Sent{}, err
	}
	m := event.OutboundMessage{Channel: out.Channel, ThreadID: out.ThreadID, MessageID: tx.NewID(), DeliveryID: tx.NewID(),
		ContactID: out.ContactID, Address: out.Address, Text: out.Text, InReplyTo: out.InReplyTo, RunID: out.RunID,
		Agent: out.Agent, IsError: out.IsError, Parts: len(parts)}
	e, err := tx.Emit(d.origin, event.Draft{Payload: m, Summary: "A message leaves on " + out.Channel + ".",
		Stream: out.ThreadID, Causes: causes, Label: out.Label, Subject: to.subject})
	if err != nil {
		return Sent{}, err
	}
	row := Delivery{ID: m.DeliveryID, MessageID: m.MessageID, EventID: e.ID, Channel: m.Channel, ThreadID: m.ThreadID, InReplyTo: m.InReplyTo,
		Agent: m.Agent, Part: 1, Parts: len(parts), To: len(parts[0]), Key: out.Key, State: Recorded, QueuedAt: now, At: tx.Now()}
	if push {
		err = d.queue(tx, row, parts, now)
	} else {
		err = d.add(tx, row)
	}
	sent := Sent{MessageID: m.MessageID, ThreadID: m.ThreadID, DeliveryID: m.DeliveryID, State: string(row.State)}
	if push {
		sent.State = string(Queued)
	}
	return sent, err
}

// add writes a delivery. A key that another transaction used meanwhile voids
// this one; run again, it finds the first.
func (d *Dispatcher) add(tx event.Tx, row Delivery) error {
	free, err := d.store.AddDelivery(tx, row)
	if err == nil && !free {
		err = fault.New(fault.Unavailable, "another transaction sent under this key")
	}
	return err
}

// partKey names one part: the first has the message's own key.
func partKey(key string, part int) string {
	if part == 1 {
		return key
	}
	return fmt.Sprintf("%s.%d", key, part)
}

// AnswerKey is the key of the answer to a run's response.
func AnswerKey(response id.ID) string { return "answer." + response.String() }

// providerKey names a medium's id without holding it.
func providerKey(channel, provider string) []byte {
	if provider == "" {
		return nil
	}
	sum := canon.Digest("witan/outbound", []byte(channel), []byte(provider))
	return sum[:]
}
