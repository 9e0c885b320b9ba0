package identitydb_test

import (
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
)

// overlap runs two transactions that overlap for certain, on PostgreSQL: the
// first has done its part and commits only after the second has begun. On
// SQLite there is nothing to see: one writer at a time.
func overlap(t *testing.T, b *bundle, first, look, second func(tx event.Tx) error) {
	t.Helper()
	done, begun := make(chan struct{}), make(chan struct{}) // each closed by the side that it names
	var wg sync.WaitGroup
	var onceA, onceB sync.Once
	wg.Go(func() {
		if err := b.Journal.Do(ctx(), b.account, func(tx event.Tx) error {
			err := first(tx)
			onceA.Do(func() { close(done) })
			<-begun
			// Linger, so that a second side that does not wait for us is seen
			// to run past: it needs a few statements, this is many.
			for i := 0; err == nil && i < 50; i++ {
				_, err = identitydbStore().GetAccount(tx)
			}
			return err
		}); err != nil {
			t.Errorf("first: %v", err)
		}
	})
	wg.Go(func() {
		<-done
		if err := b.Journal.Do(ctx(), b.account, func(tx event.Tx) error {
			err := look(tx)
			onceB.Do(func() { close(begun) })
			if err != nil {
				return err
			}
			return second(tx)
		}); err != nil {
			t.Errorf("second: %v", err)
		}
	})
	wg.Wait()
}

// Each conditional statement, and each lock, holds against a transaction that
// looked before the other one committed.
func TestConditionsHoldAgainstOverlap(t *testing.T) {
	t.Parallel()
	db := storetest.OpenPostgres(t)
	b, mira := claimed(t, db)
	s := identitydbStore()
	me := mira.Principal.PersonID
	jon := b.enrolled(t, mira.Principal, "jon", identity.Owner).Principal.PersonID
	digest := make([]byte, 32)
	token := db.IDs.New()
	key := identity.Passkey{ID: db.IDs.New(), PersonID: me, Name: "k", Host: "localhost", Credential: digest, Record: []byte("{}"), SignCount: 4}
	if err := b.Journal.Do(ctx(), b.account, func(tx event.Tx) error {
		later := tx.Now().Add(identity.ResetLife)
		if err := s.AddLink(tx, identity.LinkRow{ID: tx.NewID(), Kind: identity.LinkReset, PersonID: me, Digest: digest, ExpiresAt: later}); err != nil {
			return err
		}
		if err := s.AddCeremony(tx, identity.CeremonyRow{Digest: digest, Kind: "verify", Data: []byte("{}"), ExpiresAt: later}); err != nil {
			return err
		}
		if err := s.AddToken(tx, identity.TokenRow{Token: identity.Token{ID: token, PersonID: me, Name: "t"}, Digest: digest}); err != nil {
			return err
		}
		_, err := s.AddPasskey(tx, key)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	nothing := func(event.Tx) error { return nil }

	// The statement that says who won: true the first time, false the second.
	for name, once := range map[string]func(tx event.Tx) (bool, error){
		"a link is used":       func(tx event.Tx) (bool, error) { return s.UseLink(tx, identity.LinkReset, digest, tx.Now()) },
		"a ceremony is taken":  func(tx event.Tx) (bool, error) { return s.TakeCeremony(tx, digest) },
		"a token is revoked":   func(tx event.Tx) (bool, error) { return s.RevokeToken(tx, me, token, tx.Now()) },
		"a passkey is used":    func(tx event.Tx) (bool, error) { k := key; k.SignCount = 5; return s.UsedPasskey(tx, k) },
		"a passkey is removed": func(tx event.Tx) (bool, error) { return s.DeletePasskey(tx, jon, key.ID) },
		"a name is taken": func(tx event.Tx) (bool, error) {
			return s.AddPerson(tx, identity.Person{ID: tx.NewID(), Name: "x", SignIn: "ada", Role: identity.Viewer, State: identity.Active, Version: 1})
		},
		"a person is saved": func(tx event.Tx) (bool, error) {
			return s.SavePerson(tx, identity.Person{ID: me, Name: "Mira", SignIn: "mira", Role: identity.Owner, State: identity.Active, Version: 1})
		},
	} {
		won := [2]bool{}
		overlap(t, b, func(tx event.Tx) (err error) { won[0], err = once(tx); return err }, nothing,
			func(tx event.Tx) (err error) { won[1], err = once(tx); return err })
		expect := name != "a passkey is removed" // it is another's: nobody may
		if won != [2]bool{expect, false} {
			t.Errorf("%s: won %v", name, won)
		}
	}

	var seen identity.LimitRow
	charge := func(tx event.Tx) error {
		l, err := s.LockLimit(tx, "name", digest)
		if err != nil {
			return err
		}
		seen = l
		l.Failures++
		return s.SaveLimit(tx, "name", digest, l)
	}
	for _, want := range []int64{1, 3} { // without a row, and with one
		overlap(t, b, charge, func(tx event.Tx) error { _, _, err := s.FindLimit(tx, "name", digest); return err }, charge)
		if seen.Failures != want {
			t.Errorf("the second charge saw %d failures, want %d", seen.Failures, want)
		}
	}

	var owners []id.ID
	overlap(t, b, func(tx event.Tx) error {
		if _, err := s.LockActiveOwners(tx); err != nil {
			return err
		}
		p, err := s.LockPerson(tx, jon)
		p.Role = identity.Viewer
		if err == nil {
			_, err = s.SavePerson(tx, p)
		}
		return err
	}, nothing, func(tx event.Tx) (err error) { owners, err = s.LockActiveOwners(tx); return err })
	if len(owners) != 1 || owners[0] != me {
		t.Errorf("the second demotion saw the owners %v", owners)
	}

	var keys []identity.Passkey
	overlap(t, b, func(tx event.Tx) error {
		if _, err := s.LockPerson(tx, me); err != nil {
			return err
		}
		_, err := s.DeletePasskey(tx, me, key.ID)
		return err
	}, nothing, func(tx event.Tx) error {
		if _, err := s.LockPerson(tx, me); err != nil {
			return err
		}
		var err error
		keys, err = s.ListPasskeys(tx, me)
		return err
	})
	if len(keys) != 0 {
		t.Errorf("the second removal saw %d passkeys", len(keys))
	}
}
