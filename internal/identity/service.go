package identity

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Origins are identity's rights to publish.
type Origins struct {
	Identity event.Origin // layer dispatch, class identity, the types of EventTypes
}

// EventTypes returns the types that Origins.Identity must hold.
func EventTypes() []event.Type {
	var out []event.Type
	for _, p := range []event.Payload{
		event.AccountCreated{}, event.PersonSaved{}, event.CredentialChanged{}, event.SessionChanged{},
		event.SignInRefused{}, event.TokenChanged{}, event.VaultChanged{},
	} {
		out = append(out, p.EventType())
	}
	return out
}

// Options are what a Service is made of. All but Random, Hash and Log are required.
type Options struct {
	Journal event.Journal
	Store   Store
	Keyring *secret.Keyring // keys the counters of tries, and decoys for unknown names
	Clock   clock.Clock
	IDs     *id.Source
	Origins Origins
	// PublicURL is the address people open, such as "http://localhost:7420" or
	// "https://witan.example.org". Passkeys belong to its name. Where none can
	// be made (an IP address, plain http) the Service works without passkeys.
	PublicURL string
	Random    io.Reader  // nil means crypto/rand
	Hash      HashParams // zero means DefaultHashParams
	Log       *slog.Logger
}

// Service does everything that identity does. It is safe for concurrent use.
type Service struct {
	journal event.Journal
	store   Store
	keyring *secret.Keyring
	clock   clock.Clock
	ids     *id.Source
	origin  event.Origin
	random  io.Reader
	log     *slog.Logger
	hasher  *hasher
	cache   *cache
	place   Place
	party   *webauthn.WebAuthn // nil where the place allows no passkey
}

// New returns a Service, or Invalid naming the option that is missing.
func New(o Options) (*Service, error) {
	for name, missing := range map[string]bool{
		"journal": o.Journal == nil, "store": o.Store == nil, "keyring": o.Keyring == nil,
		"clock": o.Clock == nil, "ids": o.IDs == nil, "publicUrl": o.PublicURL == "",
	} {
		if missing {
			return nil, fault.New(fault.Invalid, "identity needs this option").On(name)
		}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Hash == (HashParams{}) {
		o.Hash = DefaultHashParams()
	}
	h, err := newHasher(o.Hash, o.Random)
	if err != nil {
		return nil, err
	}
	s := &Service{journal: o.Journal, store: o.Store, keyring: o.Keyring, clock: o.Clock, ids: o.IDs,
		origin: o.Origins.Identity, random: o.Random, log: o.Log, hasher: h, cache: newCache(),
		place: PlaceOf(o.PublicURL)}
	if s.place.OK {
		if s.party, err = newParty(s.place); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Service) emit(tx event.Tx, p event.Payload, subject id.ID, l event.Label, format string, args ...any) error {
	_, err := tx.Emit(s.origin, event.Draft{
		Payload: p, Subject: subject, Stream: subject, Label: l, Summary: fmt.Sprintf(format, args...),
	})
	return err
}

// house is the label of what Witan itself says; outside, of what somebody who
// is not signed in caused.
func house() event.Label   { return event.NewLabel(event.House, event.AccountWide()) }
func outside() event.Label { return event.NewLabel(event.Outside, event.AccountWide()) }
func byPerson() event.Label {
	return event.NewLabel(event.Person, event.AccountWide())
}

// authorize checks the principal against the roles table and against the
// account that the call is about: a principal of one account is nobody in another.
func (s *Service) authorize(account id.ID, by Principal, a Act) error {
	if !by.IsZero() && by.Account != account {
		return fault.New(fault.Denied, "you belong to another account")
	}
	return Authorize(by, a, s.clock.Now())
}

// forget empties the cache of signed-in principals once tx is durable. It may
// run a moment after the caller of the transaction has its answer; changes of
// our own use do, which does not return before.
func (s *Service) forget(tx event.Tx) { s.store.AfterCommit(tx, s.cache.clear) }

// do is journal.Do for changes of who may come in: when it returns, no answer
// from before the change is given any more.
func (s *Service) do(ctx context.Context, account id.ID, f func(tx event.Tx) error) error {
	defer s.cache.clear()
	return s.journal.Do(ctx, account, f)
}

// view is journal.View with a result.
func view[T any](ctx context.Context, s *Service, account id.ID, f func(tx event.Tx) (T, error)) (T, error) {
	var out T
	err := s.journal.View(ctx, account, func(tx event.Tx) (err error) { out, err = f(tx); return err })
	return out, err
}

// truncate returns the first n bytes of s, cut at a character, without
// control characters: what a browser says of itself, for a list.
func truncate(s string, n int) string {
	out := make([]rune, 0, n)
	size := 0
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			continue
		}
		if size += len(string(r)); size > n {
			break
		}
		out = append(out, r)
	}
	return string(out)
}

// minTime returns the earliest of times that are not zero.
func minTime(ts ...time.Time) (out time.Time) {
	for _, t := range ts {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}
