package identity

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Claim asks to become the first owner.
type Claim struct {
	Code   secret.String
	Name   string
	SignIn string
	Client Client
}

// check normalises the names.
func (c Claim) check() (Claim, error) {
	var err error
	if c.Name, err = cleanName(c.Name, "name"); err != nil {
		return c, err
	}
	c.SignIn, err = NormalizeSignIn(c.SignIn)
	return c, err
}

// ClaimWithPassword uses the setup link: it makes the first owner with a
// password, closes setup for ever and signs the owner in. Unauthorized for a
// code that does not work, Conflict when setup is closed, Invalid by field.
func (s *Service) ClaimWithPassword(ctx context.Context, account id.ID, c Claim, password secret.String) (SignedIn, error) {
	c, err := c.check()
	if err != nil {
		return SignedIn{}, err
	}
	return s.admitByPassword(ctx, account, admission{kind: LinkSetup, code: c.Code, client: c.Client,
		person: Person{Name: c.Name, SignIn: c.SignIn, Role: Owner, State: Active}}, password)
}

// ResetWithPassword uses a reset link: it sets the password, ends all the
// person's sessions and signs the person in.
func (s *Service) ResetWithPassword(ctx context.Context, account id.ID, code secret.String, password secret.String, client Client) (SignedIn, error) {
	return s.admitByPassword(ctx, account, admission{kind: LinkReset, code: code, client: client}, password)
}

func (s *Service) admitByPassword(ctx context.Context, account id.ID, a admission, password secret.String) (SignedIn, error) {
	// Look first: nobody without a working code makes us hash anything.
	info, err := s.LookLink(ctx, account, a.kind, a.code)
	if err != nil {
		return SignedIn{}, s.closedOr(ctx, account, a.kind, err)
	}
	if err := CheckPassword(password, a.person.Name, a.person.SignIn, info.Name, info.SignIn); err != nil {
		return SignedIn{}, err
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return SignedIn{}, err
	}
	a.credential = "password"
	a.save = func(tx event.Tx, p Person) error { return s.store.SavePassword(tx, p.ID, hash, tx.Now()) }
	return s.admit(ctx, account, a)
}

// closedOr tells somebody with an old setup link that setup is closed, which
// is no secret, rather than that the code is bad.
func (s *Service) closedOr(ctx context.Context, account id.ID, kind LinkKind, err error) error {
	if kind != LinkSetup || !fault.Is(err, fault.Unauthorized) {
		return err
	}
	a, got := s.GetAccount(ctx, account)
	if got == nil && !a.SetupClosedAt.IsZero() {
		return setupClosed()
	}
	return err
}

// admission is the use of a link: who comes in, and what they will sign in by.
type admission struct {
	kind       LinkKind
	code       secret.String
	person     Person // for setup: the owner to be; the id may be set already
	credential string // password, passkey
	name       string // of the passkey
	client     Client
	before     func(tx event.Tx) error           // checks and takes what only this use may take
	save       func(tx event.Tx, p Person) error // stores the credential
}

// admit uses up the link, stores the credential and starts a session, in one
// transaction: a link lets one person in once, whoever else tries at the same
// time.
func (s *Service) admit(ctx context.Context, account id.ID, a admission) (SignedIn, error) {
	hash, ok := codeDigest(a.code)
	if !ok {
		return SignedIn{}, badLink()
	}
	fresh, err := s.freshSecret(digestSession)
	if err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	err = s.do(ctx, account, func(tx event.Tx) error {
		row, found, err := s.store.FindLink(tx, a.kind, hash)
		if err != nil {
			return err
		}
		if !found || !tx.Now().Before(row.ExpiresAt) {
			return badLink()
		}
		if ok, err := s.store.UseLink(tx, a.kind, hash, tx.Now()); err != nil || !ok {
			return orElse(err, badLink())
		}
		if a.before != nil {
			if err := a.before(tx); err != nil {
				return err
			}
		}
		p, err := s.whoComesIn(tx, a, row)
		if err != nil {
			return err
		}
		if err := a.save(tx, p); err != nil {
			return err
		}
		by := personBy(p.ID).By()
		for _, c := range []event.CredentialChanged{
			{PersonID: p.ID, Kind: string(a.kind) + "_link", Action: "used", By: by},
			{PersonID: p.ID, Kind: a.credential, Action: "added", Name: a.name, By: by},
		} {
			if err := s.emit(tx, c, p.ID, byPerson(), "A %s was %s.", c.Kind, c.Action); err != nil {
				return err
			}
		}
		out, err = s.startSession(tx, p, string(a.kind), a.client, fresh)
		return err
	})
	return out, err
}

// whoComesIn makes the first owner, or returns the person of a reset link
// after ending their sessions.
func (s *Service) whoComesIn(tx event.Tx, a admission, row LinkRow) (Person, error) {
	if a.kind == LinkReset {
		p, err := s.store.LockPerson(tx, row.PersonID)
		if err != nil {
			return Person{}, err
		}
		if p.State != Active || !a.person.ID.IsZero() && a.person.ID != p.ID {
			return Person{}, badLink()
		}
		return p, s.endSessions(tx, p.ID, id.Nil, "reset", personBy(p.ID))
	}
	if ok, err := s.store.CloseSetup(tx, tx.Now()); err != nil || !ok {
		return Person{}, orElse(err, setupClosed())
	}
	p := a.person
	if p.ID.IsZero() {
		p.ID = tx.NewID()
	}
	by := personBy(p.ID)
	err := s.addPerson(tx, &p, by.By(), byPerson())
	return p, err
}

// orElse returns err, or other if there is none.
func orElse(err error, other error) error {
	if err != nil {
		return err
	}
	return other
}
