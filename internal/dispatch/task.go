package dispatch

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Task is work for a resident agent that no inbound message brought: a
// schedule, a delegation, a reminder, a task of a workspace.
type Task struct {
	Agent     string
	ThreadID  id.ID  // zero begins a thread
	Requester string // principal for whom it is done
	Trust     int32  // the requester's, micro-units
	Text      string
	Subject   id.ID // whose data Text is; zero means the account
	// Reply says where the answer goes; nil means that whoever caused the task
	// reads it from the journal.
	Reply *Reply
}

// Reply is where an answer goes: to a person on a channel that they fetch from,
// or to a contact's address.
type Reply struct {
	Channel   string
	PersonID  id.ID
	ContactID id.ID
	Address   string
	InReplyTo id.ID // the message it answers, if there is one
}

// ReplyOf returns where the answers of a run go, so that other work of the same
// cause can answer there as well. fault.NotFound if they go nowhere.
func (d *Dispatcher) ReplyOf(tx event.Tx, run id.ID) (Reply, id.ID, error) {
	f, err := d.store.FateOfRun(tx, run)
	if err == nil && f.Channel == "" {
		err = fault.New(fault.NotFound, "the answers of this run go nowhere")
	}
	return Reply{Channel: f.Channel, PersonID: f.PersonID, ContactID: f.ContactID, Address: f.Address, InReplyTo: f.MessageID}, f.ThreadID, err
}

// Task gives an agent work; it is the one road, whoever causes it. At least one
// cause is needed: its label, and its audience, are the task's.
func (d *Dispatcher) Task(tx event.Tx, t Task, causes ...event.Ref) (event.AgentTask, error) {
	return d.task(tx, t, nil, causes...)
}

func (d *Dispatcher) task(tx event.Tx, t Task, evidence []event.Reference, causes ...event.Ref) (event.AgentTask, error) {
	switch {
	case len(causes) == 0:
		return event.AgentTask{}, fault.New(fault.Internal, "a task needs a cause")
	case t.Requester == "" || t.Agent == "":
		return event.AgentTask{}, fault.New(fault.Internal, "a task needs an agent and a requester")
	}
	if err := checkText("text", t.Text, d.config.MaxMessageBytes, true); err != nil {
		return event.AgentTask{}, err
	}
	ok, err := d.ports.Agents.Serves(tx, t.Agent)
	if err != nil {
		return event.AgentTask{}, err
	}
	if !ok {
		return event.AgentTask{}, fault.New(fault.NotFound, "there is no agent %q", t.Agent).On("agent")
	}
	p := event.AgentTask{TaskID: tx.NewID(), Agent: t.Agent, RunID: tx.NewID(), ThreadID: t.ThreadID, MessageID: tx.NewID(),
		Requester: t.Requester, Trust: min(max(t.Trust, 0), micro), Text: t.Text}
	if p.ThreadID.IsZero() {
		p.ThreadID = tx.NewID()
	}
	f := Fate{MessageID: p.MessageID, EventID: causes[0].ID, ThreadID: p.ThreadID, Outcome: Tasked, RunID: p.RunID, Agent: p.Agent, Subject: t.Subject, At: tx.Now()}
	if r := t.Reply; r != nil {
		p.Channel, p.ContactID = r.Channel, r.ContactID
		f.Channel, f.PersonID, f.ContactID, f.Address = r.Channel, r.PersonID, r.ContactID, r.Address
		if t.ThreadID.IsZero() {
			if err := d.ports.Outlet.Open(tx, r.Channel, p.ThreadID, r.PersonID, r.Address); err != nil {
				return p, err
			}
		}
	}
	if f.Subject.IsZero() {
		f.Subject = tx.Account()
	}
	e, err := tx.Emit(d.origin, event.Draft{Payload: p, Summary: t.Agent + " has work.", Stream: p.ThreadID, Causes: causes, Subject: t.Subject, Evidence: evidence})
	if err != nil {
		return p, err
	}
	f.Label = e.Label
	return p, d.store.AddFate(tx, f)
}

// Later is a task that waits for its moment.
type Later struct {
	ID      id.ID
	CauseID id.ID // the event that asked for it
	Task    Task
	Label   event.Label
	At      time.Time // when it is due
}

const (
	timerTask    = "dispatch.task"
	timerRelease = "dispatch.release"
)

// Later gives an agent work at a moment of the database's clock, once: a
// reminder. The cause's label is the task's when it comes.
func (d *Dispatcher) Later(tx event.Tx, at time.Time, t Task, cause event.Ref) (id.ID, error) {
	if err := checkText("text", t.Text, d.config.MaxMessageBytes, true); err != nil {
		return id.Nil, err
	}
	if t.Subject.IsZero() {
		t.Subject = tx.Account()
	}
	l := Later{ID: tx.NewID(), CauseID: cause.ID, Task: t, Label: cause.Label, At: at}
	if err := d.store.AddLater(tx, l); err != nil {
		return id.Nil, err
	}
	return l.ID, d.store.SetTimer(tx, timerTask, l.ID.String(), at)
}

// OnTimer is the reaction to timer.fired: it gives out work whose moment came,
// and goes on releasing held messages.
func (d *Dispatcher) OnTimer(tx event.Tx, ev event.Event) error {
	t, ok := ev.Payload.(event.TimerFired)
	if !ok {
		return nil
	}
	switch t.Kind {
	case timerTask:
		return d.comeDue(tx, ev, t.Key)
	case timerRelease:
		return d.goOn(tx, t.Key)
	}
	return nil
}

func (d *Dispatcher) comeDue(tx event.Tx, timer event.Event, key string) error {
	which, err := id.Parse(key)
	if err != nil {
		return nil //nolint:nilerr // a timer whose key is no id is none of ours: nothing is due
	}
	l, err := d.store.TakeLater(tx, which)
	if fault.Is(err, fault.NotFound) || err == nil && l.Task.Text == "" { // cancelled, or erased
		return nil
	}
	if err != nil {
		return err
	}
	cause, err := d.store.LoadEvent(tx, l.CauseID)
	if err != nil {
		return err
	}
	// The timer says nothing but that it is time. As a cause its label would
	// narrow the audience to the account, and an answer could not go back to the
	// contact who asked; so it stands as evidence.
	_, err = d.task(tx, l.Task, []event.Reference{{Kind: event.RefEvent, ID: timer.ID}}, cause.Ref())
	if fault.Is(err, fault.NotFound) { // the agent went away meanwhile: the default one takes over
		l.Task.Agent = d.config.DefaultAgent
		_, err = d.task(tx, l.Task, []event.Reference{{Kind: event.RefEvent, ID: timer.ID}}, cause.Ref())
	}
	return err
}
