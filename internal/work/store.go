package work

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// PanoStore keeps documents. Every method works inside tx and on its account only.
type PanoStore interface {
	// GetDocument returns a revision of the document at a path, 0 for the
	// newest; NotFound if there is none.
	GetDocument(tx event.Tx, path string, revision int64) (Document, error)
	// AddRevision appends d and makes it the newest. It reports false, and
	// writes nothing, if d.Revision-1 is not the newest any more.
	AddRevision(tx event.Tx, d Document) (saved bool, err error)
	// EachDocument calls f for the newest revisions by path, after a path, with
	// or without their texts, until f returns false.
	EachDocument(tx event.Tx, after string, texts bool, f func(Document) bool) error
}

// ReminderStore keeps reminders. Every method works inside tx and on its account only.
type ReminderStore interface {
	AddReminder(tx event.Tx, r Reminder) error
	// GetReminder returns a reminder; NotFound if there is none.
	GetReminder(tx event.Tx, reminder id.ID) (Reminder, error)
	// EndReminder moves a waiting reminder to a final state; false if it does
	// not wait any more.
	EndReminder(tx event.Tx, reminder id.ID, s State) (ended bool, err error)
	// ListReminders returns the waiting reminders of a requester, next first.
	ListReminders(tx event.Tx, requester string, limit int) ([]Reminder, error)
	// SetTimer makes timer.fired{reminder, key} happen once at a time; CancelTimer
	// takes it back.
	SetTimer(tx event.Tx, key string, at time.Time) error
	CancelTimer(tx event.Tx, key string) error
	// DBNow returns the database's clock.
	DBNow(tx event.Tx) (time.Time, error)
}

// Store keeps workspaces, tasks and threads. Every method works inside tx and on
// its account only; an absent row is fault.NotFound. Lock and Share keep others
// from writing the row, or from locking it, until the transaction ends.
type Store interface {
	workspaceStore
	taskStore
	graphStore
	messageStore
	signalStore

	// DBNow returns the database's clock, by which leases are judged.
	DBNow(tx event.Tx) (time.Time, error)
	// SetLease makes timer.fired{TimerLease, task} happen once at a time; DropLease
	// takes it back.
	SetLease(tx event.Tx, task id.ID, at time.Time) error
	DropLease(tx event.Tx, task id.ID) error
	// Halted reports whether the account or the scope is halted.
	Halted(tx event.Tx, scope string) (bool, error)
	// History returns the events of a stream after a seq, in order.
	History(tx event.Tx, stream id.ID, after int64, limit int) ([]event.Event, error)
}

type workspaceStore interface {
	AddWorkspace(tx event.Tx, w Workspace) error
	SaveWorkspace(tx event.Tx, w Workspace) error
	GetWorkspace(tx event.Tx, workspace id.ID) (Workspace, error)
	ShareWorkspace(tx event.Tx, workspace id.ID) (Workspace, error)
	// ShareWorkspaceOf shares the workspace of a task.
	ShareWorkspaceOf(tx event.Tx, task id.ID) (Workspace, error)
	LockWorkspace(tx event.Tx, workspace id.ID) (Workspace, error)
	WorkspaceByToken(tx event.Tx, digest []byte) (Workspace, error)
	PrefixTaken(tx event.Tx, prefix string) (bool, error)
	// ListWorkspaces returns workspaces in the order in which they were made.
	ListWorkspaces(tx event.Tx, archived bool, after id.ID, limit int) ([]Workspace, error)
	// Forks locks and returns the forks of a workspace that are not merged.
	Forks(tx event.Tx, parent id.ID) ([]Workspace, error)
	// Unfinished counts tasks of a workspace that are not done, templates included.
	Unfinished(tx event.Tx, workspace id.ID) (int64, error)
	// MoveTasks takes all tasks of a workspace into another and returns how many.
	MoveTasks(tx event.Tx, from, to id.ID) (int64, error)
	// NextNumber returns the next number of a workspace's tasks; NotFound if it is
	// archived or absent.
	NextNumber(tx event.Tx, workspace id.ID) (int64, error)
}

type taskStore interface {
	AddTask(tx event.Tx, t Task) error
	// SaveTask writes all that can change but the words; SaveWords writes those.
	SaveTask(tx event.Tx, t Task) error
	SaveWords(tx event.Tx, t Task) error
	GetTask(tx event.Tx, task id.ID) (Task, error)
	LockTask(tx event.Tx, task id.ID) (Task, error)
	TaskByKey(tx event.Tx, prefix string, number int64) (Task, error)
	DropTask(tx event.Tx, task id.ID) error
	// NextOffer locks and returns the first task of a workspace that is offered to
	// a reference ("" to any worker), without waiting for what others lock; false
	// if there is none.
	NextOffer(tx event.Tx, workspace id.ID, ref string) (Task, bool, error)
	ListTasks(tx event.Tx, q TaskQuery) ([]Task, error)
	CountTasks(tx event.Tx, workspace id.ID) (map[Status]int64, error)
	// Following returns the tasks behind a place of a column of a workspace's board.
	Following(tx event.Tx, workspace id.ID, s Status, after int64, than id.ID, limit int) ([]Task, error)
	// OngoingOf returns tasks of a workspace that somebody holds.
	OngoingOf(tx event.Tx, workspace id.ID, limit int) ([]Task, error)
	// OngoingTasks returns the tasks that somebody holds, after one.
	OngoingTasks(tx event.Tx, after id.ID, limit int) ([]Task, error)
	Children(tx event.Tx, parent, after id.ID, limit int) ([]Task, error)
}

type graphStore interface {
	// LockGraph keeps others from changing parents and links.
	LockGraph(tx event.Tx) error
	// AddLink reports false if the link is there already, DropLink if it is not.
	AddLink(tx event.Tx, task, blocker id.ID, at time.Time) (bool, error)
	DropLink(tx event.Tx, task, blocker id.ID) (bool, error)
	Blockers(tx event.Tx, task id.ID) ([]id.ID, error)
	Dependents(tx event.Tx, blocker id.ID) ([]id.ID, error)
}

type messageStore interface {
	AddMessage(tx event.Tx, m Message) error
	MessageByRequest(tx event.Tx, task id.ID, request string) (Message, error)
	SettleMessage(tx event.Tx, task id.ID, number int64, status string) error
	// ListMessages returns messages with numbers between after and before, oldest
	// first; newest first with descending.
	ListMessages(tx event.Tx, task id.ID, after, before int64, descending bool, limit int) ([]Message, error)
	// DropMessages removes the thread of a task.
	DropMessages(tx event.Tx, task id.ID) error
}
