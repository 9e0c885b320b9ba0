package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// How much of a thread and of the record one page holds.
const (
	messagesPerPage = 40
	recordPerPage   = 40
)

// redo is a form of a task's page that was refused: its page says why.
type redo struct {
	status  int
	refused *ui.Refusal
	edit    *ui.TaskEdit
	reply   ui.Reply
	block   ui.BlockForm
}

func (c *Console) task(k *call) error { return c.taskPage(k, redo{status: http.StatusOK}) }

func (c *Console) taskPage(k *call, p redo) error {
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	var v ui.TaskView
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		t, err := c.taskIn(k, r.tx)
		if err != nil {
			return err
		}
		w, err := c.Work.GetWorkspace(r.tx, r.me(), t.WorkspaceID)
		if err != nil {
			return err
		}
		v.Shell, err = c.shell(k, r, waits, ui.PlaceWork, ui.Crumb{Text: "Work", Href: "/work"},
			ui.Crumb{Text: w.Name, Href: workspacePath(w.ID)}, ui.Crumb{Text: t.Key()})
		if err != nil {
			return err
		}
		if k.r.Method == http.MethodPost {
			v.Shell.Path = taskPath(t)
		}
		x := taskReader{reader: r, k: k, task: t, space: w, press: p}
		return x.fill(&v)
	}); err != nil {
		return err
	}
	c.send(k, p.status, ui.Task(v))
	return nil
}

// taskReader fills the page of one task.
type taskReader struct {
	*reader
	k     *call
	task  work.Task
	space work.Workspace
	press redo
}

func (x *taskReader) fill(v *ui.TaskView) error {
	t, f := x.task, x.workFacts(x.space)
	v.Card = x.card(t, f)
	v.Card.Moves = x.moves(t, f, verb)
	v.Workspace = ui.Link{Text: x.space.Name, Href: workspacePath(x.space.ID)}
	v.Body, v.Refused = t.Body, x.press.refused
	v.CanWrite = x.may(identity.ActWorkWrite) && !x.space.Archived()
	if x.space.Archived() {
		v.Archived = x.at(x.space.ArchivedAt, x.now)
	}
	if v.CanWrite {
		v.EditHref = taskPath(t) + "?edit=1"
		switch {
		case x.press.edit != nil:
			v.Edit = x.press.edit
			v.Edit.Assignees = x.assignees(v.Edit.Assignees[0].Value, t)
		case x.k.r.URL.Query().Has("edit"):
			e := x.editForm()
			v.Edit = &e
		}
		v.Block = &x.press.block
		reply := x.press.reply
		reply.Seen = strconv.FormatInt(t.Messages, 10)
		v.Reply = &reply
	} else {
		x.closed(v)
	}
	for _, step := range []func(*ui.TaskView) error{x.thread, x.facts, x.blockers, x.record} {
		if err := step(v); err != nil {
			return err
		}
	}
	return nil
}

// closed is the page of somebody who cannot write now. What they sent all the same,
// from a page that was open before, is refused with its reason.
func (x *taskReader) closed(v *ui.TaskView) {
	if !x.may(identity.ActWorkWrite) {
		v.Reply = &ui.Reply{Off: "Viewers read; they do not write."}
	}
	why := cmp.Or(x.press.reply.Error, x.press.block.Error)
	if x.press.edit != nil {
		why = x.press.edit.Error
	}
	if v.Refused == nil && why != "" {
		v.Refused = &ui.Refusal{Key: x.task.Key(), Text: why}
	}
}

// thread reads a page of the messages, the newest by default.
func (x *taskReader) thread(v *ui.TaskView) error {
	before, _ := strconv.ParseInt(x.k.r.URL.Query().Get("before"), 10, 64)
	rows, err := x.Work.ListMessages(x.tx, x.me(), work.MessagePage{Task: x.task.ID, Before: before, Newest: true, Limit: messagesPerPage})
	if err != nil {
		return err
	}
	if before > 0 {
		v.Newer = taskPath(x.task)
	}
	if n := len(rows); n > 0 && rows[n-1].Number > 1 {
		v.Older = taskPath(x.task) + "?before=" + strconv.FormatInt(rows[n-1].Number, 10)
	}
	slices.Reverse(rows)
	for _, m := range rows {
		v.Thread = append(v.Thread, x.message(m))
	}
	return nil
}

