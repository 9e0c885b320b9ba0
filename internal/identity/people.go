package identity

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// NewPerson is a person to be.
type NewPerson struct {
	Name   string
	SignIn string
	Role   Role
}

// CreatePerson makes a person without any way to sign in, and the reset link
// with which they set one. An owner may, or the machine (witan people create).
func (s *Service) CreatePerson(ctx context.Context, account id.ID, by Principal, n NewPerson) (Person, Link, error) {
	if err := s.authorize(account, by, recoverAct(by)); err != nil {
		return Person{}, Link{}, err
	}
	p, err := n.person()
	if err != nil {
		return Person{}, Link{}, err
	}
	code, err := newCode(s.random)
	if err != nil {
		return Person{}, Link{}, err
	}
	hash, _ := codeDigest(code)
	var link Link
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		if p.ID, err = tx.NewID(), s.freeSignIn(tx, p.SignIn, id.Nil); err != nil {
			return err
		}
		if err := s.addPerson(tx, &p, by.By(), by.Label()); err != nil {
			return err
		}
		if p.Role == Owner { // made on the machine before setup: that door closes too
			if err := s.closeSetup(tx); err != nil {
				return err
			}
		}
		link = Link{Kind: LinkReset, PersonID: p.ID, SignIn: p.SignIn, Code: code, ExpiresAt: tx.Now().Add(ResetLife)}
		return s.addLink(tx, link, hash, by)
	})
	return p, link, err
}

func (n NewPerson) person() (Person, error) {
	name, err := cleanName(n.Name, "name")
	if err != nil {
		return Person{}, err
	}
	signIn, err := NormalizeSignIn(n.SignIn)
	if err != nil {
		return Person{}, err
	}
	if !n.Role.Valid() {
		return Person{}, badRole()
	}
	return Person{Name: name, SignIn: signIn, Role: n.Role, State: Active}, nil
}

func badRole() *fault.Error {
	return fault.New(fault.Invalid, "a role is owner, operator or viewer").On("role")
}

// freeSignIn refuses a sign-in name that somebody else has, before any write.
func (s *Service) freeSignIn(tx event.Tx, signIn string, own id.ID) error {
	have, found, err := s.store.FindPersonBySignIn(tx, signIn)
	if err == nil && found && have.ID != own {
		return takenSignIn()
	}
	return err
}

func takenSignIn() *fault.Error {
	return fault.New(fault.Conflict, "somebody has this sign-in name").On("signIn")
}

func (s *Service) addPerson(tx event.Tx, p *Person, by string, l event.Label) error {
	p.CreatedAt, p.UpdatedAt, p.Version = tx.Now(), tx.Now(), 1
	ok, err := s.store.AddPerson(tx, *p)
	if err != nil || !ok {
		return orElse(err, takenSignIn())
	}
	return s.saved(tx, *p, by, l)
}

func (s *Service) saved(tx event.Tx, p Person, by string, l event.Label) error {
	return s.emit(tx, event.PersonSaved{PersonID: p.ID, Name: p.Name, SignIn: p.SignIn, Role: string(p.Role), State: string(p.State), By: by},
		p.ID, l, "A person was saved: %s, %s.", p.Role, p.State)
}

func (s *Service) closeSetup(tx event.Tx) error {
	if _, err := s.store.CloseSetup(tx, tx.Now()); err != nil {
		return err
	}
	_, err := s.store.WithdrawLinks(tx, LinkSetup, id.Nil, tx.Now())
	return err
}

// PersonChange is what to change; a nil field stays.
type PersonChange struct {
	Name    *string
	SignIn  *string
	Role    *Role
	State   *State
	Version int64 // of the person that was shown; 0 means whatever it is
}

