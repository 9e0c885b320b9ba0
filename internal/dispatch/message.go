package dispatch

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Message is what an agent wants to tell somebody: the arguments of the skill
// message.send, and what its run knows.
type Message struct {
	To       string // person:ID or contact:ID; "" if Channel and Address say it
	Channel  string // "" takes the first that the recipient has
	Address  string
	ThreadID id.ID // zero begins a thread
	Text     string
	RunID    id.ID
	Agent    string
	Key      string      // the effect's idempotency key
	Label    event.Label // why: the taint of the context it was written in
}

// SendMessage is Send for work that knows whom to tell and not how: it finds the
// channel and the address. It belongs into the transaction that confirms the
// effect. What may not leave comes back as Sent.State "blocked", recorded; a
// recipient that is none, or not of this account, and a thread that is not the
// recipient's are fault.Invalid or fault.NotFound, before any write.
func (d *Dispatcher) SendMessage(tx event.Tx, m Message, causes ...event.Ref) (Sent, error) {
	out := Outgoing{Channel: m.Channel, Address: m.Address, ThreadID: m.ThreadID, Text: m.Text, RunID: m.RunID, Agent: m.Agent, Key: m.Key, Label: m.Label}
	var err error
	switch kind, which, _ := strings.Cut(m.To, ":"); {
	case m.To == "" && (m.Channel == "" || m.Address == ""):
		return Sent{}, fault.New(fault.Invalid, "say to whom, or on which channel to which address").On("to")
	case m.To == "":
	case kind == "person":
		if out.PersonID, err = id.Parse(which); err != nil || out.PersonID.IsZero() {
			return Sent{}, fault.New(fault.Invalid, "%q names no person", m.To).On("to")
		}
		if out.Channel == "" {
			out.Channel = d.config.PersonChannel
		}
	case kind == "contact":
		if out.ContactID, err = id.Parse(which); err != nil || out.ContactID.IsZero() {
			return Sent{}, fault.New(fault.Invalid, "%q names no contact", m.To).On("to")
		}
		if out.Channel == "" {
			if out.Channel, err = d.firstChannel(tx, out.ContactID); err != nil {
				return Sent{}, err
			}
		}
	default:
		return Sent{}, fault.New(fault.Invalid, "%q is not person:ID or contact:ID", m.To).On("to")
	}
	if err := d.mayReach(tx, out); err != nil {
		return Sent{}, err
	}
	if err := d.mayEnter(tx, out); err != nil {
		return Sent{}, err
	}
	return d.Send(tx, out, causes...)
}

// firstChannel is the channel of a contact's oldest address that still exists.
func (d *Dispatcher) firstChannel(tx event.Tx, contactID id.ID) (string, error) {
	ids, err := d.store.ListIdentities(tx, contactID)
	if err != nil {
		return "", err
	}
	for _, i := range ids {
		if _, ok := d.ports.Outlet.Trust(i.Channel); ok {
			return i.Channel, nil
		}
	}
	return "", fault.New(fault.NotFound, "the contact has no address on any channel").On("to")
}
