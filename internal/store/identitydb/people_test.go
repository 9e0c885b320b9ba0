package identitydb_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store/identitydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, identitydb.Queries())
}

func ptr[T any](v T) *T { return &v }

func TestThereIsAlwaysAnOwner(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		owners := []identity.Principal{mira.Principal}
		for _, n := range []string{"jon", "ada", "bo"} {
			owners = append(owners, b.enrolled(t, mira.Principal, n, identity.Owner).Principal)
		}
		// Each owner demotes or disables the next, all at once: somebody is left.
		var refused atomic.Int32
		var wg sync.WaitGroup
		for i, p := range owners {
			c := identity.PersonChange{Role: ptr(identity.Viewer)}
			if i%2 == 0 {
				c = identity.PersonChange{State: ptr(identity.Disabled)}
			}
			wg.Go(func() {
				_, err := b.s.ChangePerson(ctx(), b.account, p, owners[(i+1)%len(owners)].PersonID, c)
				if fault.Is(err, fault.Conflict) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		left := 0
		for _, p := range must(b.s.ListPeople(ctx(), b.account, identity.Machine(b.account)))(t) {
			if p.Role == identity.Owner && p.State == identity.Active {
				left++
			}
		}
		if left != 1 || refused.Load() != 1 {
			t.Errorf("%d active owners are left, %d changes were refused", left, refused.Load())
		}
	})
}

// Whatever sequence of changes owners make, an active owner remains, and each
// accepted change has its event.
func TestLastOwnerProperty(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b, mira := claimed(t, db)
	machine := identity.Machine(b.account)
	people := []id.ID{mira.Principal.PersonID}
	for _, n := range []string{"jon", "ada"} {
		p, _, err := b.s.CreatePerson(ctx(), b.account, machine, identity.NewPerson{Name: n, SignIn: n, Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		people = append(people, p.ID)
	}
	rapid.Check(t, func(rt *rapid.T) {
		before := len(b.events(t))
		accepted := 0
		for range rapid.IntRange(1, 8).Draw(rt, "changes") {
			c := identity.PersonChange{}
			if rapid.Bool().Draw(rt, "state") {
				c.State = ptr(rapid.SampledFrom([]identity.State{identity.Active, identity.Disabled}).Draw(rt, "to"))
			} else {
				c.Role = ptr(rapid.SampledFrom(identity.Roles()).Draw(rt, "to"))
			}
			who := rapid.SampledFrom(people).Draw(rt, "who")
			was := person(t, b, who)
			now, err := b.s.ChangePerson(ctx(), b.account, machine, who, c)
			switch {
			case fault.Is(err, fault.Conflict):
			case err != nil:
				rt.Fatal(err)
			case now.Version != was.Version:
				accepted++
			}
			owners := 0
			for _, p := range must(b.s.ListPeople(ctx(), b.account, machine))(t) {
				if p.Role == identity.Owner && p.State == identity.Active {
					owners++
				}
			}
			if owners == 0 {
				rt.Fatal("nobody owns the account")
			}
		}
		saved := 0
		for _, e := range b.events(t)[before:] {
			if _, ok := e.Payload.(event.PersonSaved); ok {
				saved++
			}
		}
		if saved != accepted {
			rt.Fatalf("%d changes, %d events", accepted, saved)
		}
	})
}

func person(t testing.TB, b *bundle, who id.ID) identity.Person {
	t.Helper()
	for _, p := range must(b.s.ListPeople(ctx(), b.account, identity.Machine(b.account)))(t) {
		if p.ID == who {
			return p
		}
	}
	t.Fatalf("nobody is %s", who)
	return identity.Person{}
}

func TestPeopleAreManagedByOwners(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		jon := b.enrolled(t, mira.Principal, "jon", identity.Operator)
		_, _, err := b.s.CreatePerson(ctx(), b.account, jon.Principal, identity.NewPerson{Name: "x", SignIn: "x", Role: identity.Viewer})
		want(t, "an operator makes people", err, fault.Denied)
		_, err = b.s.ChangePerson(ctx(), b.account, jon.Principal, jon.Principal.PersonID, identity.PersonChange{Role: ptr(identity.Owner)})
		want(t, "an operator makes himself owner", err, fault.Denied)
		_, err = b.s.ChangePerson(ctx(), b.account, jon.Principal, mira.Principal.PersonID, identity.PersonChange{Name: ptr("x")})
		want(t, "an operator renames an owner", err, fault.Denied)
		if p := must(b.s.ChangePerson(ctx(), b.account, jon.Principal, jon.Principal.PersonID, identity.PersonChange{Name: ptr(" Jón ")}))(t); p.Name != "Jón" {
			t.Errorf("renamed to %q", p.Name)
		}
		_, _, err = b.s.CreatePerson(ctx(), b.account, mira.Principal, identity.NewPerson{Name: "x", SignIn: " JON ", Role: identity.Viewer})
		want(t, "a taken name in another form", err, fault.Conflict)
		_, err = b.s.ChangePerson(ctx(), b.account, mira.Principal, jon.Principal.PersonID, identity.PersonChange{SignIn: ptr("Mira")})
		want(t, "renaming to a taken name", err, fault.Conflict)
		_, err = b.s.ChangePerson(ctx(), b.account, mira.Principal, jon.Principal.PersonID, identity.PersonChange{Name: ptr("y"), Version: 1})
		want(t, "changing an older version", err, fault.Stale)

		b.Clock.Advance(identity.StepUpWindow + time.Second)
		_, err = b.s.ChangePerson(ctx(), b.account, mira.Principal, jon.Principal.PersonID, identity.PersonChange{Role: ptr(identity.Viewer)})
		want(t, "an owner who signed in long ago", err, fault.Denied)
		mira.Principal = must(b.s.VerifyPassword(ctx(), b.account, mira.Principal, secret.New(goodWords), identity.Client{}))(t)
		must(b.s.ChangePerson(ctx(), b.account, mira.Principal, jon.Principal.PersonID, identity.PersonChange{Role: ptr(identity.Viewer)}))(t)
		if p := must(b.whoami(jon.Secret))(t); p.Role != identity.Viewer {
			t.Errorf("jon is still %s", p.Role)
		}
		must(b.s.ChangePerson(ctx(), b.account, mira.Principal, jon.Principal.PersonID, identity.PersonChange{State: ptr(identity.Disabled)}))(t)
		_, err = b.whoami(jon.Secret)
		want(t, "a disabled person's session", err, fault.Unauthorized)
		_, err = b.s.NewResetLink(ctx(), b.account, mira.Principal, jon.Principal.PersonID)
		want(t, "a reset link for a disabled person", err, fault.Conflict)
		if n := count(t, b, func(p event.SessionChanged) bool { return p.How == "disabled" }); n != 1 {
			t.Errorf("%d sessions ended by disabling", n)
		}
	})
}

func TestResetLinkWorksOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		machine := identity.Machine(b.account)
		found := must(b.s.FindPerson(ctx(), b.account, machine, "MIRA"))(t)
		old := must(b.s.NewResetLink(ctx(), b.account, machine, found.ID))(t)
		link := must(b.s.NewResetLink(ctx(), b.account, machine, found.ID))(t)
		_, err := b.s.ResetWithPassword(ctx(), b.account, old.Code, secret.New("another donkey battery"), identity.Client{})
		want(t, "the older link", err, fault.Unauthorized)
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				_, err := b.s.ResetWithPassword(ctx(), b.account, link.Code, secret.New("another donkey battery"), identity.Client{})
				if err == nil {
					won.Add(1)
				} else if !fault.Is(err, fault.Unauthorized) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("the link worked %d times", won.Load())
		}
		_, err = b.whoami(mira.Secret)
		want(t, "the session from before the reset", err, fault.Unauthorized)
		_, err = b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{})
		want(t, "the old password", err, fault.Unauthorized)
		must(b.s.SignIn(ctx(), b.account, "mira", secret.New("another donkey battery"), identity.Client{}))(t)

		link = must(b.s.NewResetLink(ctx(), b.account, machine, found.ID))(t)
		b.Clock.Advance(identity.ResetLife)
		_, err = b.s.ResetWithPassword(ctx(), b.account, link.Code, secret.New(goodWords), identity.Client{})
		want(t, "a link of an hour ago", err, fault.Unauthorized)
	})
}

func TestLocalActsForThePerson(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b := setup(t, db)
	if p := must(b.s.Local(ctx(), b.account, ""))(t); !p.PersonID.IsZero() || p.By() != "machine" {
		t.Errorf("before setup: %+v", p)
	}
	link := must(b.s.NewSetupLink(ctx(), b.account))(t)
	mira := must(b.s.ClaimWithPassword(ctx(), b.account, identity.Claim{Code: link.Code, Name: "Mira", SignIn: "mira"}, secret.New(goodWords)))(t)
	if p := must(b.s.Local(ctx(), b.account, ""))(t); p.PersonID != mira.Principal.PersonID || p.Via != identity.ViaMachine {
		t.Errorf("the only owner: %+v", p)
	}
	jon := b.enrolled(t, mira.Principal, "jon", identity.Owner)
	_, err := b.s.Local(ctx(), b.account, "")
	want(t, "two owners", err, fault.Invalid)
	if p := must(b.s.Local(ctx(), b.account, "Jon"))(t); p.PersonID != jon.Principal.PersonID {
		t.Errorf("jon: %+v", p)
	}
	_, err = b.s.Local(ctx(), b.account, "nobody")
	want(t, "nobody", err, fault.NotFound)
}
