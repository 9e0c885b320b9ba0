package identitydb_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store/identitydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func identitydbStore() *identitydb.Store { return identitydb.New() }

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, _ := claimed(t, db)
		in := func() identity.SignedIn {
			return must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{}))(t)
		}
		idle, used := in(), in()
		for range 29 {
			b.Clock.Advance(24 * time.Hour)
			must(b.whoami(used.Secret))(t)
		}
		_, err := b.whoami(idle.Secret)
		want(t, "a session without use for two weeks", err, fault.Unauthorized)
		b.Clock.Advance(24*time.Hour - time.Microsecond)
		must(b.whoami(used.Secret))(t)
		b.Clock.Advance(time.Microsecond)
		_, err = b.whoami(used.Secret)
		want(t, "a session of thirty days", err, fault.Unauthorized)
		again := in()
		list := must(b.s.ListSessions(ctx(), b.account, again.Principal, again.Principal.PersonID))(t)
		if len(list) != 1 || list[0].ID != again.Session.ID {
			t.Errorf("live sessions: %+v", list)
		}
		if n := count(t, b, func(p event.SessionChanged) bool { return p.How == "expired" }); n != 3 {
			t.Errorf("%d expired sessions were recorded", n)
		}
	})
}

func TestIdleCountsFromUse(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b, mira := claimed(t, db)
	b.Clock.Advance(identity.SessionIdle - time.Second)
	must(b.whoami(mira.Secret))(t)
	b.Clock.Advance(identity.SessionIdle - time.Second)
	must(b.whoami(mira.Secret))(t)
	b.Clock.Advance(-time.Hour) // the clock goes back: nobody is thrown out, nobody gets in
	must(b.whoami(mira.Secret))(t)
	_, err := b.whoami(secret.New(b64.EncodeToString(make([]byte, 32))))
	want(t, "a session that never was", err, fault.Unauthorized)
	for _, noise := range []string{"", "x", goodWords, mira.Secret.Reveal() + "A", mira.Secret.Reveal()[1:]} {
		_, err := b.whoami(secret.New(noise))
		want(t, "noise", err, fault.Unauthorized)
	}
}

func TestSessionRotatesAndRevokes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		second := must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{
			Session: mira.Secret, Address: "192.0.2.1:1", Agent: "Browser\x00\n" + string(make([]byte, 500))}))(t)
		if second.Secret.Reveal() == mira.Secret.Reveal() {
			t.Error("the secret did not change")
		}
		_, err := b.whoami(mira.Secret)
		want(t, "the session that the browser had", err, fault.Unauthorized)
		third := must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{}))(t)
		list := must(b.s.ListSessions(ctx(), b.account, third.Principal, third.Principal.PersonID))(t)
		if len(list) != 2 || list[1].Agent != "Browser" || list[1].Address != "192.0.2.1:1" || list[1].How != "password" {
			t.Errorf("sessions: %+v", list)
		}
		jon := b.enrolled(t, third.Principal, "jon", identity.Operator)
		want(t, "another's session", b.s.RevokeSession(ctx(), b.account, jon.Principal, third.Principal.PersonID, second.Session.ID), fault.Denied)
		want(t, "another's session as one's own", b.s.RevokeSession(ctx(), b.account, jon.Principal, jon.Principal.PersonID, second.Session.ID), fault.NotFound)
		if _, err = b.s.ListSessions(ctx(), b.account, jon.Principal, third.Principal.PersonID); !fault.Is(err, fault.Denied) {
			t.Errorf("an operator lists an owner's sessions: %v", err)
		}
		must(b.whoami(second.Secret))(t) // it is in the cache now
		if err := b.s.RevokeSession(ctx(), b.account, third.Principal, third.Principal.PersonID, second.Session.ID); err != nil {
			t.Fatal(err)
		}
		_, err = b.whoami(second.Secret)
		want(t, "a revoked session, at once", err, fault.Unauthorized)
		if err := b.s.SignOut(ctx(), b.account, third.Principal); err != nil {
			t.Fatal(err)
		}
		_, err = b.whoami(third.Secret)
		want(t, "after signing out", err, fault.Unauthorized)
		want(t, "signing out again", b.s.SignOut(ctx(), b.account, third.Principal), fault.NotFound)
	})
}

