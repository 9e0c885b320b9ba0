package identity

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

const maxPasskeys = 20 // of one person

// Passkey is a registered passkey.
type Passkey struct {
	ID         id.ID
	PersonID   id.ID
	Name       string
	Host       string // the name it belongs to; elsewhere it cannot be used
	Synced     bool   // it is backed up with its provider
	SignCount  int64
	CreatedAt  time.Time
	LastUsedAt time.Time
	Credential []byte // the authenticator's id for it
	Record     []byte // JSON of the credential record (WebAuthn §4); public key, no secret
}

// BeginClaim is the first half of becoming the first owner with a passkey.
func (s *Service) BeginClaim(ctx context.Context, account id.ID, c Claim) (Ceremony, error) {
	if _, err := s.passkeys(); err != nil {
		return Ceremony{}, err
	}
	c, err := c.check()
	if err != nil {
		return Ceremony{}, err
	}
	if _, err := s.LookLink(ctx, account, LinkSetup, c.Code); err != nil {
		return Ceremony{}, s.closedOr(ctx, account, LinkSetup, err)
	}
	h := holder{id: s.ids.New(), name: c.Name, signIn: c.SignIn}
	return s.register(ctx, account, ceremonySetup, h, ceremonyData{Name: c.Name, SignIn: c.SignIn})
}

// FinishClaim is the second half: it makes the owner, closes setup for ever and
// signs the owner in.
func (s *Service) FinishClaim(ctx context.Context, account id.ID, code, token secret.String, response []byte, passkey string, client Client) (SignedIn, error) {
	return s.admitByPasskey(ctx, account, ceremonySetup, admission{kind: LinkSetup, code: code, client: client}, token, response, passkey)
}

// BeginReset is the first half of setting a passkey with a reset link.
func (s *Service) BeginReset(ctx context.Context, account id.ID, code secret.String) (Ceremony, error) {
	if _, err := s.passkeys(); err != nil {
		return Ceremony{}, err
	}
	info, err := s.LookLink(ctx, account, LinkReset, code)
	if err != nil {
		return Ceremony{}, err
	}
	h, err := s.holder(ctx, account, info.PersonID)
	if err != nil {
		return Ceremony{}, err
	}
	return s.register(ctx, account, ceremonyReset, h, ceremonyData{})
}

// FinishReset is the second half: it stores the passkey, ends all the person's
// sessions and signs the person in.
func (s *Service) FinishReset(ctx context.Context, account id.ID, code, token secret.String, response []byte, passkey string, client Client) (SignedIn, error) {
	return s.admitByPasskey(ctx, account, ceremonyReset, admission{kind: LinkReset, code: code, client: client}, token, response, passkey)
}

func (s *Service) admitByPasskey(ctx context.Context, account id.ID, kind ceremonyKind, a admission, token secret.String, response []byte, name string) (SignedIn, error) {
	if _, err := s.LookLink(ctx, account, a.kind, a.code); err != nil {
		return SignedIn{}, s.closedOr(ctx, account, a.kind, err)
	}
	row, d, key, err := s.registered(ctx, account, kind, token, response, name)
	if err != nil {
		return SignedIn{}, err
	}
	a.person = Person{ID: row.PersonID}
	if a.kind == LinkSetup {
		a.person = Person{ID: row.PersonID, Name: d.Name, SignIn: d.SignIn, Role: Owner, State: Active}
	}
	a.credential, a.name = "passkey", key.Name
	a.before = func(tx event.Tx) error { return s.take(tx, row) }
	a.save = func(tx event.Tx, p Person) error { return s.addPasskey(tx, p.ID, key) }
	return s.admit(ctx, account, a)
}

