package console

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// How much of the chat one page holds.
const (
	threadsPerPage = 20
	turnsPerPage   = 24
)

// channelConsole is the channel that is written to from here.
const channelConsole = "console"

// written is a message that was refused: its page shows it again.
type written struct {
	status int
	thread id.ID
	text   string
	agent  string
	err    string
}

func (c *Console) chat(k *call) error { return c.chatPage(k, written{status: http.StatusOK}) }

func (c *Console) chatPage(k *call, w written) error {
	on := w.thread
	if k.r.PathValue("id") != "" && on.IsZero() {
		var err error
		if on, err = k.pathID(); err != nil {
			return err
		}
	}
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	q := k.r.URL.Query()
	fresh := q.Has("new") || on.IsZero() && w.status != http.StatusOK
	v := ui.ChatView{Explicit: !on.IsZero() || fresh}
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		first, err := r.threadList(&v, q, waits)
		if err != nil {
			return err
		}
		if on.IsZero() && !fresh {
			on = first
		}
		crumbs := []ui.Crumb{{Text: "Chat", Href: "/chat"}}
		if !c.Models(roleRespond) {
			v.NoModel = c.noModel()
		}
		if on.IsZero() {
			if err := r.start(&v, w, q); err != nil {
				return err
			}
			if fresh {
				crumbs = append(crumbs, ui.Crumb{Text: "New thread"})
			}
		} else {
			t, err := r.thread(on, q)
			if err != nil {
				return err
			}
			if w.err != "" {
				t.Composer.Error, t.Composer.Draft = w.err, w.text
			}
			v.Thread = t
			crumbs = append(crumbs, ui.Crumb{Text: t.Title})
			markOn(v.Groups, on)
		}
		v.Shell, err = c.shell(k, r, waits, ui.PlaceChat, crumbs...)
		if k.r.Method == http.MethodPost {
			v.Shell.Path = "/chat"
			if !on.IsZero() {
				v.Shell.Path += "/" + on.String()
			}
		}
		return err
	}); err != nil {
		return err
	}
	c.send(k, w.status, ui.Chat(v))
	return nil
}

func markOn(groups []ui.ThreadGroup, on id.ID) {
	for g := range groups {
		for i := range groups[g].Threads {
			groups[g].Threads[i].On = groups[g].Threads[i].ID == on.String()
		}
	}
}

// threadList fills the list and returns the newest thread.
func (r *reader) threadList(v *ui.ChatView, q url.Values, waits queue) (first id.ID, err error) {
	before := time.UnixMicro(math.MaxInt64 / 2).UTC()
	if n, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil && n > 0 {
		before = clock.FromMicros(n)
		v.Newer = "/chat"
	}
	rows, err := r.Agents.Store.ListThreads(r.tx, before, threadsPerPage+1)
	if err != nil {
		return id.Nil, err
	}
	if len(rows) > threadsPerPage {
		rows = rows[:threadsPerPage]
		v.Older = "/chat?before=" + strconv.FormatInt(clock.Micros(rows[len(rows)-1].Changed), 10)
	}
	need, err := r.threadsThatWait(waits)
	if err != nil {
		return id.Nil, err
	}
	at := map[string]int{}
	for _, t := range rows {
		row, ch, err := r.threadRow(t)
		if err != nil {
			return id.Nil, err
		}
		row.Need = need[t.ID]
		i, ok := at[ch]
		if !ok {
			i = len(v.Groups)
			at[ch] = i
			v.Groups = append(v.Groups, ui.ThreadGroup{Name: channelName(ch)})
		}
		v.Groups[i].Threads = append(v.Groups[i].Threads, row)
	}
	if len(rows) > 0 {
		first = rows[0].ID
	}
	return first, nil
}

func channelName(ch string) string {
	switch ch {
	case channelConsole:
		return "Console"
	case "cli":
		return "CLI"
	case "":
		return "Work"
	}
	return ch
}

