package dispatchdb

import (
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func noRow(what, field string) error {
	return fault.New(fault.NotFound, "there is no such %s", what).On(field)
}

// AddFate implements dispatch.Store.
func (*Store) AddFate(tx event.Tx, f dispatch.Fate) error {
	_, err := q.Exec(tx, "add_fate", tx.Account(), f.MessageID, f.EventID, f.Channel, f.ThreadID, string(f.Outcome), f.Reason, f.RunID, f.Agent,
		f.ContactID, f.PersonID, f.Address, f.Subject, f.Label.String(), f.Trust.Score, f.Trust.Channel, f.Trust.Contact, f.Trust.Injection, clock.Micros(f.At))
	return err
}

// SetFate implements dispatch.Store.
func (*Store) SetFate(tx event.Tx, f dispatch.Fate) error {
	n, err := q.Exec(tx, "set_fate", string(f.Outcome), f.Reason, f.RunID, f.Agent, f.ContactID, f.Label.String(),
		f.Trust.Score, f.Trust.Channel, f.Trust.Contact, f.Trust.Injection, tx.Account(), f.MessageID)
	if err == nil && n == 0 {
		return noRow("message", "messageId")
	}
	return err
}

// GetFate implements dispatch.Store.
func (*Store) GetFate(tx event.Tx, message id.ID) (dispatch.Fate, error) {
	f, err := scanFate(tx, "get_fate", message)
	return f, named(err, "message", "messageId")
}

// FateOfRun implements dispatch.Store.
func (*Store) FateOfRun(tx event.Tx, run id.ID) (dispatch.Fate, error) {
	f, err := scanFate(tx, "fate_of_run", run)
	return f, named(err, "run", "runId")
}

func scanFate(tx event.Tx, query string, key id.ID) (f dispatch.Fate, err error) {
	var outcome, label string
	var score, channel, contact, risk, at int64
	if err = q.Row(tx, query, []any{tx.Account(), key}, &f.MessageID, &f.EventID, &f.Channel, &f.ThreadID, &outcome, &f.Reason, &f.RunID, &f.Agent,
		&f.ContactID, &f.PersonID, &f.Address, &f.Subject, &label, &score, &channel, &contact, &risk, &at); err != nil {
		return f, err
	}
	f.Outcome, f.At = dispatch.Outcome(outcome), clock.FromMicros(at)
	f.Trust = dispatch.Trust{Channel: int32(channel), Contact: int32(contact), Injection: int32(risk), Score: int32(score)}
	f.Label, err = event.ParseLabel(label)
	return f, err
}

// AddLater implements dispatch.Store.
func (*Store) AddLater(tx event.Tx, l dispatch.Later) error {
	var r dispatch.Reply
	if l.Task.Reply != nil {
		r = *l.Task.Reply
	}
	_, err := q.Exec(tx, "add_later", tx.Account(), l.ID, l.CauseID, l.Task.Agent, l.Task.ThreadID, l.Task.Requester, l.Task.Trust, l.Task.Text,
		r.Channel, r.PersonID, r.ContactID, r.Address, r.InReplyTo, l.Task.Subject, l.Label.String(), clock.Micros(l.At))
	return err
}

// TakeLater implements dispatch.Store.
func (*Store) TakeLater(tx event.Tx, task id.ID) (l dispatch.Later, err error) {
	var r dispatch.Reply
	var label string
	var trust, due int64
	if err = q.Row(tx, "take_later", []any{tx.Account(), task}, &l.ID, &l.CauseID, &l.Task.Agent, &l.Task.ThreadID, &l.Task.Requester, &trust, &l.Task.Text,
		&r.Channel, &r.PersonID, &r.ContactID, &r.Address, &r.InReplyTo, &l.Task.Subject, &label, &due); err != nil {
		return l, err
	}
	if r.Channel != "" {
		l.Task.Reply = &r
	}
	l.Task.Trust, l.At = int32(trust), clock.FromMicros(due)
	l.Label, err = event.ParseLabel(label)
	return l, err
}
