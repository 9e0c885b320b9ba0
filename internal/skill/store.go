package skill

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Store keeps the catalogue and the ledger. Every method works inside tx and
// on its account only.
type Store interface {
	// SaveEntry keeps a manifest by its hash; one that is there already stays.
	SaveEntry(tx event.Tx, e manifest.Entry) error
	// GetEntry returns a manifest by hash. NotFound if there is none, Corrupt if
	// it no longer matches its hash.
	GetEntry(tx event.Tx, hash string) (manifest.Entry, error)
	// AppendSnapshot adds the next number. Conflict if that number exists.
	AppendSnapshot(tx event.Tx, s manifest.Snapshot) error
	// GetSnapshot returns a number of the catalogue; NotFound if there is none.
	GetSnapshot(tx event.Tx, number int) (manifest.Snapshot, error)
	// GetHead returns the newest snapshot, number 0 if there is none yet.
	GetHead(tx event.Tx) (manifest.Snapshot, error)

	// AddEffect inserts a row and its first step. It reports false when the
	// key, the cause or the approval has a row already.
	AddEffect(tx event.Tx, e Effect, s Step) (added bool, err error)
	// GetEffect, FindByCause, FindByKey and FindByApproval return one row;
	// NotFound if there is none.
	GetEffect(tx event.Tx, effect id.ID) (Effect, error)
	FindByCause(tx event.Tx, invoke id.ID) (Effect, error)
	FindByKey(tx event.Tx, key string) (Effect, error)
	FindByApproval(tx event.Tx, approval id.ID) (Effect, error)
	// SaveEffect writes the changeable columns of e and appends a step, if the
	// row still has the state, version and at most the fence that are given:
	// otherwise fault.Stale. The row's version becomes version + 1.
	SaveEffect(tx event.Tx, e Effect, s Step, from State, version int64) error
	// ListEffects returns a page, newest first.
	ListEffects(tx event.Tx, f Filter) ([]Effect, error)
	// ListSteps returns the history of an effect, oldest first.
	ListSteps(tx event.Tx, effect id.ID) ([]Step, error)

	// GetEvent returns a committed event.
	GetEvent(tx event.Tx, e id.ID) (event.Event, error)
	// DBNow returns the database's clock.
	DBNow(tx event.Tx) (time.Time, error)

	// EnqueueEffect makes leased work of an effect, ready at due.
	EnqueueEffect(tx event.Tx, effect id.ID, scope string, due time.Time) error
	// ClaimEffect takes the lease; Stale if another has it, Halted if stopped.
	ClaimEffect(tx event.Tx, effect id.ID) (event.Lease, error)
	// GuardEffect refuses a stale lease.
	GuardEffect(tx event.Tx, l event.Lease) error
	// FinishEffect ends the work; ReleaseEffect makes it ready again at due.
	FinishEffect(tx event.Tx, l event.Lease) error
	ReleaseEffect(tx event.Tx, l event.Lease, due time.Time) error
	// Stopped reports whether one of at most two scopes, or the account, is halted.
	Stopped(tx event.Tx, scopes ...string) (scope string, stopped bool, err error)
	// WaitEffect puts the work to sleep; WakeEffect makes sleeping or held work
	// ready at due. The row stays, so that its fence goes on growing.
	WaitEffect(tx event.Tx, l event.Lease) error
	WakeEffect(tx event.Tx, effect id.ID, due time.Time) error
	// DropEffect removes the work whatever its state; a lease becomes stale.
	DropEffect(tx event.Tx, effect id.ID) error
}