func TestRestoreEndsEverything(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		jon := b.enrolled(t, mira.Principal, "jon", identity.Viewer)
		link := must(b.s.NewResetLink(ctx(), b.account, mira.Principal, jon.Principal.PersonID))(t)
		ceremony := must(b.s.BeginSignIn(ctx(), b.account, "", identity.Client{}))(t)
		must(b.whoami(mira.Secret))(t)
		n := 0
		if err := b.Journal.Do(ctx(), b.account, func(tx event.Tx) (err error) { n, err = b.s.EndAll(tx); return err }); err != nil || n != 2 {
			t.Fatalf("%d sessions ended, %v", n, err)
		}
		for _, s := range []identity.SignedIn{mira, jon} {
			_, err := b.whoami(s.Secret)
			want(t, "a session from before", err, fault.Unauthorized)
		}
		_, err := b.s.LookLink(ctx(), b.account, identity.LinkReset, link.Code)
		want(t, "a link from before", err, fault.Unauthorized)
		_, err = b.s.FinishSignIn(ctx(), b.account, ceremony.Token, newAuthenticator().sign(t, newCredential(t), "AA"), identity.Client{})
		want(t, "a ceremony from before", err, fault.Unauthorized)
		if got := count(t, b, func(p event.SessionChanged) bool { return p.How == "restore" }); got != 2 {
			t.Errorf("%d events", got)
		}
	})
}

func TestUseIsNotedOnceAnHour(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		seen := func() time.Time {
			return must(b.s.ListSessions(ctx(), b.account, mira.Principal, mira.Principal.PersonID))(t)[0].SeenAt
		}
		b.Clock.Advance(59 * time.Minute)
		must(b.whoami(mira.Secret))(t)
		if !seen().Equal(storetest.Start) {
			t.Errorf("noted at %s", seen())
		}
		b.Clock.Advance(time.Minute)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := b.whoami(mira.Secret); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if !seen().Equal(storetest.Start.Add(time.Hour)) {
			t.Errorf("noted at %s", seen())
		}
	})
}

