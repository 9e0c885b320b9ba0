package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// errCloned is the refusal of a passkey whose counter went back (WebAuthn §6.1.1).
var errCloned = errors.New("its counter went back: there may be a copy of it")

// BeginSignIn is the first half of signing in by passkey. With signIn "" the
// browser offers the passkeys it has for this place; with a name it asks for
// one of that person's. An unknown name gets a request that looks the same and
// that nothing can answer.
func (s *Service) BeginSignIn(ctx context.Context, account id.ID, signIn string, c Client) (Ceremony, error) {
	party, err := s.passkeys()
	if err != nil {
		return Ceremony{}, err
	}
	from, err := s.counterOf(ceremonyRule(), sourceKey(c.Address))
	if err != nil {
		return Ceremony{}, err
	}
	if signIn == "" {
		return s.ask(ctx, account, party, ceremonySignIn, nil, ceremonyData{}, from)
	}
	h, real, err := s.named(ctx, account, signIn)
	if err != nil {
		return Ceremony{}, err
	}
	return s.ask(ctx, account, party, ceremonySignIn, &h, ceremonyData{Decoy: !real}, from)
}

// named returns the person with a sign-in name and their passkeys, or a decoy
// that is the same each time the name is asked for.
func (s *Service) named(ctx context.Context, account id.ID, signIn string) (h holder, real bool, err error) {
	name, bad := NormalizeSignIn(signIn)
	if bad == nil {
		err = s.journal.View(ctx, account, func(tx event.Tx) error {
			p, found, err := s.store.FindPersonBySignIn(tx, name)
			if err != nil || !found || p.State != Active {
				h = holder{}
				return err
			}
			h, err = s.holderOf(tx, p)
			return err
		})
		if err != nil || len(h.keys) > 0 {
			return h, err == nil, err
		}
	}
	mac, err := s.keyring.MAC(secret.PurposeToken, []byte(digestDecoy+"\x00"+name))
	if err != nil {
		return holder{}, false, fault.Wrap(fault.Internal, err, "make a decoy")
	}
	return holder{id: s.ids.New(), signIn: name, keys: []webauthn.Credential{{ID: digest(digestDecoy, string(mac))}}}, false, nil
}

// ask opens a ceremony that uses a passkey; with nil, whichever the browser has.
func (s *Service) ask(ctx context.Context, account id.ID, party *webauthn.WebAuthn, kind ceremonyKind, h *holder, d ceremonyData, counters ...counter) (Ceremony, error) {
	challenge, err := randomBytes(s.random, challengeBytes)
	if err != nil {
		return Ceremony{}, err
	}
	var options *protocol.CredentialAssertion
	var session *webauthn.SessionData
	person := id.Nil
	if h == nil {
		options, session, err = party.BeginDiscoverableLogin(webauthn.WithChallenge(challenge))
	} else {
		options, session, err = party.BeginLogin(h, webauthn.WithChallenge(challenge), webauthn.WithAllowedCredentials(descriptors(h.ids()...)))
		if !d.Decoy {
			person = h.id
		}
	}
	if err != nil {
		return Ceremony{}, fault.New(fault.Internal, "begin a sign-in by passkey: %w", err)
	}
	d.Session = *session
	return s.open(ctx, account, kind, person, d, options, counters...)
}

// asserted is a passkey's answer that was checked, or why it was not good.
type asserted struct {
	row    CeremonyRow
	data   ceremonyData
	person Person
	key    Passkey
	err    error
}

// check reads the ceremony and the passkey, and verifies the answer outside
// any transaction. The returned error is of ours; asserted.err is of theirs.
func (s *Service) check(ctx context.Context, account id.ID, kind ceremonyKind, token secret.String, response []byte) (asserted, error) {
	var a asserted
	party, err := s.passkeys()
	if err != nil {
		return a, err
	}
	var parsed *protocol.ParsedCredentialAssertionData
	var bad error = fault.New(fault.Invalid, "the answer is longer than %d bytes", maxResponse)
	if len(response) <= maxResponse {
		parsed, bad = protocol.ParseCredentialRequestResponseBytes(response)
	}
	var h holder
	err = s.journal.View(ctx, account, func(tx event.Tx) (err error) {
		a = asserted{}
		if a.row, a.data, err = s.resume(tx, kind, token); err != nil || bad != nil {
			return err
		}
		key, found, err := s.store.FindPasskey(tx, parsed.RawID)
		if err != nil || !found || key.Host != s.place.Host {
			return err
		}
		if a.person, err = s.store.GetPerson(tx, key.PersonID); err != nil {
			return err
		}
		a.key = key
		h, err = s.holderOf(tx, a.person)
		return err
	})
	if err != nil {
		return a, err
	}
	a.err = bad
	if bad == nil {
		a.err = a.verify(party, h, parsed)
	}
	return a, nil
}

