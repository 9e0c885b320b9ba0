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
