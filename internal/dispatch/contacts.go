package dispatch

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

const (
	maxContactName = 200
	maxAddress     = 320
)

// personContact returns a person's own contact, made if this is its first
// message, with the address it writes from.
func (d *Dispatcher) personContact(tx event.Tx, p id.ID, name, channel, address string) (Contact, error) {
	c, has, err := d.store.ContactOfPerson(tx, p, channel, address)
	if err == nil && has {
		return c, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return c, err
	}
	by := person(p)
	if err != nil {
		c = Contact{ID: tx.NewID(), Name: name, Status: Confirmed, PersonID: p, Confidence: confidencePerson, Version: 1, Label: said(), At: tx.Now()}
		added, err := d.store.AddContact(tx, c)
		if err != nil {
			return c, err
		}
		if !added { // another transaction was first
			if c, _, err = d.store.ContactOfPerson(tx, p, channel, address); err != nil {
				return c, err
			}
		}
	}
	free, err := d.store.AddIdentity(tx, Identity{Channel: channel, Address: address, ContactID: c.ID, Subject: p, AddedBy: by, Label: said(), At: tx.Now()})
	if err != nil || !free {
		return c, err // the address of a person is only a name here; the person is known by the sign-in
	}
	return c, d.sayContact(tx, c, channel, address, by, event.Draft{Label: said(), Subject: p})
}

// addContact makes a contact with one address.
func (d *Dispatcher) addContact(tx event.Tx, c Contact, channel, address, by string, causes ...event.Ref) (Contact, error) {
	c.ID, c.Version, c.At = tx.NewID(), 1, tx.Now()
	draft := event.Draft{Causes: causes, Subject: c.ID}
	c.Label = said()
	if len(causes) > 0 {
		labels := make([]event.Label, len(causes))
		for i, r := range causes {
			labels[i] = r.Label
		}
		c.Label = event.Join(labels...)
	} else {
		draft.Label = c.Label
	}
	if channel != "" { // first, so that a second transaction leaves no contact behind
		free, err := d.store.AddIdentity(tx, Identity{Channel: channel, Address: address, ContactID: c.ID,
			Subject: event.SenderSubject(tx.Account(), channel, address), AddedBy: by, Label: c.Label, At: tx.Now()})
		if err != nil {
			return c, err
		}
		if !free {
			return c, taken(channel)
		}
	}
	if _, err := d.store.AddContact(tx, c); err != nil {
		return c, err
	}
	return c, d.sayContact(tx, c, channel, address, by, draft)
}

func taken(channel string) error {
	return fault.New(fault.Conflict, "this address on %s belongs to another contact", channel).On("address").
		WithFix("remove it there first")
}

func (d *Dispatcher) sayContact(tx event.Tx, c Contact, channel, address, by string, draft event.Draft) error {
	draft.Payload = event.ContactSaved{ContactID: c.ID, Name: c.Name, Status: string(c.Status), PersonID: c.PersonID,
		EntityID: c.EntityID, Channel: channel, Address: address, By: by}
	draft.Summary = "A contact is " + string(c.Status) + "."
	_, err := tx.Emit(d.origin, draft)
	return err
}

// NewContact is what a person says of a contact to be.
type NewContact struct {
	Name             string
	Channel, Address string // an address of it; both or none
}

// AddContact makes a confirmed contact on a person's word.
func (d *Dispatcher) AddContact(ctx context.Context, account, by id.ID, n NewContact) (Contact, error) {
	if err := checkText("name", n.Name, maxContactName, true); err != nil {
		return Contact{}, err
	}
	if (n.Channel == "") != (n.Address == "") {
		return Contact{}, fault.New(fault.Invalid, "an address needs a channel, and a channel an address").On("address")
	}
	if err := d.checkAddress(n.Channel, n.Address); n.Channel != "" && err != nil {
		return Contact{}, err
	}
	var out Contact
	err := d.journal.Do(ctx, account, func(tx event.Tx) (err error) {
		if err := d.may(tx, by, actManage); err != nil {
			return err
		}
		if err := d.free(tx, n.Channel, n.Address); err != nil {
			return err
		}
		out, err = d.addContact(tx, Contact{Name: n.Name, Status: Confirmed, Confidence: confidenceConfirmed}, n.Channel, n.Address, person(by))
		return err
	})
	return out, err
}

// free refuses an address that somebody has, before anything is written.
func (d *Dispatcher) free(tx event.Tx, channel, address string) error {
	if channel == "" {
		return nil
	}
	_, err := d.store.ContactByAddress(tx, channel, address)
	switch {
	case err == nil:
		return taken(channel)
	case fault.Is(err, fault.NotFound):
		return nil
	}
	return err
}

// Change is what a person changes of a contact; nil leaves a field alone.
type Change struct {
	Version  int64 // of the contact that was shown
	Name     *string
	Status   *Status
	EntityID *id.ID
}

