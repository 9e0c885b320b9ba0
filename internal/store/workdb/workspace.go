package workdb

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// AddWorkspace implements work.Store. What describes a workspace is the account's.
func (*Store) AddWorkspace(tx event.Tx, w work.Workspace) error {
	_, err := q.Exec(tx, "add_workspace", tx.Account(), w.ID, w.Prefix, w.Name, w.Description, w.SelfLearningLoopNote, w.AllowAllCommands, w.Resident,
		bytesOrNil(w.Token.Digest), w.Token.LastFour, clock.Micros(w.Token.At), w.CreatedBy, tx.Account(), w.Label.String(),
		clock.Micros(w.CreatedAt), clock.Micros(w.UpdatedAt), clock.Micros(w.ArchivedAt), w.ForkOf, w.Revision, w.Revisions.String())
	return err
}

// SaveWorkspace implements work.Store.
func (*Store) SaveWorkspace(tx event.Tx, w work.Workspace) error {
	_, err := q.Exec(tx, "save_workspace", w.Name, w.Description, w.SelfLearningLoopNote, w.AllowAllCommands, w.Resident, bytesOrNil(w.Token.Digest),
		w.Token.LastFour, clock.Micros(w.Token.At), w.Label.String(), clock.Micros(w.UpdatedAt), clock.Micros(w.ArchivedAt), clock.Micros(w.MergedAt), w.Revision,
		w.Revisions.String(), tx.Account(), w.ID)
	return err
}

// bytesOrNil turns no bytes into NULL.
func bytesOrNil(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

func workspace(tx event.Tx, name string, args ...any) (work.Workspace, error) {
	return scanWorkspace(func(d ...any) error { return q.Row(tx, name, append([]any{tx.Account()}, args...), d...) })
}

// GetWorkspace implements work.Store.
func (*Store) GetWorkspace(tx event.Tx, w id.ID) (work.Workspace, error) {
	return workspace(tx, "workspace", w)
}

// ShareWorkspace implements work.Store. New numbers can be taken beside it, an
// archiving waits.
func (*Store) ShareWorkspace(tx event.Tx, w id.ID) (work.Workspace, error) {
	return workspace(tx, "share_workspace", w)
}

// ShareWorkspaceOf implements work.Store.
func (*Store) ShareWorkspaceOf(tx event.Tx, t id.ID) (work.Workspace, error) {
	return workspace(tx, "share_workspace_of", tx.Account(), t)
}

// LockWorkspace implements work.Store.
func (*Store) LockWorkspace(tx event.Tx, w id.ID) (work.Workspace, error) {
	return workspace(tx, "lock_workspace", w)
}

// WorkspaceByToken implements work.Store.
func (*Store) WorkspaceByToken(tx event.Tx, digest []byte) (work.Workspace, error) {
	return workspace(tx, "workspace_by_token", digest)
}

// PrefixTaken implements work.Store.
func (*Store) PrefixTaken(tx event.Tx, prefix string) (bool, error) {
	var n int64
	err := q.Row(tx, "prefix_taken", []any{tx.Account(), prefix}, &n)
	return n > 0, err
}

// ListWorkspaces implements work.Store.
func (*Store) ListWorkspaces(tx event.Tx, archived bool, after id.ID, limit int) (out []work.Workspace, err error) {
	err = q.Each(tx, "workspaces", []any{tx.Account(), after[:], archived, limit}, func(scan func(...any) error) error {
		w, err := scanWorkspace(scan)
		out = append(out, w)
		return err
	})
	return out, err
}

func scanWorkspace(scan func(...any) error) (w work.Workspace, err error) {
	var tokenAt, created, updated, archived, merged int64
	var label, revisions string
	if err := scan(&w.ID, &w.Prefix, &w.Name, &w.Description, &w.SelfLearningLoopNote, &w.AllowAllCommands, &w.Resident, &w.Token.Digest,
		&w.Token.LastFour, &tokenAt, &w.CreatedBy, &label, &created, &updated, &archived, &w.ForkOf, &merged, &w.Revision, &revisions); err != nil {
		return work.Workspace{}, err
	}
	w.Token.At, w.CreatedAt, w.UpdatedAt, w.ArchivedAt = clock.FromMicros(tokenAt), clock.FromMicros(created), clock.FromMicros(updated), clock.FromMicros(archived)
	w.MergedAt = clock.FromMicros(merged)
	if w.Revisions, err = work.ParseRevisions(revisions); err != nil {
		return w, err
	}
	w.Label, err = event.ParseLabel(label)
	return w, err
}

// Forks implements work.Store.
func (*Store) Forks(tx event.Tx, parent id.ID) (out []work.Workspace, err error) {
	err = q.Each(tx, "forks", []any{tx.Account(), parent}, func(scan func(...any) error) error {
		w, err := scanWorkspace(scan)
		out = append(out, w)
		return err
	})
	return out, err
}

// Unfinished implements work.Store.
func (*Store) Unfinished(tx event.Tx, w id.ID) (n int64, err error) {
	err = q.Row(tx, "unfinished", []any{tx.Account(), w}, &n)
	return n, err
}

// MoveTasks implements work.Store.
func (*Store) MoveTasks(tx event.Tx, from, to id.ID) (int64, error) {
	return q.Exec(tx, "move_tasks", to, clock.Micros(tx.Now()), tx.Account(), from)
}

// NextNumber implements work.Store.
func (*Store) NextNumber(tx event.Tx, w id.ID) (n int64, err error) {
	err = q.Row(tx, "next_number", []any{tx.Account(), w}, &n)
	return n, err
}

// LockGraph implements work.Store. SQLite has one writer at a time anyway.
func (*Store) LockGraph(tx event.Tx) error {
	var n int64
	return q.Row(tx, "lock_graph", []any{tx.Account()}, &n)
}
