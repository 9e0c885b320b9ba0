package workdb

import (
	_ "embed"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/work"
)

//go:embed queries.sql
var sqlText string

//go:embed work.sql
var workText string

const (
	documentColumns = `d.id, d.path, r.revision, r.digest, r.size, r.written_by, r.at, r.event_id, r.subject_id, r.label`
	reminderColumns = `id, due_at, body, state, run_id, thread_id, channel, requester, agent, label, subject_id, event_id, correlation_id, created_at`

	workspaceColumns = `id, prefix, name, description, learning_note, allow_all, resident, token_digest, token_last, token_at, created_by, label,
  created_at, updated_at, archived_at, fork_of_id, merged_at, revision, revisions`
	taskColumns = `id, workspace_id, prefix, number, created_by, author, trust, label, assignee, assignee_ref, status, cause, title, title_subject_id,
  body, attachments, body_subject_id, cron_schedule, parent_id, trigger_id, event_id, sort_order, allow_all, waits, pending, messages, claimant,
  fence, lease_span, lease_until, losses, created_at, updated_at, status_at, revision, revisions`
	messageColumns = `task_id, number, id, sender, author, subject_id, label, body, attachments, meta_type, request, tool, meta_status, details, event_id, at`
)

var q = store.MustQueries(strings.NewReplacer("DOC", documentColumns, "REM", reminderColumns, "WSP", workspaceColumns, "TSK", taskColumns,
	"MSG", messageColumns, "SIG", signalColumns, "TRG", triggerColumns, "PUB", publishColumns).Replace(sqlText + workText + signalText))

// Store implements the stores of package work.
type Store struct{}

var (
	_ work.PanoStore     = (*Store)(nil)
	_ work.ReminderStore = (*Store)(nil)
	_ work.Store         = (*Store)(nil)
)

// New returns a store.
func New() *Store { return &Store{} }

// DBNow implements work.ReminderStore and work.Store.
func (*Store) DBNow(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

// SetTimer implements work.ReminderStore.
func (*Store) SetTimer(tx event.Tx, key string, at time.Time) error {
	return store.SetTimer(tx, work.TimerReminder, key, at)
}

// CancelTimer implements work.ReminderStore.
func (*Store) CancelTimer(tx event.Tx, key string) error {
	return store.CancelTimer(tx, work.TimerReminder, key)
}

// SetLease implements work.Store.
func (*Store) SetLease(tx event.Tx, task id.ID, at time.Time) error {
	return store.SetTimer(tx, work.TimerLease, task.String(), at)
}

// DropLease implements work.Store.
func (*Store) DropLease(tx event.Tx, task id.ID) error {
	return store.CancelTimer(tx, work.TimerLease, task.String())
}

// Halted implements work.Store.
func (*Store) Halted(tx event.Tx, scope string) (bool, error) {
	_, halted, err := store.Stopped(tx, scope)
	return halted, err
}

// History implements work.Store.
func (*Store) History(tx event.Tx, stream id.ID, after int64, limit int) ([]event.Event, error) {
	return store.EventsOfStreams(tx, []store.StreamPart{{Stream: stream}}, after, limit)
}
