package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

// AddLink implements identity.LinkStore.
func (*Store) AddLink(tx event.Tx, l identity.LinkRow) error {
	_, err := q.Exec(tx, "add_link", tx.Account(), l.ID, string(l.Kind), l.PersonID, l.Digest, us(l.CreatedAt), us(l.ExpiresAt))
	return err
}

// FindLink implements identity.LinkStore.
func (*Store) FindLink(tx event.Tx, kind identity.LinkKind, digest []byte) (identity.LinkRow, bool, error) {
	l, err := row(tx, "find_link", []any{tx.Account(), string(kind), digest}, func(scan scanner) (l identity.LinkRow, err error) {
		var w whens
		err = scan(&l.ID, (*string)(&l.Kind), &l.PersonID, &l.Digest, w.of(&l.CreatedAt), w.of(&l.ExpiresAt))
		w.set()
		return l, err
	})
	ok, err := found(err)
	return l, ok, err
}

// UseLink implements identity.LinkStore.
func (*Store) UseLink(tx event.Tx, kind identity.LinkKind, digest []byte, at time.Time) (bool, error) {
	return one(q.Exec(tx, "use_link", us(at), tx.Account(), string(kind), digest, us(at)))
}

// WithdrawLinks implements identity.LinkStore.
func (*Store) WithdrawLinks(tx event.Tx, kind identity.LinkKind, person id.ID, at time.Time) (int64, error) {
	if person.IsZero() {
		return q.Exec(tx, "withdraw_setup_links", us(at), tx.Account(), string(kind))
	}
	return q.Exec(tx, "withdraw_links", us(at), tx.Account(), string(kind), person)
}

// WithdrawAllLinks implements identity.LinkStore.
func (*Store) WithdrawAllLinks(tx event.Tx, at time.Time) (int64, error) {
	return q.Exec(tx, "withdraw_all_links", us(at), tx.Account())
}
