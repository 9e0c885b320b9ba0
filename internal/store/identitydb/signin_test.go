package identitydb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store/storetest"
)

// answer is all that somebody outside sees of a refused sign-in.
func answer(t *testing.T, err error) string {
	t.Helper()
	var e *identity.SignInError
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	msg, field, fix := fault.Public(err)
	return fmt.Sprintf("%s | %s | %s | %s | %d | %s", fault.KindOf(err), msg, field, fix, e.Left, e.Until.Format(time.RFC3339))
}

func TestSignInTellsNobodyWhoExists(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		b.enrolled(t, mira.Principal, "jon", identity.Viewer)
		p := must(b.s.FindPerson(ctx(), b.account, mira.Principal, "jon"))(t)
		must(b.s.ChangePerson(ctx(), b.account, mira.Principal, p.ID, identity.PersonChange{State: ptr(identity.Disabled)}))(t)
		_, _, err := b.s.CreatePerson(ctx(), b.account, mira.Principal, identity.NewPerson{Name: "Ada", SignIn: "ada", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		// A wrong password, no such person, a name that is no name, a disabled
		// person with the right password, a person without any password.
		var got [5][]string
		for i, c := range []struct{ name, password string }{
			{"mira", "wrong donkey battery"}, {"nobody", "wrong donkey battery"}, {"no name / at all", "wrong donkey battery"}, {"jon", goodWords}, {"ada", ""},
		} {
			for try := range 6 {
				client := identity.Client{Address: fmt.Sprintf("192.0.2.%d", i+1)}
				_, err := b.s.SignIn(ctx(), b.account, c.name, secret.New(c.password), client)
				got[i] = append(got[i], answer(t, err))
				if try == 4 {
					want(t, "the last free try", err, fault.Unauthorized)
				}
				if try == 5 {
					want(t, "a try in the lock", err, fault.Limited)
				}
			}
		}
		for i := range got {
			if d := cmp.Diff(got[0], got[i]); d != "" {
				t.Errorf("case %d answers otherwise: %s", i, d)
			}
		}
		if !strings.Contains(got[0][0], "4 tries are left") || !strings.Contains(got[0][3], "1 try is left") || !strings.Contains(got[0][4], "wait 30 seconds") {
			t.Errorf("answers:\n%s", strings.Join(got[0], "\n"))
		}
		reasons := map[string]int{}
		names := map[string]int{}
		for _, e := range b.events(t) {
			if p, ok := e.Payload.(event.SignInRefused); ok {
				reasons[p.Reason]++
				names[p.SignIn]++
			}
		}
		if d := cmp.Diff(map[string]int{"wrong": 16, "limited": 4, "disabled": 5}, reasons); d != "" {
			t.Errorf("refusals recorded: %s", d)
		}
		if d := cmp.Diff(map[string]int{"mira": 5, "jon": 5, "ada": 5, "": 10}, names); d != "" {
			t.Errorf("names recorded: %s", d)
		}
	})
}

func TestLockEndsAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, _ := claimed(t, db)
		try := func(name, address, password string) error {
			_, err := b.s.SignIn(ctx(), b.account, name, secret.New(password), identity.Client{Address: address})
			return err
		}
		for range 5 {
			want(t, "a wrong password", try("mira", "192.0.2.1", "x"), fault.Unauthorized)
		}
		b.Reopen(t)
		b.s = must(identity.New(options(t, b.DB, b.log)))(t)
		want(t, "the right password in the lock, after a restart", try("MIRA", "192.0.2.9", goodWords), fault.Limited)
		b.Clock.Advance(29 * time.Second)
		want(t, "one second before the end", try("mira", "192.0.2.9", goodWords), fault.Limited)
		b.Clock.Advance(time.Second)
		want(t, "a wrong password after the lock", try("mira", "192.0.2.9", "x"), fault.Unauthorized)
		b.Clock.Advance(59 * time.Second)
		want(t, "the second lock is twice as long", try("mira", "192.0.2.9", goodWords), fault.Limited)
		b.Clock.Advance(time.Second)
		if err := try("mira", "192.0.2.9", goodWords); err != nil {
			t.Fatal(err)
		}
		var e *identity.SignInError
		if err := try("mira", "192.0.2.1", "x"); !errors.As(err, &e) || e.Left != 4 {
			t.Errorf("after a good sign-in: %v", err)
		}

		// A source that tries many names is locked whatever the names are.
		for i := range 20 {
			want(t, "another name", try(fmt.Sprintf("n%d", i), "2001:db8::1", "x"), fault.Unauthorized)
		}
		want(t, "the same household", try("mira", "[2001:db8::2]:99", goodWords), fault.Limited)
		if err := try("mira", "192.0.2.9", goodWords); err != nil {
			t.Errorf("somebody else's lock holds for all: %v", err)
		}
	})
}

