package work

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// CreateTask makes a task at the end of its workspace's queue. It carries the
// label and the trust of its author.
func (s *Service) CreateTask(tx event.Tx, a Actor, n NewTask) (Task, error) {
	w, err := s.seeWorkspace(tx, a, n.Workspace, s.store.GetWorkspace)
	if err != nil {
		return Task{}, err
	}
	if w.Archived() {
		return Task{}, errArchived()
	}
	if err := n.check(a); err != nil {
		return Task{}, err
	}
	if err := words(a); err != nil {
		return Task{}, err
	}
	if err := mayFree(a, n.AllowAllCommands); err != nil {
		return Task{}, err
	}
	t := Task{ID: tx.NewID(), WorkspaceID: w.ID, Prefix: w.Prefix, CreatedBy: a.kind(), Author: a.Principal, Trust: a.Trust,
		Assignee: n.Assignee, AssigneeRef: n.AssigneeRef, Status: NotStarted, Cause: CauseCreated, Title: n.Title, Body: n.Body,
		Attachments: n.Attachments, TitleBy: a.subject(tx), BodyBy: a.subject(tx), CronSchedule: n.CronSchedule, ParentID: n.ParentID,
		TriggerID: n.TriggerID, EventID: n.EventID, AllowAllCommands: n.AllowAllCommands, CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
		StatusAt: tx.Now(), Revision: 1, Revisions: Revisions{}}
	t.Status = t.scheduled()
	if t.Assignee == Agent && t.AssigneeRef == "" && w.Resident != "" {
		t.AssigneeRef = "agent:" + w.Resident
	}
	if !n.ParentID.IsZero() || len(n.Blockers) > 0 {
		if err := s.store.LockGraph(tx); err != nil {
			return t, err
		}
	}
	if err := s.checkParent(tx, a, t.ID, n.ParentID); err != nil {
		return t, err
	}
	if err := s.checkEmits(tx, n.EventID, "eventId"); err != nil {
		return t, err
	}
	if t, err = s.addTask(tx, a, t); err != nil {
		return t, err
	}
	for _, b := range n.Blockers {
		if t, err = s.addBlocker(tx, a, t, t, b); err != nil {
			return t, err
		}
	}
	return t, nil
}

// addTask gives a task its number and its place at the end of the queue, and
// writes it. The row that gives the number is locked from then on: numbers are
// dense, and an archiving comes before or after.
func (s *Service) addTask(tx event.Tx, a Actor, t Task) (_ Task, err error) {
	t.Number, err = s.store.NextNumber(tx, t.WorkspaceID)
	if fault.Is(err, fault.NotFound) {
		err = errArchived()
	}
	if err != nil {
		return t, err
	}
	t.SortOrder = t.Number * Place
	ev, err := s.emit(tx, a, t.ID, "The task "+t.Key()+" begins.", created(t))
	if err != nil {
		return t, err
	}
	t.Label = ev.Label
	return t, s.store.AddTask(tx, t)
}

func created(t Task) event.TaskCreated {
	return event.TaskCreated{TaskID: t.ID, WorkspaceID: t.WorkspaceID, Key: t.Key(), CreatedBy: string(t.CreatedBy), Author: t.Author, Trust: t.Trust,
		Assignee: string(t.Assignee), AssigneeRef: t.AssigneeRef, Status: string(t.Status), Title: t.Title, Body: t.Body, Attachments: t.Attachments,
		CronSchedule: t.CronSchedule, ParentID: t.ParentID, TriggerID: t.TriggerID, EventID: t.EventID, SortOrder: t.SortOrder,
		AllowAllCommands: t.AllowAllCommands}
}

// GetTask returns a task; workspace, if it is given, is where it must be.
func (s *Service) GetTask(tx event.Tx, a Actor, workspace, task id.ID) (Task, error) {
	return s.seeTask(tx, a, workspace, task, s.store.GetTask)
}

