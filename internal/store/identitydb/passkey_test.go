package identitydb_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store/storetest"
)

func newCredential(t testing.TB) *credential {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &credential{id: bytes.Repeat([]byte{7}, 32), key: k}
}

// keyed claims the account with a passkey.
func keyed(t *testing.T, db *storetest.DB) (*bundle, *authenticator, identity.SignedIn) {
	t.Helper()
	b := setup(t, db)
	a := newAuthenticator()
	link := must(b.s.NewSetupLink(ctx(), b.account))(t)
	c := must(b.s.BeginClaim(ctx(), b.account, identity.Claim{Code: link.Code, Name: "Mira", SignIn: "Mira"}))(t)
	in := must(b.s.FinishClaim(ctx(), b.account, link.Code, c.Token, a.create(t, c), "laptop", identity.Client{}))(t)
	return b, a, in
}

func TestPasskeyFromSetupToSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, a, mira := keyed(t, db)
		if p := must(b.whoami(mira.Secret))(t); p.Role != identity.Owner || p.SignIn != "mira" || p.Name != "Mira" {
			t.Errorf("claimed as %+v", p)
		}
		_, err := b.s.NewSetupLink(ctx(), b.account)
		want(t, "setup again", err, fault.Conflict)
		for _, name := range []string{"", "mira", " MIRA"} {
			c := must(b.s.BeginSignIn(ctx(), b.account, name, identity.Client{}))(t)
			answer := a.get(t, c)
			in := must(b.s.FinishSignIn(ctx(), b.account, c.Token, answer, identity.Client{}))(t)
			if in.Session.How != "passkey" || in.Principal.PersonID != mira.Principal.PersonID {
				t.Errorf("signed in: %+v", in.Session)
			}
			_, err := b.s.FinishSignIn(ctx(), b.account, c.Token, answer, identity.Client{})
			want(t, "the same answer again", err, fault.Unauthorized)
		}
		keys := must(b.s.ListPasskeys(ctx(), b.account, mira.Principal, mira.Principal.PersonID))(t)
		if len(keys) != 1 || keys[0].SignCount != 3 || keys[0].Name != "laptop" || keys[0].Host != "localhost" || keys[0].LastUsedAt.IsZero() {
			t.Errorf("keys: %+v", keys)
		}
		if has := must(b.s.HasPassword(ctx(), b.account, mira.Principal, mira.Principal.PersonID))(t); has {
			t.Error("a password came from nowhere")
		}
	})
}

func TestPasskeyAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, a, mira := keyed(t, db)
		begin := func() identity.Ceremony {
			b.Clock.Advance(time.Second)
			return must(b.s.BeginSignIn(ctx(), b.account, "", identity.Client{}))(t)
		}
		for name, bend := range map[string]func(*authenticator){
			"another origin":     func(x *authenticator) { x.origin = "http://localhost:9999" },
			"another host":       func(x *authenticator) { x.host = "evil.example" },
			"nobody was there":   func(x *authenticator) { x.flags = 0x04 },
			"nobody was checked": func(x *authenticator) { x.flags = 0x01 },
			"another person's handle": func(x *authenticator) {
				k := *x.keys[0]
				k.handle = bytes.Repeat([]byte{1}, 16)
				x.keys = []*credential{&k}
			},
			"another key": func(x *authenticator) {
				k := *x.keys[0]
				k.key = newCredential(t).key
				x.keys = []*credential{&k}
			},
			"an unknown credential": func(x *authenticator) {
				k := newCredential(t)
				k.handle = x.keys[0].handle
				x.keys = []*credential{k}
			},
		} {
			bent := *a
			bend(&bent)
			c := begin()
			_, err := b.s.FinishSignIn(ctx(), b.account, c.Token, bent.get(t, c), identity.Client{})
			want(t, name, err, fault.Unauthorized)
			a.keys[0].count += 5
			_, err = b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, c), identity.Client{})
			want(t, name+", then the right answer to a spoilt request", err, fault.Unauthorized)
		}
		for name, response := range map[string][]byte{"nothing": nil, "noise": []byte("{"), "too much": make([]byte, 200<<10)} {
			c := begin()
			_, err := b.s.FinishSignIn(ctx(), b.account, c.Token, response, identity.Client{})
			want(t, name, err, fault.Unauthorized)
		}
		c, other := begin(), begin()
		_, err := b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, other), identity.Client{})
		want(t, "the answer to another request", err, fault.Unauthorized)
		c = begin()
		response := a.get(t, c)
		b.Clock.Advance(identity.CeremonyLife)
		_, err = b.s.FinishSignIn(ctx(), b.account, c.Token, response, identity.Client{})
		want(t, "an answer after five minutes", err, fault.Unauthorized)
		refused := count(t, b, func(p event.SignInRefused) bool { return p.How == "passkey" && p.Reason == "wrong" })
		if refused != 11 {
			t.Errorf("%d refusals were recorded", refused)
		}

		// A copy of the key: its counter is behind.
		c = begin()
		must(b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, c), identity.Client{}))(t)
		a.keys[0].count -= 2
		c = begin()
		_, err = b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, c), identity.Client{})
		want(t, "a counter that went back", err, fault.Unauthorized)
		if n := count(t, b, func(p event.SignInRefused) bool { return p.Reason == "cloned" && p.SignIn == "mira" }); n != 1 {
			t.Errorf("%d copies were recorded", n)
		}

		// A disabled person's passkey is no way in.
		a.keys[0].count += 10
		jon := b.enrolled(t, identity.Machine(b.account), "jon", identity.Owner)
		must(b.s.ChangePerson(ctx(), b.account, jon.Principal, mira.Principal.PersonID, identity.PersonChange{State: ptr(identity.Disabled)}))(t)
		c = begin()
		_, err = b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, c), identity.Client{})
		want(t, "a disabled person", err, fault.Unauthorized)
	})
}

func TestAnAnswerWorksOnceUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, a, _ := keyed(t, db)
		c := must(b.s.BeginSignIn(ctx(), b.account, "mira", identity.Client{}))(t)
		response := a.get(t, c)
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, err := b.s.FinishSignIn(ctx(), b.account, c.Token, response, identity.Client{})
				if err == nil {
					won.Add(1)
				} else if !fault.Is(err, fault.Unauthorized) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("one answer signed in %d times", won.Load())
		}
	})
}

// The request for an unknown name looks like that for a known one, and is the
// same each time.
func TestPasskeyRequestTellsNobodyWhoExists(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b, a, mira := keyed(t, db)
	b.enrolled(t, mira.Principal, "jon", identity.Viewer) // has a password only
	shape := func(name string) (ids []string, form string) {
		c := must(b.s.BeginSignIn(ctx(), b.account, name, identity.Client{}))(t)
		var o map[string]map[string]any
		if err := json.Unmarshal(c.Options, &o); err != nil {
			t.Fatal(err)
		}
		pk := o["publicKey"]
		for _, x := range pk["allowCredentials"].([]any) {
			m := x.(map[string]any)
			ids = append(ids, m["id"].(string))
			m["id"] = len(m["id"].(string))
		}
		pk["challenge"] = len(pk["challenge"].(string))
		out, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return ids, string(out)
	}
	_, real := shape("mira")
	for _, name := range []string{"nobody", "jon", "no name / at all"} {
		ids, form := shape(name)
		again, _ := shape(name)
		if form != real || len(ids) != 1 || ids[0] != again[0] {
			t.Errorf("%s: %v, %s; want the form %s", name, ids, form, real)
		}
	}
	c := must(b.s.BeginSignIn(ctx(), b.account, "nobody", identity.Client{}))(t)
	if a.get(t, c) != nil {
		t.Fatal("the authenticator knows a decoy")
	}
	_, err := b.s.FinishSignIn(ctx(), b.account, c.Token, a.sign(t, a.keys[0], challengeOf(t, c)), identity.Client{})
	want(t, "a real key for a decoy", err, fault.Unauthorized)
}

