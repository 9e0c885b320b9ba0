package workdb

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// AddReminder implements work.ReminderStore.
func (*Store) AddReminder(tx event.Tx, r work.Reminder) error {
	_, err := q.Exec(tx, "add_reminder", tx.Account(), r.ID, clock.Micros(r.Due), r.Text, string(r.State), r.Run, r.Thread, r.Channel, r.Requester,
		r.Agent, r.Label.String(), r.Subject, r.Event, r.Correlation, clock.Micros(r.CreatedAt))
	return err
}

// GetReminder implements work.ReminderStore.
func (*Store) GetReminder(tx event.Tx, reminder id.ID) (work.Reminder, error) {
	return scanReminder(func(d ...any) error { return q.Row(tx, "reminder", []any{tx.Account(), reminder}, d...) })
}

// ListReminders implements work.ReminderStore.
func (*Store) ListReminders(tx event.Tx, requester string, limit int) (out []work.Reminder, err error) {
	err = q.Each(tx, "reminders", []any{tx.Account(), requester, limit}, func(scan func(...any) error) error {
		r, err := scanReminder(scan)
		out = append(out, r)
		return err
	})
	return out, err
}

func scanReminder(scan func(...any) error) (r work.Reminder, err error) {
	var due, created int64
	var state, label string
	if err := scan(&r.ID, &due, &r.Text, &state, &r.Run, &r.Thread, &r.Channel, &r.Requester, &r.Agent, &label, &r.Subject, &r.Event,
		&r.Correlation, &created); err != nil {
		return work.Reminder{}, err
	}
	r.Due, r.CreatedAt, r.State = clock.FromMicros(due), clock.FromMicros(created), work.State(state)
	r.Label, err = event.ParseLabel(label)
	return r, err
}

// EndReminder implements work.ReminderStore.
func (*Store) EndReminder(tx event.Tx, reminder id.ID, s work.State) (bool, error) {
	n, err := q.Exec(tx, "end_reminder", string(s), tx.Account(), reminder)
	return n == 1, err
}
