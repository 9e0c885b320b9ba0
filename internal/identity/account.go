package identity

import (
	"context"
	"regexp"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Account is the tenancy boundary. Handle is its name in settings, Name is shown.
type Account struct {
	ID            id.ID
	Handle        string
	Name          string
	CreatedAt     time.Time
	SetupClosedAt time.Time // zero until the first owner came in
}

// DefaultHandle is the handle of the one account of a fresh installation.
const DefaultHandle = "default"

var handleForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// EnsureAccount returns the account with a handle, and makes it on the first
// start: its first event is account.created. Any number of nodes may call it at
// once; one of them makes the account.
func (s *Service) EnsureAccount(ctx context.Context, handle, name string) (a Account, created bool, err error) {
	if !handleForm.MatchString(handle) {
		return Account{}, false, fault.New(fault.Invalid, "%q is not an account handle", handle).On("handle").
			WithFix("use lower-case letters, digits and dashes")
	}
	if name, err = cleanName(name, "name"); err != nil {
		return Account{}, false, err
	}
	fresh := s.ids.New()
	find := func() (Account, bool, error) {
		var have Account
		var found bool
		err := s.journal.View(ctx, fresh, func(tx event.Tx) (err error) {
			have, found, err = s.store.FindAccount(tx, handle)
			return err
		})
		return have, found, err
	}
	if have, found, err := find(); err != nil || found {
		return have, false, err
	}
	err = s.journal.Do(ctx, fresh, func(tx event.Tx) error {
		a = Account{ID: fresh, Handle: handle, Name: name, CreatedAt: tx.Now()}
		ok, err := s.store.AddAccount(tx, a)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Conflict, "the account %s exists", handle)
		}
		return s.emit(tx, event.AccountCreated{Name: name}, fresh, house(), "The account began.")
	})
	if fault.Is(err, fault.Conflict) { // another node was faster
		have, found, err := find()
		if err == nil && !found {
			err = fault.New(fault.Unavailable, "the account %s is being made; try again", handle)
		}
		return have, false, err
	}
	return a, err == nil, err
}

// GetAccount returns an account; NotFound if there is none with this id.
func (s *Service) GetAccount(ctx context.Context, account id.ID) (Account, error) {
	return view(ctx, s, account, s.store.GetAccount)
}

// ListAccounts returns all accounts, oldest first. It is for start-up and for
// the machine; no route calls it.
func (s *Service) ListAccounts(ctx context.Context) ([]Account, error) {
	return view(ctx, s, s.ids.New(), s.store.ListAccounts)
}
