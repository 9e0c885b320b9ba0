package identitydb_test

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestFirstStartMakesOneAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := &bundle{DB: db, log: &bytes.Buffer{}}
		b.s = must(identity.New(options(t, db, b.log)))(t)
		var made atomic.Int32
		ids := make([]id.ID, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				a, created, err := b.s.EnsureAccount(ctx(), "default", "Halden")
				if err != nil {
					t.Error(err)
				}
				if created {
					made.Add(1)
				}
				ids[i] = a.ID
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Errorf("%d accounts were made", made.Load())
		}
		for _, x := range ids {
			if x != ids[0] || x.IsZero() {
				t.Fatalf("the nodes disagree: %v", ids)
			}
		}
		b.account = ids[0]
		all := must(b.s.ListAccounts(ctx()))(t)
		if len(all) != 1 || all[0].Name != "Halden" || !all[0].CreatedAt.Equal(storetest.Start) {
			t.Errorf("accounts: %+v", all)
		}
		evs := b.events(t)
		if len(evs) != 1 || evs[0].Type != "account.created" || evs[0].Seq != 1 {
			t.Errorf("the journal begins with %+v", evs)
		}
		_, _, err := b.s.EnsureAccount(ctx(), "No Good", "x")
		want(t, "a bad handle", err, fault.Invalid)
	})
}

func TestSetupHappensOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		old := must(b.s.NewSetupLink(ctx(), b.account))(t)
		link := must(b.s.NewSetupLink(ctx(), b.account))(t)
		if !strings.HasPrefix(link.URL(publicURL+"/"), "http://localhost:7420/setup?code=") || !link.ExpiresAt.Equal(storetest.Start.Add(24*time.Hour)) {
			t.Errorf("link %s until %s", link.URL(publicURL), link.ExpiresAt)
		}
		_, err := b.s.LookLink(ctx(), b.account, identity.LinkSetup, old.Code)
		want(t, "the older link", err, fault.Unauthorized)
		_, err = b.s.LookLink(ctx(), b.account, identity.LinkReset, link.Code)
		want(t, "a setup code as a reset code", err, fault.Unauthorized)
		info := must(b.s.LookLink(ctx(), b.account, identity.LinkSetup, link.Code))(t)
		if !info.ExpiresAt.Equal(link.ExpiresAt) {
			t.Errorf("info %+v", info)
		}

		// Everybody has the link; one becomes the owner.
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := b.s.ClaimWithPassword(ctx(), b.account, identity.Claim{Code: link.Code, Name: "Mira",
					SignIn: "mira" + string(rune('a'+i))}, secret.New(goodWords))
				switch {
				case err == nil:
					won.Add(1)
				case !fault.Is(err, fault.Unauthorized) && !fault.Is(err, fault.Conflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d owners came in by one link", won.Load())
		}
		people := must(b.s.ListPeople(ctx(), b.account, identity.Machine(b.account)))(t)
		if len(people) != 1 || people[0].Role != identity.Owner {
			t.Errorf("people: %+v", people)
		}
		_, err = b.s.NewSetupLink(ctx(), b.account)
		want(t, "another setup link", err, fault.Conflict)
		_, err = b.s.ClaimWithPassword(ctx(), b.account, identity.Claim{Code: link.Code, Name: "Eve", SignIn: "eve"}, secret.New(goodWords))
		want(t, "the used link", err, fault.Conflict)
		a := must(b.s.GetAccount(ctx(), b.account))(t)
		if a.SetupClosedAt.IsZero() {
			t.Error("setup is open")
		}
	})
}

func TestSetupLinkEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		link := must(b.s.NewSetupLink(ctx(), b.account))(t)
		claim := identity.Claim{Code: link.Code, Name: "Mira", SignIn: "mira"}
		_, err := b.s.ClaimWithPassword(ctx(), b.account, identity.Claim{Code: link.Code, Name: "", SignIn: "mira"}, secret.New(goodWords))
		want(t, "no name", err, fault.Invalid)
		_, err = b.s.ClaimWithPassword(ctx(), b.account, claim, secret.New("password12"))
		want(t, "a weak password", err, fault.Invalid)
		b.Clock.Advance(identity.SetupLife)
		_, err = b.s.ClaimWithPassword(ctx(), b.account, claim, secret.New(goodWords))
		want(t, "a link of yesterday", err, fault.Unauthorized)
		claim.Code = must(b.s.NewSetupLink(ctx(), b.account))(t).Code
		b.Clock.Advance(identity.SetupLife - time.Microsecond)
		in := must(b.s.ClaimWithPassword(ctx(), b.account, claim, secret.New(goodWords)))(t)
		if p := must(b.whoami(in.Secret))(t); p.Role != identity.Owner || p.SignIn != "mira" || p.Via != identity.ViaSession {
			t.Errorf("signed in as %+v", p)
		}
	})
}

func TestAnOwnerMadeOnTheMachineClosesSetup(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		link := must(b.s.NewSetupLink(ctx(), b.account))(t)
		_, _, err := b.s.CreatePerson(ctx(), b.account, identity.Machine(b.account), identity.NewPerson{Name: "Mira", SignIn: "mira", Role: identity.Owner})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.s.ClaimWithPassword(ctx(), b.account, identity.Claim{Code: link.Code, Name: "Eve", SignIn: "eve"}, secret.New(goodWords))
		want(t, "the setup link", err, fault.Conflict)
	})
}

func TestAccountsAreStrangers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, owner := claimed(t, db)
		other, created, err := b.s.EnsureAccount(ctx(), "other", "Other")
		if err != nil || !created {
			t.Fatal(err)
		}
		_, err = b.s.Authenticate(ctx(), other.ID, identity.SessionProof(owner.Secret))
		want(t, "a session of another account", err, fault.Unauthorized)
		_, err = b.s.ListPeople(ctx(), other.ID, owner.Principal)
		want(t, "a principal of another account", err, fault.Denied)
		_, err = b.s.SignIn(ctx(), other.ID, "mira", secret.New(goodWords), identity.Client{})
		want(t, "a password of another account", err, fault.Unauthorized)
		if n := count(t, b, func(event.SessionChanged) bool { return true }); n != 1 {
			t.Errorf("%d session events", n)
		}
	})
}