// BeginPasskey is the first half of adding a passkey to oneself.
func (s *Service) BeginPasskey(ctx context.Context, account id.ID, by Principal) (Ceremony, error) {
	if _, err := s.passkeys(); err != nil {
		return Ceremony{}, err
	}
	if err := s.authorize(account, by, ActCredentials); err != nil {
		return Ceremony{}, err
	}
	h, err := s.holder(ctx, account, by.PersonID)
	if err != nil {
		return Ceremony{}, err
	}
	return s.register(ctx, account, ceremonyAdd, h, ceremonyData{SessionID: by.SessionID})
}

// FinishPasskey is the second half.
func (s *Service) FinishPasskey(ctx context.Context, account id.ID, by Principal, token secret.String, response []byte, name string) (Passkey, error) {
	if err := s.authorize(account, by, ActCredentials); err != nil {
		return Passkey{}, err
	}
	row, d, key, err := s.registered(ctx, account, ceremonyAdd, token, response, name)
	if err != nil {
		return Passkey{}, err
	}
	if row.PersonID != by.PersonID || d.SessionID != by.SessionID {
		return Passkey{}, badCeremony()
	}
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		if _, err := s.store.LockPerson(tx, by.PersonID); err != nil {
			return err
		}
		if err := s.take(tx, row); err != nil {
			return err
		}
		if err := s.addPasskey(tx, by.PersonID, key); err != nil {
			return err
		}
		return s.credential(tx, by, "passkey", "added", key.Name)
	})
	return key, err
}

func (s *Service) holder(ctx context.Context, account, person id.ID) (holder, error) {
	return view(ctx, s, account, func(tx event.Tx) (holder, error) {
		p, err := s.store.GetPerson(tx, person)
		if err != nil {
			return holder{}, err
		}
		return s.holderOf(tx, p)
	})
}

// register opens a ceremony that makes a passkey.
func (s *Service) register(ctx context.Context, account id.ID, kind ceremonyKind, h holder, d ceremonyData) (Ceremony, error) {
	party, err := s.passkeys()
	if err != nil {
		return Ceremony{}, err
	}
	challenge, err := randomBytes(s.random, challengeBytes)
	if err != nil {
		return Ceremony{}, err
	}
	options, session, err := party.BeginRegistration(h, webauthn.WithExclusions(descriptors(h.ids()...)),
		func(o *protocol.PublicKeyCredentialCreationOptions) error { o.Challenge = challenge; return nil })
	if err != nil {
		return Ceremony{}, fault.New(fault.Internal, "begin a passkey: %w", err)
	}
	d.Session = *session
	return s.open(ctx, account, kind, h.id, d, options)
}

// registered checks the browser's answer. It writes nothing unless the answer
// is bad: then the ceremony is used up.
func (s *Service) registered(ctx context.Context, account id.ID, kind ceremonyKind, token secret.String, response []byte, name string) (CeremonyRow, ceremonyData, Passkey, error) {
	var row CeremonyRow
	var d ceremonyData
	party, err := s.passkeys()
	if err != nil {
		return row, d, Passkey{}, err
	}
	if name == "" {
		name = "Passkey"
	}
	if name, err = cleanName(name, "passkeyName"); err != nil {
		return row, d, Passkey{}, err
	}
	err = s.journal.View(ctx, account, func(tx event.Tx) (err error) {
		row, d, err = s.resume(tx, kind, token)
		return err
	})
	if err != nil {
		return row, d, Passkey{}, err
	}
	c, err := create(party, holder{id: row.PersonID}, d.Session, response)
	if err != nil {
		return row, d, Passkey{}, orElse(s.spoil(ctx, account, row, nil), badPasskey(err))
	}
	record, err := json.Marshal(c)
	if err != nil {
		return row, d, Passkey{}, fault.New(fault.Internal, "encode a passkey: %w", err)
	}
	return row, d, Passkey{Name: name, Host: s.place.Host, Synced: c.Flags.BackupState,
		SignCount: int64(c.Authenticator.SignCount), Credential: c.ID, Record: record}, nil
}

