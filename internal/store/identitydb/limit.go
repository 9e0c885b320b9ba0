package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
)

func scanLimit(scan scanner) (l identity.LimitRow, err error) {
	var w whens
	err = scan(&l.Failures, w.of(&l.LockedUntil), w.of(&l.UpdatedAt))
	w.set()
	return l, err
}

// FindLimit implements identity.LimitStore.
func (*Store) FindLimit(tx event.Tx, scope string, key []byte) (identity.LimitRow, bool, error) {
	l, err := row(tx, "find_limit", []any{tx.Account(), scope, key}, scanLimit)
	ok, err := found(err)
	return l, ok, err
}

// LockLimit implements identity.LimitStore.
func (*Store) LockLimit(tx event.Tx, scope string, key []byte) (identity.LimitRow, error) {
	if _, err := q.Exec(tx, "add_limit", tx.Account(), scope, key, us(tx.Now())); err != nil {
		return identity.LimitRow{}, err
	}
	return row(tx, "lock_limit", []any{tx.Account(), scope, key}, scanLimit)
}

// SaveLimit implements identity.LimitStore.
func (*Store) SaveLimit(tx event.Tx, scope string, key []byte, l identity.LimitRow) error {
	_, err := q.Exec(tx, "save_limit", l.Failures, us(l.LockedUntil), us(l.UpdatedAt), tx.Account(), scope, key)
	return err
}

// DeleteLimit implements identity.LimitStore.
func (*Store) DeleteLimit(tx event.Tx, scope string, key []byte) error {
	_, err := q.Exec(tx, "delete_limit", tx.Account(), scope, key)
	return err
}

// PurgeLimits implements identity.LimitStore.
func (*Store) PurgeLimits(tx event.Tx, before time.Time) error {
	_, err := q.Exec(tx, "purge_limits", tx.Account(), us(before))
	return err
}
