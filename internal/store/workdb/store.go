package workdb

import (
	_ "embed"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/work"
)

//go:embed queries.sql
var sqlText string

const (
	documentColumns = `d.id, d.path, r.revision, r.digest, r.size, r.written_by, r.at, r.event_id, r.subject_id, r.label`
	reminderColumns = `id, due_at, body, state, run_id, thread_id, channel, requester, agent, label, subject_id, event_id, correlation_id, created_at`
)

var q = store.MustQueries(strings.NewReplacer("DOC", documentColumns, "REM", reminderColumns).Replace(sqlText))

// Store implements the stores of package work.
type Store struct{}

var (
	_ work.PanoStore     = (*Store)(nil)
	_ work.ReminderStore = (*Store)(nil)
)

// New returns a store.
func New() *Store { return &Store{} }

// DBNow implements work.ReminderStore.
func (*Store) DBNow(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

// SetTimer implements work.ReminderStore.
func (*Store) SetTimer(tx event.Tx, key string, at time.Time) error {
	return store.SetTimer(tx, work.TimerReminder, key, at)
}

// CancelTimer implements work.ReminderStore.
func (*Store) CancelTimer(tx event.Tx, key string) error {
	return store.CancelTimer(tx, work.TimerReminder, key)
}
