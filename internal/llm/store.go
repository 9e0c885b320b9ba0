package llm

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Store keeps what package llm owns. Every method works in the transaction it is
// given, on its account only. Filled by store/llmdb.
type Store interface {
	// AddPrompt adds a number of a prompt; false if that number is taken.
	AddPrompt(tx event.Tx, v PromptVersion) (bool, error)
	// GetPrompt returns a number of a prompt, 0 for the newest; NotFound if there
	// is none.
	GetPrompt(tx event.Tx, name string, number int) (PromptVersion, error)
	// ListPrompts returns the newest number of every prompt, by name.
	ListPrompts(tx event.Tx) ([]PromptVersion, error)

	// LockSpends returns the rows of keys in their order, zero where there is
	// none, and keeps others from changing them until the transaction ends. The
	// keys come sorted, so that two callers cannot wait for each other.
	LockSpends(tx event.Tx, keys []SpendKey) ([]Spend, error)
	SaveSpends(tx event.Tx, rows []Spend) error
	// ListSpends returns the rows of a period, by scope.
	ListSpends(tx event.Tx, period string) ([]Spend, error)

	// AddCall adds a call; false if its id, or its key if it has one, is there.
	AddCall(tx event.Tx, r CallRecord) (bool, error)
	// LockCall returns a call and keeps others from changing it; NotFound.
	LockCall(tx event.Tx, call id.ID) (CallRecord, error)
	// FindCall returns the call of a key, if any.
	FindCall(tx event.Tx, key string) (CallRecord, bool, error)
	// SaveCall writes a call that LockCall returned.
	SaveCall(tx event.Tx, r CallRecord) error
	// ListCalls returns calls that were asked before a time, newest first.
	ListCalls(tx event.Tx, f CallFilter) ([]CallRecord, error)
	// GetEvent reads a committed event with its payload.
	GetEvent(tx event.Tx, e id.ID) (event.Event, error)

	// EnqueueCall makes leased work of a queued call; the others are the lease's.
	EnqueueCall(tx event.Tx, call id.ID, scope string, due time.Time) error
	ClaimCall(tx event.Tx, call id.ID) (event.Lease, error)
	GuardCall(tx event.Tx, l event.Lease) error
	FinishCall(tx event.Tx, l event.Lease) error
	ReleaseCall(tx event.Tx, l event.Lease, due time.Time) error
	// DBNow returns the database's clock, which decides when leased work is due.
	DBNow(tx event.Tx) (time.Time, error)
}

// PromptVersion is a saved prompt.
type PromptVersion struct {
	Prompt
	Number  int    // from 1
	By      string // principal
	Digest  string
	EventID id.ID
	At      time.Time
}

// CallFilter selects calls; zero fields select all.
type CallFilter struct {
	RunID  id.ID
	Agent  string
	Role   string
	Before time.Time
	Limit  int
}