func (a *asserted) verify(party *webauthn.WebAuthn, h holder, parsed *protocol.ParsedCredentialAssertionData) error {
	if a.key.ID.IsZero() || a.data.Decoy || !a.row.PersonID.IsZero() && a.row.PersonID != a.person.ID {
		return errors.New("no such passkey")
	}
	if a.person.State != Active {
		return errors.New("the person is disabled")
	}
	var c *webauthn.Credential
	var err error
	if a.row.PersonID.IsZero() {
		_, c, err = party.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
			if !bytes.Equal(handle, h.WebAuthnID()) {
				return nil, errors.New("the handle is another person's")
			}
			return h, nil
		}, a.data.Session, parsed)
	} else {
		c, err = party.ValidateLogin(h, a.data.Session, parsed)
	}
	if err != nil {
		return err
	}
	if c.Authenticator.CloneWarning {
		return errCloned
	}
	record, err := json.Marshal(c)
	if err != nil {
		return err
	}
	a.key.Record, a.key.SignCount, a.key.Synced = record, int64(c.Authenticator.SignCount), c.Flags.BackupState
	return nil
}

// refusePasskey uses the ceremony up and records the refusal.
func (s *Service) refusePasskey(ctx context.Context, account id.ID, a asserted, how string) error {
	reason := "wrong"
	switch {
	case errors.Is(a.err, errCloned):
		reason = "cloned"
	case !a.person.ID.IsZero() && a.person.State != Active:
		reason = "disabled"
	}
	err := s.spoil(context.WithoutCancel(ctx), account, a.row, func(tx event.Tx) error {
		return s.emit(tx, event.SignInRefused{SignIn: a.person.SignIn, How: how, Reason: reason},
			a.person.ID, outside(), "A sign-in was refused.")
	})
	return orElse(err, badPasskey(a.err))
}

// used takes the ceremony and notes the use of the passkey; it returns the
// person if they are still active.
func (s *Service) used(tx event.Tx, a asserted) (Person, error) {
	p, err := s.store.LockPerson(tx, a.person.ID)
	if err != nil {
		return Person{}, err
	}
	if p.State != Active {
		return Person{}, badPasskey(errors.New("the person is disabled"))
	}
	if err := s.take(tx, a.row); err != nil {
		return Person{}, err
	}
	a.key.LastUsedAt = tx.Now()
	ok, err := s.store.UsedPasskey(tx, a.key)
	if err != nil || !ok {
		return Person{}, orElse(err, badPasskey(errCloned))
	}
	return p, nil
}

// FinishSignIn is the second half of signing in by passkey.
func (s *Service) FinishSignIn(ctx context.Context, account id.ID, token secret.String, response []byte, c Client) (SignedIn, error) {
	a, err := s.check(ctx, account, ceremonySignIn, token, response)
	if err != nil {
		return SignedIn{}, err
	}
	if a.err != nil {
		return SignedIn{}, s.refusePasskey(ctx, account, a, "passkey")
	}
	fresh, err := s.freshSecret(digestSession)
	if err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	err = s.do(ctx, account, func(tx event.Tx) error {
		p, err := s.used(tx, a)
		if err != nil {
			return err
		}
		out, err = s.startSession(tx, p, "passkey", c, fresh)
		return err
	})
	return out, err
}

// BeginVerify is the first half of the step-up by passkey. Purpose names what
// the proof is for, such as the digest of a call that waits for approval: the
// second half must name the same.
func (s *Service) BeginVerify(ctx context.Context, account id.ID, by Principal, purpose string) (Ceremony, error) {
	party, err := s.passkeys()
	if err != nil {
		return Ceremony{}, err
	}
	if err := s.authorize(account, by, ActStepUp); err != nil {
		return Ceremony{}, err
	}
	if by.Via != ViaSession {
		return Ceremony{}, fault.New(fault.Conflict, "only a signed-in session can be verified again")
	}
	h, err := s.holder(ctx, account, by.PersonID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(h.keys) == 0 {
		return Ceremony{}, fault.New(fault.NotFound, "you have no passkey for this address").WithFix("use the password")
	}
	return s.ask(ctx, account, party, ceremonyVerify, &h, ceremonyData{SessionID: by.SessionID, Purpose: purpose})
}

// FinishVerify is the second half: it notes a fresh proof in the session.
func (s *Service) FinishVerify(ctx context.Context, account id.ID, by Principal, token secret.String, response []byte, purpose string) (Principal, error) {
	if err := s.authorize(account, by, ActStepUp); err != nil {
		return Principal{}, err
	}
	a, err := s.check(ctx, account, ceremonyVerify, token, response)
	if err != nil {
		return Principal{}, err
	}
	if a.err == nil && (a.data.SessionID != by.SessionID || a.data.Purpose != purpose || a.person.ID != by.PersonID) {
		a.err = errors.New("the proof was made for something else")
	}
	if a.err != nil {
		return Principal{}, s.refusePasskey(ctx, account, a, "step_up")
	}
	err = s.do(ctx, account, func(tx event.Tx) error {
		p, err := s.used(tx, a)
		if err != nil {
			return err
		}
		by, err = s.verified(tx, by, p, "passkey")
		return err
	})
	return by, err
}
