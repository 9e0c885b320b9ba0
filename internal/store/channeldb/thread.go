package channeldb

import (
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// OpenThread implements channel.Store. A thread that goes on is found before
// anything is written.
func (s *Store) OpenThread(tx event.Tx, t channel.Thread) (channel.Thread, error) {
	if t.Key != nil {
		have, err := s.findThread(tx, t.Channel, t.Key)
		if err == nil {
			return have, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return have, err
		}
	}
	n, err := q.Exec(tx, "add_thread", tx.Account(), t.ID, t.Channel, t.Key, t.Ref, t.Person, t.Subject, t.Label.String(), clock.Micros(t.At))
	if err != nil || n == 1 {
		return t, err
	}
	if t.Key == nil {
		return s.GetThread(tx, t.ID)
	}
	return s.findThread(tx, t.Channel, t.Key) // another transaction opened it meanwhile
}

// GetThread implements channel.Store.
func (*Store) GetThread(tx event.Tx, thread id.ID) (channel.Thread, error) {
	t, err := scanThread(func(dest ...any) error {
		return q.Row(tx, "get_thread", []any{tx.Account(), thread}, dest...)
	})
	return t, notFound(err, "threadId")
}

func (*Store) findThread(tx event.Tx, ch string, key []byte) (channel.Thread, error) {
	return scanThread(func(dest ...any) error {
		return q.Row(tx, "find_thread", []any{tx.Account(), ch, key}, dest...)
	})
}

// BindThread implements channel.Store.
func (*Store) BindThread(tx event.Tx, ch string, thread id.ID, key []byte, ref string) error {
	_, err := q.Exec(tx, "bind_thread", key, ref, tx.Account(), thread, ch, tx.Account(), ch, key)
	return err
}

// ListThreads implements channel.Store.
func (*Store) ListThreads(tx event.Tx, person, before id.ID, limit int) (out []channel.Thread, err error) {
	err = q.Each(tx, "list_threads", []any{tx.Account(), person, newest(before), limit}, func(scan func(...any) error) error {
		t, err := scanThread(scan)
		out = append(out, t)
		return err
	})
	return out, err
}

func scanThread(scan func(...any) error) (t channel.Thread, err error) {
	var label string
	var at int64
	if err = scan(&t.ID, &t.Channel, &t.Key, &t.Ref, &t.Person, &t.Subject, &label, &at); err != nil {
		return t, err
	}
	t.At = clock.FromMicros(at)
	t.Label, err = event.ParseLabel(label)
	return t, err
}
