package console

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// digest is how a form remembers what it showed, so that a field which nobody
// touched is not written.
func digest(s string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(unbreak(s))))
	return hex.EncodeToString(sum[:8])
}

// editForm is the form of a task as it stands.
func (x *taskReader) editForm() ui.TaskEdit {
	t := x.task
	on := assigneeValue(t)
	return ui.TaskEdit{Action: taskPath(t) + "/edit", Back: taskPath(t), Title: t.Title, Body: t.Body, Assignees: x.assignees(on, t),
		Revision: strconv.FormatInt(t.Revision, 10), WasTitle: digest(t.Title), WasBody: digest(t.Body), WasWho: digest(on)}
}

// typed is what a form of a task says.
type typed struct{ title, body, who string }

func readTyped(f url.Values) typed {
	return typed{strings.TrimSpace(f.Get("title")), unbreak(f.Get("body")), f.Get("assignee")}
}

// assignee takes the form's word apart: human, agent, or a reference.
func (y typed) assignee() (work.Assignee, string) {
	switch {
	case y.who == string(work.Human), y.who == string(work.Agent):
		return work.Assignee(y.who), ""
	case strings.HasPrefix(y.who, "person:"):
		return work.Human, y.who
	}
	return work.Agent, y.who
}

func (c *Console) newTask(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	return c.newTaskPage(k, on, http.StatusOK, ui.TaskEdit{}, typed{who: string(work.Human)})
}

func (c *Console) newTaskPage(k *call, on id.ID, status int, e ui.TaskEdit, y typed) error {
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	v := ui.NewTaskView{Edit: e}
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		w, err := c.Work.GetWorkspace(r.tx, r.me(), on)
		if err != nil {
			return err
		}
		if w.Archived() {
			return fault.New(fault.Conflict, "the workspace is archived").WithFix("take it back first")
		}
		v.Workspace = ui.Link{Text: w.Name, Href: workspacePath(w.ID)}
		v.Edit.Action, v.Edit.Back, v.Edit.New = workspacePath(w.ID)+"/tasks", workspacePath(w.ID), true
		v.Edit.Title, v.Edit.Body, v.Edit.Assignees = y.title, y.body, r.assignees(y.who, work.Task{Assignee: work.Human})
		last, err := c.Work.ListTasks(r.tx, r.me(), work.TaskQuery{Workspace: w.ID, Limit: 1}, id.Nil)
		if err != nil {
			return err
		}
		if len(last) > 0 {
			v.Edit.Last = last[0].ID.String()
		}
		v.Shell, err = c.shell(k, r, waits, ui.PlaceWork, ui.Crumb{Text: "Work", Href: "/work"}, ui.Crumb{Text: w.Name, Href: workspacePath(w.ID)}, ui.Crumb{Text: "New task"})
		if k.r.Method == http.MethodPost {
			v.Shell.Path = workspacePath(w.ID) + "/new"
		}
		return err
	}); err != nil {
		return err
	}
	c.send(k, status, ui.NewTask(v))
	return nil
}

// createTask makes a task. The same form sent twice is one task.
func (c *Console) createTask(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	y := readTyped(k.r.PostForm)
	n := work.NewTask{Workspace: on, Title: y.title, Body: y.body}
	n.Assignee, n.AssigneeRef = y.assignee()
	last := k.r.PostForm.Get("last")
	var made work.Task
	hidden := false // its column draws only the first ones
	err = c.change(k.ctx, func(tx event.Tx) (err error) {
		since, err := c.Work.ListTasks(tx, worker(k.who), work.TaskQuery{Workspace: on, Limit: 8}, id.Nil)
		if err != nil {
			return err
		}
		for _, t := range since {
			if t.ID.String() == last {
				break
			}
			if t.Author == k.who.By() && t.Title == y.title && t.Body == y.body && k.now.Sub(t.CreatedAt) < timeout {
				made = t
				return nil
			}
		}
		if made, err = c.Work.CreateTask(tx, worker(k.who), n); err != nil {
			return err
		}
		all, err := c.Work.CountTasks(tx, worker(k.who), on)
		hidden = all[made.Status] > tasksPerColumn
		return err
	})
	if err != nil && refused(err) {
		msg, field, fix := fault.Public(err)
		if y.title == "" {
			msg, field, fix = "give it a title", "title", ""
		}
		return c.newTaskPage(k, on, fault.EdgeOf(fault.KindOf(err)).HTTP, ui.TaskEdit{Error: sentence(msg) + after(" ", sentence(fix)), Field: taskField(field)}, y)
	}
	if err != nil {
		return err
	}
	if hidden {
		k.see(taskPath(made))
		return nil
	}
	k.see(workspacePath(made.WorkspaceID))
	return nil
}

