// Package channeldb keeps what package channel must remember: dedupe keys,
// conversations, cursors, states and uses of attachments.
//
// Every method runs in the caller's transaction and names its account. It
// imports channel and store, holds no state and starts no goroutine.
package channeldb

import (
	_ "embed"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

var q = store.MustQueries(sqlText)

// Store implements channel.Store.
type Store struct{}

// New returns the store.
func New() *Store { return &Store{} }

// AddInbox implements channel.Store.
func (*Store) AddInbox(tx event.Tx, m channel.Inboxed) (bool, error) {
	n, err := q.Exec(tx, "add_inbox", tx.Account(), m.Channel, m.Key, m.Digest, m.MessageID, m.ThreadID, clock.Micros(m.At))
	return n == 1, err
}

// FindInbox implements channel.Store.
func (*Store) FindInbox(tx event.Tx, ch string, key []byte) (channel.Inboxed, error) {
	m := channel.Inboxed{Channel: ch, Key: key}
	var at int64
	err := q.Row(tx, "find_inbox", []any{tx.Account(), ch, key}, &m.Digest, &m.MessageID, &m.ThreadID, &at)
	m.At = clock.FromMicros(at)
	return m, err
}

// SaveCursor implements channel.Store.
func (*Store) SaveCursor(tx event.Tx, ch, value string) error {
	_, err := q.Exec(tx, "save_cursor", tx.Account(), ch, value)
	return err
}

// GetCursor implements channel.Store.
func (*Store) GetCursor(tx event.Tx, ch string) (value string, err error) {
	err = q.Row(tx, "get_cursor", []any{tx.Account(), ch}, &value)
	return value, err
}

// SaveState implements channel.Store.
func (*Store) SaveState(tx event.Tx, s channel.State) (bool, error) {
	n, err := q.Exec(tx, "save_state", tx.Account(), s.Channel, s.Connected, s.Reason, clock.Micros(s.At))
	return n == 1, err
}

// ListStates implements channel.Store.
func (*Store) ListStates(tx event.Tx) (out []channel.State, err error) {
	err = q.Each(tx, "list_states", []any{tx.Account()}, func(scan func(...any) error) error {
		var s channel.State
		var at int64
		if err := scan(&s.Channel, &s.Connected, &s.Reason, &at); err != nil {
			return err
		}
		s.At = clock.FromMicros(at)
		out = append(out, s)
		return nil
	})
	return out, err
}

// AddAttachment implements channel.Store.
func (*Store) AddAttachment(tx event.Tx, a channel.Attached) error {
	_, err := q.Exec(tx, "add_attachment", tx.Account(), a.MessageID, a.Place, a.Digest, a.ThreadID, a.Person, a.Subject,
		a.Name, a.Type, a.Size, a.Label.String())
	return err
}

// GetAttachment implements channel.Store.
func (*Store) GetAttachment(tx event.Tx, digest string) (channel.Attached, error) {
	var a channel.Attached
	var label string
	err := q.Row(tx, "get_attachment", []any{tx.Account(), digest},
		&a.Digest, &a.MessageID, &a.Place, &a.ThreadID, &a.Person, &a.Subject, &a.Name, &a.Type, &a.Size, &label)
	if fault.Is(err, fault.NotFound) {
		return a, fault.New(fault.NotFound, "no message holds this file").On("digest")
	}
	if err == nil {
		a.Label, err = event.ParseLabel(label)
	}
	return a, err
}

// CountAttachments implements channel.Store.
func (*Store) CountAttachments(tx event.Tx, digest string) (n int64, err error) {
	err = q.Row(tx, "count_attachments", []any{tx.Account(), digest}, &n)
	return n, err
}

// newest stands behind every id: a list that begins at the newest.
func newest(before id.ID) id.ID {
	if !before.IsZero() {
		return before
	}
	for i := range before {
		before[i] = 0xff
	}
	return before
}

func notFound(err error, field string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "there is no such thread").On(field)
	}
	return err
}