func (c PersonChange) apply(p Person) (Person, error) {
	var err error
	if c.Name != nil {
		if p.Name, err = cleanName(*c.Name, "name"); err != nil {
			return p, err
		}
	}
	if c.SignIn != nil {
		if p.SignIn, err = NormalizeSignIn(*c.SignIn); err != nil {
			return p, err
		}
	}
	if c.Role != nil {
		if p.Role = *c.Role; !p.Role.Valid() {
			return p, badRole()
		}
	}
	if c.State != nil {
		if p.State = *c.State; !p.State.Valid() {
			return p, fault.New(fault.Invalid, "a state is active or disabled").On("state")
		}
	}
	return p, nil
}

// ChangePerson changes a person: an owner changes anybody, everybody their own
// shown name. The last active owner can be neither demoted nor disabled
// (Conflict). Disabling ends the person's sessions and links at once; their
// tokens stop working until they are active again. Stale if the person changed
// since Version.
func (s *Service) ChangePerson(ctx context.Context, account id.ID, by Principal, person id.ID, c PersonChange) (Person, error) {
	act := ownOr(by, person, ActSelfWrite, ActPeopleManage)
	if act == ActSelfWrite && (c.SignIn != nil || c.Role != nil || c.State != nil) {
		act = ActPeopleManage
	}
	if err := s.authorize(account, by, act); err != nil {
		return Person{}, err
	}
	var out Person
	err := s.do(ctx, account, func(tx event.Tx) error {
		// Owners first, then the person: two demotions at once wait for each
		// other here, and the second sees the first.
		var owners []id.ID
		var err error
		if c.Role != nil || c.State != nil {
			if owners, err = s.store.LockActiveOwners(tx); err != nil {
				return err
			}
		}
		was, err := s.store.LockPerson(tx, person)
		if err != nil {
			return err
		}
		if c.Version != 0 && c.Version != was.Version {
			return fault.New(fault.Stale, "the person changed meanwhile").WithFix("look again")
		}
		next, err := c.apply(was)
		if err != nil {
			return err
		}
		if next == was {
			out = was
			return nil
		}
		if was.Role == Owner && was.State == Active && (next.Role != Owner || next.State != Active) &&
			len(owners) == 1 && owners[0] == was.ID {
			return fault.New(fault.Conflict, "this is the last owner").WithFix("make somebody else an owner first")
		}
		if next.SignIn != was.SignIn {
			if err := s.freeSignIn(tx, next.SignIn, next.ID); err != nil {
				return err
			}
		}
		out, err = s.savePerson(tx, was, next, by)
		return err
	})
	return out, err
}

func (s *Service) savePerson(tx event.Tx, was, next Person, by Principal) (Person, error) {
	next.UpdatedAt = tx.Now()
	ok, err := s.store.SavePerson(tx, next)
	if err != nil || !ok {
		return next, orElse(err, fault.New(fault.Stale, "the person changed meanwhile"))
	}
	next.Version++
	if err := s.saved(tx, next, by.By(), by.Label()); err != nil {
		return next, err
	}
	s.forget(tx)
	if was.State == Active && next.State != Active {
		if _, err := s.store.WithdrawLinks(tx, LinkReset, next.ID, tx.Now()); err != nil {
			return next, err
		}
		return next, s.endSessions(tx, next.ID, id.Nil, "disabled", by)
	}
	return next, nil
}

// ListPeople lists the people of the account, oldest first.
func (s *Service) ListPeople(ctx context.Context, account id.ID, by Principal) ([]Person, error) {
	if err := s.authorize(account, by, ActPeopleRead); err != nil {
		return nil, err
	}
	return view(ctx, s, account, s.store.ListPeople)
}

// FindPerson returns the person with a sign-in name; NotFound if there is none.
// It is for those who may see people: a sign-in never tells.
func (s *Service) FindPerson(ctx context.Context, account id.ID, by Principal, signIn string) (Person, error) {
	if err := s.authorize(account, by, ActPeopleRead); err != nil {
		return Person{}, err
	}
	name, err := NormalizeSignIn(signIn)
	if err != nil {
		return Person{}, err
	}
	return view(ctx, s, account, func(tx event.Tx) (Person, error) {
		p, found, err := s.store.FindPersonBySignIn(tx, name)
		if err == nil && !found {
			err = fault.New(fault.NotFound, "nobody has the sign-in name %s", name).On("signIn")
		}
		return p, err
	})
}

