package event

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/kit/id"
)

// FieldChange is the new value of one field, by its name on the wire.
type FieldChange struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
}

// WorkspaceCreated says that a workspace begins.
type WorkspaceCreated struct {
	WorkspaceID          id.ID  `json:"workspaceId"`
	Prefix               string `json:"prefix"` // of the keys of its tasks
	Name                 string `json:"name"`
	Description          string `json:"description"`
	SelfLearningLoopNote string `json:"selfLearningLoopNote"`
	AllowAllCommands     bool   `json:"allowAllCommands"`
	Resident             string `json:"resident,omitempty"` // the resident agent that takes its tasks
	ForkOfID             id.ID  `json:"forkOfId,omitzero"`  // the workspace that it is a fork of
	By                   string `json:"by"`
}

// WorkspaceMerged says that a fork is over: its tasks went back to its parent.
type WorkspaceMerged struct {
	WorkspaceID id.ID  `json:"workspaceId"`
	IntoID      id.ID  `json:"intoId"`
	Tasks       int64  `json:"tasks"` // that went along
	By          string `json:"by"`
}

// WorkspaceUpdated says what changed of a workspace. Archiving is a change of
// archivedAt, a new token one of tokenLastFour; the token is in no event.
type WorkspaceUpdated struct {
	WorkspaceID id.ID         `json:"workspaceId"`
	Changes     []FieldChange `json:"changes"`
	Revision    int64         `json:"revision"`
	By          string        `json:"by"`
}

// TaskCreated says that a task begins.
type TaskCreated struct {
	TaskID           id.ID        `json:"taskId"`
	WorkspaceID      id.ID        `json:"workspaceId"`
	Key              string       `json:"key"`
	CreatedBy        string       `json:"createdBy"` // human, agent
	Author           string       `json:"author"`    // principal
	Trust            int32        `json:"trust"`     // of its author, micro-units
	Assignee         string       `json:"assignee"`  // human, agent
	AssigneeRef      string       `json:"assigneeRef,omitempty"`
	Status           string       `json:"status"`
	Title            string       `json:"title"`
	Body             string       `json:"body"`
	Attachments      []Attachment `json:"attachments,omitempty"`
	CronSchedule     string       `json:"cronSchedule,omitempty"`
	ParentID         id.ID        `json:"parentId,omitzero"`
	TriggerID        id.ID        `json:"triggerId,omitzero"`
	EventID          id.ID        `json:"eventId,omitzero"`
	SortOrder        int64        `json:"sortOrder"` // 2^20 is one place
	AllowAllCommands bool         `json:"allowAllCommands"`
}

// TaskUpdated says what changed of a task, but for its status.
type TaskUpdated struct {
	TaskID      id.ID         `json:"taskId"`
	WorkspaceID id.ID         `json:"workspaceId"`
	Key         string        `json:"key"`
	Changes     []FieldChange `json:"changes"`
	Revision    int64         `json:"revision"`
	By          string        `json:"by"`
}

// StatusUpdated says that a task moved, or changed hands: while it is ongoing
// somebody holds it, and a higher fence makes every lower one worthless.
type StatusUpdated struct {
	TaskID      id.ID  `json:"taskId"`
	WorkspaceID id.ID  `json:"workspaceId"`
	Key         string `json:"key"`
	From        string `json:"from"`
	To          string `json:"to"`
	Cause       string `json:"cause"`              // moved, claimed, resumed, released, reassigned, revoked, lapsed, lost, held, scheduled, unscheduled
	Claimant    string `json:"claimant,omitempty"` // principal that holds it, or held it until now
	Fence       int64  `json:"fence"`
	Until       int64  `json:"until,omitempty"` // of the lease, microseconds
	Revision    int64  `json:"revision"`
	By          string `json:"by"`
}

// TaskLinked says that a task waits for another, or does so no more.
type TaskLinked struct {
	TaskID      id.ID  `json:"taskId"`
	WorkspaceID id.ID  `json:"workspaceId"`
	Key         string `json:"key"`
	BlockerID   id.ID  `json:"blockerId"`
	Linked      bool   `json:"linked"`
	Waits       int    `json:"waits"` // tasks it waits for now
	By          string `json:"by"`
}

