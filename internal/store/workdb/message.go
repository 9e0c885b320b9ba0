package workdb

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// AddMessage implements work.Store.
func (*Store) AddMessage(tx event.Tx, m work.Message) error {
	files, err := encode(m.Attachments)
	if err != nil {
		return err
	}
	_, err = q.Exec(tx, "add_message", tx.Account(), m.TaskID, m.Number, m.ID, m.Sender, m.Author, m.Subject, m.Label.String(), m.Text, files,
		m.Metadata.Type, m.Metadata.RequestID, m.Metadata.ToolName, m.Metadata.Status, string(m.Metadata.Details), m.Event, clock.Micros(m.At))
	return err
}

// MessageByRequest implements work.Store.
func (*Store) MessageByRequest(tx event.Tx, t id.ID, request string) (work.Message, error) {
	return scanMessage(func(d ...any) error { return q.Row(tx, "message_by_request", []any{tx.Account(), t, request}, d...) })
}

// SettleMessage implements work.Store.
func (*Store) SettleMessage(tx event.Tx, t id.ID, number int64, status string) error {
	_, err := q.Exec(tx, "settle_message", status, tx.Account(), t, number)
	return err
}

// ListMessages implements work.Store.
func (*Store) ListMessages(tx event.Tx, t id.ID, after, before int64, descending bool, limit int) (out []work.Message, err error) {
	name := "messages"
	if descending {
		name = "messages_newest"
	}
	err = q.Each(tx, name, []any{tx.Account(), t, after, before, limit}, func(scan func(...any) error) error {
		m, err := scanMessage(scan)
		out = append(out, m)
		return err
	})
	return out, err
}

// DropMessages implements work.Store.
func (*Store) DropMessages(tx event.Tx, t id.ID) error {
	_, err := q.Exec(tx, "drop_messages", tx.Account(), t)
	return err
}

func scanMessage(scan func(...any) error) (m work.Message, err error) {
	var label, files, details string
	var at int64
	if err := scan(&m.TaskID, &m.Number, &m.ID, &m.Sender, &m.Author, &m.Subject, &label, &m.Text, &files, &m.Metadata.Type, &m.Metadata.RequestID,
		&m.Metadata.ToolName, &m.Metadata.Status, &details, &m.Event, &at); err != nil {
		return work.Message{}, err
	}
	m.At = clock.FromMicros(at)
	if details != "" {
		m.Metadata.Details = []byte(details)
	}
	if m.Attachments, err = decode(files); err != nil {
		return m, err
	}
	m.Label, err = event.ParseLabel(label)
	return m, err
}

// AddLink implements work.Store.
func (*Store) AddLink(tx event.Tx, t, blocker id.ID, at time.Time) (bool, error) {
	n, err := q.Exec(tx, "add_link", tx.Account(), t, blocker, clock.Micros(at))
	return n == 1, err
}

// DropLink implements work.Store.
func (*Store) DropLink(tx event.Tx, t, blocker id.ID) (bool, error) {
	n, err := q.Exec(tx, "drop_link", tx.Account(), t, blocker)
	return n == 1, err
}

// Blockers implements work.Store.
func (*Store) Blockers(tx event.Tx, t id.ID) ([]id.ID, error) { return ids(tx, "blockers", t) }

// Dependents implements work.Store.
func (*Store) Dependents(tx event.Tx, blocker id.ID) ([]id.ID, error) {
	return ids(tx, "dependents", blocker)
}

func ids(tx event.Tx, name string, of id.ID) (out []id.ID, err error) {
	err = q.Each(tx, name, []any{tx.Account(), of}, func(scan func(...any) error) error {
		var i id.ID
		err := scan(&i)
		out = append(out, i)
		return err
	})
	return out, err
}
