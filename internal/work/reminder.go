package work

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// TimerReminder is the kind of the timers that fire reminders.
const TimerReminder = "reminder"

// Limits of reminders.
const (
	maxReminderText = 4096                     // bytes
	maxAhead        = 5 * 366 * 24 * time.Hour // how far ahead one may be set
	maxWaiting      = 500                      // of one requester
)

// State is where a reminder stands.
type State string

// The three states; the last two are final.
const (
	Waiting   State = "waiting"
	Fired     State = "fired"
	Cancelled State = "cancelled"
)

// Reminder is one message that is to come later.
type Reminder struct {
	ID          id.ID
	Due         time.Time
	Text        string
	State       State
	Run         id.ID // whose reply route it takes
	Thread      id.ID
	Channel     string
	Requester   string // principal that it goes to
	Agent       string // principal that set it
	Label       event.Label
	Subject     id.ID
	Event       id.ID // its reminder.set
	Correlation id.ID
	CreatedAt   time.Time
}

// Post puts a reminder that came due on its way to its requester, as the answer
// of its agent in its thread. What may not leave is recorded by whoever filters
// it; an error voids the firing, which is then tried again.
type Post interface {
	Remind(tx event.Tx, r Reminder, fired event.Ref) error
}

// Reminders keeps the reminders. It is safe for concurrent use.
type Reminders struct {
	store  ReminderStore
	post   Post
	origin event.Origin
}

// NewReminders returns the service; origin may say reminder.set,
// reminder.cancelled and reminder.fired.
func NewReminders(s ReminderStore, p Post, origin event.Origin) (*Reminders, error) {
	if s == nil || p == nil || origin.Source() == "" {
		return nil, fault.New(fault.Internal, "reminders: a store, a post and an origin are required")
	}
	return &Reminders{store: s, post: p, origin: origin}, nil
}

// Set keeps a reminder caused by cause, whose label it carries. r gives Due,
// Text, Run, Thread, Channel, Requester, Agent and Subject. A time that is over
// or too far ahead is fault.Invalid.
func (s *Reminders) Set(tx event.Tx, r Reminder, cause event.Ref) (Reminder, error) {
	now, err := s.store.DBNow(tx)
	if err != nil {
		return r, err
	}
	r.Text = strings.TrimSpace(r.Text)
	r.Due = r.Due.UTC().Truncate(time.Microsecond)
	switch {
	case !r.Due.After(now):
		return r, fault.New(fault.Invalid, "that time is over").On("at")
	case r.Due.Sub(now) > maxAhead:
		return r, fault.New(fault.Invalid, "a reminder may be set for the next five years").On("at")
	case r.Text == "" || len(r.Text) > maxReminderText || !utf8.ValidString(r.Text) || strings.ContainsRune(r.Text, 0):
		return r, fault.New(fault.Invalid, "a reminder is a text of at most %d bytes", maxReminderText).On("text")
	case r.Requester == "":
		return r, fault.New(fault.Invalid, "there is nobody to remind").On("requester")
	}
	have, err := s.store.ListReminders(tx, r.Requester, maxWaiting)
	if err != nil {
		return r, err
	}
	if len(have) >= maxWaiting {
		return r, fault.New(fault.Conflict, "%d reminders wait already; cancel some", maxWaiting)
	}
	r.ID, r.State, r.CreatedAt = tx.NewID(), Waiting, now
	if r.Subject.IsZero() {
		r.Subject = tx.Account()
	}
	ev, err := tx.Emit(s.origin, event.Draft{
		Payload: event.ReminderSet{ReminderID: r.ID, At: clock.Micros(r.Due), Text: r.Text, RunID: r.Run, ThreadID: r.Thread,
			Channel: r.Channel, Requester: r.Requester, By: r.Agent},
		Summary: "A reminder was set.", Stream: r.Thread, Subject: r.Subject, Causes: []event.Ref{cause},
	})
	if err != nil {
		return r, err
	}
	r.Event, r.Correlation, r.Label = ev.ID, ev.Correlation, ev.Label
	if err := s.store.AddReminder(tx, r); err != nil {
		return r, err
	}
	return r, s.store.SetTimer(tx, r.ID.String(), r.Due)
}

// List returns what waits for a requester, next first.
func (s *Reminders) List(tx event.Tx, requester string) ([]Reminder, error) {
	return s.store.ListReminders(tx, requester, maxWaiting)
}

// Cancel takes back a waiting reminder of a requester. One of somebody else is
// fault.NotFound, one that does not wait any more fault.Conflict.
func (s *Reminders) Cancel(tx event.Tx, reminder id.ID, requester, by string, cause event.Ref) (Reminder, error) {
	r, err := s.store.GetReminder(tx, reminder)
	if fault.Is(err, fault.NotFound) || err == nil && r.Requester != requester {
		return Reminder{}, fault.New(fault.NotFound, "there is no such reminder").On("id")
	}
	if err != nil {
		return r, err
	}
	if r.State != Waiting {
		return r, fault.New(fault.Conflict, "the reminder is %s already", r.State).On("id")
	}
	ended, err := s.store.EndReminder(tx, r.ID, Cancelled)
	if err == nil && !ended {
		err = fault.New(fault.Unavailable, "the reminder is being ended by another")
	}
	if err != nil {
		return r, err
	}
	if _, err := tx.Emit(s.origin, event.Draft{Payload: event.ReminderCancelled{ReminderID: r.ID, By: by}, Summary: "A reminder was cancelled.",
		Stream: r.Thread, Subject: r.Subject, Causes: []event.Ref{cause}, Label: r.Label}); err != nil {
		return r, err
	}
	r.State = Cancelled
	return r, s.store.CancelTimer(tx, r.ID.String())
}

// OnTimer is the reaction to timer.fired: it posts the reminder that came due.
// A reminder that was cancelled or erased meanwhile does nothing, and handling
// an event twice changes nothing.
func (s *Reminders) OnTimer(tx event.Tx, ev event.Event) error {
	t, ok := ev.Payload.(event.TimerFired)
	if !ok || t.Kind != TimerReminder {
		return nil
	}
	key, _ := id.Parse(t.Key) // zero for what is no id
	if key.IsZero() {
		return nil // no timer of ours has such a key
	}
	r, err := s.store.GetReminder(tx, key)
	if fault.Is(err, fault.NotFound) || err == nil && r.State != Waiting {
		return nil
	}
	if err != nil {
		return err
	}
	ended, err := s.store.EndReminder(tx, r.ID, Fired)
	if err != nil || !ended {
		return err
	}
	r.State = Fired
	// The words come from reminder.set, so that is the cause whose label counts;
	// the timer only says when. Joined with its label the message could not reach
	// a contact outside the account.
	set := event.Ref{ID: r.Event, Correlation: r.Correlation, Label: r.Label}
	fired, err := tx.Emit(s.origin, event.Draft{
		Payload: event.ReminderFired{ReminderID: r.ID, DueAt: clock.Micros(r.Due), Text: r.Text, RunID: r.Run, ThreadID: r.Thread,
			Channel: r.Channel, Requester: r.Requester},
		Summary: "A reminder came due.", Stream: r.Thread, Subject: r.Subject, Causes: []event.Ref{set},
		Evidence: []event.Reference{{Kind: event.RefEvent, ID: ev.ID}},
	})
	if err != nil {
		return err
	}
	return s.post.Remind(tx, r, fired.Ref())
}
