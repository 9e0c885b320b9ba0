package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func sessionDest(s *identity.Session, w *whens) []any {
	return []any{&s.ID, &s.PersonID, &s.How, &s.Address, &s.Agent, w.of(&s.CreatedAt), w.of(&s.SeenAt), w.of(&s.VerifiedAt), w.of(&s.EndsAt)}
}

func scanSession(scan scanner) (s identity.Session, err error) {
	var w whens
	err = scan(sessionDest(&s, &w)...)
	w.set()
	return s, err
}

// AddSession implements identity.SessionStore.
func (*Store) AddSession(tx event.Tx, s identity.SessionRow) error {
	_, err := q.Exec(tx, "add_session", tx.Account(), s.ID, s.Digest, s.PersonID, s.How, s.Address, s.Agent,
		us(s.CreatedAt), us(s.SeenAt), us(s.VerifiedAt), us(s.EndsAt))
	return err
}

// FindSession implements identity.SessionStore.
func (*Store) FindSession(tx event.Tx, digest []byte) (identity.SessionRow, identity.Person, bool, error) {
	var s identity.SessionRow
	p, err := row(tx, "find_session", []any{tx.Account(), digest}, func(scan scanner) (p identity.Person, err error) {
		var w whens
		err = scan(append(append(sessionDest(&s.Session, &w), &s.Digest), personDest(&p, &w)...)...)
		w.set()
		return p, err
	})
	ok, err := found(err)
	return s, p, ok, err
}

// ListSessions implements identity.SessionStore.
func (*Store) ListSessions(tx event.Tx, person id.ID) ([]identity.Session, error) {
	return rows(tx, "list_sessions", []any{tx.Account(), person}, scanSession)
}

// TouchSession implements identity.SessionStore.
func (*Store) TouchSession(tx event.Tx, session id.ID, at, before time.Time) error {
	_, err := q.Exec(tx, "touch_session", us(at), tx.Account(), session, us(before))
	return err
}

// VerifySession implements identity.SessionStore.
func (*Store) VerifySession(tx event.Tx, person, session id.ID, at time.Time) (bool, error) {
	return one(q.Exec(tx, "verify_session", us(at), tx.Account(), person, session))
}

// DeleteSession implements identity.SessionStore.
func (*Store) DeleteSession(tx event.Tx, person, session id.ID) (bool, error) {
	return one(q.Exec(tx, "delete_session", tx.Account(), person, session))
}

// DeleteSessions implements identity.SessionStore.
func (*Store) DeleteSessions(tx event.Tx, person, but id.ID) ([]identity.Session, error) {
	if person.IsZero() {
		return rows(tx, "delete_all_sessions", []any{tx.Account()}, scanSession)
	}
	// The zero id as bytes: NULL would match nothing.
	return rows(tx, "delete_sessions", []any{tx.Account(), person, but[:]}, scanSession)
}

// DeleteDeadSessions implements identity.SessionStore.
func (*Store) DeleteDeadSessions(tx event.Tx, person id.ID, endedBefore, seenBefore time.Time) ([]identity.Session, error) {
	return rows(tx, "delete_dead_sessions", []any{tx.Account(), person, us(endedBefore), us(seenBefore)}, scanSession)
}