func (x *taskReader) message(m work.Message) ui.Message {
	out := ui.Message{ID: m.ID.String(), Actor: x.people.actor(m.Author), At: x.at(m.At, x.now), Full: x.full(m.At), Text: m.Text,
		Outside: outside(m.Label), Line: m.Metadata.Type == work.StatusMessage && !outside(m.Label)}
	out.Asserted = out.Actor.Kind != ui.ActorPerson
	for _, f := range m.Attachments {
		out.Files = append(out.Files, f.Name+", "+grouped(f.Size)+" bytes")
	}
	if m.Metadata.RequestID != "" && !out.Line {
		out.Request = m.Metadata.RequestID
		out.Asks = m.Metadata.Status == work.Pending
		if !out.Asks {
			out.Answer = m.Metadata.Status
		}
	}
	return out
}

// facts is what the platform knows of the task.
func (x *taskReader) facts(v *ui.TaskView) error {
	t := x.task
	add := func(key, value string) { v.Facts = append(v.Facts, ui.KV{Key: key, Value: value}) }
	if t.Claim.Claimant != "" {
		add("Held", "by "+x.people.actor(t.Claim.Claimant).Name+", since "+x.at(t.StatusAt, x.now))
		add("Claim", "number "+grouped(t.Claim.Fence)+", ends in "+span(t.Claim.Until.Sub(x.now)))
	}
	if t.Claim.Losses > 0 {
		add("Lost", plural(t.Claim.Losses, "worker went away", "workers went away"))
	}
	add("For", x.whoDoes(t).Actor.Name)
	add("By", x.people.actor(t.Author).Name)
	add("Begun", x.at(t.CreatedAt, x.now))
	add("Changed", x.at(t.UpdatedAt, x.now))
	if t.CronSchedule != "" {
		v.Facts = append(v.Facts, ui.KV{Key: "Schedule", Value: t.CronSchedule, Mono: true})
	}
	if !t.ParentID.IsZero() {
		p, err := x.Work.GetTask(x.tx, x.me(), id.Nil, t.ParentID)
		if err != nil {
			return err
		}
		v.Facts = append(v.Facts, ui.KV{Key: "Part of", Value: p.Key(), Mono: true, Href: taskPath(p)})
	}
	if t.AllowAllCommands {
		add("Commands", "its worker may run all of its own")
	}
	return nil
}

func (x *taskReader) blockers(v *ui.TaskView) error {
	rows, err := x.Work.Blockers(x.tx, x.me(), id.Nil, x.task.ID)
	for _, b := range rows {
		v.Blockers = append(v.Blockers, ui.Blocker{ID: b.ID.String(), Key: b.Key(), Href: taskPath(b), Title: b.Title,
			Glyph: statusGlyph(b.Status), State: statusWord(b.Status), Outside: outside(b.Label)})
	}
	return err
}

// record is what happened to the task, each with its event. Messages stand in the
// thread.
func (x *taskReader) record(v *ui.TaskView) error {
	after, _ := strconv.ParseInt(x.k.r.URL.Query().Get("record"), 10, 64)
	rows, err := x.Work.History(x.tx, x.me(), id.Nil, x.task.ID, max(after, 0), recordPerPage)
	if err != nil {
		return err
	}
	if after > 0 {
		v.Earlier = taskPath(x.task) + "#record"
	}
	if len(rows) == recordPerPage {
		v.Later = taskPath(x.task) + "?record=" + strconv.FormatInt(rows[len(rows)-1].Seq, 10) + "#record"
	}
	for _, e := range rows {
		if _, said := e.Payload.(event.MessageCreated); said {
			continue
		}
		v.Record = append(v.Record, ui.RecordLine{Fact: ui.Fact{Text: x.describe(e), Ref: ref(e)}, At: x.at(e.RecordedAt, x.now), Full: x.full(e.RecordedAt)})
	}
	return nil
}

// assignees are those whom a form offers; on is the one that is chosen.
func (r *reader) assignees(on string, t work.Task) []ui.Choice {
	out := []ui.Choice{{Value: string(work.Human), Label: "Any person"}}
	for who, name := range r.people {
		out = append(out, ui.Choice{Value: "person:" + who.String(), Label: name})
	}
	slices.SortFunc(out[1:], func(a, b ui.Choice) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value))
	})
	out = append(out, ui.Choice{Value: string(work.Agent), Label: "Any worker of the workspace"})
	for _, ref := range []string{assigneeValue(t), on} {
		if !slices.ContainsFunc(out, func(c ui.Choice) bool { return c.Value == ref }) && ref != "" {
			out = append(out, ui.Choice{Value: ref, Label: r.people.actor(ref).Name})
		}
	}
	for i := range out {
		out[i].On = out[i].Value == on
	}
	return out
}

// assigneeValue is a task's assignee as the form writes it.
func assigneeValue(t work.Task) string { return cmp.Or(t.AssigneeRef, string(t.Assignee)) }
