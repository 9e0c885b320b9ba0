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

// CeremonyLife is how long a browser has between the two halves of a passkey
// ceremony.
const CeremonyLife = 5 * time.Minute

const (
	challengeBytes = 32
	maxCeremonies  = 10_000    // unfinished ones of an account
	maxResponse    = 128 << 10 // bytes of a browser's answer
)

// Ceremony is the first half of making or using a passkey: Options go to the
// browser (navigator.credentials.create or get, JSON form), Token comes back
// with the browser's answer. It works once, within CeremonyLife.
type Ceremony struct {
	Token     secret.String
	Options   json.RawMessage
	ExpiresAt time.Time
}

type ceremonyKind string

const (
	ceremonySetup  ceremonyKind = "setup"
	ceremonyReset  ceremonyKind = "reset"
	ceremonyAdd    ceremonyKind = "add"
	ceremonySignIn ceremonyKind = "sign_in"
	ceremonyVerify ceremonyKind = "verify"
)

// CeremonyRow is a stored ceremony: the digest of its token, and what the
// second half needs.
type CeremonyRow struct {
	Digest    []byte
	Kind      string
	PersonID  id.ID // Nil until a discoverable passkey says who it is
	Data      []byte
	ExpiresAt time.Time
}

type ceremonyData struct {
	Session   webauthn.SessionData `json:"session"`
	Name      string               `json:"name,omitempty"`      // of the owner to be
	SignIn    string               `json:"signIn,omitempty"`    // of the owner to be
	SessionID id.ID                `json:"sessionId,omitempty"` // that is verified
	Purpose   string               `json:"purpose,omitempty"`   // what the proof is for
	Decoy     bool                 `json:"decoy,omitempty"`     // there is no such person or passkey
}

func badCeremony() *fault.Error {
	return fault.New(fault.Unauthorized, "this passkey request was used or is too old").WithFix("try again")
}

func badPasskey(err error) *fault.Error {
	return fault.New(fault.Unauthorized, "the passkey was not accepted: %w", err).WithFix("try again, or use another way")
}

// open stores the first half. Strangers' ceremonies are counted by source
// address: they cost a row each.
func (s *Service) open(ctx context.Context, account id.ID, kind ceremonyKind, person id.ID, d ceremonyData, options any, counters ...counter) (Ceremony, error) {
	raw, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fault.New(fault.Internal, "encode passkey options: %w", err)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return Ceremony{}, fault.New(fault.Internal, "encode a ceremony: %w", err)
	}
	f, err := s.freshSecret(digestCeremony)
	if err != nil {
		return Ceremony{}, err
	}
	out := Ceremony{Token: f.secret, Options: raw}
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		if len(counters) > 0 {
			if _, _, err := s.charge(tx, counters...); err != nil {
				return err
			}
		}
		left, err := s.store.PurgeCeremonies(tx, tx.Now())
		if err != nil {
			return err
		}
		if left >= maxCeremonies {
			return fault.New(fault.Limited, "too many passkey requests are open").WithFix("try again in %s", wait(CeremonyLife))
		}
		out.ExpiresAt = tx.Now().Add(CeremonyLife)
		return s.store.AddCeremony(tx, CeremonyRow{Digest: f.digest, Kind: string(kind), PersonID: person, Data: data, ExpiresAt: out.ExpiresAt})
	})
	return out, err
}

// resume reads the first half back; it does not take it yet.
func (s *Service) resume(tx event.Tx, kind ceremonyKind, token secret.String) (CeremonyRow, ceremonyData, error) {
	var d ceremonyData
	digest, ok := opaqueDigest(digestCeremony, token)
	if !ok {
		return CeremonyRow{}, d, badCeremony()
	}
	row, found, err := s.store.FindCeremony(tx, digest)
	if err != nil {
		return row, d, err
	}
	if !found || row.Kind != string(kind) || !tx.Now().Before(row.ExpiresAt) {
		return row, d, badCeremony()
	}
	if err := json.Unmarshal(row.Data, &d); err != nil {
		return row, d, fault.New(fault.Corrupt, "a stored ceremony does not decode: %w", err)
	}
	return row, d, nil
}

// take uses the ceremony up, inside the transaction that acts on it.
func (s *Service) take(tx event.Tx, row CeremonyRow) error {
	ok, err := s.store.TakeCeremony(tx, row.Digest)
	if err != nil || !ok || !tx.Now().Before(row.ExpiresAt) {
		return orElse(err, badCeremony())
	}
	return nil
}

// spoil uses up a ceremony whose second half was wrong: an answer gets one try.
func (s *Service) spoil(ctx context.Context, account id.ID, row CeremonyRow, then func(tx event.Tx) error) error {
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := s.take(tx, row); err != nil {
			return err
		}
		if then == nil {
			return nil
		}
		return then(tx)
	})
}

// holder is a person as go-webauthn sees one.
type holder struct {
	id     id.ID
	name   string
	signIn string
	keys   []webauthn.Credential
}

// WebAuthnID implements webauthn.User. The handle says nothing about the person.
func (h holder) WebAuthnID() []byte { return h.id[:] }

// WebAuthnName implements webauthn.User.
func (h holder) WebAuthnName() string { return h.signIn }

// WebAuthnDisplayName implements webauthn.User.
func (h holder) WebAuthnDisplayName() string { return h.name }

// WebAuthnCredentials implements webauthn.User.
func (h holder) WebAuthnCredentials() []webauthn.Credential { return h.keys }

// holderOf reads a person's passkeys for this place.
func (s *Service) holderOf(tx event.Tx, p Person) (holder, error) {
	h := holder{id: p.ID, name: p.Name, signIn: p.SignIn}
	all, err := s.store.ListPasskeys(tx, p.ID)
	if err != nil {
		return h, err
	}
	for _, k := range all {
		if k.Host != s.place.Host {
			continue
		}
		var c webauthn.Credential
		if err := json.Unmarshal(k.Record, &c); err != nil {
			return h, fault.New(fault.Corrupt, "the stored passkey %s does not decode: %w", k.ID, err)
		}
		h.keys = append(h.keys, c)
	}
	return h, nil
}

// descriptors lists credentials by id only: transports would tell a real list
// from a decoy.
func descriptors(ids ...[]byte) []protocol.CredentialDescriptor {
	var out []protocol.CredentialDescriptor
	for _, c := range ids {
		out = append(out, protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: c})
	}
	return out
}

func (h holder) ids() [][]byte {
	var out [][]byte
	for _, k := range h.keys {
		out = append(out, k.ID)
	}
	return out
}
