package builtin

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

type reminders struct {
	journal event.Journal
	set     Reminders
}

type (
	reminderSet    struct{ reminders }
	reminderList   struct{ reminders }
	reminderCancel struct{ reminders }
)

// reminder is a reminder as results show it.
type reminder struct {
	ID   id.ID  `json:"id"`
	At   string `json:"at"`
	Text string `json:"text"`
}

func reminderOf(r Reminder) reminder {
	return reminder{r.ID, r.Due.UTC().Format(timeForm), r.Text}
}

// Act implements skill.Executable.
func (r reminderSet) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		At   string `json:"at"`
		Text string `json:"text"`
	}
	if err := begin(c, manifest.PermitMessage, &a); err != nil {
		return skill.Output{}, err
	}
	due, err := time.Parse(time.RFC3339, a.At)
	if err != nil {
		return skill.Output{}, fault.New(fault.Invalid, "%q is no time like 2026-12-04T14:30:00Z", a.At).On("at")
	}
	out := &reminder{}
	return skill.Output{Value: out, Commit: func(tx event.Tx) error {
		set, err := r.set.SetReminder(tx, Reminder{Due: due, Text: a.Text, Run: c.Run, Thread: c.Stream, Channel: c.Channel,
			Requester: c.Requester, Agent: c.Actor, Subject: c.Subject}, c.Cause)
		*out = reminderOf(set)
		return err
	}}, nil
}

// Act implements skill.Executable.
func (r reminderList) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	if err := begin(c, manifest.PermitMessage, &struct{}{}); err != nil {
		return skill.Output{}, err
	}
	var all []Reminder
	err := r.journal.View(ctx, c.Account, func(tx event.Tx) (err error) {
		all, err = r.set.ListReminders(tx, c.Requester)
		return err
	})
	out := []reminder{}
	for _, one := range all {
		out = append(out, reminderOf(one))
	}
	return skill.Output{Value: map[string]any{"reminders": out}, Label: joined(all, func(r Reminder) event.Label { return r.Label })}, err
}

// Act implements skill.Executable.
func (r reminderCancel) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		ID string `json:"id"`
	}
	if err := begin(c, manifest.PermitMessage, &a); err != nil {
		return skill.Output{}, err
	}
	which, err := id.Parse(a.ID)
	if err != nil || which.IsZero() {
		return skill.Output{}, fault.New(fault.Invalid, "%q is no id of a reminder", a.ID).On("id")
	}
	out := &struct {
		ID id.ID `json:"id"`
	}{which}
	return skill.Output{Value: out, Commit: func(tx event.Tx) error {
		_, err := r.set.CancelReminder(tx, which, c.Requester, c.Actor, c.Cause)
		return err
	}}, nil
}