// Another node on the same database learns of a revocation within CacheLife.
func TestAnotherNodeForgetsSoon(t *testing.T) {
	t.Parallel()
	db := storetest.OpenPostgres(t)
	b, mira := claimed(t, db)
	other := must(identity.New(options(t, db.Second(t), b.log)))(t)
	proof := identity.SessionProof(mira.Secret)
	must(other.Authenticate(ctx(), b.account, proof))(t)
	if err := b.s.SignOut(ctx(), b.account, mira.Principal); err != nil {
		t.Fatal(err)
	}
	_, err := b.s.Authenticate(ctx(), b.account, proof)
	want(t, "this node", err, fault.Unauthorized)
	b.Clock.Advance(identity.CacheLife)
	_, err = other.Authenticate(ctx(), b.account, proof)
	want(t, "the other node", err, fault.Unauthorized)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		who := func(s secret.String) (identity.Principal, error) {
			return b.s.Authenticate(ctx(), b.account, identity.TokenProof(s))
		}
		make := func(r identity.NewTokenRequest) (identity.Token, secret.String) {
			t.Helper()
			tok, s, err := b.s.CreateToken(ctx(), b.account, mira.Principal, r)
			if err != nil {
				t.Fatal(err)
			}
			return tok, s
		}
		full, fullSecret := make(identity.NewTokenRequest{Name: "laptop"})
		narrow, narrowSecret := make(identity.NewTokenRequest{Name: "graph", Narrowed: identity.Viewer, ExpiresAt: b.Clock.Now().Add(time.Hour)})
		if p := must(who(fullSecret))(t); p.Role != identity.Owner || p.Via != identity.ViaToken || p.TokenID != full.ID || p.PersonID != mira.Principal.PersonID {
			t.Errorf("full: %+v", p)
		}
		if p := must(who(narrowSecret))(t); p.Role != identity.Viewer {
			t.Errorf("narrow: %+v", p)
		}
		_, err := who(mira.Secret)
		want(t, "a session as a token", err, fault.Unauthorized)
		_, err = b.whoami(fullSecret)
		want(t, "a token as a session", err, fault.Unauthorized)
		b.Clock.Advance(time.Hour)
		_, err = who(narrowSecret)
		want(t, "an expired token", err, fault.Unauthorized)

		list := must(b.s.ListTokens(ctx(), b.account, mira.Principal, mira.Principal.PersonID))(t)
		if len(list) != 2 || list[0].ID != narrow.ID || list[0].Prefix == "" || list[1].LastUsedAt.IsZero() {
			t.Errorf("tokens: %+v", list)
		}
		p := must(who(fullSecret))(t)
		_, _, err = b.s.CreateToken(ctx(), b.account, p, identity.NewTokenRequest{Name: "child"})
		want(t, "a token makes a token", err, fault.Denied)
		jon := b.enrolled(t, identity.Machine(b.account), "jon", identity.Operator)
		_, _, err = b.s.CreateToken(ctx(), b.account, jon.Principal, identity.NewTokenRequest{Name: "up", Narrowed: identity.Owner})
		want(t, "a token above its person", err, fault.Invalid)
		_, _, err = b.s.CreateToken(ctx(), b.account, jon.Principal, identity.NewTokenRequest{Name: "late", ExpiresAt: b.Clock.Now()})
		want(t, "a token that is over", err, fault.Invalid)
		want(t, "another's token", b.s.RevokeToken(ctx(), b.account, jon.Principal, mira.Principal.PersonID, full.ID), fault.Denied)
		want(t, "another's token as one's own", b.s.RevokeToken(ctx(), b.account, jon.Principal, jon.Principal.PersonID, full.ID), fault.NotFound)
		if err := b.s.RevokeToken(ctx(), b.account, p, p.PersonID, full.ID); err != nil {
			t.Fatal(err)
		}
		_, err = who(fullSecret)
		want(t, "a revoked token, at once", err, fault.Unauthorized)
		want(t, "revoking again", b.s.RevokeToken(ctx(), b.account, p, p.PersonID, full.ID), fault.Conflict)

		// A token follows its person.
		_, jonSecret, err := b.s.CreateToken(ctx(), b.account, jon.Principal, identity.NewTokenRequest{Name: "jon"})
		if err != nil {
			t.Fatal(err)
		}
		must(who(jonSecret))(t)
		machine := identity.Machine(b.account)
		must(b.s.ChangePerson(ctx(), b.account, machine, jon.Principal.PersonID, identity.PersonChange{Role: ptr(identity.Viewer)}))(t)
		if p := must(who(jonSecret))(t); p.Role != identity.Viewer {
			t.Errorf("after the demotion: %s", p.Role)
		}
		must(b.s.ChangePerson(ctx(), b.account, machine, jon.Principal.PersonID, identity.PersonChange{State: ptr(identity.Disabled)}))(t)
		_, err = who(jonSecret)
		want(t, "a disabled person's token", err, fault.Unauthorized)
		for i := range 101 {
			_, _, err = b.s.CreateToken(ctx(), b.account, must(b.s.Local(ctx(), b.account, "mira"))(t), identity.NewTokenRequest{Name: fmt.Sprint(i)})
			if err != nil {
				break
			}
		}
		want(t, "too many tokens", err, fault.Limited)
	})
}

