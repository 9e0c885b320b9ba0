package dispatchdb

import (
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// AddContact implements dispatch.Store.
func (*Store) AddContact(tx event.Tx, c dispatch.Contact) (bool, error) {
	n, err := q.Exec(tx, "add_contact", tx.Account(), c.ID, c.Name, string(c.Status), c.PersonID, c.EntityID, c.Confidence, c.Version, c.Label.String(), clock.Micros(c.At))
	return n == 1, err
}

// SaveContact implements dispatch.Store.
func (*Store) SaveContact(tx event.Tx, c dispatch.Contact) error {
	n, err := q.Exec(tx, "save_contact", c.Name, string(c.Status), c.EntityID, c.Confidence, tx.Account(), c.ID, c.Version)
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "the contact was changed meanwhile").On("version").WithFix("look at it again")
	}
	return err
}

// GetContact implements dispatch.Store.
func (*Store) GetContact(tx event.Tx, contact id.ID) (dispatch.Contact, error) {
	c, err := scanContact(func(d ...any) error { return q.Row(tx, "get_contact", []any{tx.Account(), contact}, d...) })
	return c, named(err, "contact", "contactId")
}

// ContactOfPerson implements dispatch.Store.
func (*Store) ContactOfPerson(tx event.Tx, person id.ID, channel, address string) (c dispatch.Contact, has bool, err error) {
	var n int64
	c, err = scanContact(func(d ...any) error {
		return q.Row(tx, "contact_of_person", []any{channel, address, tx.Account(), person}, append(d, &n)...)
	})
	return c, n > 0, named(err, "contact", "personId")
}

// ContactByAddress implements dispatch.Store.
func (*Store) ContactByAddress(tx event.Tx, channel, address string) (dispatch.Contact, error) {
	c, err := scanContact(func(d ...any) error {
		return q.Row(tx, "contact_by_address", []any{tx.Account(), channel, address}, d...)
	})
	return c, named(err, "contact", "address")
}

// ListContacts implements dispatch.Store.
func (*Store) ListContacts(tx event.Tx, status string, after id.ID, limit int) (out []dispatch.Contact, err error) {
	err = q.Each(tx, "list_contacts", []any{tx.Account(), after[:], status, status, limit}, func(scan func(...any) error) error {
		c, err := scanContact(scan)
		out = append(out, c)
		return err
	})
	return out, err
}

func scanContact(scan func(...any) error) (c dispatch.Contact, err error) {
	var status, label string
	var confidence, at int64
	if err = scan(&c.ID, &c.Name, &status, &c.PersonID, &c.EntityID, &confidence, &c.Version, &label, &at); err != nil {
		return c, err
	}
	c.Status, c.Confidence, c.At = dispatch.Status(status), int32(confidence), clock.FromMicros(at)
	c.Label, err = event.ParseLabel(label)
	return c, err
}

// AddIdentity implements dispatch.Store.
func (*Store) AddIdentity(tx event.Tx, i dispatch.Identity) (bool, error) {
	n, err := q.Exec(tx, "add_identity", tx.Account(), i.Channel, i.Address, i.ContactID, i.Subject, i.AddedBy, i.Label.String(), clock.Micros(i.At))
	return n == 1, err
}

// DropIdentity implements dispatch.Store.
func (*Store) DropIdentity(tx event.Tx, channel, address string) error {
	_, err := q.Exec(tx, "drop_identity", tx.Account(), channel, address)
	return err
}

// ListIdentities implements dispatch.Store.
func (*Store) ListIdentities(tx event.Tx, contact id.ID) (out []dispatch.Identity, err error) {
	err = q.Each(tx, "list_identities", []any{tx.Account(), contact}, func(scan func(...any) error) error {
		var i dispatch.Identity
		var label string
		var at int64
		if err := scan(&i.Channel, &i.Address, &i.ContactID, &i.Subject, &i.AddedBy, &label, &at); err != nil {
			return err
		}
		i.At = clock.FromMicros(at)
		i.Label, err = event.ParseLabel(label)
		out = append(out, i)
		return err
	})
	return out, err
}
