package work

import "slices"

// Reason says why a task is not running: a closed list.
type Reason string

// The reasons, in the order in which they are looked for. The first that holds is
// the answer.
const (
	Running         Reason = "running"  // it is: somebody holds it
	Finished        Reason = "finished" // nothing is left to do
	OfArchive       Reason = "archived" // its workspace is archived
	AwaitsSchedule  Reason = "schedule" // a template, until its next moment
	OfRestore       Reason = "restored" // it was ongoing when the past was restored; a person lets it go on
	LostTooOften    Reason = "lost"     // workers took it and went away; a person must look
	AwaitsAnswer    Reason = "answer"   // a question in its thread is open
	IsBlocked       Reason = "blocked"  // its worker or a person says that it cannot go on
	AwaitsTasks     Reason = "tasks"    // other tasks must be completed first
	OfHalt          Reason = "halted"   // a stop is in force
	AwaitsPerson    Reason = "person"   // it is a person's to do
	AwaitsAgent     Reason = "agent"    // a resident agent has it in its queue
	AwaitsWorker    Reason = "worker"   // one worker is named, and has not taken it
	AfterLoss       Reason = "lapsed"   // its last worker went away; it is offered again
	AwaitsAnyWorker Reason = "queued"   // it is offered to the workers of its workspace
)

// Reasons lists them all.
func Reasons() []Reason {
	return []Reason{Running, Finished, OfArchive, AwaitsSchedule, OfRestore, LostTooOften, AwaitsAnswer, IsBlocked, AwaitsTasks, OfHalt,
		AwaitsPerson, AwaitsAgent, AwaitsWorker, AfterLoss, AwaitsAnyWorker}
}

// Facts are what Why looks at, besides the task.
type Facts struct {
	Archived bool // its workspace
	Halted   bool // its workspace or the account
}

// Why says why a task is not running. It is a function of its arguments.
func Why(t Task, f Facts) Reason {
	switch {
	case f.Archived:
		return OfArchive
	case t.Status.Done():
		return Finished
	case t.Status == Ongoing && t.Pending > 0:
		return AwaitsAnswer
	case t.Status == Ongoing:
		return Running
	case t.Status == Cron:
		return AwaitsSchedule
	case t.Status == Blocked:
		switch {
		case t.Cause == CauseHeld:
			return OfRestore
		case t.Cause == CauseLost:
			return LostTooOften
		case t.Pending > 0:
			return AwaitsAnswer
		}
		return IsBlocked
	case t.Waits > 0:
		return AwaitsTasks
	case f.Halted:
		return OfHalt
	case t.Assignee == Human:
		return AwaitsPerson
	case resident(t.AssigneeRef):
		return AwaitsAgent
	case t.Cause == CauseLapsed:
		return AfterLoss
	case t.AssigneeRef != "":
		return AwaitsWorker
	}
	return AwaitsAnyWorker
}

// Sentence says a reason in a sentence for people.
func (r Reason) Sentence() string {
	return reasonNames[max(slices.Index(Reasons(), r), 0)]
}

var reasonNames = [...]string{
	"It is being worked on.",
	"It is done.",
	"Its workspace is archived.",
	"It is a template and waits for its schedule.",
	"It was ongoing when a backup was restored; a person must let it go on.",
	"Its workers went away too often; a person must look.",
	"A question in its thread waits for an answer.",
	"It is blocked: its thread says by what.",
	"Other tasks must be completed first.",
	"A halt is in force.",
	"It waits for a person.",
	"It is in the queue of a resident agent.",
	"It waits for the worker that it names.",
	"Its last worker went away; it is offered again.",
	"It is offered to the workers of its workspace.",
}
