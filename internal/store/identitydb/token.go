package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func tokenDest(t *identity.Token, w *whens) []any {
	return []any{&t.ID, &t.PersonID, &t.Name, &t.Prefix, (*string)(&t.Narrowed), w.of(&t.CreatedAt), w.of(&t.ExpiresAt),
		w.of(&t.LastUsedAt), w.of(&t.RevokedAt)}
}

func scanToken(scan scanner) (t identity.Token, err error) {
	var w whens
	err = scan(tokenDest(&t, &w)...)
	w.set()
	return t, err
}

// AddToken implements identity.TokenStore.
func (*Store) AddToken(tx event.Tx, t identity.TokenRow) error {
	_, err := q.Exec(tx, "add_token", tx.Account(), t.ID, t.Digest, t.PersonID, t.Name, t.Prefix, string(t.Narrowed),
		us(t.CreatedAt), us(t.ExpiresAt))
	return err
}

// FindToken implements identity.TokenStore.
func (*Store) FindToken(tx event.Tx, digest []byte) (identity.TokenRow, identity.Person, bool, error) {
	var t identity.TokenRow
	p, err := row(tx, "find_token", []any{tx.Account(), digest}, func(scan scanner) (p identity.Person, err error) {
		var w whens
		err = scan(append(append(tokenDest(&t.Token, &w), &t.Digest), personDest(&p, &w)...)...)
		w.set()
		return p, err
	})
	ok, err := found(err)
	return t, p, ok, err
}

// GetToken implements identity.TokenStore.
func (*Store) GetToken(tx event.Tx, token id.ID) (identity.Token, error) {
	return row(tx, "get_token", []any{tx.Account(), token}, scanToken)
}

// ListTokens implements identity.TokenStore.
func (*Store) ListTokens(tx event.Tx, person id.ID) ([]identity.Token, error) {
	return rows(tx, "list_tokens", []any{tx.Account(), person}, scanToken)
}

// TouchToken implements identity.TokenStore.
func (*Store) TouchToken(tx event.Tx, token id.ID, at, before time.Time) error {
	_, err := q.Exec(tx, "touch_token", us(at), tx.Account(), token, us(before))
	return err
}

// RevokeToken implements identity.TokenStore.
func (*Store) RevokeToken(tx event.Tx, person, token id.ID, at time.Time) (bool, error) {
	return one(q.Exec(tx, "revoke_token", us(at), tx.Account(), person, token))
}