// ChangeContact changes a contact on a person's word. A version that is not
// current is fault.Conflict. A person's own contact cannot be blocked.
func (d *Dispatcher) ChangeContact(ctx context.Context, account, by, contactID id.ID, ch Change) (Contact, error) {
	if ch.Name != nil {
		if err := checkText("name", *ch.Name, maxContactName, true); err != nil {
			return Contact{}, err
		}
	}
	if s := ch.Status; s != nil && *s != Confirmed && *s != Provisional && *s != Blocked {
		return Contact{}, fault.New(fault.Invalid, "%q is not confirmed, provisional or blocked", *s).On("status")
	}
	var out Contact
	err := d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actManage); err != nil {
			return err
		}
		c, err := d.store.GetContact(tx, contactID)
		if err != nil {
			return err
		}
		if c.Version != ch.Version {
			return fault.New(fault.Conflict, "the contact was changed meanwhile").On("version").WithFix("look at it again")
		}
		if ch.Name != nil {
			c.Name = *ch.Name
		}
		if ch.EntityID != nil {
			c.EntityID = *ch.EntityID
		}
		if ch.Status != nil {
			if err := setStatus(&c, *ch.Status); err != nil {
				return err
			}
		}
		out, err = d.saveContact(tx, c, "", "", person(by), event.Draft{Label: said(), Subject: c.ID})
		return err
	})
	return out, err
}

func setStatus(c *Contact, s Status) error {
	if !c.PersonID.IsZero() && s != Confirmed {
		return fault.New(fault.Conflict, "this is a person of the account").On("status").WithFix("disable the person instead")
	}
	c.Status = s
	switch {
	case !c.PersonID.IsZero():
	case s == Confirmed:
		c.Confidence = max(c.Confidence, confidenceConfirmed)
	default:
		c.Confidence = min(c.Confidence, confidenceProvisional)
	}
	return nil
}

func (d *Dispatcher) saveContact(tx event.Tx, c Contact, channel, address, by string, draft event.Draft) (Contact, error) {
	if err := d.store.SaveContact(tx, c); err != nil {
		return c, err
	}
	c.Version++
	return c, d.sayContact(tx, c, channel, address, by, draft)
}

// AddAddress gives a contact an address on a person's word. An address of
// another contact is fault.Conflict.
func (d *Dispatcher) AddAddress(ctx context.Context, account, by, contactID id.ID, channel, address string) error {
	if err := d.checkAddress(channel, address); err != nil {
		return err
	}
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actManage); err != nil {
			return err
		}
		c, err := d.store.GetContact(tx, contactID)
		if err != nil {
			return err
		}
		return d.addAddress(tx, c, channel, address, person(by))
	})
}

func (d *Dispatcher) addAddress(tx event.Tx, c Contact, channel, address, by string) error {
	have, err := d.store.ContactByAddress(tx, channel, address)
	switch {
	case err == nil && have.ID == c.ID:
		return nil
	case err == nil:
		return taken(channel)
	case !fault.Is(err, fault.NotFound):
		return err
	}
	subject := event.SenderSubject(tx.Account(), channel, address)
	free, err := d.store.AddIdentity(tx, Identity{Channel: channel, Address: address, ContactID: c.ID, Subject: subject, AddedBy: by, Label: said(), At: tx.Now()})
	if err != nil {
		return err
	}
	if !free {
		return taken(channel)
	}
	return d.sayContact(tx, c, channel, address, by, event.Draft{Label: said(), Subject: subject})
}

// DropAddress takes an address from its contact on a person's word.
func (d *Dispatcher) DropAddress(ctx context.Context, account, by id.ID, channel, address string) error {
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actManage); err != nil {
			return err
		}
		c, err := d.store.ContactByAddress(tx, channel, address)
		if err != nil {
			return err
		}
		if err := d.store.DropIdentity(tx, channel, address); err != nil {
			return err
		}
		return d.sayContact(tx, c, "", "", person(by), event.Draft{Label: said(), Subject: c.ID})
	})
}

// Contact returns a contact and its addresses.
func (d *Dispatcher) Contact(ctx context.Context, account, contactID id.ID) (c Contact, ids []Identity, err error) {
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		if c, err = d.store.GetContact(tx, contactID); err != nil {
			return err
		}
		ids, err = d.store.ListIdentities(tx, contactID)
		return err
	})
	return c, ids, err
}

// Contacts lists contacts after one, in the order in which they were made;
// status "" means all.
func (d *Dispatcher) Contacts(ctx context.Context, account id.ID, status Status, after id.ID, limit int) (out []Contact, err error) {
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		out, err = d.store.ListContacts(tx, string(status), after, pages(limit))
		return err
	})
	return out, err
}

// Subjects returns whose data keys seal what a contact said and is: erasing a
// contact erases all of them.
func (d *Dispatcher) Subjects(tx event.Tx, contactID id.ID) ([]id.ID, error) {
	ids, err := d.store.ListIdentities(tx, contactID)
	out := []id.ID{contactID}
	for _, i := range ids {
		out = append(out, i.Subject)
	}
	return out, err
}

func (d *Dispatcher) checkAddress(channel, address string) error {
	if _, ok := d.ports.Outlet.Trust(channel); !ok {
		return fault.New(fault.NotFound, "there is no channel %q", channel).On("channel")
	}
	return checkText("address", address, maxAddress, true)
}

func checkText(field, s string, limit int, required bool) error {
	switch {
	case required && s == "":
		return fault.New(fault.Invalid, "it must not be empty").On(field)
	case len(s) > limit:
		return fault.New(fault.Limited, "%d bytes, at most %d are taken", len(s), limit).On(field)
	case !utf8.ValidString(s):
		return fault.New(fault.Invalid, "it is not valid UTF-8").On(field)
	case strings.IndexByte(s, 0) >= 0:
		return fault.New(fault.Invalid, "it holds U+0000").On(field)
	}
	return nil
}
