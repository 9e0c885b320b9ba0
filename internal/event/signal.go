package event

import "github.com/witan-run/witan/internal/kit/id"

// QA is a question and its answer, as a signal or a publish brings them along.
type QA struct {
	Q string `json:"q"`
	A string `json:"a"`
}

// SignalCreated says that a signal begins: a name that can be published.
type SignalCreated struct {
	SignalID          id.ID  `json:"eventId"`
	Name              string `json:"name"`
	Description       string `json:"description"`
	PayloadGuidelines string `json:"payloadGuidelines"`
	FAQ               []QA   `json:"faq,omitempty"`
	By                string `json:"by"`
}

// SignalUpdated says what changed of a signal. Archiving is a change of archivedAt.
type SignalUpdated struct {
	SignalID id.ID         `json:"eventId"`
	Changes  []FieldChange `json:"changes"`
	Revision int64         `json:"revision"`
	By       string        `json:"by"`
}

// SignalDeleted says that a signal is gone, with its triggers and its publishes.
type SignalDeleted struct {
	SignalID id.ID  `json:"eventId"`
	Name     string `json:"name"`
	By       string `json:"by"`
}

// TriggerCreated says that each publish of a signal makes a task from now on.
type TriggerCreated struct {
	TriggerID        id.ID  `json:"triggerId"`
	SignalID         id.ID  `json:"eventId"`
	WorkspaceID      id.ID  `json:"workspaceId"`
	Title            string `json:"title"`
	Body             string `json:"body"` // a template
	Assignee         string `json:"assignee"`
	AssigneeRef      string `json:"assigneeRef,omitempty"`
	AllowAllCommands bool   `json:"allowAllCommands"`
	EmitSignalID     id.ID  `json:"emitEventId,omitzero"` // the signal that its tasks are to publish
	Enabled          bool   `json:"enabled"`
	By               string `json:"by"`
}

// TriggerUpdated says what changed of a trigger.
type TriggerUpdated struct {
	TriggerID id.ID         `json:"triggerId"`
	SignalID  id.ID         `json:"eventId"`
	Changes   []FieldChange `json:"changes"`
	Revision  int64         `json:"revision"`
	By        string        `json:"by"`
}

// TriggerDeleted says that a trigger is gone.
type TriggerDeleted struct {
	TriggerID id.ID  `json:"triggerId"`
	SignalID  id.ID  `json:"eventId"`
	By        string `json:"by"`
}

// SignalTask is one task that a publish makes.
type SignalTask struct {
	TriggerID   id.ID `json:"triggerId"`
	WorkspaceID id.ID `json:"workspaceId"`
	TaskID      id.ID `json:"taskId"`
}

// SignalPassed is one trigger that a publish passed over, and why.
type SignalPassed struct {
	TriggerID   id.ID  `json:"triggerId"`
	WorkspaceID id.ID  `json:"workspaceId"`
	Reason      string `json:"reason"` // archived, disabled, too_long
}

// SignalPublished says that a signal was published. The tasks that it makes are
// caused by this event, in the same commit.
type SignalPublished struct {
	PublishID id.ID          `json:"publishId"`
	SignalID  id.ID          `json:"eventId"`
	Name      string         `json:"name"`
	TaskID    id.ID          `json:"taskId,omitzero"` // the task that it tells of
	Author    string         `json:"author"`          // principal
	Trust     int32          `json:"trust"`           // of its author, micro-units
	Payload   string         `json:"payload"`
	FAQ       []QA           `json:"faq,omitempty"`
	Depth     int            `json:"depth"` // in its chain, from 1
	Tasks     []SignalTask   `json:"tasks"`
	Passed    []SignalPassed `json:"passed,omitempty"`
}

// SignalStopped says that a publish was recorded and makes no task, because its
// chain goes in a circle or has become too long.
type SignalStopped struct {
	PublishID id.ID  `json:"publishId"`
	SignalID  id.ID  `json:"eventId"`
	Name      string `json:"name"`
	TaskID    id.ID  `json:"taskId"`
	Author    string `json:"author"`
	Payload   string `json:"payload"`
	Reason    string `json:"reason"` // circle, depth
	Depth     int    `json:"depth"`
}

// EventType and sealed close the set of payloads.
func (SignalCreated) EventType() Type   { return "signal.created" }
func (SignalUpdated) EventType() Type   { return "signal.updated" }
func (SignalDeleted) EventType() Type   { return "signal.deleted" }
func (TriggerCreated) EventType() Type  { return "trigger.created" }
func (TriggerUpdated) EventType() Type  { return "trigger.updated" }
func (TriggerDeleted) EventType() Type  { return "trigger.deleted" }
func (SignalPublished) EventType() Type { return "signal.published" }
func (SignalStopped) EventType() Type   { return "signal.stopped" }

func (SignalCreated) sealed()   {}
func (SignalUpdated) sealed()   {}
func (SignalDeleted) sealed()   {}
func (TriggerCreated) sealed()  {}
func (TriggerUpdated) sealed()  {}
func (TriggerDeleted) sealed()  {}
func (SignalPublished) sealed() {}
func (SignalStopped) sealed()   {}

var signalRows = []Row{
	row[SignalCreated](1, layers(LayerDispatch), classes(ClassWork), "A signal begins: a name that can be published."),
	row[SignalUpdated](1, layers(LayerDispatch), classes(ClassWork), "What changed of a signal."),
	row[SignalDeleted](1, layers(LayerDispatch), classes(ClassWork), "A signal is gone, with its triggers and its publishes."),
	row[TriggerCreated](1, layers(LayerDispatch), classes(ClassWork), "Each publish of a signal makes a task from now on."),
	row[TriggerUpdated](1, layers(LayerDispatch), classes(ClassWork), "What changed of a trigger."),
	row[TriggerDeleted](1, layers(LayerDispatch), classes(ClassWork), "A trigger is gone."),
	row[SignalPublished](1, layers(LayerDispatch), classes(ClassWork), "A signal was published; its tasks come with it."),
	row[SignalStopped](1, layers(LayerDispatch), classes(ClassWork), "A publish makes no task: its chain goes in a circle or is too long."),
}
