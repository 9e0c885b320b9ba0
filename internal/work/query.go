package work

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// TaskQuery asks for tasks, newest first.
type TaskQuery struct {
	Workspace id.ID    // Nil means all of the account
	Statuses  []Status // none means any
	Pending   bool     // only those with a question that waits for an answer
	// Board asks for one column of a workspace, in its order, instead of newest
	// first; it needs a workspace and one status.
	Board bool
	// After is the task that the page before ended with; Nil begins.
	After Task
	Limit int
}

// ListTasks returns a page of tasks.
func (s *Service) ListTasks(tx event.Tx, a Actor, q TaskQuery, after id.ID) ([]Task, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.worker() && q.Workspace.IsZero() {
		q.Workspace = a.Workspace
	}
	if !q.Workspace.IsZero() {
		if _, err := s.seeWorkspace(tx, a, q.Workspace, s.store.GetWorkspace); err != nil {
			return nil, err
		}
	}
	for _, st := range q.Statuses {
		if !st.Valid() {
			return nil, fault.New(fault.Invalid, "%q is no status", clip(string(st))).On("status")
		}
	}
	if q.Board && (q.Workspace.IsZero() || len(q.Statuses) != 1) {
		return nil, fault.New(fault.Invalid, "a column is one status of one workspace").On("status")
	}
	if q.Pending && len(q.Statuses) > 0 {
		return nil, fault.New(fault.Invalid, "ask for a status or for open questions, not for both").On("status")
	}
	if !after.IsZero() {
		t, err := s.seeTask(tx, a, id.Nil, after, s.store.GetTask)
		if err != nil {
			return nil, on(err, "after")
		}
		q.After = t
	}
	q.Limit = pages(q.Limit)
	return s.store.ListTasks(tx, q)
}

// CountTasks returns how many tasks of a workspace stand where.
func (s *Service) CountTasks(tx event.Tx, a Actor, workspace id.ID) (map[Status]int64, error) {
	if _, err := s.seeWorkspace(tx, a, workspace, s.store.GetWorkspace); err != nil {
		return nil, err
	}
	return s.store.CountTasks(tx, workspace)
}

// Why says why a task is not running.
func (s *Service) Why(tx event.Tx, t Task) (Reason, error) {
	all, err := s.Whys(tx, []Task{t})
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Whys says why each of some tasks is not running, looking at each workspace once.
func (s *Service) Whys(tx event.Tx, tasks []Task) ([]Reason, error) {
	facts := map[id.ID]Facts{}
	out := make([]Reason, len(tasks))
	for i, t := range tasks {
		f, known := facts[t.WorkspaceID]
		if !known {
			w, err := s.store.GetWorkspace(tx, t.WorkspaceID)
			if err != nil {
				return nil, err
			}
			f.Archived = w.Archived()
			if f.Halted, err = s.store.Halted(tx, w.Scope()); err != nil {
				return nil, err
			}
			facts[t.WorkspaceID] = f
		}
		out[i] = Why(t, f)
	}
	return out, nil
}