// taskField is the control that a field of the work is on.
func taskField(field string) string {
	if field == "assigneeRef" {
		return "assignee"
	}
	return field
}

// editTask writes the fields that this person changed. Where somebody else wrote
// one of them meanwhile, nothing is written and both are shown.
func (c *Console) editTask(k *call) error {
	f, y := k.r.PostForm, readTyped(k.r.PostForm)
	seen, _ := strconv.ParseInt(f.Get("revision"), 10, 64)
	ch := work.TaskChange{Seen: max(seen, 0)}
	mine := map[string]bool{"title": digest(y.title) != f.Get("was.title"), "body": digest(y.body) != f.Get("was.body"), "assignee": digest(y.who) != f.Get("was.assignee")}
	if mine["title"] {
		ch.Title = &y.title
	}
	if mine["body"] {
		ch.Body = &y.body
	}
	if mine["assignee"] {
		kind, name := y.assignee()
		ch.Assignee, ch.AssigneeRef = &kind, &name
	}
	var t work.Task
	err := c.change(k.ctx, func(tx event.Tx) (err error) {
		if t, err = c.taskIn(k, tx); err != nil {
			return err
		}
		_, err = c.Work.UpdateTask(tx, worker(k.who), id.Nil, t.ID, ch)
		return err
	})
	if err == nil {
		k.see(taskPath(t))
		return nil
	}
	if !refused(err) {
		return err
	}
	return c.editAgain(k, t, y, ch.Seen, mine, err)
}

// editAgain shows what was typed again, beside what stands there now.
func (c *Console) editAgain(k *call, t work.Task, y typed, seen int64, mine map[string]bool, err error) error {
	names, nerr := c.people(k)
	if nerr != nil {
		return nerr
	}
	msg, field, fix := fault.Public(err)
	e := &ui.TaskEdit{Action: taskPath(t) + "/edit", Back: taskPath(t), Title: y.title, Body: y.body, Assignees: []ui.Choice{{Value: y.who}},
		Revision: strconv.FormatInt(t.Revision, 10), WasTitle: digest(t.Title), WasBody: digest(t.Body), WasWho: digest(assigneeValue(t))}
	r := reader{Console: c, people: names}
	for _, s := range []struct {
		name, field string
		by          id.ID
		now         string
	}{{"title", "title", t.TitleBy, t.Title}, {"body", "body", t.BodyBy, t.Body}, {"assignee", "assignee", id.Nil, r.whoDoes(t).Actor.Name}} {
		if mine[s.name] && seen > 0 && (t.Revisions[s.field] > seen || s.name == "assignee" && t.Revisions["assigneeRef"] > seen) {
			who := "Somebody"
			if names[s.by] != "" {
				who = names[s.by]
			}
			e.Stale = append(e.Stale, ui.StaleField{Name: s.name, Who: who, Now: s.now})
		}
	}
	if len(e.Stale) == 0 {
		e.Field, e.Error = taskField(field), sentence(msg)+after(" ", sentence(fix))
	}
	return c.taskPage(k, redo{status: fault.EdgeOf(fault.KindOf(err)).HTTP, edit: e})
}
