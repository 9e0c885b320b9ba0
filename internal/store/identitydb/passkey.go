package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func scanPasskey(scan scanner) (p identity.Passkey, err error) {
	var w whens
	err = scan(&p.ID, &p.PersonID, &p.Name, &p.Host, &p.Synced, &p.SignCount, w.of(&p.CreatedAt), w.of(&p.LastUsedAt),
		&p.Credential, &p.Record)
	w.set()
	return p, err
}

// AddPasskey implements identity.CredentialStore.
func (*Store) AddPasskey(tx event.Tx, p identity.Passkey) (bool, error) {
	return one(q.Exec(tx, "add_passkey", tx.Account(), p.ID, p.PersonID, p.Name, p.Host, p.Synced, p.SignCount,
		us(p.CreatedAt), us(p.LastUsedAt), p.Credential, p.Record))
}

// FindPasskey implements identity.CredentialStore.
func (*Store) FindPasskey(tx event.Tx, credential []byte) (identity.Passkey, bool, error) {
	p, err := row(tx, "find_passkey", []any{tx.Account(), credential}, scanPasskey)
	ok, err := found(err)
	return p, ok, err
}

// ListPasskeys implements identity.CredentialStore.
func (*Store) ListPasskeys(tx event.Tx, person id.ID) ([]identity.Passkey, error) {
	return rows(tx, "list_passkeys", []any{tx.Account(), person}, scanPasskey)
}

// ListAllPasskeys implements identity.CredentialStore.
func (*Store) ListAllPasskeys(tx event.Tx) ([]identity.Passkey, error) {
	return rows(tx, "list_all_passkeys", []any{tx.Account()}, scanPasskey)
}

// UsedPasskey implements identity.CredentialStore.
func (*Store) UsedPasskey(tx event.Tx, p identity.Passkey) (bool, error) {
	return one(q.Exec(tx, "used_passkey", p.Synced, p.SignCount, us(p.LastUsedAt), p.Record,
		tx.Account(), p.ID, p.SignCount, p.SignCount))
}

// RenamePasskey implements identity.CredentialStore.
func (*Store) RenamePasskey(tx event.Tx, person, passkey id.ID, name string) (bool, error) {
	return one(q.Exec(tx, "rename_passkey", name, tx.Account(), person, passkey))
}

// DeletePasskey implements identity.CredentialStore.
func (*Store) DeletePasskey(tx event.Tx, person, passkey id.ID) (bool, error) {
	return one(q.Exec(tx, "delete_passkey", tx.Account(), person, passkey))
}

// AddCeremony implements identity.CredentialStore.
func (*Store) AddCeremony(tx event.Tx, c identity.CeremonyRow) error {
	_, err := q.Exec(tx, "add_ceremony", tx.Account(), c.Digest, c.Kind, c.PersonID, c.Data, us(c.ExpiresAt))
	return err
}

// FindCeremony implements identity.CredentialStore.
func (*Store) FindCeremony(tx event.Tx, digest []byte) (identity.CeremonyRow, bool, error) {
	c, err := row(tx, "find_ceremony", []any{tx.Account(), digest}, func(scan scanner) (c identity.CeremonyRow, err error) {
		var w whens
		err = scan(&c.Digest, &c.Kind, &c.PersonID, &c.Data, w.of(&c.ExpiresAt))
		w.set()
		return c, err
	})
	ok, err := found(err)
	return c, ok, err
}

// TakeCeremony implements identity.CredentialStore.
func (*Store) TakeCeremony(tx event.Tx, digest []byte) (bool, error) {
	return one(q.Exec(tx, "take_ceremony", tx.Account(), digest))
}

// PurgeCeremonies implements identity.CredentialStore.
func (*Store) PurgeCeremonies(tx event.Tx, now time.Time) (left int64, err error) {
	if _, err := q.Exec(tx, "purge_ceremonies", tx.Account(), us(now)); err != nil {
		return 0, err
	}
	err = q.Row(tx, "count_ceremonies", []any{tx.Account()}, &left)
	return left, err
}

// DeleteAllCeremonies implements identity.CredentialStore.
func (*Store) DeleteAllCeremonies(tx event.Tx) (int64, error) {
	return q.Exec(tx, "delete_all_ceremonies", tx.Account())
}
