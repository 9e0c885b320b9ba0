package event

import "github.com/witan-run/witan/internal/kit/id"

// AgentTask is a piece of work for a resident agent. Dispatch says it, whoever
// caused it; there is no second road (architecture §3).
type AgentTask struct {
	TaskID    id.ID  `json:"taskId"`
	Agent     string `json:"agent"`
	RunID     id.ID  `json:"runId"`
	ThreadID  id.ID  `json:"threadId"`
	MessageID id.ID  `json:"messageId"`
	Channel   string `json:"channel"`
	ContactID id.ID  `json:"contactId,omitzero"`
	Requester string `json:"requester"` // principal: person:ID, contact:ID, agent:NAME
	Trust     int32  `json:"trust"`     // micro-units, 0 to 1,000,000
	Text      string `json:"text"`
}

// AgentResponse is an agent's answer to a task.
type AgentResponse struct {
	RunID     id.ID    `json:"runId"`
	Agent     string   `json:"agent"`
	ThreadID  id.ID    `json:"threadId"`
	MessageID id.ID    `json:"messageId"`
	InReplyTo id.ID    `json:"inReplyTo"`
	Text      string   `json:"text"`
	IsError   bool     `json:"isError,omitempty"`
	ErrorKind string   `json:"errorKind,omitempty"`
	Skills    []string `json:"skills,omitempty"` // called in this run, in order
}

// AgentDiscuss is a turn in a talk between agents (seed 000 "Bullpen").
type AgentDiscuss struct {
	DiscussionID id.ID    `json:"discussionId"`
	MessageID    id.ID    `json:"messageId"`
	Topic        string   `json:"topic"`
	Author       string   `json:"author"` // principal
	Mentions     []string `json:"mentions,omitempty"`
	Text         string   `json:"text"`
}

// AgentDefined says that an agent's definition has a new version.
type AgentDefined struct {
	Agent   string `json:"agent"`
	Version int    `json:"version"`
	Digest  string `json:"digest"` // of the YAML text
	YAML    string `json:"yaml"`
	By      string `json:"by"`
}

// RunStarted says that a worker took up a run. It pins every recorded input.
type RunStarted struct {
	RunID        id.ID  `json:"runId"`
	Agent        string `json:"agent"`
	AgentVersion int    `json:"agentVersion"`
	Catalogue    int    `json:"catalogue"`
	Prompt       string `json:"prompt"` // NAME@N
	Policy       int    `json:"policy"`
	Code         string `json:"code"` // module, Go, Unicode and tzdata versions
}

// RunFinished says how a run ended.
type RunFinished struct {
	RunID   id.ID  `json:"runId"`
	Outcome string `json:"outcome"` // answered, failed, cancelled, budget
	Steps   int    `json:"steps"`
	Digest  string `json:"digest"` // of all recorded steps, for replay
}

// RunCancelled says that a person ended a run.
type RunCancelled struct {
	RunID id.ID  `json:"runId"`
	By    string `json:"by"`
}

// ThreadSummarised says that old turns of a thread became a summary.
type ThreadSummarised struct {
	ThreadID id.ID  `json:"threadId"`
	Through  id.ID  `json:"through"` // last message that the summary covers
	Text     string `json:"text"`
}

// EventType and sealed close the set of payloads.
func (AgentTask) EventType() Type        { return "agent.task" }
func (AgentResponse) EventType() Type    { return "agent.response" }
func (AgentDiscuss) EventType() Type     { return "agent.discuss" }
func (AgentDefined) EventType() Type     { return "agent.defined" }
func (RunStarted) EventType() Type       { return "run.started" }
func (RunFinished) EventType() Type      { return "run.finished" }
func (RunCancelled) EventType() Type     { return "run.cancelled" }
func (ThreadSummarised) EventType() Type { return "thread.summarised" }

func (AgentTask) sealed()        {}
func (AgentResponse) sealed()    {}
func (AgentDiscuss) sealed()     {}
func (AgentDefined) sealed()     {}
func (RunStarted) sealed()       {}
func (RunFinished) sealed()      {}
func (RunCancelled) sealed()     {}
func (ThreadSummarised) sealed() {}

var agentRows = []Row{
	row[AgentTask](1, layers(LayerDispatch), classes(ClassDispatch), "Dispatch gives a resident agent work."),
	row[AgentResponse](1, layers(LayerAgent), classes(ClassAgent), "An agent answers a task."),
	row[AgentDiscuss](1, layers(LayerAgent), classes(ClassAgent), "A turn in a talk between agents."),
	row[AgentDefined](1, layers(LayerAgent), classes(ClassAgent), "An agent's definition has a new version."),
	row[RunStarted](1, layers(LayerAgent), classes(ClassAgent), "A worker took up a run; names every recorded version."),
	row[RunFinished](1, layers(LayerAgent), classes(ClassAgent), "A run ended."),
	row[RunCancelled](1, layers(LayerAgent), classes(ClassAgent), "A person ended a run."),
	row[ThreadSummarised](1, layers(LayerAgent), classes(ClassAgent), "Old turns of a thread became a summary."),
}
