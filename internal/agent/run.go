package agent

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// State is where a run stands.
type State string

// The states of a run.
const (
	Queued   State = "queued"   // another run of its thread goes first
	Ready    State = "ready"    // its turn has come; a worker will take it
	Thinking State = "thinking" // a worker holds its lease and a request is out
	Waiting  State = "waiting"  // calls are out; the last result wakes it
	Resting  State = "resting"  // it waits until a model can be reached
	Finished State = "finished"
)

// The outcomes of a finished run.
const (
	Answered  = "answered"
	Failed    = "failed"
	Cancelled = "cancelled"
	OverSpent = "budget"
)

// Run is one piece of an agent's work, from a task to its answer.
type Run struct {
	ID        id.ID
	Thread    id.ID
	Agent     string
	Ord       int // in its thread, from 1
	State     State
	Task      id.ID // the agent.task event
	Turn      id.ID // the user's turn
	Message   id.ID // the message it answers
	Requester string
	Subject   id.ID
	Records   int // how many there are; the next N is this
	Delays    int // tries in a row that met no model
	Due       time.Time
	TokensIn  int64
	TokensOut int64
	Cost      int64 // micro-USD
	CostKnown bool
	Outcome   string
	Steps     int
	Digest    string
	Created   time.Time
	Started   time.Time
	Ended     time.Time
}

// scope is what a halt can name.
func (r Run) scope() string { return "agent:" + r.Agent }

// RecordKind says what a record of a run's log holds.
type RecordKind string

// The kinds. Produced records are computed by Next and proven by Replay; the
// others came from outside and are its inputs.
const (
	RecordStart   RecordKind = "start"   // run.started: what the run was given
	RecordRequest RecordKind = "request" // llm.request, produced
	RecordReply   RecordKind = "reply"   // llm.response
	RecordBudget  RecordKind = "budget"  // budget.met
	RecordSummary RecordKind = "summary" // thread.summarised, produced
	RecordCall    RecordKind = "call"    // skill.invoke, produced
	RecordResult  RecordKind = "result"  // skill.result
	RecordAnswer  RecordKind = "answer"  // agent.response, produced
	RecordGaveUp  RecordKind = "gave_up" // agent.response of a run that failed inside; not produced
)

// Record is one line of a run's log. Its content is the payload of its event;
// the line holds the digest of it and of the line itself.
type Record struct {
	RunID   id.ID
	N       int // from 0, without gaps
	Kind    RecordKind
	Step    int    // the model step it belongs to, from 1; 0 for the start
	CallID  string // of the model call or the skill call
	EventID id.ID
	Label   event.Label
	Digest  [32]byte

	// Event is the journal's entry, read back; set by readers that ask for it.
	Event event.Event
}