// Tries that run at the same time cannot share one: of 16 guesses at once, the
// five free ones are looked at and no more.
func TestTriesAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, _ := claimed(t, db)
		var looked, locked atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := b.s.SignIn(ctx(), b.account, "mira", secret.New("wrong"), identity.Client{Address: fmt.Sprintf("192.0.2.%d", i)})
				switch {
				case fault.Is(err, fault.Unauthorized):
					looked.Add(1)
				case fault.Is(err, fault.Limited):
					locked.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if looked.Load() != 5 || locked.Load() != 11 {
			t.Errorf("%d guesses were looked at, %d met the lock", looked.Load(), locked.Load())
		}
	})
}

// A try whose password was never looked at costs nothing.
func TestATryThatWasNotLookedAtIsGivenBack(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	b, _ := claimed(t, db)
	o := options(t, db, b.log)
	gone := &leaver{Journal: db.Journal}
	o.Journal = gone
	b.s = must(identity.New(o))(t)
	for range 10 {
		c, cancel := context.WithCancel(ctx())
		gone.after = cancel // the caller leaves once the try is counted
		_, err := b.s.SignIn(c, b.account, "mira", secret.New("wrong"), identity.Client{})
		want(t, "a caller that left", err, fault.Cancelled)
	}
	must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{}))(t)
}

// leaver runs after once the next transaction is done.
type leaver struct {
	event.Journal
	after func()
}

func (l *leaver) Do(ctx context.Context, account id.ID, f func(tx event.Tx) error) error {
	err := l.Journal.Do(ctx, account, f)
	if l.after != nil {
		l.after()
		l.after = nil
	}
	return err
}

func TestSignInRenewsAnOldHash(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		read := func() string {
			var phc string
			if err := b.Journal.View(ctx(), b.account, func(tx event.Tx) (err error) {
				phc, _, err = identitydbStore().FindPassword(tx, mira.Principal.PersonID)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return phc
		}
		before := read()
		o := options(t, db, b.log)
		o.Hash.Passes = 2
		b.s = must(identity.New(o))(t)
		must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{}))(t)
		after := read()
		if before == after || !strings.Contains(after, "t=2") {
			t.Errorf("the hash stayed %s", after)
		}
		must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{}))(t)
		if read() != after {
			t.Error("a hash of today was made anew")
		}
	})
}

func TestPasswordChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b, mira := claimed(t, db)
		second := must(b.s.SignIn(ctx(), b.account, "mira", secret.New(goodWords), identity.Client{}))(t)
		must(b.whoami(second.Secret))(t) // it is in the cache now
		want(t, "a weak one", b.s.SetPassword(ctx(), b.account, mira.Principal, secret.New("miramiramira")), fault.Invalid)
		want(t, "the last way in", b.s.RemovePassword(ctx(), b.account, mira.Principal), fault.Conflict)
		if err := b.s.SetPassword(ctx(), b.account, mira.Principal, secret.New("another donkey battery")); err != nil {
			t.Fatal(err)
		}
		must(b.whoami(mira.Secret))(t)
		_, err := b.whoami(second.Secret)
		want(t, "the other session", err, fault.Unauthorized)
		_, err = b.s.VerifyPassword(ctx(), b.account, mira.Principal, secret.New(goodWords), identity.Client{})
		want(t, "step-up with the old one", err, fault.Unauthorized)
		b.Clock.Advance(identity.StepUpWindow + time.Second)
		err = b.s.SetPassword(ctx(), b.account, mira.Principal, secret.New("a third donkey battery"))
		if !errors.Is(err, identity.ErrStepUp) {
			t.Errorf("a stale session changes the password: %v", err)
		}
		fresh := must(b.s.VerifyPassword(ctx(), b.account, mira.Principal, secret.New("another donkey battery"), identity.Client{}))(t)
		if got := must(b.whoami(mira.Secret))(t); !got.VerifiedAt.Equal(fresh.VerifiedAt) || !got.FreshAt(b.Clock.Now()) {
			t.Errorf("the session was verified at %s", got.VerifiedAt)
		}
	})
}
