package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
)

func scanAccount(scan scanner) (a identity.Account, err error) {
	var w whens
	err = scan(&a.ID, &a.Handle, &a.Name, w.of(&a.CreatedAt), w.of(&a.SetupClosedAt))
	w.set()
	return a, err
}

// FindAccount implements identity.AccountStore.
func (*Store) FindAccount(tx event.Tx, handle string) (identity.Account, bool, error) {
	a, err := row(tx, "find_account", []any{handle}, scanAccount)
	ok, err := found(err)
	return a, ok, err
}

// ListAccounts implements identity.AccountStore.
func (*Store) ListAccounts(tx event.Tx) ([]identity.Account, error) {
	return rows(tx, "list_accounts", nil, scanAccount)
}

// GetAccount implements identity.AccountStore.
func (*Store) GetAccount(tx event.Tx) (identity.Account, error) {
	return row(tx, "get_account", []any{tx.Account()}, scanAccount)
}

// AddAccount implements identity.AccountStore.
func (*Store) AddAccount(tx event.Tx, a identity.Account) (bool, error) {
	return one(q.Exec(tx, "add_account", tx.Account(), a.Handle, a.Name, us(a.CreatedAt)))
}

// CloseSetup implements identity.AccountStore.
func (*Store) CloseSetup(tx event.Tx, at time.Time) (bool, error) {
	return one(q.Exec(tx, "close_setup", us(at), tx.Account()))
}