// threadsThatWait are the threads in which an approval is open.
func (r *reader) threadsThatWait(q queue) (map[id.ID]bool, error) {
	out := map[id.ID]bool{}
	for _, w := range q.list {
		if w.approval == nil || w.approval.Request.Run.IsZero() || len(out) == threadsPerPage {
			continue
		}
		run, err := r.Agents.Store.GetRun(r.tx, w.approval.Request.Run)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		out[run.Thread] = true
	}
	return out, nil
}

// threadRow draws a thread by its first and its last turn.
func (r *reader) threadRow(t agent.Thread) (row ui.ThreadRow, ch string, err error) {
	row = ui.ThreadRow{ID: t.ID.String(), Href: "/chat/" + t.ID.String(), Age: age(t.Changed, r.now), Title: "Thread " + short(t.ID.String())}
	first, err := r.Agents.Store.ListTurns(r.tx, t.ID, 2, 1)
	if err != nil {
		return row, "", err
	}
	last := first
	if t.Turns > 1 {
		if last, err = r.Agents.Store.ListTurns(r.tx, t.ID, math.MaxInt32, 1); err != nil {
			return row, "", err
		}
	}
	if len(first) > 0 {
		ch = first[0].Channel
		row.Title = threadTitle(first[0])
		row.Actor = r.people.actor(first[0].Author)
	}
	if len(last) > 0 {
		who := r.people.actor(last[0].Author)
		row.Last = who.Name + after(": ", clip(last[0].Text, 80))
		if who.Kind == ui.ActorAgent {
			row.Actor = who
		}
	}
	switch ch {
	case channelConsole, "":
	case "cli":
		row.Icon = "terminal"
	default:
		row.Icon = "plug"
	}
	return row, ch, nil
}

func threadTitle(first agent.Turn) string {
	if first.Text == "" {
		return "A message whose data were erased"
	}
	return clip(first.Text, 60)
}

func (c *Console) noModel() *ui.NoModel {
	n := &ui.NoModel{Works: []string{"Inbox, Chat, Journal", "Six commands, here and in the CLI", "Recall by words"},
		Rests: []string{"Agents’ answers", "Summaries of long threads"}, Config: c.Facts.Config}
	for _, p := range agent.PlainCommands() {
		n.Commands = append(n.Commands, ui.Command{Form: p.Form, Does: p.Does})
	}
	return n
}

// start is the form of a new thread.
func (r *reader) start(v *ui.ChatView, w written, q url.Values) error {
	s := &ui.Composer{Action: "/chat", Key: r.key("new"), Draft: w.text, Error: w.err}
	if s.Draft == "" {
		s.Draft = q.Get("text")
	}
	current, err := r.Agents.Store.ListCurrent(r.tx)
	if err != nil {
		return err
	}
	chosen := w.agent
	if chosen == "" {
		chosen = q.Get("agent")
	}
	for _, a := range current {
		d, err := agent.ParseDefinition(a.Agent, []byte(a.YAML))
		if err != nil || !d.AnswersOn(channelConsole) {
			continue
		}
		on := a.Agent == chosen || chosen == "" && a.Agent == "coordinator"
		s.Agents = append(s.Agents, ui.Choice{Value: a.Agent, Label: a.Agent, On: on})
	}
	if !r.may(identity.ActMessageSend) {
		s.Off = "Viewers read; they do not write."
	}
	r.readBack(s)
	v.Start = s
	return nil
}

// readBack says how a plain command reads, where no model reads it.
func (r *reader) readBack(s *ui.Composer) {
	if s.Draft != "" && !r.Models(roleRespond) {
		s.ReadsAs = agent.ReadsAs(s.Draft, r.now, r.Zone)
	}
}