// TaskDeleted says that a task and its messages are gone.
type TaskDeleted struct {
	TaskID      id.ID  `json:"taskId"`
	WorkspaceID id.ID  `json:"workspaceId"`
	Key         string `json:"key"`
	By          string `json:"by"`
}

// MessageMetadata is what a message is besides its text: a question that waits
// for an answer, a notice. Its names are those of the seed.
type MessageMetadata struct {
	Type      string          `json:"type,omitempty"` // permission_request, status, ...
	RequestID string          `json:"request_id,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	Status    string          `json:"status,omitempty"` // pending, allow, allow_always, deny, ...
	Details   json.RawMessage `json:"details,omitempty"`
}

// MessageCreated says that a task's thread has a new message.
type MessageCreated struct {
	MessageID   id.ID           `json:"messageId"`
	TaskID      id.ID           `json:"taskId"`
	WorkspaceID id.ID           `json:"workspaceId"`
	Key         string          `json:"key"`
	Number      int64           `json:"number"` // dense in its thread, from 1
	Sender      string          `json:"sender"` // human, agent, or the name of a channel
	Author      string          `json:"author"` // principal
	Text        string          `json:"text"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	Metadata    MessageMetadata `json:"metadata"`
}

// MessageUpdated says that what a message asked has its answer.
type MessageUpdated struct {
	MessageID   id.ID  `json:"messageId"`
	TaskID      id.ID  `json:"taskId"`
	WorkspaceID id.ID  `json:"workspaceId"`
	Number      int64  `json:"number"`
	Status      string `json:"status"`
	By          string `json:"by"`
}

// EventType and sealed close the set of payloads.
func (WorkspaceCreated) EventType() Type { return "workspace.created" }
func (WorkspaceUpdated) EventType() Type { return "workspace.updated" }
func (WorkspaceMerged) EventType() Type  { return "workspace.merged" }
func (TaskCreated) EventType() Type      { return "task.created" }
func (TaskUpdated) EventType() Type      { return "task.updated" }
func (StatusUpdated) EventType() Type    { return "status.updated" }
func (TaskLinked) EventType() Type       { return "task.linked" }
func (TaskDeleted) EventType() Type      { return "task.deleted" }
func (MessageCreated) EventType() Type   { return "message.created" }
func (MessageUpdated) EventType() Type   { return "message.updated" }

func (WorkspaceCreated) sealed() {}
func (WorkspaceUpdated) sealed() {}
func (WorkspaceMerged) sealed()  {}
func (TaskCreated) sealed()      {}
func (TaskUpdated) sealed()      {}
func (StatusUpdated) sealed()    {}
func (TaskLinked) sealed()       {}
func (TaskDeleted) sealed()      {}
func (MessageCreated) sealed()   {}
func (MessageUpdated) sealed()   {}

var workRows = []Row{
	row[WorkspaceCreated](1, layers(LayerDispatch), classes(ClassWork), "A workspace begins."),
	row[WorkspaceUpdated](1, layers(LayerDispatch), classes(ClassWork), "What changed of a workspace."),
	row[WorkspaceMerged](1, layers(LayerDispatch), classes(ClassWork), "A fork is over; its tasks went back to its parent."),
	row[TaskCreated](1, layers(LayerDispatch), classes(ClassWork), "A task begins."),
	row[TaskUpdated](1, layers(LayerDispatch), classes(ClassWork), "What changed of a task, but for its status."),
	row[StatusUpdated](1, layers(LayerDispatch), classes(ClassWork), "A task moved or changed hands."),
	row[TaskLinked](1, layers(LayerDispatch), classes(ClassWork), "A task waits for another, or does so no more."),
	row[TaskDeleted](1, layers(LayerDispatch), classes(ClassWork), "A task and its messages are gone."),
	row[MessageCreated](1, layers(LayerDispatch), classes(ClassWork), "A task's thread has a new message."),
	row[MessageUpdated](1, layers(LayerDispatch), classes(ClassWork), "What a message asked has its answer."),
}