// TaskByKey returns the task of a short key (BIL-142).
func (s *Service) TaskByKey(tx event.Tx, a Actor, key string) (Task, error) {
	prefix, number, ok := ParseKey(key)
	if !ok {
		return Task{}, noTask()
	}
	return s.seeTask(tx, a, id.Nil, tx.Account(), func(tx event.Tx, _ id.ID) (Task, error) { return s.store.TaskByKey(tx, prefix, number) })
}

// UpdateTask changes fields of a task. Two writers on two fields both win; of two
// on one field, the one that saw less is told which (fault.Conflict). A task that
// goes to somebody else leaves its holder's hands.
func (s *Service) UpdateTask(tx event.Tx, a Actor, workspace, task id.ID, c TaskChange) (Task, error) {
	if c.ParentID != nil {
		if err := s.store.LockGraph(tx); err != nil {
			return Task{}, err
		}
	}
	w, before, err := s.open(tx, a, workspace, task)
	if err != nil {
		return before, err
	}
	t, err := s.heard(tx, a, before)
	if err != nil {
		return t, err
	}
	t, e := t.apply(c)
	if e.err != nil {
		return before, e.err
	}
	if len(e.changes) == 0 {
		return before, nil
	}
	if e.changed("allowAllCommands") {
		if err := mayFree(a, t.AllowAllCommands); err != nil {
			return before, err
		}
	}
	if e.changed("parentId") {
		if err := s.checkParent(tx, a, t.ID, t.ParentID); err != nil {
			return before, err
		}
	}
	if e.changed("eventId") {
		if err := s.checkEmits(tx, t.EventID, "eventId"); err != nil {
			return before, err
		}
	}
	if e.changed("assignee") && t.Assignee == Agent && t.AssigneeRef == "" && w.Resident != "" {
		t.AssigneeRef = "agent:" + w.Resident
		e.note("assigneeRef", value(t.AssigneeRef))
	}
	if t, err = s.saveFields(tx, a, before, t, e); err != nil {
		return t, err
	}
	switch to := t.scheduled(); {
	case to != t.Status:
		cause := CauseScheduled
		if to == NotStarted {
			cause = CauseUnscheduled
		}
		return s.turn(tx, a, t, t.letGo(to, cause))
	case t.Status == Ongoing && (e.changed("assignee") || e.changed("assigneeRef")):
		return s.turn(tx, a, t, t.takeAway(NotStarted, CauseReassigned))
	}
	return t, nil
}

// saveFields writes changed fields and says so.
func (s *Service) saveFields(tx event.Tx, a Actor, before, t Task, e *edit) (Task, error) {
	wrote := e.changed("title") || e.changed("body") || e.changed("attachments")
	if wrote {
		if err := words(a); err != nil {
			return t, err
		}
	}
	t.Revision, t.Revisions, t.UpdatedAt = e.next, e.revs, tx.Now()
	ev, err := s.emit(tx, a, t.ID, t.Key()+" has changed: "+e.fields()+".", event.TaskUpdated{TaskID: t.ID, WorkspaceID: t.WorkspaceID, Key: t.Key(),
		Changes: e.changes, Revision: t.Revision, By: a.Principal})
	if err != nil {
		return t, err
	}
	if wrote {
		// Whoever reads the task reads all of its words: its label is theirs together.
		t.Label, t.Trust = event.Join(t.Label, ev.Label), min(t.Trust, a.Trust)
		if e.changed("title") {
			t.TitleBy = a.subject(tx)
		}
		if e.changed("body") || e.changed("attachments") {
			t.BodyBy = a.subject(tx)
		}
		if err := s.store.SaveWords(tx, t); err != nil {
			return t, err
		}
	}
	return t, s.keep(tx, before, t)
}