func TestVault(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		v := b.s.Vault()
		if err := v.Put(ctx(), b.account, mira.Principal, "mail.password", secret.New("canary-one")); err != nil {
			t.Fatal(err)
		}
		if err := v.Put(ctx(), b.account, mira.Principal, "mail.password", secret.New("canary-two")); err != nil {
			t.Fatal(err)
		}
		if got := must(v.Get(ctx(), b.account, "mail.password"))(t); got.Reveal() != "canary-two" || got.String() == "canary-two" {
			t.Errorf("got %s", got.Reveal())
		}
		list := must(v.List(ctx(), b.account, mira.Principal))(t)
		if len(list) != 1 || list[0].Name != "mail.password" || list[0].By != mira.Principal.By() {
			t.Errorf("list: %+v", list)
		}
		jon := b.enrolled(t, mira.Principal, "jon", identity.Operator)
		_, err := v.List(ctx(), b.account, jon.Principal)
		want(t, "an operator lists", err, fault.Denied)
		want(t, "an operator stores", v.Put(ctx(), b.account, jon.Principal, "x", secret.New("y")), fault.Denied)
		want(t, "a bad name", v.Put(ctx(), b.account, mira.Principal, "No Good", secret.New("y")), fault.Invalid)
		want(t, "an empty secret", v.Put(ctx(), b.account, mira.Principal, "x", secret.New("")), fault.Invalid)
		_, err = v.Get(ctx(), b.account, "nothing")
		want(t, "no such secret", err, fault.NotFound)

		// A sealed value that was moved to another name does not open.
		if err := b.Journal.Do(ctx(), b.account, func(tx event.Tx) error {
			sealed, _, err := identitydbStore().FindSecret(tx, "mail.password")
			if err != nil {
				return err
			}
			return identitydbStore().SaveSecret(tx, identity.VaultEntry{Name: "moved", CreatedAt: tx.Now(), UpdatedAt: tx.Now()}, sealed)
		}); err != nil {
			t.Fatal(err)
		}
		_, err = v.Get(ctx(), b.account, "moved")
		want(t, "a moved secret", err, fault.Corrupt)
		if err := v.Delete(ctx(), b.account, mira.Principal, "mail.password"); err != nil {
			t.Fatal(err)
		}
		want(t, "deleting again", v.Delete(ctx(), b.account, mira.Principal, "mail.password"), fault.NotFound)
		if n := count(t, b, func(p event.VaultChanged) bool { return p.Name == "mail.password" }); n != 3 {
			t.Errorf("%d events", n)
		}
		b.noneOf(t, []error{err}, "canary-one", "canary-two")
	})
}

// Nothing secret reaches an event, an error or the log (INV-12).
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b := setup(t, db)
	var errs []error
	link := must(b.s.NewSetupLink(ctx(), b.account))(t)
	claim := identity.Claim{Code: link.Code, Name: "Mira", SignIn: "mira"}
	_, err := b.s.ClaimWithPassword(ctx(), b.account, claim, secret.New("Password1234"))
	errs = append(errs, err)
	mira := must(b.s.ClaimWithPassword(ctx(), b.account, claim, secret.New(goodWords)))(t)
	_, err = b.s.ClaimWithPassword(ctx(), b.account, claim, secret.New(goodWords))
	errs = append(errs, err)
	_, err = b.s.SignIn(ctx(), b.account, "mira", secret.New("wrong-canary-battery"), identity.Client{})
	errs = append(errs, err)
	_, err = b.s.SignIn(ctx(), b.account, "password-in-the-name-field", secret.New("x"), identity.Client{Address: "192.0.2.77"})
	errs = append(errs, err)
	_, token, err := b.s.CreateToken(ctx(), b.account, mira.Principal, identity.NewTokenRequest{Name: "laptop"})
	errs = append(errs, err)
	a := newAuthenticator()
	c := must(b.s.BeginPasskey(ctx(), b.account, mira.Principal))(t)
	must(b.s.FinishPasskey(ctx(), b.account, mira.Principal, c.Token, a.create(t, c), "key"))(t)
	reset := must(b.s.NewResetLink(ctx(), b.account, mira.Principal, mira.Principal.PersonID))(t)
	_, err = b.s.ResetWithPassword(ctx(), b.account, reset.Code, secret.New("short"), identity.Client{})
	errs = append(errs, err)
	b.noneOf(t, errs, link.Code.Reveal(), goodWords, "Password1234", mira.Secret.Reveal(), "wrong-canary-battery",
		"password-in-the-name-field", "192.0.2.77", token.Reveal(), c.Token.Reveal(), reset.Code.Reveal(), "argon2id")
	for _, v := range []any{link, mira, token, claim, c} {
		if s := fmt.Sprintf("%v %+v %#v", v, v, v); containsAny(s, link.Code.Reveal(), mira.Secret.Reveal(), token.Reveal(), c.Token.Reveal()) {
			t.Errorf("%T prints its secret", v)
		}
	}
	_ = id.Nil
}
