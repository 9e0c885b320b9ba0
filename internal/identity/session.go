package identity

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// How long a session lives: without use, and at most.
const (
	SessionIdle = 14 * 24 * time.Hour
	SessionLife = 30 * 24 * time.Hour
	// touchEvery is how coarsely use is noted: at most one write in this time.
	touchEvery = time.Hour
)

// Session is a signed-in browser, as its person sees it in a list.
type Session struct {
	ID         id.ID
	PersonID   id.ID
	How        string // password, passkey, setup, reset
	Address    string
	Agent      string // what the browser says of itself
	CreatedAt  time.Time
	SeenAt     time.Time // to the hour
	VerifiedAt time.Time // of the last proof
	EndsAt     time.Time
}

// SessionRow is a stored session: the digest of its secret, never the secret.
type SessionRow struct {
	Session
	Digest []byte
}

// Client is where a request came from. Address is an IP address with or
// without port, as the edge knows it; both are shown to the person only.
type Client struct {
	Address string
	Agent   string
	// Session is the secret of the session that the browser already has, if
	// any: a sign-in ends it, so that nobody can plant one (rotation).
	Session secret.String
}

// SignedIn is a fresh session. Secret exists here and nowhere else: it goes
// into the cookie.
type SignedIn struct {
	Secret    secret.String
	Session   Session
	Principal Principal
}

// alive reports whether a session still lets its person in.
func (s Session) alive(now time.Time) bool {
	return now.Before(s.EndsAt) && now.Before(s.SeenAt.Add(SessionIdle))
}

// freshSecret is a session's secret before the session exists.
type freshSecret struct {
	secret secret.String
	digest []byte
}

func (s *Service) freshSecret(domain string) (freshSecret, error) {
	v, err := newOpaque(s.random)
	if err != nil {
		return freshSecret{}, err
	}
	d, _ := opaqueDigest(domain, v)
	return freshSecret{secret: v, digest: d}, nil
}

// startSession signs a person in, ends the session that the browser had, and
// sweeps the person's dead ones.
func (s *Service) startSession(tx event.Tx, p Person, how string, c Client, f freshSecret) (SignedIn, error) {
	now := tx.Now()
	if d, ok := opaqueDigest(digestSession, c.Session); ok {
		old, owner, found, err := s.store.FindSession(tx, d)
		if err != nil {
			return SignedIn{}, err
		}
		if found {
			if _, err := s.store.DeleteSession(tx, owner.ID, old.ID); err != nil {
				return SignedIn{}, err
			}
			if err := s.ended(tx, "replaced", personBy(owner.ID), old.Session); err != nil {
				return SignedIn{}, err
			}
			s.forget(tx)
		}
	}
	dead, err := s.store.DeleteDeadSessions(tx, p.ID, now, now.Add(-SessionIdle))
	if err != nil {
		return SignedIn{}, err
	}
	if err := s.ended(tx, "expired", Machine(tx.Account()), dead...); err != nil {
		return SignedIn{}, err
	}
	row := SessionRow{Digest: f.digest, Session: Session{
		ID: tx.NewID(), PersonID: p.ID, How: how, Address: truncate(c.Address, 64), Agent: truncate(c.Agent, 200),
		CreatedAt: now, SeenAt: now, VerifiedAt: now, EndsAt: now.Add(SessionLife),
	}}
	if err := s.store.AddSession(tx, row); err != nil {
		return SignedIn{}, err
	}
	err = s.emit(tx, event.SessionChanged{SessionID: row.ID, PersonID: p.ID, Action: "started", How: how, By: personBy(p.ID).By()},
		p.ID, byPerson(), "A person signed in by %s.", how)
	return SignedIn{Secret: f.secret, Session: row.Session, Principal: sessionPrincipal(tx.Account(), p, row.Session)}, err
}

