package workdb

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// AddTask implements work.Store.
func (*Store) AddTask(tx event.Tx, t work.Task) error {
	files, err := encode(t.Attachments)
	if err != nil {
		return err
	}
	_, err = q.Exec(tx, "add_task", tx.Account(), t.ID, t.WorkspaceID, t.Prefix, t.Number, string(t.CreatedBy), t.Author, t.Trust, t.Label.String(),
		string(t.Assignee), t.AssigneeRef, string(t.Status), t.Cause, t.Title, t.TitleBy, t.Body, files, t.BodyBy, t.CronSchedule, t.ParentID, t.TriggerID,
		t.EventID, t.SortOrder, t.AllowAllCommands, t.Waits, t.Pending, t.Messages, t.Claim.Claimant, t.Claim.Fence, t.Claim.Span.Microseconds(),
		clock.Micros(t.Claim.Until), t.Claim.Losses, clock.Micros(t.CreatedAt), clock.Micros(t.UpdatedAt), clock.Micros(t.StatusAt), t.Revision,
		t.Revisions.String())
	return err
}

// SaveTask implements work.Store.
func (*Store) SaveTask(tx event.Tx, t work.Task) error {
	_, err := q.Exec(tx, "save_task", string(t.Assignee), t.AssigneeRef, string(t.Status), t.Cause, t.CronSchedule, t.ParentID, t.EventID, t.SortOrder,
		t.AllowAllCommands, t.Waits, t.Pending, t.Messages, t.Claim.Claimant, t.Claim.Fence, t.Claim.Span.Microseconds(), clock.Micros(t.Claim.Until),
		t.Claim.Losses, clock.Micros(t.UpdatedAt), clock.Micros(t.StatusAt), t.Revision, t.Revisions.String(), tx.Account(), t.ID)
	return err
}

// SaveWords implements work.Store.
func (*Store) SaveWords(tx event.Tx, t work.Task) error {
	files, err := encode(t.Attachments)
	if err != nil {
		return err
	}
	_, err = q.Exec(tx, "save_words", t.Title, t.TitleBy, t.Body, files, t.BodyBy, t.Label.String(), t.Trust, tx.Account(), t.ID)
	return err
}

// encode renders attachments; none, like erased ones, are "".
func encode(files []event.Attachment) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	b, err := json.Marshal(files)
	return string(b), err
}

func decode(text string) (files []event.Attachment, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &files); err != nil {
		return nil, fault.New(fault.Corrupt, "attachments: %w", err)
	}
	return files, nil
}

func task(tx event.Tx, name string, args ...any) (work.Task, error) {
	return scanTask(func(d ...any) error { return q.Row(tx, name, append([]any{tx.Account()}, args...), d...) })
}

// GetTask implements work.Store.
func (*Store) GetTask(tx event.Tx, t id.ID) (work.Task, error) { return task(tx, "task", t) }

// LockTask implements work.Store.
func (*Store) LockTask(tx event.Tx, t id.ID) (work.Task, error) { return task(tx, "lock_task", t) }

// TaskByKey implements work.Store.
func (*Store) TaskByKey(tx event.Tx, prefix string, number int64) (work.Task, error) {
	return task(tx, "task_by_key", prefix, number)
}

// NextOffer implements work.Store.
func (*Store) NextOffer(tx event.Tx, workspace id.ID, ref string) (work.Task, bool, error) {
	t, err := task(tx, "offer", workspace, ref)
	if fault.Is(err, fault.NotFound) {
		return work.Task{}, false, nil
	}
	return t, err == nil, err
}

// DropTask implements work.Store.
func (*Store) DropTask(tx event.Tx, t id.ID) error {
	if _, err := q.Exec(tx, "drop_links", tx.Account(), t, t); err != nil {
		return err
	}
	_, err := q.Exec(tx, "drop_task", tx.Account(), t)
	return err
}

func tasks(tx event.Tx, name string, args ...any) (out []work.Task, err error) {
	err = q.Each(tx, name, append([]any{tx.Account()}, args...), func(scan func(...any) error) error {
		t, err := scanTask(scan)
		out = append(out, t)
		return err
	})
	return out, err
}

