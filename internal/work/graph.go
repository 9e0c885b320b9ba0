package work

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of what hangs together.
const (
	maxBlockers = 64   // of one task
	maxParents  = 32   // above a task
	maxVisited  = 2000 // tasks that a look for circles visits
)

// reaches reports whether goal can be reached from start along next, start
// included. Where it would visit too many it gives up with fault.Limited.
func reaches(start, goal id.ID, next func(id.ID) ([]id.ID, error)) (bool, error) {
	seen := map[id.ID]bool{start: true}
	for todo := []id.ID{start}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == goal {
			return true, nil
		}
		more, err := next(at)
		if err != nil {
			return false, err
		}
		for _, n := range more {
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
		if len(seen) > maxVisited {
			return false, fault.New(fault.Limited, "more than %d tasks hang together here", maxVisited)
		}
	}
	return false, nil
}

// checkParent refuses a parent that does not exist, that would close a circle, or
// that stands too deep. The graph must be locked.
func (s *Service) checkParent(tx event.Tx, a Actor, task, parent id.ID) error {
	if parent.IsZero() {
		return nil
	}
	p, err := s.seeTask(tx, a, id.Nil, parent, s.store.GetTask)
	if err != nil {
		return on(err, "parentId")
	}
	for depth := 1; ; depth++ {
		switch {
		case p.ID == task:
			return fault.New(fault.Conflict, "%s is below the task already: that would be a circle", p.Key()).On("parentId")
		case depth > maxParents:
			return fault.New(fault.Limited, "tasks nest at most %d deep", maxParents).On("parentId")
		case p.ParentID.IsZero():
			return nil
		}
		if p, err = s.store.GetTask(tx, p.ParentID); err != nil {
			return err
		}
	}
}

func on(err error, field string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "there is no such task").On(field)
	}
	return err
}

// AddBlocker makes a task wait until another is completed.
func (s *Service) AddBlocker(tx event.Tx, a Actor, workspace, task, blocker id.ID) (Task, error) {
	if err := s.store.LockGraph(tx); err != nil {
		return Task{}, err
	}
	_, before, err := s.open(tx, a, workspace, task)
	if err != nil {
		return before, err
	}
	t, err := s.heard(tx, a, before)
	if err != nil {
		return t, err
	}
	return s.addBlocker(tx, a, before, t, blocker)
}

// addBlocker links a locked task; the graph must be locked.
func (s *Service) addBlocker(tx event.Tx, a Actor, before, t Task, blocker id.ID) (Task, error) {
	b, err := s.seeTask(tx, a, id.Nil, blocker, s.store.LockTask)
	if err != nil {
		return t, on(err, "blockerId")
	}
	if b.Status == Cron {
		return t, fault.New(fault.Conflict, "%s is a template, which is never completed", b.Key()).On("blockerId")
	}
	have, err := s.store.Blockers(tx, t.ID)
	switch {
	case err != nil:
		return t, err
	case slices.Contains(have, b.ID):
		return t, nil
	case len(have) >= maxBlockers:
		return t, fault.New(fault.Limited, "a task waits for at most %d others", maxBlockers).On("blockerId")
	}
	circle, err := reaches(b.ID, t.ID, func(n id.ID) ([]id.ID, error) { return s.store.Blockers(tx, n) })
	if err != nil {
		return t, err
	}
	if circle {
		return t, fault.New(fault.Conflict, "%s waits for %s already: that would be a circle", b.Key(), t.Key()).On("blockerId")
	}
	if _, err := s.store.AddLink(tx, t.ID, b.ID, tx.Now()); err != nil {
		return t, err
	}
	if b.Status != Completed {
		t.Waits++
	}
	return s.saveLink(tx, a, before, t, b.ID, true)
}

// DropBlocker takes a link away; one that is not there changes nothing.
func (s *Service) DropBlocker(tx event.Tx, a Actor, workspace, task, blocker id.ID) (Task, error) {
	if err := s.store.LockGraph(tx); err != nil {
		return Task{}, err
	}
	_, before, err := s.open(tx, a, workspace, task)
	if err != nil {
		return before, err
	}
	t, err := s.heard(tx, a, before)
	if err != nil {
		return t, err
	}
	b, err := s.seeTask(tx, a, id.Nil, blocker, s.store.LockTask)
	if err != nil {
		return t, on(err, "blockerId")
	}
	gone, err := s.store.DropLink(tx, t.ID, b.ID)
	if err != nil || !gone {
		return t, err
	}
	if b.Status != Completed {
		t.Waits--
	}
	return s.saveLink(tx, a, before, t, b.ID, false)
}

func (s *Service) saveLink(tx event.Tx, a Actor, before, t Task, blocker id.ID, linked bool) (Task, error) {
	t.UpdatedAt = tx.Now()
	t.Revision++
	if err := s.keep(tx, before, t); err != nil {
		return t, err
	}
	_, err := s.emit(tx, a, t.ID, "What "+t.Key()+" waits for has changed.", event.TaskLinked{TaskID: t.ID, WorkspaceID: t.WorkspaceID, Key: t.Key(),
		BlockerID: blocker, Linked: linked, Waits: t.Waits, By: a.Principal})
	return t, err
}

// Blockers returns the tasks that a task waits for, or waited for.
func (s *Service) Blockers(tx event.Tx, a Actor, workspace, task id.ID) (out []Task, err error) {
	t, err := s.seeTask(tx, a, workspace, task, s.store.GetTask)
	if err != nil {
		return nil, err
	}
	ids, err := s.store.Blockers(tx, t.ID)
	if err != nil {
		return nil, err
	}
	for _, b := range ids {
		row, err := s.seeTask(tx, a, id.Nil, b, s.store.GetTask)
		switch {
		case fault.Is(err, fault.NotFound): // in a workspace that a worker does not see
		case err != nil:
			return nil, err
		default:
			out = append(out, row)
		}
	}
	return out, nil
}

// freed tells the tasks that wait for one that it is completed, or is so no more.
func (s *Service) freed(tx event.Tx, a Actor, blocker Task, by int) error {
	ids, err := s.store.Dependents(tx, blocker.ID)
	if err != nil {
		return err
	}
	for _, d := range ids {
		t, err := s.store.LockTask(tx, d)
		if err != nil {
			return err
		}
		t.Waits += by
		t.Revision++
		if err := s.store.SaveTask(tx, t); err != nil {
			return err
		}
		if _, err := s.emit(tx, a, t.ID, t.Key()+" waits for other tasks than before.", event.TaskUpdated{TaskID: t.ID, WorkspaceID: t.WorkspaceID, Key: t.Key(),
			Changes: []event.FieldChange{{Field: "waits", Value: value(t.Waits)}}, Revision: t.Revision, By: a.Principal}); err != nil {
			return err
		}
	}
	return nil
}