func challengeOf(t testing.TB, c identity.Ceremony) string {
	t.Helper()
	var o struct{ PublicKey struct{ Challenge string } }
	if err := json.Unmarshal(c.Options, &o); err != nil {
		t.Fatal(err)
	}
	return o.PublicKey.Challenge
}

func TestPasskeysAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, a, mira := keyed(t, db)
		me := mira.Principal
		keys := must(b.s.ListPasskeys(ctx(), b.account, me, me.PersonID))(t)
		want(t, "the last way in", b.s.RemovePasskey(ctx(), b.account, me, keys[0].ID), fault.Conflict)
		c := must(b.s.BeginPasskey(ctx(), b.account, me))(t)
		jon := b.enrolled(t, me, "jon", identity.Operator)
		answer := a.create(t, c)
		_, err := b.s.FinishPasskey(ctx(), b.account, jon.Principal, c.Token, answer, "stolen")
		want(t, "another person's request", err, fault.Unauthorized)
		must(b.s.FinishPasskey(ctx(), b.account, me, c.Token, answer, ""))(t)
		_, err = b.s.FinishPasskey(ctx(), b.account, me, c.Token, answer, "again")
		want(t, "the request again", err, fault.Unauthorized)
		keys = must(b.s.ListPasskeys(ctx(), b.account, me, me.PersonID))(t)
		if len(keys) != 2 || keys[1].Name != "Passkey" {
			t.Fatalf("keys: %+v", keys)
		}
		if err := b.s.RenamePasskey(ctx(), b.account, me, keys[1].ID, "phone"); err != nil {
			t.Fatal(err)
		}
		want(t, "renaming another's", b.s.RenamePasskey(ctx(), b.account, jon.Principal, keys[1].ID, "x"), fault.NotFound)
		want(t, "removing another's", b.s.RemovePasskey(ctx(), b.account, jon.Principal, keys[1].ID), fault.NotFound)

		// Both are removed at once, again and again: one stays.
		for range 8 {
			keys = must(b.s.ListPasskeys(ctx(), b.account, me, me.PersonID))(t)
			var gone atomic.Int32
			var wg sync.WaitGroup
			for _, k := range keys {
				wg.Go(func() {
					err := b.s.RemovePasskey(ctx(), b.account, me, k.ID)
					if err == nil {
						gone.Add(1)
					} else if !fault.Is(err, fault.Conflict) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if left := must(b.s.ListPasskeys(ctx(), b.account, me, me.PersonID))(t); gone.Load() != 1 || len(left) != 1 {
				t.Fatalf("%d removed, %d left", gone.Load(), len(left))
			}
			c = must(b.s.BeginPasskey(ctx(), b.account, me))(t)
			must(b.s.FinishPasskey(ctx(), b.account, me, c.Token, a.create(t, c), ""))(t)
		}
		// A bent answer makes no passkey.
		c = must(b.s.BeginPasskey(ctx(), b.account, me))(t)
		bent := &authenticator{host: a.host, origin: "https://evil.example", flags: a.flags}
		_, err = b.s.FinishPasskey(ctx(), b.account, me, c.Token, bent.create(t, c), "evil")
		want(t, "another origin", err, fault.Unauthorized)
	})
}

