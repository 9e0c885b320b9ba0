package event

import "github.com/witan-run/witan/internal/kit/id"

// ReminderSet says that a message was asked for at a later time.
type ReminderSet struct {
	ReminderID id.ID  `json:"reminderId"`
	At         int64  `json:"at"` // when it is due, microseconds
	Text       string `json:"text"`
	RunID      id.ID  `json:"runId"` // whose reply route it takes
	ThreadID   id.ID  `json:"threadId"`
	Channel    string `json:"channel"`
	Requester  string `json:"requester"` // principal that it goes to
	By         string `json:"by"`
}

// ReminderCancelled says that a reminder will not come.
type ReminderCancelled struct {
	ReminderID id.ID  `json:"reminderId"`
	By         string `json:"by"`
}

// ReminderFired says that a reminder came due. What becomes of the message is
// told by outbound.message or outbound.blocked.
type ReminderFired struct {
	ReminderID id.ID  `json:"reminderId"`
	DueAt      int64  `json:"dueAt"` // microseconds
	Text       string `json:"text"`
	RunID      id.ID  `json:"runId"`
	ThreadID   id.ID  `json:"threadId"`
	Channel    string `json:"channel"`
	Requester  string `json:"requester"`
}

// EventType and sealed close the set of payloads.
func (ReminderSet) EventType() Type       { return "reminder.set" }
func (ReminderCancelled) EventType() Type { return "reminder.cancelled" }
func (ReminderFired) EventType() Type     { return "reminder.fired" }

func (ReminderSet) sealed()       {}
func (ReminderCancelled) sealed() {}
func (ReminderFired) sealed()     {}
