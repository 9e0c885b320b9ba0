package work

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Message is one message of a task's thread.
type Message struct {
	ID          id.ID
	TaskID      id.ID
	Number      int64  // dense in its thread, from 1: the cursor of a page
	Sender      string // human, agent, or the name of a channel
	Author      string // principal
	Subject     id.ID
	Label       event.Label
	Text        string
	Attachments []event.Attachment
	Metadata    event.MessageMetadata
	Event       id.ID // its message.created
	At          time.Time
}

// Pending is the status of a message that waits for an answer.
const Pending = "pending"

// StatusMessage is the type of a message that tells of a change of status.
const StatusMessage = "status"

// NewMessage is a message to be.
type NewMessage struct {
	Workspace   id.ID
	Task        id.ID
	Text        string
	Attachments []event.Attachment
	Metadata    event.MessageMetadata
}

func checkMetadata(m event.MessageMetadata) error {
	for field, v := range map[string]string{"metadata.type": m.Type, "metadata.request_id": m.RequestID, "metadata.tool_name": m.ToolName, "metadata.status": m.Status} {
		if v != "" && (len(v) > maxRef || !plain(v)) {
			return fault.New(fault.Invalid, "%q is no code", clip(v)).On(field)
		}
	}
	if m.Status == Pending && m.RequestID == "" {
		return fault.New(fault.Invalid, "what waits for an answer needs a request_id").On("metadata.request_id")
	}
	if len(m.Details) > maxText || len(m.Details) > 0 && !json.Valid(m.Details) {
		return fault.New(fault.Invalid, "it is no JSON of at most %d bytes", maxText).On("metadata.details")
	}
	return nil
}

// AddMessage adds a message to a task's thread, whatever the status of the task:
// what is completed can be talked about. A worker that lost the task is refused.
func (s *Service) AddMessage(tx event.Tx, a Actor, n NewMessage) (Message, error) {
	if err := checkText("text", n.Text, maxText, len(n.Attachments) == 0 && n.Metadata.Type == ""); err != nil {
		return Message{}, err
	}
	if err := checkMetadata(n.Metadata); err != nil {
		return Message{}, err
	}
	_, before, err := s.open(tx, a, n.Workspace, n.Task)
	if err != nil {
		return Message{}, err
	}
	t, err := s.heard(tx, a, before)
	if err != nil {
		return Message{}, err
	}
	if err := words(a); err != nil {
		return Message{}, err
	}
	if n.Metadata.RequestID != "" {
		switch _, err := s.store.MessageByRequest(tx, t.ID, n.Metadata.RequestID); {
		case err == nil:
			return Message{}, fault.New(fault.Conflict, "the thread has a request %s already", n.Metadata.RequestID).On("metadata.request_id")
		case !fault.Is(err, fault.NotFound):
			return Message{}, err
		}
	}
	_, m, err := s.addMessage(tx, a, before, t, n)
	return m, err
}

func (s *Service) addMessage(tx event.Tx, a Actor, before, t Task, n NewMessage) (Task, Message, error) {
	t.Messages++
	t.UpdatedAt = tx.Now()
	if n.Metadata.Status == Pending {
		t.Pending++
	}
	m := Message{ID: tx.NewID(), TaskID: t.ID, Number: t.Messages, Sender: a.sender(), Author: a.Principal, Subject: a.subject(tx),
		Text: n.Text, Attachments: n.Attachments, Metadata: n.Metadata, At: tx.Now()}
	ev, err := s.emit(tx, a, t.ID, "The thread of "+t.Key()+" has a new message.", event.MessageCreated{MessageID: m.ID, TaskID: t.ID,
		WorkspaceID: t.WorkspaceID, Key: t.Key(), Number: m.Number, Sender: m.Sender, Author: m.Author, Text: m.Text, Attachments: m.Attachments, Metadata: m.Metadata})
	if err != nil {
		return t, m, err
	}
	m.Event, m.Label = ev.ID, ev.Label
	if err := s.store.AddMessage(tx, m); err != nil {
		return t, m, err
	}
	return t, m, s.keep(tx, before, t)
}

// sayStatus says a worker's or an agent's change of status in the thread too, as
// the seed has it; a person sees its own on the task.
func (s *Service) sayStatus(tx event.Tx, a Actor, t Task) (Task, error) {
	if a.kind() == Human {
		return t, nil
	}
	t, _, err := s.addMessage(tx, a, t, t, NewMessage{Text: "Status updated to: " + string(t.Status),
		Metadata: event.MessageMetadata{Type: StatusMessage, Status: string(t.Status)}})
	return t, err
}

// AnswerMessage settles a message that waits for an answer, by its request: once.
// A worker may only take its own question back.
func (s *Service) AnswerMessage(tx event.Tx, a Actor, workspace, task id.ID, request, status string) (Message, error) {
	if status == "" || status == Pending || len(status) > maxRef || !plain(status) {
		return Message{}, fault.New(fault.Invalid, "%q is no answer", clip(status)).On("status")
	}
	_, before, err := s.open(tx, a, workspace, task)
	if err != nil {
		return Message{}, err
	}
	t, err := s.heard(tx, a, before)
	if err != nil {
		return Message{}, err
	}
	m, err := s.store.MessageByRequest(tx, t.ID, request)
	if fault.Is(err, fault.NotFound) {
		return m, fault.New(fault.NotFound, "there is no such request").On("requestId")
	}
	switch {
	case err != nil:
		return m, err
	case m.Metadata.Status != Pending:
		return m, fault.New(fault.Conflict, "the request is answered already: %s", m.Metadata.Status).On("requestId")
	case a.worker() && (m.Author != a.Principal || status != "cancel"):
		return m, fault.New(fault.Denied, "a worker answers no questions; it may take its own back").On("status")
	}
	if err := s.store.SettleMessage(tx, t.ID, m.Number, status); err != nil {
		return m, err
	}
	m.Metadata.Status = status
	t.Pending--
	t.UpdatedAt = tx.Now()
	if err := s.keep(tx, before, t); err != nil {
		return m, err
	}
	_, err = s.emit(tx, a, t.ID, "A question in the thread of "+t.Key()+" has its answer.", event.MessageUpdated{MessageID: m.ID, TaskID: t.ID,
		WorkspaceID: t.WorkspaceID, Number: m.Number, Status: status, By: a.Principal})
	return m, err
}

// MessagePage is a page of a thread.
type MessagePage struct {
	Workspace id.ID
	Task      id.ID
	After     int64 // numbers above this one
	Before    int64 // numbers below this one; 0 means no bound
	Newest    bool  // newest first
	Limit     int
}

// ListMessages returns a page of a thread. What it costs depends on the page, not
// on the thread.
func (s *Service) ListMessages(tx event.Tx, a Actor, p MessagePage) ([]Message, error) {
	t, err := s.seeTask(tx, a, p.Workspace, p.Task, s.store.GetTask)
	if err != nil {
		return nil, err
	}
	if p.Before <= 0 {
		p.Before = t.Messages + 1
	}
	return s.store.ListMessages(tx, t.ID, p.After, p.Before, p.Newest, pages(p.Limit))
}

// History returns the events of a task after a seq, in order: all that was said
// and done, by whom, and why.
func (s *Service) History(tx event.Tx, a Actor, workspace, task id.ID, after int64, limit int) ([]event.Event, error) {
	t, err := s.seeTask(tx, a, workspace, task, s.store.GetTask)
	if err != nil {
		return nil, err
	}
	return s.store.History(tx, t.ID, after, pages(limit))
}
