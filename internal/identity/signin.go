package identity

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// attempt is a password that somebody gave, and what is known before it is
// looked at.
type attempt struct {
	signIn   string // normalised; "" if it cannot be anybody's
	person   Person // zero if there is none
	hash     string // "" if there is no person or no password
	counters []counter
	left     int64
	until    time.Time
}

// SignIn signs a person in by password. A refusal is a *SignInError that is the
// same, and takes as long, for a wrong password, an unknown name and a disabled
// person. The try is counted before the password is looked at, so that tries at
// the same time do not share one.
func (s *Service) SignIn(ctx context.Context, account id.ID, signIn string, password secret.String, c Client) (SignedIn, error) {
	a, err := s.begin(ctx, account, signIn, c.Address)
	if err != nil {
		return SignedIn{}, err
	}
	good, stale, err := s.hasher.verify(ctx, password, a.hash)
	if err != nil {
		return SignedIn{}, orElse(s.unlooked(ctx, account, a), err)
	}
	if !good || a.person.State != Active {
		return SignedIn{}, s.refuse(ctx, account, a, "password")
	}
	renewed := ""
	if stale {
		if renewed, err = s.hasher.hash(ctx, password); err != nil {
			return SignedIn{}, err
		}
	}
	fresh, err := s.freshSecret(digestSession)
	if err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	err = s.do(ctx, account, func(tx event.Tx) error {
		p, err := s.stillGood(tx, a)
		if err != nil {
			return err
		}
		if err := s.forgive(tx, a.counters...); err != nil {
			return err
		}
		if renewed != "" {
			if err := s.store.ReplacePassword(tx, p.ID, a.hash, renewed); err != nil {
				return err
			}
		}
		out, err = s.startSession(tx, p, "password", c, fresh)
		return err
	})
	return out, err
}

// begin counts a try and finds what to check it against.
func (s *Service) begin(ctx context.Context, account id.ID, signIn, address string) (attempt, error) {
	var a attempt
	name, err := NormalizeSignIn(signIn)
	key := name
	if err == nil {
		a.signIn = name
	} else {
		key = "\x00" + truncate(signIn, 256) // counted all the same; no name begins so
	}
	for _, c := range []struct {
		rule rule
		text string
	}{{nameRule(), key}, {addressRule(), sourceKey(address)}} {
		k, err := s.counterOf(c.rule, c.text)
		if err != nil {
			return a, err
		}
		a.counters = append(a.counters, k)
	}
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		a.person, a.hash = Person{}, ""
		if a.signIn != "" {
			p, found, err := s.store.FindPersonBySignIn(tx, a.signIn)
			if err != nil {
				return err
			}
			if found {
				a.person = p
				if a.hash, _, err = s.store.FindPassword(tx, p.ID); err != nil {
					return err
				}
			}
		}
		var err error
		a.left, a.until, err = s.charge(tx, a.counters...)
		return err
	})
	return a, err
}

// unlooked takes the charge of a try back when the password was never looked at:
// too many sign-ins at once, or the caller left. The name's counter is taken
// down by one only, since this is no proof of anything.
func (s *Service) unlooked(ctx context.Context, account id.ID, a attempt) error {
	return s.journal.Do(context.WithoutCancel(ctx), account, func(tx event.Tx) error {
		for _, c := range a.counters {
			if err := s.refund(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// stillGood checks, inside the transaction that signs in, that the person is
// active and that the password is still the one that was verified.
func (s *Service) stillGood(tx event.Tx, a attempt) (Person, error) {
	p, err := s.store.LockPerson(tx, a.person.ID)
	if err != nil {
		return Person{}, err
	}
	hash, _, err := s.store.FindPassword(tx, p.ID)
	if err != nil {
		return Person{}, err
	}
	if p.State != Active || hash != a.hash {
		return Person{}, refusedSignIn(a.left, a.until, tx.Now())
	}
	return p, nil
}

// refuse records a bad try. The name goes into the event only if it is
// somebody's: people type passwords into name fields.
func (s *Service) refuse(ctx context.Context, account id.ID, a attempt, how string) error {
	reason := "wrong"
	switch {
	case !a.person.ID.IsZero() && a.person.State != Active:
		reason = "disabled"
	case a.left == 0:
		reason = "limited"
	}
	// Also for a caller who left: nobody guesses unrecorded.
	err := s.journal.Do(context.WithoutCancel(ctx), account, func(tx event.Tx) error {
		return s.emit(tx, event.SignInRefused{SignIn: a.person.SignIn, How: how, Reason: reason},
			a.person.ID, outside(), "A sign-in was refused.")
	})
	if err != nil {
		return err
	}
	return refusedSignIn(a.left, a.until, s.clock.Now())
}

// VerifyPassword is the step-up by password: it notes a fresh proof in the
// principal's session. Tries count against the same limits as sign-ins.
func (s *Service) VerifyPassword(ctx context.Context, account id.ID, by Principal, password secret.String, c Client) (Principal, error) {
	if err := s.authorize(account, by, ActStepUp); err != nil {
		return Principal{}, err
	}
	if by.Via != ViaSession {
		return Principal{}, fault.New(fault.Conflict, "only a signed-in session can be verified again")
	}
	a, err := s.begin(ctx, account, by.SignIn, c.Address)
	if err != nil {
		return Principal{}, err
	}
	good, _, err := s.hasher.verify(ctx, password, a.hash)
	if err != nil {
		return Principal{}, orElse(s.unlooked(ctx, account, a), err)
	}
	if !good || a.person.State != Active || a.person.ID != by.PersonID {
		return Principal{}, s.refuse(ctx, account, a, "step_up")
	}
	err = s.do(ctx, account, func(tx event.Tx) error {
		p, err := s.stillGood(tx, a)
		if err != nil {
			return err
		}
		if err := s.forgive(tx, a.counters...); err != nil {
			return err
		}
		by, err = s.verified(tx, by, p, "password")
		return err
	})
	return by, err
}

// verified notes a fresh proof in the principal's session.
func (s *Service) verified(tx event.Tx, by Principal, p Person, how string) (Principal, error) {
	ok, err := s.store.VerifySession(tx, p.ID, by.SessionID, tx.Now())
	if err != nil || !ok {
		return by, orElse(err, fault.New(fault.Unauthorized, "the session ended"))
	}
	s.forget(tx)
	by.VerifiedAt = tx.Now()
	return by, s.emit(tx, event.SessionChanged{SessionID: by.SessionID, PersonID: p.ID, Action: "verified", How: how, By: by.By()},
		p.ID, byPerson(), "A person proved themselves again by %s.", how)
}
