package agent

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Version is one stored definition.
type Version struct {
	Agent   string
	Number  int // from 1
	Digest  string
	YAML    string
	EventID id.ID
	At      time.Time
}

// Store keeps what package agent owns. Every method works in the transaction it
// is given; Get and Lock give NotFound for what is not there or is another
// account's. Filled by store/agentdb.
type Store interface {
	// AddVersion adds a definition; false if that number of that agent exists.
	AddVersion(tx event.Tx, v Version) (bool, error)
	// CurrentVersion returns the newest definition of an agent.
	CurrentVersion(tx event.Tx, agent string) (Version, error)
	GetVersion(tx event.Tx, agent string, number int) (Version, error)
	// ListCurrent returns the newest definition of every agent, by name.
	ListCurrent(tx event.Tx) ([]Version, error)

	// LockThread returns a thread, made if it is new, and keeps others from
	// changing it until the transaction ends.
	LockThread(tx event.Tx, thread id.ID) (Thread, error)
	GetThread(tx event.Tx, thread id.ID) (Thread, error)
	SaveThread(tx event.Tx, t Thread) error
	// ListThreads returns threads, last changed first, changed before a time.
	ListThreads(tx event.Tx, before time.Time, limit int) ([]Thread, error)

	// AppendTurn adds a turn; one for the same event and role is there only once.
	AppendTurn(tx event.Tx, t Turn) error
	// LoadTurns returns the turns with these ids, in this order; NotFound names
	// one that is missing.
	LoadTurns(tx event.Tx, thread id.ID, ids []id.ID) ([]Turn, error)
	// LoadOpen returns the turns of a thread that no summary stands for.
	LoadOpen(tx event.Tx, thread id.ID, folded int) ([]Turn, error)
	// ListTurns returns turns with Seq below before, newest first.
	ListTurns(tx event.Tx, thread id.ID, before, limit int) ([]Turn, error)

	AddRun(tx event.Tx, r Run) error
	GetRun(tx event.Tx, run id.ID) (Run, error)
	// LockRun is GetRun, and keeps others from changing it.
	LockRun(tx event.Tx, run id.ID) (Run, error)
	SaveRun(tx event.Tx, r Run) error
	// FindQueued returns the queued run of a thread that comes next, if any.
	FindQueued(tx event.Tx, thread id.ID) (Run, bool, error)
	// ListRuns returns the runs of a thread with Ord below before, newest first.
	ListRuns(tx event.Tx, thread id.ID, before, limit int) ([]Run, error)
	// ListResting returns runs that wait for a model, oldest first.
	ListResting(tx event.Tx, limit int) ([]Run, error)
	// ListUnfinished returns runs that are not finished, oldest first.
	ListUnfinished(tx event.Tx, limit int) ([]Run, error)

	AppendRecord(tx event.Tx, r Record) error
	// LoadRecords returns the lines of a run's log in the order of N, without
	// their events.
	LoadRecords(tx event.Tx, run id.ID) ([]Record, error)
	// GetEvent reads a committed event with its payload.
	GetEvent(tx event.Tx, e id.ID) (event.Event, error)

	// EnqueueRun makes a run leased work that is due now.
	EnqueueRun(tx event.Tx, r Run) error
	// ClaimRun takes the lease: Stale if it is another's, Halted if stopped.
	ClaimRun(tx event.Tx, run id.ID) (event.Lease, error)
	// Guard refuses a stale lease; Finish, Release and Sleep end it.
	Guard(tx event.Tx, l event.Lease) error
	Finish(tx event.Tx, l event.Lease) error
	Release(tx event.Tx, l event.Lease, due time.Time) error
	Sleep(tx event.Tx, l event.Lease) error
	// WakeRun ends a sleep; it does nothing to a run that is awake or done.
	WakeRun(tx event.Tx, run id.ID) error
	// Halted reports whether a stop covers the lease's scope.
	Halted(tx event.Tx, scope string) (bool, error)
	// Now is the database's clock.
	Now(tx event.Tx) (time.Time, error)
}