// ListTasks implements work.Store. Each list has an index that is in its order;
// several statuses are several lists, merged.
func (*Store) ListTasks(tx event.Tx, query work.TaskQuery) ([]work.Task, error) {
	here, after := query.Workspace, query.After
	last := after.ID
	if last.IsZero() {
		last = id.ID(slices.Repeat([]byte{0xff}, 16))
	}
	switch {
	case query.Board && after.ID.IsZero():
		return tasks(tx, "column", here, string(query.Statuses[0]), -1<<62, after.ID[:], query.Limit)
	case query.Board:
		return tasks(tx, "column", here, string(query.Statuses[0]), after.SortOrder, after.ID[:], query.Limit)
	case query.Pending && here.IsZero():
		return tasks(tx, "tasks_pending", last[:], query.Limit)
	case query.Pending:
		return tasks(tx, "tasks_pending_here", here, last[:], query.Limit)
	case len(query.Statuses) == 0 && here.IsZero():
		return tasks(tx, "tasks_all", last[:], query.Limit)
	case len(query.Statuses) == 0:
		return tasks(tx, "tasks_of_workspace", here, last[:], query.Limit)
	}
	var all []work.Task
	for _, s := range slices.Compact(slices.Sorted(slices.Values(query.Statuses))) {
		name, args := "tasks_of_both", []any{here, string(s), last[:], query.Limit}
		if here.IsZero() {
			name, args = "tasks_of_status", []any{string(s), last[:], query.Limit}
		}
		part, err := tasks(tx, name, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	slices.SortFunc(all, func(a, b work.Task) int { return slices.Compare(b.ID[:], a.ID[:]) })
	return all[:min(len(all), query.Limit)], nil
}

// CountTasks implements work.Store.
func (*Store) CountTasks(tx event.Tx, workspace id.ID) (map[work.Status]int64, error) {
	out := map[work.Status]int64{}
	err := q.Each(tx, "count_tasks", []any{tx.Account(), workspace}, func(scan func(...any) error) error {
		var s string
		var n int64
		err := scan(&s, &n)
		out[work.Status(s)] = n
		return err
	})
	return out, err
}

// Following implements work.Store.
func (*Store) Following(tx event.Tx, workspace id.ID, s work.Status, after int64, than id.ID, limit int) ([]work.Task, error) {
	return tasks(tx, "column", workspace, string(s), after, than[:], limit)
}

// OngoingOf implements work.Store.
func (*Store) OngoingOf(tx event.Tx, workspace id.ID, limit int) ([]work.Task, error) {
	return tasks(tx, "ongoing_of", workspace, limit)
}

// OngoingTasks implements work.Store.
func (*Store) OngoingTasks(tx event.Tx, after id.ID, limit int) ([]work.Task, error) {
	return tasks(tx, "ongoing", after[:], limit)
}

// Children implements work.Store.
func (*Store) Children(tx event.Tx, parent, after id.ID, limit int) ([]work.Task, error) {
	return tasks(tx, "children", parent, after[:], limit)
}

func scanTask(scan func(...any) error) (t work.Task, err error) {
	var createdBy, label, assignee, status, files, revisions string
	var trust, span, until, created, updated, statusAt int64
	if err := scan(&t.ID, &t.WorkspaceID, &t.Prefix, &t.Number, &createdBy, &t.Author, &trust, &label, &assignee, &t.AssigneeRef, &status, &t.Cause,
		&t.Title, &t.TitleBy, &t.Body, &files, &t.BodyBy, &t.CronSchedule, &t.ParentID, &t.TriggerID, &t.EventID, &t.SortOrder, &t.AllowAllCommands,
		&t.Waits, &t.Pending, &t.Messages, &t.Claim.Claimant, &t.Claim.Fence, &span, &until, &t.Claim.Losses, &created, &updated, &statusAt,
		&t.Revision, &revisions); err != nil {
		return work.Task{}, err
	}
	t.CreatedBy, t.Assignee, t.Status, t.Trust = work.Assignee(createdBy), work.Assignee(assignee), work.Status(status), int32(trust)
	t.Claim.Span, t.Claim.Until = time.Duration(span)*time.Microsecond, clock.FromMicros(until)
	t.CreatedAt, t.UpdatedAt, t.StatusAt = clock.FromMicros(created), clock.FromMicros(updated), clock.FromMicros(statusAt)
	if t.Attachments, err = decode(files); err != nil {
		return t, err
	}
	if t.Revisions, err = work.ParseRevisions(revisions); err != nil {
		return t, err
	}
	t.Label, err = event.ParseLabel(label)
	return t, err
}
