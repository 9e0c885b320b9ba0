package dispatch

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// mayReach refuses a person who is none of the account: an id alone is nobody,
// and nobody would ever read what is sent to it.
func (d *Dispatcher) mayReach(tx event.Tx, out Outgoing) error {
	if out.PersonID.IsZero() {
		return nil
	}
	_, err := d.ports.People.RoleOf(tx, out.PersonID)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "the account has no such person").On("to")
	}
	return err
}

// mayEnter refuses a thread that is not the recipient's: words to one must not
// turn up in the conversation of others, where they would be read as its own.
// A thread of others and one that does not exist are told apart by nothing.
func (d *Dispatcher) mayEnter(tx event.Tx, out Outgoing) error {
	if out.ThreadID.IsZero() {
		return nil
	}
	person, subject, err := d.ports.Outlet.Whose(tx, out.Channel, out.ThreadID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	theirs := err == nil && person == out.PersonID
	if theirs && person.IsZero() {
		addresses := []string{out.Address}
		if !out.ContactID.IsZero() {
			if addresses, err = d.addresses(tx, out); err != nil {
				return err
			}
		}
		theirs = slices.ContainsFunc(addresses, func(a string) bool { return subject == event.SenderSubject(tx.Account(), out.Channel, a) })
	}
	if !theirs {
		return fault.New(fault.NotFound, "the recipient has no such thread").On("threadId").WithFix("leave it out to begin one")
	}
	return nil
}

// addresses lists those that the recipient contact has on the channel.
func (d *Dispatcher) addresses(tx event.Tx, out Outgoing) (on []string, err error) {
	list, err := d.store.ListIdentities(tx, out.ContactID)
	for _, i := range list {
		if i.Channel == out.Channel {
			on = append(on, i.Address)
		}
	}
	return on, err
}
