package identitydb

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
)

// SaveSecret implements identity.VaultStore.
func (*Store) SaveSecret(tx event.Tx, e identity.VaultEntry, sealed []byte) error {
	_, err := q.Exec(tx, "save_secret", tx.Account(), e.Name, sealed, us(e.CreatedAt), us(e.UpdatedAt), e.By)
	return err
}

// FindSecret implements identity.VaultStore.
func (*Store) FindSecret(tx event.Tx, name string) (sealed []byte, ok bool, err error) {
	ok, err = found(q.Row(tx, "find_secret", []any{tx.Account(), name}, &sealed))
	return sealed, ok, err
}

// ListSecrets implements identity.VaultStore.
func (*Store) ListSecrets(tx event.Tx) ([]identity.VaultEntry, error) {
	return rows(tx, "list_secrets", []any{tx.Account()}, func(scan scanner) (e identity.VaultEntry, err error) {
		var w whens
		err = scan(&e.Name, w.of(&e.CreatedAt), w.of(&e.UpdatedAt), &e.By)
		w.set()
		return e, err
	})
}

// DeleteSecret implements identity.VaultStore.
func (*Store) DeleteSecret(tx event.Tx, name string) (bool, error) {
	return one(q.Exec(tx, "delete_secret", tx.Account(), name))
}