func TestResetWithAPasskey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		link := must(b.s.NewResetLink(ctx(), b.account, identity.Machine(b.account), mira.Principal.PersonID))(t)
		a := newAuthenticator()
		c := must(b.s.BeginReset(ctx(), b.account, link.Code))(t)
		in := must(b.s.FinishReset(ctx(), b.account, link.Code, c.Token, a.create(t, c), "phone", identity.Client{}))(t)
		if in.Session.How != "reset" || in.Principal.PersonID != mira.Principal.PersonID {
			t.Errorf("%+v", in)
		}
		_, err := b.whoami(mira.Secret)
		want(t, "the session from before", err, fault.Unauthorized)
		if err := b.s.RemovePassword(ctx(), b.account, in.Principal); err != nil {
			t.Fatal(err)
		}
		_, err = b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{})
		want(t, "the removed password", err, fault.Unauthorized)
		c = must(b.s.BeginSignIn(ctx(), b.account, "", identity.Client{}))(t)
		must(b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, c), identity.Client{}))(t)
	})
}

func TestStepUpIsBoundToItsPurpose(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, a, mira := keyed(t, db)
		b.Clock.Advance(time.Hour)
		me := must(b.whoami(mira.Secret))(t)
		if me.FreshAt(b.Clock.Now()) {
			t.Fatal("an hour later the session is fresh")
		}
		c := must(b.s.BeginVerify(ctx(), b.account, me, "approval:A"))(t)
		_, err := b.s.FinishVerify(ctx(), b.account, me, c.Token, a.get(t, c), "approval:B")
		want(t, "a proof for another approval", err, fault.Unauthorized)
		c = must(b.s.BeginVerify(ctx(), b.account, me, "approval:A"))(t)
		_, err = b.s.FinishSignIn(ctx(), b.account, c.Token, a.get(t, c), identity.Client{})
		want(t, "a step-up as a sign-in", err, fault.Unauthorized)
		me = must(b.s.FinishVerify(ctx(), b.account, me, c.Token, a.get(t, c), "approval:A"))(t)
		if again := must(b.whoami(mira.Secret))(t); !me.FreshAt(b.Clock.Now()) || !again.FreshAt(b.Clock.Now()) {
			t.Error("the session is not fresh")
		}
		token := identity.Principal{Account: b.account, PersonID: me.PersonID, Role: identity.Owner, Via: identity.ViaToken}
		_, err = b.s.BeginVerify(ctx(), b.account, token, "x")
		want(t, "a token steps up", err, fault.Conflict)
	})
}

func TestPasskeysNeedAName(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b, _, mira := keyed(t, db)
	o := options(t, db, b.log)
	o.PublicURL = "http://192.0.2.1:7420"
	b.s = must(identity.New(o))(t)
	var pe *identity.PlaceError
	_, err := b.s.BeginSignIn(ctx(), b.account, "", identity.Client{})
	if !errors.As(err, &pe) || pe.Place.Why == "" {
		t.Errorf("at an IP address: %v", err)
	}
	_, err = b.s.BeginPasskey(ctx(), b.account, mira.Principal)
	if !errors.As(err, &pe) {
		t.Errorf("at an IP address: %v", err)
	}
	o.PublicURL = "https://witan.example.org"
	b.s = must(identity.New(o))(t)
	if n := must(b.s.Stranded(ctx(), b.account))(t); n["localhost"] != 1 || len(n) != 1 {
		t.Errorf("stranded: %v", n)
	}
	// A passkey of another name is no way in here, so the password may not go.
	if err := b.s.SetPassword(ctx(), b.account, mira.Principal, secret.New(goodWords)); err != nil {
		t.Fatal(err)
	}
	want(t, "the only way in here", b.s.RemovePassword(ctx(), b.account, mira.Principal), fault.Conflict)
}

func TestPasskeyRequestsOfStrangersAreLimited(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b := setup(t, db)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = b.s.BeginSignIn(ctx(), b.account, "", identity.Client{Address: "192.0.2.1"})
	}
	want(t, "many requests", err, fault.Limited)
	if n != 31 {
		t.Errorf("%d requests were answered", n-1)
	}
	must(b.s.BeginSignIn(ctx(), b.account, "", identity.Client{Address: "192.0.2.2"}))(t)
}
