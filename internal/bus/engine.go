package bus

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Engine is what bus needs of the store.
type Engine interface {
	event.Journal

	// GetEvent reads a committed event.
	GetEvent(tx event.Tx, e id.ID) (event.Event, error)
	DeferredAccounts(ctx context.Context) ([]id.ID, error)
	// NextDeferred lists reactions that may run now, in seq order: none that is
	// parked, and none behind a parked one of its subscriber and stream.
	NextDeferred(tx event.Tx, limit int) ([]Deferred, error)
	// DropDeferred removes a row that is about to be worked off; false if it is gone.
	DropDeferred(tx event.Tx, d Deferred) (bool, error)
	// FailDeferred counts a failure and reports whether the row is parked now.
	FailDeferred(tx event.Tx, d Deferred, kind, message string) (bool, error)
	// Unpark lets a parked stream go on; skip gives the failing event up.
	Unpark(tx event.Tx, subscriber string, stream id.ID, skip bool) error
	// Forget clears the router-first mark of a subscriber on a stream.
	Forget(subscriber string, stream id.ID)

	// Ready lists leased work that is due or orphaned, over all accounts.
	Ready(ctx context.Context, limit int) ([]event.Lease, error)
	// OnWork registers the hand-over of fresh work.
	OnWork(func([]event.Lease))

	// Strike counts a failure of work that this node tried and puts the next try
	// off by waits[n-1], or by nothing once they are used up. It returns how often
	// the work failed; 0 if it is not this node's to count.
	Strike(tx event.Tx, kind event.WorkKind, item id.ID, waits []time.Duration) (n int, err error)
	// Hold takes work out of the workers' hands until a person decides.
	Hold(tx event.Tx, kind event.WorkKind, item id.ID, reason string) error

	// DueTimers lists due timers and when the next one is due.
	DueTimers(ctx context.Context, limit int) (due []DueTimer, next, now time.Time, err error)
	// Fire turns a due timer into its event, exactly once.
	Fire(ctx context.Context, d DueTimer, o event.Origin) (bool, error)
	// TimerSet is signalled when a timer was set in this process.
	TimerSet() <-chan struct{}

	// Watch is woken when the account has new events.
	Watch(account id.ID) Watch
	// MarksAfter reads what a tail sends.
	MarksAfter(tx event.Tx, after int64, limit int) ([]Mark, error)
	// HeadOf returns the account's tip.
	HeadOf(tx event.Tx) (Tip, [32]byte, error)
}

// Deferred is a reaction that is left to the router.
type Deferred struct {
	Account    id.ID
	Seq        int64
	Subscriber string
	Stream     id.ID
	Event      id.ID
	Tries      int
	Parked     bool
	ErrorKind  string
	Error      string
}

// DueTimer is a timer whose moment has come.
type DueTimer struct {
	Account id.ID
	Kind    string
	Key     string
	DueAt   time.Time
}

// Tip is the last event of an account: its epoch and seq.
type Tip struct{ Epoch, Seq int64 }

// Watch is a subscription to an account's commits.
type Watch interface {
	// Wake has one pending wake-up at the most; it is closed when the store closes.
	Wake() <-chan struct{}
	// Take returns the tip as last heard of, and the marks of the commits since
	// the last Take. whole is false when some may be missing: another node's, or
	// more than are kept. Then the journal has them.
	Take() (tip Tip, marks []Mark, whole bool)
	// Stop ends the subscription.
	Stop()
}

// Mark is what a tail sends of an event: enough to know what to read again.
type Mark struct {
	Seq         int64
	ID          id.ID
	Type        event.Type
	Stream      id.ID
	Correlation id.ID
}
