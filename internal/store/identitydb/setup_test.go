package identitydb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/identitydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

const (
	publicURL = "http://localhost:7420"
	goodWords = "correct donkey battery"
)

// bundle is an account with a service, before setup.
type bundle struct {
	*storetest.DB
	s       *identity.Service
	account id.ID
	log     *bytes.Buffer
}

func options(t testing.TB, db *storetest.DB, log *bytes.Buffer) identity.Options {
	return identity.Options{
		Journal: db.Journal, Store: identitydb.New(), Keyring: db.Options.Keyring, Clock: db.Clock, IDs: db.IDs,
		Origins: identity.Origins{Identity: storetest.Origin(t, event.LayerDispatch, event.ClassIdentity, "identity", identity.EventTypes()...)},
		// Cheap costs: the flow is the same, and the tests stay fast.
		PublicURL: publicURL, Hash: identity.HashParams{MemoryKiB: 16, Passes: 1, Lanes: 1},
		Log: slog.New(slog.NewJSONHandler(log, nil)),
	}
}

func setup(t *testing.T, db *storetest.DB) *bundle {
	t.Helper()
	b := &bundle{DB: db, log: &bytes.Buffer{}}
	b.s = must(identity.New(options(t, db, b.log)))(t)
	a, created, err := b.s.EnsureAccount(context.Background(), identity.DefaultHandle, "Halden")
	if err != nil || !created {
		t.Fatalf("first start: created %v, %v", created, err)
	}
	b.account = a.ID
	return b
}

// claimed is a bundle whose first owner is signed in.
func claimed(t *testing.T, db *storetest.DB) (*bundle, identity.SignedIn) {
	t.Helper()
	b := setup(t, db)
	link := must(b.s.NewSetupLink(ctx(), b.account))(t)
	in := must(b.s.ClaimWithPassword(ctx(), b.account, identity.Claim{Code: link.Code, Name: "Mira", SignIn: "mira"}, secret.New(goodWords)))(t)
	return b, in
}

// enrolled makes a person with a password and signs them in.
func (b *bundle) enrolled(t *testing.T, by identity.Principal, signIn string, role identity.Role) identity.SignedIn {
	t.Helper()
	_, link, err := b.s.CreatePerson(ctx(), b.account, by, identity.NewPerson{Name: signIn, SignIn: signIn, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return must(b.s.ResetWithPassword(ctx(), b.account, link.Code, secret.New(goodWords), identity.Client{}))(t)
}

func (b *bundle) whoami(s secret.String) (identity.Principal, error) {
	return b.s.Authenticate(ctx(), b.account, identity.SessionProof(s))
}

// events returns all events of the bundle's account.
func (b *bundle) events(t *testing.T) (out []event.Event) {
	t.Helper()
	if err := b.Journal.View(ctx(), b.account, func(tx event.Tx) (err error) {
		out, err = store.EventsAfter(tx, 0, 100_000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// count counts events for which f holds.
func count[P event.Payload](t *testing.T, b *bundle, f func(P) bool) (n int) {
	t.Helper()
	for _, e := range b.events(t) {
		if p, ok := e.Payload.(P); ok && f(p) {
			n++
		}
	}
	return n
}

func ctx() context.Context { return context.Background() }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// want fails the test unless err is of kind k.
func want(t *testing.T, what string, err error, k fault.Kind) {
	t.Helper()
	if !fault.Is(err, k) {
		t.Errorf("%s: got %v (%s), want %s", what, err, fault.KindOf(err), k)
	}
}

// noneOf fails the test if a secret stands in an event, an error or the log.
func (b *bundle) noneOf(t *testing.T, errs []error, secrets ...string) {
	t.Helper()
	var all bytes.Buffer
	for _, e := range b.events(t) {
		j, err := json.Marshal(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s %s %s\n", e.Type, e.Source, e.Summary, j)
	}
	for _, err := range errs {
		for ; err != nil; err = errors.Unwrap(err) {
			msg, field, fix := fault.Public(err)
			fmt.Fprintf(&all, "%v %+v %s %s %s\n", err, err, msg, field, fix)
		}
	}
	all.Write(b.log.Bytes())
	for _, s := range secrets {
		if s == "" {
			t.Fatal("an empty canary finds nothing")
		}
		if bytes.Contains(all.Bytes(), []byte(s)) {
			t.Errorf("the secret %q stands in an event, an error or the log", s)
		}
	}
}

func containsAny(s string, secrets ...string) bool {
	for _, x := range secrets {
		if bytes.Contains([]byte(s), []byte(x)) {
			return true
		}
	}
	return false
}
