package identity

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// LinkKind is what a one-time link is for. It is also the path it opens.
type LinkKind string

// The kinds of link.
const (
	LinkSetup LinkKind = "setup" // become the first owner
	LinkReset LinkKind = "reset" // set a way to sign in, again or for the first time
)

// How long links live.
const (
	SetupLife = 24 * time.Hour
	ResetLife = time.Hour
)

// Link is a fresh one-time link. The code exists here and nowhere else: the
// caller prints it, or writes it to a file that only the owner of the data
// folder can read. A link that replaces another withdraws it.
type Link struct {
	Kind      LinkKind
	PersonID  id.ID // for a reset
	SignIn    string
	Code      secret.String
	ExpiresAt time.Time
}

// URL returns the address of the link under a base such as "http://localhost:7420".
// It holds the code: print it, never log it.
func (l Link) URL(base string) string {
	return strings.TrimRight(base, "/") + "/" + string(l.Kind) + "?code=" + url.QueryEscape(l.Code.Reveal())
}

// LinkRow is a stored link: the digest of its code, never the code.
type LinkRow struct {
	ID        id.ID
	Kind      LinkKind
	PersonID  id.ID
	Digest    []byte
	CreatedAt time.Time
	ExpiresAt time.Time
}

// LinkInfo is what a page may say about a link before it is used.
type LinkInfo struct {
	Kind      LinkKind
	PersonID  id.ID
	Name      string
	SignIn    string
	ExpiresAt time.Time
}

func badLink() *fault.Error {
	return fault.New(fault.Unauthorized, "this link was used, ended, or was never one").On("code")
}

// NewSetupLink makes the link of the first start and withdraws older ones.
// Conflict once the account has had an owner: setup is closed for ever.
func (s *Service) NewSetupLink(ctx context.Context, account id.ID) (Link, error) {
	code, err := newCode(s.random)
	if err != nil {
		return Link{}, err
	}
	hash, _ := codeDigest(code)
	var out Link
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		a, err := s.store.GetAccount(tx)
		if err != nil {
			return err
		}
		if !a.SetupClosedAt.IsZero() {
			return setupClosed()
		}
		out = Link{Kind: LinkSetup, Code: code, ExpiresAt: tx.Now().Add(SetupLife)}
		return s.addLink(tx, out, hash, Machine(account))
	})
	return out, err
}

func setupClosed() *fault.Error {
	return fault.New(fault.Conflict, "setup is closed: this account has its owner").
		WithFix("sign in, or make a reset link on the machine: witan people reset-link NAME")
}

// addLink withdraws the older links of the same kind and person, and stores one.
func (s *Service) addLink(tx event.Tx, l Link, hash []byte, by Principal) error {
	if _, err := s.store.WithdrawLinks(tx, l.Kind, l.PersonID, tx.Now()); err != nil {
		return err
	}
	row := LinkRow{ID: tx.NewID(), Kind: l.Kind, PersonID: l.PersonID, Digest: hash, CreatedAt: tx.Now(), ExpiresAt: l.ExpiresAt}
	if err := s.store.AddLink(tx, row); err != nil {
		return err
	}
	return s.emit(tx, event.CredentialChanged{PersonID: l.PersonID, Kind: string(l.Kind) + "_link", Action: "added", By: by.By()},
		l.PersonID, by.Label(), "A one-time %s link was made.", l.Kind)
}

// NewResetLink makes a link with which a person sets a way to sign in. It is
// good for one use within ResetLife and withdraws older ones. An owner makes
// it, or the machine (witan people reset-link).
func (s *Service) NewResetLink(ctx context.Context, account id.ID, by Principal, person id.ID) (Link, error) {
	if err := s.authorize(account, by, recoverAct(by)); err != nil {
		return Link{}, err
	}
	code, err := newCode(s.random)
	if err != nil {
		return Link{}, err
	}
	hash, _ := codeDigest(code)
	var out Link
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		p, err := s.store.GetPerson(tx, person)
		if err != nil {
			return err
		}
		if p.State != Active {
			return fault.New(fault.Conflict, "%s is disabled", p.SignIn).WithFix("enable the person first")
		}
		out = Link{Kind: LinkReset, PersonID: p.ID, SignIn: p.SignIn, Code: code, ExpiresAt: tx.Now().Add(ResetLife)}
		return s.addLink(tx, out, hash, by)
	})
	return out, err
}

// recoverAct is what making people and reset links counts as.
func recoverAct(by Principal) Act {
	if by.Via == ViaMachine {
		return ActPeopleRecover
	}
	return ActPeopleManage
}

// LookLink says what a link is for without using it. Unauthorized for one that
// does not work.
func (s *Service) LookLink(ctx context.Context, account id.ID, kind LinkKind, code secret.String) (LinkInfo, error) {
	hash, ok := codeDigest(code)
	if !ok {
		return LinkInfo{}, badLink()
	}
	return view(ctx, s, account, func(tx event.Tx) (LinkInfo, error) {
		row, found, err := s.store.FindLink(tx, kind, hash)
		if err != nil {
			return LinkInfo{}, err
		}
		if !found || !tx.Now().Before(row.ExpiresAt) {
			return LinkInfo{}, badLink()
		}
		out := LinkInfo{Kind: kind, PersonID: row.PersonID, ExpiresAt: row.ExpiresAt}
		if kind == LinkReset {
			p, err := s.store.GetPerson(tx, row.PersonID)
			if err != nil {
				return LinkInfo{}, err
			}
			if p.State != Active {
				return LinkInfo{}, badLink()
			}
			out.Name, out.SignIn = p.Name, p.SignIn
		}
		return out, nil
	})
}
