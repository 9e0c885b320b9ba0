package skilldb

import (
	_ "embed"
	"strings"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

const effectColumns = `id, cause_event_id, run_id, step, call_id, actor, requester, workspace_id, skill, manifest,
  catalogue, class, state, attempt, idem_key, call_digest, approval_id, edit_event_id, decision_id, result_id, fence, node_id,
  deadline_at, reason, was, settling, label, stream_id, created_at, changed_at, version`

var q = store.MustQueries(strings.ReplaceAll(sqlText, "COLS", effectColumns))

// Store implements skill.Store on the engine of the transaction it is given.
// It is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	items map[string][]manifest.Item // of snapshots, by digest; read-only once in; guarded by mu
}

var _ skill.Store = (*Store)(nil)

// New returns a store.
func New() *Store { return &Store{items: map[string][]manifest.Item{}} }

// GetEvent implements skill.Store.
func (*Store) GetEvent(tx event.Tx, e id.ID) (event.Event, error) { return store.GetEvent(tx, e) }

// DBNow implements skill.Store.
func (*Store) DBNow(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

// EnqueueEffect implements skill.Store.
func (*Store) EnqueueEffect(tx event.Tx, effect id.ID, scope string, due time.Time) error {
	return store.Enqueue(tx, event.WorkEffect, effect, scope, due)
}

// ClaimEffect implements skill.Store.
func (*Store) ClaimEffect(tx event.Tx, effect id.ID) (event.Lease, error) {
	return store.Claim(tx, event.WorkEffect, effect)
}

// GuardEffect implements skill.Store.
func (*Store) GuardEffect(tx event.Tx, l event.Lease) error { return store.Guard(tx, l) }

// FinishEffect implements skill.Store.
func (*Store) FinishEffect(tx event.Tx, l event.Lease) error { return store.Finish(tx, l) }

// ReleaseEffect implements skill.Store.
func (*Store) ReleaseEffect(tx event.Tx, l event.Lease, due time.Time) error {
	return store.Release(tx, l, due)
}

// WaitEffect implements skill.Store.
func (*Store) WaitEffect(tx event.Tx, l event.Lease) error { return store.Wait(tx, l) }

// WakeEffect implements skill.Store.
func (*Store) WakeEffect(tx event.Tx, effect id.ID, due time.Time) error {
	err := store.Unhold(tx, event.WorkEffect, effect, due)
	if fault.Is(err, fault.Conflict) { // it is not held, but sleeps
		return store.Wake(tx, event.WorkEffect, effect, due)
	}
	return err
}

// Stopped implements skill.Store.
func (*Store) Stopped(tx event.Tx, scopes ...string) (string, bool, error) {
	return store.Stopped(tx, scopes...)
}

// DropEffect implements skill.Store.
func (*Store) DropEffect(tx event.Tx, effect id.ID) error {
	return store.Drop(tx, event.WorkEffect, effect)
}