func create(party *webauthn.WebAuthn, h holder, session webauthn.SessionData, response []byte) (*webauthn.Credential, error) {
	if len(response) > maxResponse {
		return nil, fault.New(fault.Invalid, "the answer is longer than %d bytes", maxResponse)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return nil, err
	}
	return party.CreateCredential(h, session, parsed)
}

func (s *Service) addPasskey(tx event.Tx, person id.ID, k Passkey) error {
	have, err := s.store.ListPasskeys(tx, person)
	if err != nil {
		return err
	}
	if len(have) >= maxPasskeys {
		return fault.New(fault.Limited, "a person has at most %d passkeys", maxPasskeys).WithFix("remove one that is not used")
	}
	k.ID, k.PersonID, k.CreatedAt = tx.NewID(), person, tx.Now()
	ok, err := s.store.AddPasskey(tx, k)
	if err != nil || !ok {
		return orElse(err, fault.New(fault.Conflict, "this passkey is registered already"))
	}
	return nil
}

// ListPasskeys lists a person's passkeys: one's own, or anybody's for an owner.
func (s *Service) ListPasskeys(ctx context.Context, account id.ID, by Principal, person id.ID) ([]Passkey, error) {
	if err := s.authorize(account, by, ownOr(by, person, ActSelfRead, ActPeopleManage)); err != nil {
		return nil, err
	}
	return view(ctx, s, account, func(tx event.Tx) ([]Passkey, error) { return s.store.ListPasskeys(tx, person) })
}

// HasPassword reports whether a person can sign in by password.
func (s *Service) HasPassword(ctx context.Context, account id.ID, by Principal, person id.ID) (bool, error) {
	if err := s.authorize(account, by, ownOr(by, person, ActSelfRead, ActPeopleManage)); err != nil {
		return false, err
	}
	return view(ctx, s, account, func(tx event.Tx) (bool, error) {
		_, found, err := s.store.FindPassword(tx, person)
		return found, err
	})
}

// RenamePasskey gives one's own passkey another name.
func (s *Service) RenamePasskey(ctx context.Context, account id.ID, by Principal, passkey id.ID, name string) error {
	if err := s.authorize(account, by, ActSelfWrite); err != nil {
		return err
	}
	name, err := cleanName(name, "passkeyName")
	if err != nil {
		return err
	}
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		ok, err := s.store.RenamePasskey(tx, by.PersonID, passkey, name)
		if err != nil || !ok {
			return orElse(err, fault.New(fault.NotFound, "there is no such passkey"))
		}
		return s.credential(tx, by, "passkey", "renamed", name)
	})
}

// RemovePasskey removes one's own passkey; Conflict if it is the last way to
// sign in.
func (s *Service) RemovePasskey(ctx context.Context, account id.ID, by Principal, passkey id.ID) error {
	if err := s.authorize(account, by, ActCredentials); err != nil {
		return err
	}
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		// Hold the person: two removals at once must see each other.
		if _, err := s.store.LockPerson(tx, by.PersonID); err != nil {
			return err
		}
		if err := s.keepsOneWay(tx, by.PersonID, false, passkey); err != nil {
			return err
		}
		ok, err := s.store.DeletePasskey(tx, by.PersonID, passkey)
		if err != nil || !ok {
			return orElse(err, fault.New(fault.NotFound, "there is no such passkey"))
		}
		return s.credential(tx, by, "passkey", "removed", "")
	})
}

// Stranded counts, by host name, the passkeys that cannot be used at the
// present public address. After a change of address somebody must be told
// before they find out at the door.
func (s *Service) Stranded(ctx context.Context, account id.ID) (map[string]int, error) {
	return view(ctx, s, account, func(tx event.Tx) (map[string]int, error) {
		all, err := s.store.ListAllPasskeys(tx)
		out := map[string]int{}
		for _, k := range all {
			if k.Host != s.place.Host {
				out[k.Host]++
			}
		}
		return out, err
	})
}
