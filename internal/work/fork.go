package work

import (
	"fmt"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// settings reports whether a change is of what a fork has from its parent.
func (c WorkspaceChange) settings() bool {
	return c.Description != nil || c.SelfLearningLoopNote != nil || c.AllowAllCommands != nil || c.Resident != nil
}

// ForkWorkspace makes a workspace beside another, with a queue and workers of its
// own and the settings of its parent, which it follows. Forks have no forks.
func (s *Service) ForkWorkspace(tx event.Tx, a Actor, parent id.ID) (Workspace, error) {
	w, err := s.lockWorkspace(tx, a, parent)
	switch {
	case err != nil:
		return w, err
	case w.Archived():
		return w, errArchived()
	case !w.ForkOf.IsZero():
		return w, fault.New(fault.Conflict, "a fork has no forks").On("workspace").WithFix("fork its parent")
	}
	if err := words(a); err != nil {
		return w, err
	}
	forks, err := s.store.Forks(tx, w.ID)
	if err != nil {
		return w, err
	}
	name := strings.ToValidUTF8(w.Name[:min(len(w.Name), maxName-len(" fork 1000"))], "")
	return s.addWorkspace(tx, a, NewWorkspace{Name: fmt.Sprintf("%s fork %d", name, len(forks)+1), Description: w.Description,
		SelfLearningLoopNote: w.SelfLearningLoopNote, AllowAllCommands: w.AllowAllCommands, Resident: w.Resident}, w.ID)
}

// propagate gives the settings of a parent to its forks, in the same transaction.
func (s *Service) propagate(tx event.Tx, a Actor, parent Workspace) error {
	if !parent.ForkOf.IsZero() {
		return nil
	}
	forks, err := s.store.Forks(tx, parent.ID)
	if err != nil {
		return err
	}
	for _, f := range forks {
		next, e := f.apply(WorkspaceChange{Description: &parent.Description, SelfLearningLoopNote: &parent.SelfLearningLoopNote,
			AllowAllCommands: &parent.AllowAllCommands, Resident: &parent.Resident})
		if e.err != nil {
			return e.err
		}
		if len(e.changes) == 0 {
			continue
		}
		if _, err := s.saveWorkspace(tx, a, next, e); err != nil {
			return err
		}
	}
	return nil
}

// MergeFork ends a fork: its tasks, which keep their keys, go to its parent, so do
// the triggers that made tasks in it, and the token of its workers opens nothing
// any more. A fork with unfinished tasks
// is refused; that is looked at in the transaction that moves them.
func (s *Service) MergeFork(tx event.Tx, a Actor, fork id.ID) (Workspace, error) {
	f, err := s.seeWorkspace(tx, a, fork, s.store.GetWorkspace)
	switch {
	case err != nil:
		return f, err
	case a.worker():
		return f, fault.New(fault.Denied, "a worker merges no workspace")
	case f.ForkOf.IsZero():
		return f, fault.New(fault.Conflict, "the workspace is no fork").On("workspace")
	}
	if err := s.store.LockGraph(tx); err != nil { // of triggers, before their workspaces, as everywhere
		return f, err
	}
	parent, err := s.store.LockWorkspace(tx, f.ForkOf) // the parent first, as everywhere
	if err != nil {
		return parent, err
	}
	if f, err = s.store.LockWorkspace(tx, fork); err != nil {
		return parent, err
	}
	if !f.MergedAt.IsZero() {
		return parent, fault.New(fault.Conflict, "the fork is merged already").On("workspace")
	}
	if parent.Archived() {
		return parent, errArchived()
	}
	left, err := s.store.Unfinished(tx, f.ID)
	if err != nil {
		return parent, err
	}
	if left > 0 {
		return parent, fault.New(fault.Conflict, "%d of its tasks are not done", left).On("workspace").WithFix("complete, reject or delete them first")
	}
	n, err := s.store.MoveTasks(tx, f.ID, parent.ID)
	if err != nil {
		return parent, err
	}
	if err := s.moveTriggers(tx, a, f.ID, parent.ID); err != nil {
		return parent, err
	}
	e := begin(0, f.Revision, f.Revisions)
	f.ArchivedAt, f.MergedAt, f.Token = tx.Now(), tx.Now(), Token{}
	e.note("mergedAt", value(tx.Now().UnixMicro()))
	if _, err := s.saveWorkspace(tx, a, f, e); err != nil {
		return parent, err
	}
	a.Subject = id.Nil
	_, err = s.emit(tx, a, f.ID, fmt.Sprintf("The fork %s is merged; %d tasks went along.", f.Prefix, n),
		event.WorkspaceMerged{WorkspaceID: f.ID, IntoID: parent.ID, Tasks: n, By: a.Principal})
	return parent, err
}

// mayArchive refuses what would leave a fork without its parent, or half merged.
func (s *Service) mayArchive(tx event.Tx, w Workspace) error {
	if !w.ForkOf.IsZero() {
		return fault.New(fault.Conflict, "a fork is merged, not archived").On("workspace")
	}
	forks, err := s.store.Forks(tx, w.ID)
	if err == nil && len(forks) > 0 {
		err = fault.New(fault.Conflict, "the workspace has %d forks", len(forks)).On("workspace").WithFix("merge them first")
	}
	return err
}
