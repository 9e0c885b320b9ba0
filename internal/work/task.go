package work

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Task is a unit of work.
type Task struct {
	ID          id.ID
	WorkspaceID id.ID
	Prefix      string // of its workspace
	Number      int64  // dense in its workspace, from 1
	CreatedBy   Assignee
	Author      string      // principal
	Trust       int32       // of everybody who wrote its words, the least; micro-units
	Label       event.Label // of everything in title, body and attachments
	Assignee    Assignee
	AssigneeRef string // person:ID, agent:NAME, worker:NAME; "" leaves it to any of the kind
	Status      Status
	Cause       string // of its last change of status, or of hands
	Title       string
	Body        string
	Attachments []event.Attachment
	TitleBy     id.ID // subjects: whose words they are
	BodyBy      id.ID

	CronSchedule     string
	ParentID         id.ID // the template or the larger task that it belongs to
	TriggerID        id.ID // the signal that caused it
	EventID          id.ID // the signal that it is to publish when it is completed
	SortOrder        int64
	AllowAllCommands bool

	Waits    int   // tasks that must be completed first
	Pending  int   // questions in its thread that wait for an answer
	Messages int64 // number of the last message
	Claim    Claim

	CreatedAt time.Time
	UpdatedAt time.Time
	StatusAt  time.Time // of the last change of status, or of hands
	Revision  int64
	Revisions Revisions
}

// Key is the task's short key: BIL-142.
func (t Task) Key() string { return fmt.Sprintf("%s-%d", t.Prefix, t.Number) }

// ParseKey takes a key apart; ok is false for what is none.
func ParseKey(s string) (prefix string, number int64, ok bool) {
	prefix, digits, cut := strings.Cut(s, "-")
	if !cut || CheckPrefix(prefix) != nil || len(digits) == 0 || len(digits) > 15 || digits[0] == '0' {
		return "", 0, false
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return "", 0, false
		}
		number = number*10 + int64(r-'0')
	}
	return prefix, number, true
}

func noTask() error { return fault.New(fault.NotFound, "there is no such task").On("task") }

// NewTask is a task to be.
type NewTask struct {
	Workspace        id.ID
	Title            string
	Body             string
	Attachments      []event.Attachment
	Assignee         Assignee // "" is human for a person's task and agent for an agent's
	AssigneeRef      string
	CronSchedule     string
	ParentID         id.ID
	TriggerID        id.ID
	EventID          id.ID
	AllowAllCommands bool
	Blockers         []id.ID // tasks that must be completed first
}

func (n *NewTask) check(a Actor) error {
	if n.Assignee == "" {
		n.Assignee = a.kind()
	}
	if !n.Assignee.Valid() {
		return fault.New(fault.Invalid, "%q is neither human nor agent", clip(string(n.Assignee))).On("assignee")
	}
	if len(n.Blockers) > maxBlockers {
		return fault.New(fault.Limited, "a task waits for at most %d others", maxBlockers).On("blockers")
	}
	if err := checkRef(n.Assignee, n.AssigneeRef); err != nil {
		return err
	}
	return checkWords(n.Title, n.Body, n.CronSchedule)
}

func checkWords(title, body, schedule string) error {
	if err := checkText("title", title, maxTitle, true); err != nil {
		return err
	}
	if err := checkText("body", body, maxBody, false); err != nil {
		return err
	}
	if schedule != "" && (len(schedule) > maxCron || len(strings.Fields(schedule)) != 5 || strings.ContainsAny(schedule, "\x00\n\r")) {
		return fault.New(fault.Invalid, "a schedule has five fields: minute, hour, day, month, weekday").On("cronSchedule")
	}
	return nil
}

// TaskChange is what is to change of a task; nil leaves a field alone. Its status
// has a way of its own.
type TaskChange struct {
	Seen             int64 // the revision that was shown; 0 writes over whatever stands there
	Title            *string
	Body             *string
	Attachments      *[]event.Attachment
	Assignee         *Assignee
	AssigneeRef      *string // an assignee without one clears it
	CronSchedule     *string // "" makes a task of a template
	ParentID         *id.ID  // Nil takes it out
	EventID          *id.ID
	SortOrder        *int64
	AllowAllCommands *bool
}

// apply returns the task with the change, and what it changes.
func (t Task) apply(c TaskChange) (Task, *edit) {
	e := begin(c.Seen, t.Revision, t.Revisions)
	set(e, "title", &t.Title, c.Title)
	set(e, "body", &t.Body, c.Body)
	if c.Attachments != nil && e.err == nil && !e.stale("attachments") {
		t.Attachments = *c.Attachments
		raw, err := json.Marshal(t.Attachments)
		e.note("attachments", raw)
		e.err = err
	}
	if c.Assignee != nil && c.AssigneeRef == nil && *c.Assignee != t.Assignee {
		c.AssigneeRef = new(string)
	}
	set(e, "assignee", &t.Assignee, c.Assignee)
	set(e, "assigneeRef", &t.AssigneeRef, c.AssigneeRef)
	set(e, "parentId", &t.ParentID, c.ParentID)
	set(e, "eventId", &t.EventID, c.EventID)
	set(e, "sortOrder", &t.SortOrder, c.SortOrder)
	set(e, "allowAllCommands", &t.AllowAllCommands, c.AllowAllCommands)
	set(e, "cronSchedule", &t.CronSchedule, c.CronSchedule)
	if e.err == nil {
		e.err = t.check(e)
	}
	return t, e
}

// check refuses what a change may not make of a task.
func (t Task) check(e *edit) error {
	if !t.Assignee.Valid() {
		return fault.New(fault.Invalid, "%q is neither human nor agent", clip(string(t.Assignee))).On("assignee")
	}
	if err := checkRef(t.Assignee, t.AssigneeRef); err != nil {
		return err
	}
	if t.SortOrder <= -maxOrder || t.SortOrder >= maxOrder {
		return fault.New(fault.Invalid, "a sort order lies between -2^32 and 2^32").On("sortOrder")
	}
	if e.changed("cronSchedule") {
		if to := t.scheduled(); to != t.Status && WayOf(t.Status, to) != Scheduled {
			return fault.New(fault.Conflict, "a task that is %s cannot be scheduled", t.Status).On("cronSchedule").WithFix("move it to notstarted first")
		}
	}
	if e.changed("title") || e.changed("body") || e.changed("cronSchedule") {
		return checkWords(t.Title, t.Body, t.CronSchedule)
	}
	return nil
}

// scheduled is the status that the schedule makes of the task.
func (t Task) scheduled() Status {
	switch {
	case t.CronSchedule != "":
		return Cron
	case t.Status == Cron:
		return NotStarted
	}
	return t.Status
}
