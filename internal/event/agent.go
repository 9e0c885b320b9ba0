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
	// Sender is the address on the channel: a typed field that a call may quote.
	Sender      string       `json:"sender,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
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
	// Bindings tie stretches of Text to events of this run. A stretch without one
	// is the agent's word only.
	Bindings []Binding `json:"bindings,omitempty"`
}

// Binding says that a stretch of an answer rests on an event of its run.
type Binding struct {
	From    int   `json:"from"` // byte offset into the text
	To      int   `json:"to"`
	EventID id.ID `json:"eventId"`
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
	AgentVersion int    `json:"agentVersion"` // 0 when no such agent is defined
	Catalogue    int    `json:"catalogue"`
	Prompt       string `json:"prompt,omitempty"` // NAME@N
	Policy       int    `json:"policy"`
	Code         string `json:"code"`  // module, Go, Unicode and tzdata versions
	Brain        string `json:"brain"` // model, or plain for the commands that need none
	// Summariser is the prompt NAME@N that folds old turns, if any are to be folded.
	Summariser string  `json:"summariser,omitempty"`
	Role       string  `json:"role,omitempty"` // of the model
	At         int64   `json:"at"`             // microseconds: the run's clock
	Zone       string  `json:"zone"`           // IANA name for times that people write
	Summary    id.ID   `json:"summaryId,omitzero"`
	Fold       []id.ID `json:"fold,omitempty"` // old turns that this run summarises first
	Turns      []id.ID `json:"turns"`          // turns given in full, in order; the last is the task's
	Given      Given   `json:"given"`
}

// Given counts what a run's first request is made from, in estimated tokens.
type Given struct {
	Instructions int `json:"instructions"`
	Tools        int `json:"tools"`
	Turns        int `json:"turns"`
	Summary      int `json:"summary"`
	Folded       int `json:"folded"`     // turns that stand in the summary, a count
	Withheld     int `json:"withheld"`   // turns shown as handles only, a count
	Unavailable  int `json:"notOffered"` // skills of the allow-list that the catalogue lacks, a count
}

// RunDelayed says that a run waits, and what for: a model that cannot be reached
// (due names the next try), or one that is not configured (due is 0).
type RunDelayed struct {
	RunID   id.ID  `json:"runId"`
	Reason  string `json:"reason"` // a fault kind, or no_model
	Attempt int    `json:"attempt"`
	Due     int64  `json:"due"` // microseconds
	Error   string `json:"error,omitempty"`
}

// RunFinished says how a run ended.
type RunFinished struct {
	RunID     id.ID  `json:"runId"`
	Outcome   string `json:"outcome"` // answered, failed, cancelled, budget
	Steps     int    `json:"steps"`
	Digest    string `json:"digest"` // of all recorded steps, for replay
	TokensIn  int64  `json:"tokensIn"`
	TokensOut int64  `json:"tokensOut"`
	Cost      int64  `json:"cost"` // micro-USD
	CostKnown bool   `json:"costKnown"`
}

// RunCancelled says that a person ended a run.
type RunCancelled struct {
	RunID id.ID  `json:"runId"`
	By    string `json:"by"`
	Steps int    `json:"steps"`
	// Open lists calls without a result: what they did is in the effect ledger.
	Open []string `json:"open,omitempty"`
}

// ThreadSummarised says that old turns of a thread became a summary.
type ThreadSummarised struct {
	ThreadID id.ID  `json:"threadId"`
	Through  id.ID  `json:"through"` // last turn that the summary covers
	Text     string `json:"text"`
	TurnID   id.ID  `json:"turnId"` // of the summary
	RunID    id.ID  `json:"runId"`
	Turns    int    `json:"turns"` // that it covers, all in all
	By       string `json:"by"`    // model, or extract for the deterministic one
}

// EventType and sealed close the set of payloads.
func (AgentTask) EventType() Type        { return "agent.task" }
func (AgentResponse) EventType() Type    { return "agent.response" }
func (AgentDiscuss) EventType() Type     { return "agent.discuss" }
func (AgentDefined) EventType() Type     { return "agent.defined" }
func (RunStarted) EventType() Type       { return "run.started" }
func (RunDelayed) EventType() Type       { return "run.delayed" }
func (RunFinished) EventType() Type      { return "run.finished" }
func (RunCancelled) EventType() Type     { return "run.cancelled" }
func (ThreadSummarised) EventType() Type { return "thread.summarised" }

func (AgentTask) sealed()        {}
func (AgentResponse) sealed()    {}
func (AgentDiscuss) sealed()     {}
func (AgentDefined) sealed()     {}
func (RunStarted) sealed()       {}
func (RunDelayed) sealed()       {}
func (RunFinished) sealed()      {}
func (RunCancelled) sealed()     {}
func (ThreadSummarised) sealed() {}

var agentRows = []Row{
	row[AgentTask](1, layers(LayerDispatch), classes(ClassDispatch), "Dispatch gives a resident agent work."),
	row[AgentResponse](1, layers(LayerAgent), classes(ClassAgent), "An agent answers a task."),
	row[AgentDiscuss](1, layers(LayerAgent), classes(ClassAgent), "A turn in a talk between agents."),
	row[AgentDefined](1, layers(LayerAgent), classes(ClassAgent), "An agent's definition has a new version."),
	row[RunStarted](1, layers(LayerAgent), classes(ClassAgent), "A worker took up a run; names every recorded version."),
	row[RunDelayed](1, layers(LayerAgent), classes(ClassAgent), "A run waits for a model; says until when."),
	row[RunFinished](1, layers(LayerAgent), classes(ClassAgent), "A run ended."),
	row[RunCancelled](1, layers(LayerAgent), classes(ClassAgent), "A person ended a run."),
	row[ThreadSummarised](1, layers(LayerAgent), classes(ClassAgent), "Old turns of a thread became a summary."),
}
