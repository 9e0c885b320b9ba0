package work

import (
	"cmp"
	"slices"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of a publish, in bytes.
const (
	maxPayload = 64 << 10
	maxKey     = 200
	maxWritten = 8 << 20 // of all bodies that one publish makes
)

// Publish is a publish to be: of a signal by its id or by its name.
type Publish struct {
	Signal  id.ID
	Name    string
	Payload string
	FAQ     []event.QA
	// Workspace and Task name the task that it tells of. A task publishes a signal
	// once; a worker does so under the fence of its claim.
	Workspace id.ID
	Task      id.ID
	// Key makes a publish without a task the same as one before it, of the same
	// author; "" makes each one its own.
	Key string
}

func (p Publish) check() error {
	switch {
	case p.Signal.IsZero():
		if err := CheckSignalName(p.Name); err != nil {
			return err
		}
	case p.Name != "":
		return fault.New(fault.Invalid, "name the signal by its id or by its name, not by both").On("name")
	}
	if err := checkText("payload", p.Payload, maxPayload, false); err != nil {
		return err
	}
	if err := checkFAQ(p.FAQ); err != nil {
		return err
	}
	return checkText("Idempotency-Key", p.Key, maxKey, false)
}

// Why a publish passes a trigger over.
const (
	PassArchived = "archived" // its workspace
	PassDisabled = "disabled"
	PassTooLong  = "too_long" // what the payload makes of its body
)

// Why a publish makes no tasks at all.
const (
	StopCircle = "circle" // its chain had this signal before
	StopDepth  = "depth"  // its chain is too long
)

// Made is a task that a publish made.
type Made struct {
	Trigger   id.ID
	Workspace id.ID
	Task      id.ID
	Key       string // of the task: BIL-142
}

// Published is a publish as it was recorded, and what it made.
type Published struct {
	ID       id.ID
	SignalID id.ID
	Name     string
	TaskID   id.ID  // that it tells of
	Author   string // principal
	Subject  id.ID
	Trust    int32
	Label    event.Label
	Payload  string
	FAQ      []event.QA
	Chain    []id.ID // of signals, this one last
	Stopped  string  // why it made no tasks; "" if nothing stopped it
	Tasks    []Made
	Passed   []event.SignalPassed
	At       time.Time
	// Repeated says that this is the first result of the same publish again, and
	// that nothing was written.
	Repeated bool
}

// forWorker hides what a worker does not see: tasks and triggers of other
// workspaces.
func (p Published) forWorker(a Actor) Published {
	if !a.worker() {
		return p
	}
	p.Tasks = slices.DeleteFunc(slices.Clone(p.Tasks), func(m Made) bool { return m.Workspace != a.Workspace })
	p.Passed = slices.DeleteFunc(slices.Clone(p.Passed), func(m event.SignalPassed) bool { return m.WorkspaceID != a.Workspace })
	return p
}

// publishing is a publish on its way: all that it looked at, and what follows.
type publishing struct {
	p        Published
	signal   Signal
	places   map[id.ID]Workspace // of its triggers
	emits    map[id.ID]Signal    // that its tasks are to publish
	tasks    []Task
	triggers []Trigger // of the tasks
}

// plan decides what a publish makes of its triggers, in the order of their
// workspaces, so that no two publishes wait for each other. It is a function of
// its arguments, but for the new ids.
func (w *publishing) plan(triggers []Trigger, now time.Time, newID func() id.ID) error {
	slices.SortFunc(triggers, func(a, b Trigger) int {
		return cmp.Or(slices.Compare(a.WorkspaceID[:], b.WorkspaceID[:]), slices.Compare(a.ID[:], b.ID[:]))
	})
	faq, written := faqText(w.signal.FAQ, w.p.FAQ), 0
	for _, g := range triggers {
		t, pass := w.task(g, faq, now, newID())
		if pass != "" {
			w.p.Passed = append(w.p.Passed, event.SignalPassed{TriggerID: g.ID, WorkspaceID: g.WorkspaceID, Reason: pass})
			continue
		}
		if written += len(t.Body); written > maxWritten {
			return fault.New(fault.Limited, "its tasks would hold more than %d bytes together", maxWritten).On("payload")
		}
		w.tasks, w.triggers = append(w.tasks, t), append(w.triggers, g)
	}
	return nil
}

// task makes the task of one trigger, or says why there is none. Its words are
// those of everybody who wrote a part of them, and so are its label and its trust.
func (w *publishing) task(g Trigger, faq string, now time.Time, task id.ID) (Task, string) {
	place := w.places[g.WorkspaceID]
	switch {
	case !g.Enabled:
		return Task{}, PassDisabled
	case place.Archived():
		return Task{}, PassArchived
	}
	body, ok := render(g.Body, w.p.Payload, faq, maxBody)
	labels, trust := []event.Label{w.p.Label, w.signal.Label, g.Label}, min(w.p.Trust, w.signal.Trust, g.Trust)
	emit := w.emits[g.EmitID]
	if emit.Archived() {
		emit = Signal{}
	}
	if ok && !emit.ID.IsZero() {
		body = instruct(body, Grouped, emit, task)
		labels, trust = append(labels, emit.Label), min(trust, emit.Trust)
	}
	if !ok || len(body) > maxBody {
		return Task{}, PassTooLong
	}
	t := Task{ID: task, WorkspaceID: place.ID, Prefix: place.Prefix, CreatedBy: Actor{Principal: w.p.Author}.kind(), Author: w.p.Author, Trust: trust,
		Label: event.Join(labels...), Assignee: g.Assignee, AssigneeRef: g.AssigneeRef, Status: NotStarted, Cause: CauseCreated, Title: g.Title, Body: body,
		BodyBy: w.p.Subject, TriggerID: w.signal.ID, EventID: emit.ID, AllowAllCommands: g.AllowAllCommands, CreatedAt: now, UpdatedAt: now,
		StatusAt: now, Revision: 1, Revisions: Revisions{}}
	if t.Assignee == Agent && t.AssigneeRef == "" && place.Resident != "" {
		t.AssigneeRef = "agent:" + place.Resident
	}
	return t, ""
}