// thread draws one conversation.
func (r *reader) thread(on id.ID, q url.Values) (*ui.Thread, error) {
	t, err := r.Agents.Store.GetThread(r.tx, on)
	if err != nil {
		return nil, err
	}
	before := math.MaxInt32
	if n, err := strconv.Atoi(q.Get("turns")); err == nil && n > 0 {
		before = n
	}
	turns, err := r.Agents.Store.ListTurns(r.tx, on, before, turnsPerPage)
	if err != nil {
		return nil, err
	}
	first, err := r.Agents.Store.ListTurns(r.tx, on, 2, 1)
	if err != nil {
		return nil, err
	}
	out := &ui.Thread{ID: on.String(), Title: "Thread " + short(on.String()), Journal: "/journal?q=thread%3A" + on.String()}
	if len(first) > 0 {
		out.Title = threadTitle(first[0])
	}
	if len(turns) == turnsPerPage && turns[len(turns)-1].Seq > 1 {
		out.Older = "/chat/" + on.String() + "?turns=" + strconv.Itoa(turns[len(turns)-1].Seq)
	}
	runs, err := r.Agents.Store.ListRuns(r.tx, on, math.MaxInt32, turnsPerPage)
	if err != nil {
		return nil, err
	}
	x := talk{reader: r, thread: out, runs: map[id.ID]agent.Run{}}
	for _, run := range runs {
		x.runs[run.ID] = run
	}
	for i := len(turns) - 1; i >= 0; i-- {
		if err := x.turn(turns[i]); err != nil {
			return nil, err
		}
	}
	// Runs that have not answered yet stand at the end, in their order.
	for i := len(runs) - 1; i >= 0; i-- {
		if before == math.MaxInt32 && runs[i].State != agent.Finished {
			if err := x.open(runs[i]); err != nil {
				return nil, err
			}
		}
	}
	if len(runs) > 0 {
		if err := x.facts(runs[0]); err != nil {
			return nil, err
		}
	}
	x.label(turns)
	r.composer(out, t, first, runs, q)
	return out, nil
}

// composer is where the person writes on in a thread.
func (r *reader) composer(out *ui.Thread, t agent.Thread, first []agent.Turn, runs []agent.Run, q url.Values) {
	s := ui.Composer{Action: "/chat/" + t.ID.String() + "/messages", Key: r.key(t.ID.String()), Draft: q.Get("text")}
	if len(runs) > 0 {
		s.To = runs[0].Agent
	}
	if !t.Active.IsZero() && r.may(identity.ActRunCancel) {
		s.Run = t.Active.String()
	}
	switch {
	case !r.may(identity.ActMessageSend):
		s.Off = "Viewers read; they do not write."
	case len(first) == 0 || first[0].Channel != channelConsole:
		s.Off = "This thread belongs to another channel; answers go there."
	case first[0].Author != r.who.By():
		s.Off = "This is somebody else’s thread."
	}
	r.readBack(&s)
	out.Composer = s
}

// key names one form: sent twice it is one message. It changes with the record,
// so that a later form is another message, and is the same while nothing happens,
// so that a page stays the same page.
func (r *reader) key(of string) string {
	return short(r.who.SessionID.String()) + "-" + of + "-" + strconv.FormatInt(r.tip.Epoch, 10) + "-" + strconv.FormatInt(r.tip.Seq, 10)
}

// label is the taint of the thread: the lowest that stands in it.
func (x *talk) label(turns []agent.Turn) {
	labels := make([]event.Label, 0, len(turns)+1)
	for _, t := range turns {
		labels = append(labels, t.Label)
	}
	labels = append(labels, x.labels...)
	l := event.Join(labels...)
	if l.IsZero() {
		return
	}
	out := &ui.ThreadLabel{Name: l.Integrity().String(), Outside: l.Integrity() == event.Outside}
	out.Means = "Nothing in it came from outside."
	if out.Outside {
		out.Means = "Acts of medium risk and more ask from here on. Answering the requester does not."
		if x.door.Seq > 0 {
			out.Since = ui.Fact{Text: "since " + x.at(x.door.RecordedAt, x.now) + ", " + x.nameOf(x.door), Ref: ref(x.door)}
		}
	}
	x.thread.Label = out
}