// Local returns the principal of somebody with access to the data folder who
// acts in a person's name: the named one, or with "" the only active owner.
// Without people (before setup) it is the machine.
func (s *Service) Local(ctx context.Context, account id.ID, signIn string) (Principal, error) {
	m := Machine(account)
	if signIn != "" {
		p, err := s.FindPerson(ctx, account, m, signIn)
		if err == nil && p.State != Active {
			err = fault.New(fault.Conflict, "%s is disabled", p.SignIn)
		}
		return localPrincipal(account, p), err
	}
	people, err := s.ListPeople(ctx, account, m)
	if err != nil {
		return Principal{}, err
	}
	var owners []Person
	for _, p := range people {
		if p.Role == Owner && p.State == Active {
			owners = append(owners, p)
		}
	}
	switch len(owners) {
	case 0:
		return m, nil
	case 1:
		return localPrincipal(account, owners[0]), nil
	}
	return Principal{}, fault.New(fault.Invalid, "this account has %d owners", len(owners)).On("as").WithFix("say as whom you act")
}

func localPrincipal(account id.ID, p Person) Principal {
	return Principal{Account: account, PersonID: p.ID, Name: p.Name, SignIn: p.SignIn, Role: p.Role, Via: ViaMachine}
}

// SetPassword sets or changes one's own password and ends one's other sessions.
func (s *Service) SetPassword(ctx context.Context, account id.ID, by Principal, password secret.String) error {
	if err := s.authorize(account, by, ActCredentials); err != nil {
		return err
	}
	if by.PersonID.IsZero() {
		return fault.New(fault.Denied, "only a person has a password")
	}
	if err := CheckPassword(password, by.Name, by.SignIn); err != nil {
		return err
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.do(ctx, account, func(tx event.Tx) error {
		if _, err := s.store.LockPerson(tx, by.PersonID); err != nil {
			return err
		}
		if err := s.store.SavePassword(tx, by.PersonID, hash, tx.Now()); err != nil {
			return err
		}
		if err := s.credential(tx, by, "password", "added", ""); err != nil {
			return err
		}
		return s.endSessions(tx, by.PersonID, by.SessionID, "password", by)
	})
}

// RemovePassword removes one's own password; Conflict if there is no passkey
// for the present address left to sign in by.
func (s *Service) RemovePassword(ctx context.Context, account id.ID, by Principal) error {
	if err := s.authorize(account, by, ActCredentials); err != nil {
		return err
	}
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		if _, err := s.store.LockPerson(tx, by.PersonID); err != nil {
			return err
		}
		if err := s.keepsOneWay(tx, by.PersonID, true, id.Nil); err != nil {
			return err
		}
		ok, err := s.store.DeletePassword(tx, by.PersonID)
		if err != nil || !ok {
			return orElse(err, fault.New(fault.NotFound, "there is no password"))
		}
		return s.credential(tx, by, "password", "removed", "")
	})
}

func (s *Service) credential(tx event.Tx, by Principal, kind, action, name string) error {
	return s.emit(tx, event.CredentialChanged{PersonID: by.PersonID, Kind: kind, Action: action, Name: name, By: by.By()},
		by.PersonID, by.Label(), "A %s was %s.", kind, action)
}

// keepsOneWay refuses to take away the last way to sign in. The caller holds
// the person's row. Passkeys of another address count for nothing: they cannot
// be used here.
func (s *Service) keepsOneWay(tx event.Tx, person id.ID, noPassword bool, notPasskey id.ID) error {
	_, password, err := s.store.FindPassword(tx, person)
	if err != nil {
		return err
	}
	if password && !noPassword {
		return nil
	}
	all, err := s.store.ListPasskeys(tx, person)
	if err != nil {
		return err
	}
	for _, k := range all {
		if k.ID != notPasskey && k.Host == s.place.Host {
			return nil
		}
	}
	return fault.New(fault.Conflict, "this is the last way to sign in").WithFix("add another one first")
}
