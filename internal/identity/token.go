package identity

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

const maxTokens = 100 // live ones of one person

// Token is a personal API token as its person sees it in a list.
type Token struct {
	ID         id.ID
	PersonID   id.ID
	Name       string
	Prefix     string // "wtn_" and six characters
	Narrowed   Role   // "" means the role of its person
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero means never
	LastUsedAt time.Time // to the hour; zero means never
	RevokedAt  time.Time
}

// TokenRow is a stored token: the digest of it, never the token.
type TokenRow struct {
	Token
	Digest []byte
}

// NewTokenRequest asks for a token.
type NewTokenRequest struct {
	Name      string
	Narrowed  Role      // "" or a role no higher than one's own
	ExpiresAt time.Time // zero means never
}

// CreateToken makes an API token for the principal. The secret is returned
// once and cannot be had again.
func (s *Service) CreateToken(ctx context.Context, account id.ID, by Principal, r NewTokenRequest) (Token, secret.String, error) {
	if err := s.authorize(account, by, ActTokenCreate); err != nil {
		return Token{}, secret.String{}, err
	}
	if by.PersonID.IsZero() {
		return Token{}, secret.String{}, fault.New(fault.Denied, "a token belongs to a person").On("as").WithFix("say as whom you act")
	}
	name, err := cleanName(r.Name, "name")
	if err != nil {
		return Token{}, secret.String{}, err
	}
	if r.Narrowed != "" && (!r.Narrowed.Valid() || lower(by.Role, r.Narrowed) != r.Narrowed) {
		return Token{}, secret.String{}, fault.New(fault.Invalid, "a token cannot have a higher role than its person").On("role")
	}
	if !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(s.clock.Now()) {
		return Token{}, secret.String{}, fault.New(fault.Invalid, "the expiry lies in the past").On("expiresAt")
	}
	text, prefix, err := newToken(s.random)
	if err != nil {
		return Token{}, secret.String{}, err
	}
	hash, _ := tokenDigest(text)
	var out Token
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		have, err := s.store.ListTokens(tx, by.PersonID)
		if err != nil {
			return err
		}
		live := 0
		for _, t := range have {
			if t.usable(tx.Now()) {
				live++
			}
		}
		if live >= maxTokens {
			return fault.New(fault.Limited, "a person has at most %d tokens", maxTokens).WithFix("revoke one that is not used")
		}
		out = Token{ID: tx.NewID(), PersonID: by.PersonID, Name: name, Prefix: prefix, Narrowed: r.Narrowed,
			CreatedAt: tx.Now(), ExpiresAt: r.ExpiresAt.UTC().Truncate(time.Microsecond)}
		if err := s.store.AddToken(tx, TokenRow{Token: out, Digest: hash}); err != nil {
			return err
		}
		return s.tokenEvent(tx, out, "created", by)
	})
	if err != nil {
		return Token{}, secret.String{}, err
	}
	return out, text, nil
}

// usable reports whether a token lets anybody in.
func (t Token) usable(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

func (s *Service) tokenEvent(tx event.Tx, t Token, action string, by Principal) error {
	p := event.TokenChanged{TokenID: t.ID, PersonID: t.PersonID, Name: t.Name, Prefix: t.Prefix,
		Narrowed: string(t.Narrowed), Action: action, By: by.By()}
	if !t.ExpiresAt.IsZero() {
		p.Expires = t.ExpiresAt.UnixMicro()
	}
	return s.emit(tx, p, t.PersonID, by.Label(), "An API token was %s.", action)
}

// ListTokens lists a person's tokens, newest first, revoked ones included: one's
// own, or anybody's for an owner.
func (s *Service) ListTokens(ctx context.Context, account id.ID, by Principal, person id.ID) ([]Token, error) {
	if err := s.authorize(account, by, ownOr(by, person, ActSelfRead, ActPeopleManage)); err != nil {
		return nil, err
	}
	return view(ctx, s, account, func(tx event.Tx) ([]Token, error) { return s.store.ListTokens(tx, person) })
}

// RevokeToken ends a token at once: one's own, or anybody's for an owner.
// Other nodes on the same database refuse it within CacheLife.
func (s *Service) RevokeToken(ctx context.Context, account id.ID, by Principal, person, token id.ID) error {
	if err := s.authorize(account, by, ownOr(by, person, ActTokenRevoke, ActPeopleManage)); err != nil {
		return err
	}
	return s.do(ctx, account, func(tx event.Tx) error {
		t, err := s.store.GetToken(tx, token)
		if err != nil {
			return err
		}
		if t.PersonID != person {
			return fault.New(fault.NotFound, "there is no such token")
		}
		ok, err := s.store.RevokeToken(tx, person, token, tx.Now())
		if err != nil || !ok {
			return orElse(err, fault.New(fault.Conflict, "the token is revoked already"))
		}
		s.forget(tx)
		return s.tokenEvent(tx, t, "revoked", by)
	})
}