func sessionPrincipal(account id.ID, p Person, s Session) Principal {
	return Principal{Account: account, PersonID: p.ID, Name: p.Name, SignIn: p.SignIn, Role: p.Role,
		Via: ViaSession, SessionID: s.ID, VerifiedAt: s.VerifiedAt}
}

// ended says that sessions ended, and by whom.
func (s *Service) ended(tx event.Tx, how string, by Principal, sessions ...Session) error {
	for _, x := range sessions {
		err := s.emit(tx, event.SessionChanged{SessionID: x.ID, PersonID: x.PersonID, Action: "ended", How: how, By: by.By()},
			x.PersonID, by.Label(), "A session ended: %s.", how)
		if err != nil {
			return err
		}
	}
	return nil
}

// endSessions ends the sessions of a person but for one.
func (s *Service) endSessions(tx event.Tx, person, but id.ID, how string, by Principal) error {
	gone, err := s.store.DeleteSessions(tx, person, but)
	if err != nil {
		return err
	}
	s.forget(tx)
	return s.ended(tx, how, by, gone...)
}

// SignOut ends the principal's own session.
func (s *Service) SignOut(ctx context.Context, account id.ID, by Principal) error {
	if err := s.authorize(account, by, ActSignOut); err != nil {
		return err
	}
	if by.Via != ViaSession {
		return fault.New(fault.Conflict, "there is no session to end")
	}
	return s.endOne(ctx, account, by, by.PersonID, by.SessionID, "sign_out")
}

// ListSessions lists a person's live sessions, newest first: one's own, or
// anybody's for an owner.
func (s *Service) ListSessions(ctx context.Context, account id.ID, by Principal, person id.ID) ([]Session, error) {
	if err := s.authorize(account, by, ownOr(by, person, ActSelfRead, ActPeopleManage)); err != nil {
		return nil, err
	}
	return view(ctx, s, account, func(tx event.Tx) ([]Session, error) {
		all, err := s.store.ListSessions(tx, person)
		var out []Session
		for _, x := range all {
			if x.alive(tx.Now()) {
				out = append(out, x)
			}
		}
		return out, err
	})
}

// RevokeSession ends a session: one's own, or anybody's for an owner.
func (s *Service) RevokeSession(ctx context.Context, account id.ID, by Principal, person, session id.ID) error {
	if err := s.authorize(account, by, ownOr(by, person, ActSessionRevoke, ActPeopleManage)); err != nil {
		return err
	}
	return s.endOne(ctx, account, by, person, session, "revoked")
}

func (s *Service) endOne(ctx context.Context, account id.ID, by Principal, person, session id.ID, how string) error {
	return s.do(ctx, account, func(tx event.Tx) error {
		ok, err := s.store.DeleteSession(tx, person, session)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.NotFound, "there is no such session")
		}
		s.forget(tx)
		return s.ended(tx, how, by, Session{ID: session, PersonID: person})
	})
}

// ownOr returns the act for oneself or the act for somebody else.
func ownOr(by Principal, person id.ID, own, other Act) Act {
	if !by.PersonID.IsZero() && by.PersonID == person {
		return own
	}
	if by.Via == ViaMachine {
		return ActPeopleRecover
	}
	return other
}

// EndAll ends every session, withdraws every link and drops every ceremony of
// tx's account, and returns how many sessions ended. A restore calls it: what
// was signed in at the time of the backup may have been revoked since.
func (s *Service) EndAll(tx event.Tx) (int, error) {
	gone, err := s.store.DeleteSessions(tx, id.Nil, id.Nil)
	if err != nil {
		return 0, err
	}
	if err := s.ended(tx, "restore", Machine(tx.Account()), gone...); err != nil {
		return 0, err
	}
	if _, err := s.store.WithdrawAllLinks(tx, tx.Now()); err != nil {
		return 0, err
	}
	if _, err := s.store.DeleteAllCeremonies(tx); err != nil {
		return 0, err
	}
	s.forget(tx)
	return len(gone), nil
}
