package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// worker is the person of a page as the work knows them.
func worker(who identity.Principal) work.Actor {
	return work.Person(who.By(), who.PersonID, who.Label())
}

func (r *reader) me() work.Actor { return worker(r.who) }

// change runs one write of the person who pressed a button.
func (c *Console) change(ctx context.Context, f func(tx event.Tx) error) error {
	return c.Journal.Do(ctx, c.Account, f)
}

// taskIn reads the task that the address names, by its key or its id.
func (c *Console) taskIn(k *call, tx event.Tx) (work.Task, error) {
	name := k.r.PathValue("id")
	if _, _, ok := work.ParseKey(name); ok {
		return c.Work.TaskByKey(tx, worker(k.who), name)
	}
	on, err := k.pathID()
	if err != nil {
		return work.Task{}, fault.New(fault.NotFound, "there is no such task")
	}
	return c.Work.GetTask(tx, worker(k.who), id.Nil, on)
}

// refused reports whether an error is one that a form shows in place.
func refused(err error) bool {
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Limited, fault.Conflict, fault.Halted, fault.Stale:
		return true
	}
	return false
}

func outside(l event.Label) bool { return !l.IsZero() && l.Integrity() == event.Outside }

func workspacePath(w id.ID) string { return "/workspaces/" + w.String() }

func taskPath(t work.Task) string { return "/tasks/" + t.Key() }

// statusWord is a status as people read it.
func statusWord(s work.Status) string {
	switch s {
	case work.NotStarted:
		return "Not started"
	case work.Ongoing:
		return "Running"
	case work.Blocked:
		return "Blocked"
	case work.Completed:
		return "Completed"
	case work.Rejected:
		return "Rejected"
	case work.Cron:
		return "Scheduled"
	}
	return string(s)
}

// statusGlyph is its shape. What is completed is so on somebody's word: asserted.
func statusGlyph(s work.Status) ui.Status {
	switch s {
	case work.Ongoing:
		return ui.StatusRunning
	case work.Blocked:
		return ui.StatusBlocked
	case work.Completed:
		return ui.StatusAsserted
	case work.Rejected:
		return ui.StatusDenied
	case work.Cron:
		return ui.StatusWaiting
	case work.NotStarted:
		return ui.StatusIdle
	}
	return ui.StatusUnknown
}

// who draws an assignee.
func (r *reader) whoDoes(t work.Task) ui.Who {
	if t.AssigneeRef != "" {
		return ui.Who{Actor: r.people.actor(t.AssigneeRef)}
	}
	if t.Assignee == work.Human {
		return ui.Who{Actor: ui.Actor{Kind: ui.ActorPerson, Name: "any person"}, Any: true}
	}
	return ui.Who{Actor: ui.Actor{Kind: ui.ActorWorker, Name: "any worker"}, Any: true}
}

// needsPerson are the reasons for which only a person lets a task go on.
func needsPerson(why work.Reason) bool {
	return why == work.AwaitsAnswer || why == work.OfRestore || why == work.LostTooOften
}

// whyLine is the sentence of a reason with what it is about.
func (r *reader) whyLine(t work.Task, why work.Reason) string {
	switch why {
	case work.Running, work.Finished:
		return ""
	case work.AwaitsTasks:
		return "Waits for " + plural(t.Waits, "other task", "other tasks") + "."
	case work.AwaitsSchedule:
		return "A template. Its schedule: " + t.CronSchedule + "."
	case work.AwaitsPerson:
		if t.AssigneeRef != "" {
			return "Waits for " + r.people.actor(t.AssigneeRef).Name + "."
		}
	case work.AwaitsWorker:
		return "Waits for the worker " + r.people.actor(t.AssigneeRef).Name + "."
	case work.AwaitsAgent:
		return "In the queue of " + r.people.actor(t.AssigneeRef).Name + "."
	case work.AwaitsAnswer:
		return plural(t.Pending, "question waits", "questions wait") + " for an answer."
	default: // its own sentence
	}
	return why.Sentence()
}

// card draws a task. Halted and archived are of its workspace.
func (r *reader) card(t work.Task, f work.Facts) ui.Card {
	why := work.Why(t, f)
	c := ui.Card{ID: t.ID.String(), Key: t.Key(), Href: taskPath(t), Title: t.Title, Outside: outside(t.Label), Status: string(t.Status),
		Glyph: statusGlyph(t.Status), State: statusWord(t.Status), Why: r.whyLine(t, why), Need: needsPerson(why), Who: r.whoDoes(t),
		Age: age(t.StatusAt, r.now), Full: r.full(t.StatusAt), Messages: int(min(t.Messages, 1<<30)), Said: t.Status == work.Completed,
		Revision: strconv.FormatInt(t.Revision, 10)}
	if t.Title == "" {
		c.Title = "A task whose words were erased"
	}
	if t.Claim.Claimant != "" {
		c.Held, c.Who, c.Lease = true, ui.Who{Actor: r.people.actor(t.Claim.Claimant)}, lease(t, r.now)
	}
	return c
}

// lease says how long somebody holds a task: since when, and until when if that
// is near.
func lease(t work.Task, now time.Time) string {
	left := t.Claim.Until.Sub(now)
	if left > 24*time.Hour {
		return "since " + age(t.StatusAt, now)
	}
	return "lease " + span(left)
}

// moves are the ways out of a task's status, and why the others are none.
func (r *reader) moves(t work.Task, f work.Facts, verb func(from, to work.Status) string) (out []ui.Move) {
	if !r.may(identity.ActWorkWrite) || f.Archived {
		return nil
	}
	for _, to := range work.Statuses() {
		if to == t.Status || to == work.Cron && t.Status != work.Cron {
			continue
		}
		m := ui.Move{To: string(to), Label: verb(t.Status, to)}
		switch {
		case t.Status == work.Cron:
			m.Off = "a template moves by its schedule"
		case work.WayOf(t.Status, to) != work.Told:
			m.Off = "done already: open it again first"
		case to == work.Ongoing && t.Waits > 0:
			m.Off = "waits for " + plural(t.Waits, "other task", "other tasks")
		case to == work.Ongoing && f.Halted:
			m.Off = "a halt is in force"
		}
		out = append(out, m)
	}
	return out
}

// columnName is how a move is called on a board: by where it goes.
func columnName(_, to work.Status) string {
	if to == work.Ongoing {
		return "Running: you take it"
	}
	return statusWord(to)
}

// verb is how a move is called on the task's own page.
func verb(from, to work.Status) string {
	switch to {
	case work.NotStarted:
		switch {
		case from.Done():
			return "Open again"
		case from == work.Ongoing:
			return "Back to the queue"
		}
		return "Unblock"
	case work.Ongoing:
		return "Take it"
	case work.Completed:
		return "Complete"
	case work.Rejected:
		return "Reject"
	case work.Blocked:
		return "Block"
	case work.Cron:
	}
	return statusWord(to)
}

// facts of a workspace that decide why its tasks do not run.
func (r *reader) workFacts(w work.Workspace) work.Facts {
	return work.Facts{Archived: w.Archived(), Halted: r.halted(w.Scope())}
}

// counted says how many tasks stand where, "3 not started, 1 running".
func counted(n map[work.Status]int64) string {
	var parts []string
	for _, s := range work.Statuses() {
		if n[s] > 0 {
			parts = append(parts, grouped(n[s])+" "+strings.ToLower(statusWord(s)))
		}
	}
	if len(parts) == 0 {
		return "no tasks"
	}
	return strings.Join(parts, ", ")
}