// PlaceTask puts a task behind another of its column, or to the top of it if
// behind is Nil. Neighbours that stand too close are spread.
func (s *Service) PlaceTask(tx event.Tx, a Actor, workspace, task, behind id.ID) (Task, error) {
	_, before, err := s.open(tx, a, workspace, task)
	if err != nil {
		return before, err
	}
	t, err := s.heard(tx, a, before)
	if err != nil {
		return t, err
	}
	low, at := int64(-maxOrder), id.Nil
	var left *int64
	if !behind.IsZero() {
		b, err := s.seeTask(tx, a, t.WorkspaceID, behind, s.store.GetTask)
		if err != nil {
			return t, on(err, "behind")
		}
		if b.Status != t.Status || b.ID == t.ID {
			return t, fault.New(fault.Conflict, "%s stands in another column", b.Key()).On("behind")
		}
		low, at, left = b.SortOrder, b.ID, &b.SortOrder
	}
	next, err := s.store.Following(tx, t.WorkspaceID, t.Status, low, at, 2)
	if err != nil {
		return t, err
	}
	var right *int64
	for i := range next {
		if next[i].ID != t.ID {
			right = &next[i].SortOrder
			break
		}
	}
	order, ok := between(left, right)
	if !ok {
		if order, err = s.spreadOut(tx, a, t, low, at); err != nil {
			return t, err
		}
	}
	return s.reorder(tx, a, before, t, order)
}

func (s *Service) reorder(tx event.Tx, a Actor, before, t Task, order int64) (Task, error) {
	e := begin(0, t.Revision, t.Revisions)
	set(e, "sortOrder", &t.SortOrder, &order)
	if e.err != nil || len(e.changes) == 0 {
		return t, e.err
	}
	return s.saveFields(tx, a, before, t, e)
}

// spreadOut makes room behind a place and returns the order that is free.
func (s *Service) spreadOut(tx event.Tx, a Actor, t Task, low int64, at id.ID) (int64, error) {
	next, err := s.store.Following(tx, t.WorkspaceID, t.Status, low, at, spreadMost+1)
	if err != nil {
		return 0, err
	}
	rows, orders := next[:0], []int64{}
	for _, n := range next {
		if n.ID != t.ID && len(rows) < spreadMost {
			rows, orders = append(rows, n), append(orders, n.SortOrder)
		}
	}
	first, moved, ok := spread(low, orders)
	if !ok {
		return 0, fault.New(fault.Conflict, "too many tasks stand in one place").On("sortOrder")
	}
	for i, order := range moved {
		row, err := s.store.LockTask(tx, rows[i].ID)
		if err != nil {
			return 0, err
		}
		if _, err := s.reorder(tx, a, row, row, order); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// DeleteTask removes a task with its thread and its links; its events stay. What
// waits for it waits no more, and its children stand alone.
func (s *Service) DeleteTask(tx event.Tx, a Actor, workspace, task id.ID) error {
	if a.worker() {
		if _, err := s.seeTask(tx, a, workspace, task, s.store.GetTask); err != nil {
			return err
		}
		return fault.New(fault.Denied, "a worker deletes no tasks")
	}
	if err := s.store.LockGraph(tx); err != nil {
		return err
	}
	_, t, err := s.open(tx, a, workspace, task)
	if err != nil {
		return err
	}
	if _, err := s.emit(tx, a, t.ID, "The task "+t.Key()+" is gone.", event.TaskDeleted{TaskID: t.ID, WorkspaceID: t.WorkspaceID, Key: t.Key(), By: a.Principal}); err != nil {
		return err
	}
	if t.Status != Completed {
		if err := s.freed(tx, a, t, -1); err != nil {
			return err
		}
	}
	if err := s.orphan(tx, a, t.ID); err != nil {
		return err
	}
	if err := s.store.DropLease(tx, t.ID); err != nil {
		return err
	}
	if err := s.store.DropMessages(tx, t.ID); err != nil {
		return err
	}
	return s.store.DropTask(tx, t.ID)
}

// orphan takes the children of a task out of it.
func (s *Service) orphan(tx event.Tx, a Actor, parent id.ID) error {
	for {
		rows, err := s.store.Children(tx, parent, id.Nil, MaxPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			c, err := s.store.LockTask(tx, r.ID)
			if err != nil {
				return err
			}
			t, e := c.apply(TaskChange{ParentID: &id.ID{}})
			if e.err != nil {
				return e.err
			}
			if _, err := s.saveFields(tx, a, c, t, e); err != nil {
				return err
			}
		}
	}
}
