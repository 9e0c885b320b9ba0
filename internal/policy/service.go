package policy

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Origins are the rights to publish that the service needs.
type Origins struct {
	// Policy says policy.*, approval.*, grant.*, autonomy.* and halt.*.
	Policy event.Origin
}

// Service is policy over rows and the journal. It is safe for concurrent use.
type Service struct {
	store   Store
	journal event.Journal
	people  People
	rewrite Rewrite
	starts  Starts
	origin  event.Origin

	mu     sync.Mutex
	tables map[tableKey]*Table // compiled documents, which never change; guarded by mu
}

type tableKey struct {
	account id.ID
	head    Head
}

const maxTables = 256

// Config is what a service is made of. All fields are required but Rewrite and
// Starts.
type Config struct {
	Store   Store
	Journal event.Journal
	People  People
	Rewrite Rewrite // nil: no call can be edited
	Starts  Starts  // nil: every actor starts at the account's dial
	Origins Origins
}

// Rewrite builds the call of an approval anew with other arguments: it checks
// them against the skill's schema and works out targets and recipients. The
// labels that it gives are those of the first call; policy marks what a person
// changed (MarkEdited). The owner of the asker's calls fills it (app/glue.go).
type Rewrite func(tx event.Tx, a Approval, arguments json.RawMessage) (Request, error)

// New returns the service.
func New(c Config) *Service {
	return &Service{store: c.Store, journal: c.Journal, people: c.People, rewrite: c.Rewrite, starts: c.Starts,
		origin: c.Origins.Policy, tables: map[tableKey]*Table{}}
}

// ErrUnreadable says that policy could not be read, so nothing may be done. It
// is fault.Unavailable; test for it with errors.Is.
var ErrUnreadable = errors.New("the policy cannot be read")

type unreadable struct{ cause error }

func (u *unreadable) Error() string   { return u.cause.Error() }
func (u *unreadable) Unwrap() []error { return []error{ErrUnreadable, u.cause} }

// closed turns a failure to read into a refusal.
func closed(err error) error {
	return fault.New(fault.Unavailable, "the policy cannot be read, so nothing is done: %w", &unreadable{err})
}

// table returns the compiled document in force.
func (s *Service) table(tx event.Tx) (*Table, error) {
	h, err := s.store.GetHead(tx)
	if err != nil {
		return nil, err
	}
	// The digest is in the key, so a version that was rolled back and given
	// again to another document cannot be mistaken for it.
	key := tableKey{tx.Account(), h}
	s.mu.Lock()
	t := s.tables[key]
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	if t, err = s.load(tx, h); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tables) >= maxTables {
		clear(s.tables)
	}
	s.tables[key] = t
	return t, nil
}

func (s *Service) load(tx event.Tx, h Head) (*Table, error) {
	v, err := s.store.GetVersion(tx, h.Version)
	if err != nil {
		return nil, err
	}
	if documentDigest(v.Document) != h.Digest {
		return nil, fault.New(fault.Corrupt, "policy version %d is not the one that was saved", h.Version)
	}
	var d Document
	if err := json.Unmarshal(v.Document, &d); err != nil {
		return nil, fault.New(fault.Corrupt, "read policy version %d: %w", h.Version, err)
	}
	return Compile(h.Version, d)
}

func documentDigest(canonical json.RawMessage) string {
	d := canon.Digest("witan/policy/1", canonical)
	return hex.EncodeToString(d[:])
}

// authorised refuses a person who may not do an owner's or an operator's act.
// It is what stands between a sentence of a model and a grant (INV-10): a
// method that gives authority takes a person and calls it.
func (s *Service) authorised(tx event.Tx, person id.ID) (owner bool, err error) {
	if person.IsZero() {
		return false, fault.New(fault.Denied, "only a person can do this").On("person")
	}
	role, err := s.people.RoleOf(tx, person)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, fault.New(fault.Denied, "only an active person of this account can do this").On("person")
	case err != nil:
		return false, err
	case role == "owner":
		return true, nil
	case role == "operator":
		return false, nil
	}
	return false, fault.New(fault.Denied, "a %s may not do this", role).On("person").WithFix("ask an owner or an operator")
}

// house is the label of what policy itself says without a cause. A person's
// own act carries byPerson.
func house() event.Label    { return event.NewLabel(event.House, event.AccountWide()) }
func byPerson() event.Label { return event.NewLabel(event.Person, event.AccountWide()) }

func principal(person id.ID) string { return "person:" + person.String() }
