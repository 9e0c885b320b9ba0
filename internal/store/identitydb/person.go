package identitydb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func personDest(p *identity.Person, w *whens) []any {
	return []any{&p.ID, &p.Name, &p.SignIn, (*string)(&p.Role), (*string)(&p.State), w.of(&p.CreatedAt), w.of(&p.UpdatedAt), &p.Version}
}

func scanPerson(scan scanner) (p identity.Person, err error) {
	var w whens
	err = scan(personDest(&p, &w)...)
	w.set()
	return p, err
}

// AddPerson implements identity.PersonStore.
func (*Store) AddPerson(tx event.Tx, p identity.Person) (bool, error) {
	return one(q.Exec(tx, "add_person", tx.Account(), p.ID, p.Name, p.SignIn, string(p.Role), string(p.State),
		us(p.CreatedAt), us(p.UpdatedAt), p.Version))
}

// SavePerson implements identity.PersonStore.
func (*Store) SavePerson(tx event.Tx, p identity.Person) (bool, error) {
	return one(q.Exec(tx, "save_person", p.Name, p.SignIn, string(p.Role), string(p.State), us(p.UpdatedAt),
		tx.Account(), p.ID, p.Version))
}

// GetPerson implements identity.PersonStore.
func (*Store) GetPerson(tx event.Tx, person id.ID) (identity.Person, error) {
	return row(tx, "get_person", []any{tx.Account(), person}, scanPerson)
}

// LockPerson implements identity.PersonStore.
func (*Store) LockPerson(tx event.Tx, person id.ID) (identity.Person, error) {
	return row(tx, "lock_person", []any{tx.Account(), person}, scanPerson)
}

// FindPersonBySignIn implements identity.PersonStore.
func (*Store) FindPersonBySignIn(tx event.Tx, signIn string) (identity.Person, bool, error) {
	p, err := row(tx, "find_person_by_sign_in", []any{tx.Account(), signIn}, scanPerson)
	ok, err := found(err)
	return p, ok, err
}

// ListPeople implements identity.PersonStore.
func (*Store) ListPeople(tx event.Tx) ([]identity.Person, error) {
	return rows(tx, "list_people", []any{tx.Account()}, scanPerson)
}

// LockActiveOwners implements identity.PersonStore.
func (*Store) LockActiveOwners(tx event.Tx) ([]id.ID, error) {
	return rows(tx, "lock_active_owners", []any{tx.Account()}, func(scan scanner) (x id.ID, err error) {
		err = scan(&x)
		return x, err
	})
}

// FindPassword implements identity.PersonStore.
func (*Store) FindPassword(tx event.Tx, person id.ID) (phc string, ok bool, err error) {
	ok, err = found(q.Row(tx, "find_password", []any{tx.Account(), person}, &phc))
	return phc, ok, err
}

// SavePassword implements identity.PersonStore.
func (*Store) SavePassword(tx event.Tx, person id.ID, phc string, at time.Time) error {
	_, err := q.Exec(tx, "save_password", tx.Account(), person, phc, us(at))
	return err
}

// ReplacePassword implements identity.PersonStore.
func (*Store) ReplacePassword(tx event.Tx, person id.ID, old, phc string) error {
	_, err := q.Exec(tx, "replace_password", phc, tx.Account(), person, old)
	return err
}

// DeletePassword implements identity.PersonStore.
func (*Store) DeletePassword(tx event.Tx, person id.ID) (bool, error) {
	return one(q.Exec(tx, "delete_password", tx.Account(), person))
}
