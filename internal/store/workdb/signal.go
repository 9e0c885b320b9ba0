package workdb

import (
	_ "embed"
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

//go:embed signal.sql
var signalText string

const (
	signalColumns  = `id, name, description, guidelines, faq, created_by, trust, label, created_at, updated_at, archived_at, revision, revisions`
	triggerColumns = `id, signal_id, workspace_id, title, body, assignee, assignee_ref, allow_all, emit_id, enabled, created_by, trust, label, created_at,
  updated_at, revision, revisions`
)

// toText renders a list as JSON; none, like an erased one, is "".
func toText[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

func fromText[T any](text string) (list []T, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fault.New(fault.Corrupt, "a list: %w", err)
	}
	return list, nil
}

// AddSignal implements work.Store. What describes a signal is the account's.
func (*Store) AddSignal(tx event.Tx, g work.Signal) error {
	faq, err := toText(g.FAQ)
	if err != nil {
		return err
	}
	_, err = q.Exec(tx, "add_signal", tx.Account(), g.ID, g.Name, g.Description, g.PayloadGuidelines, faq, g.CreatedBy, tx.Account(), g.Trust,
		g.Label.String(), clock.Micros(g.CreatedAt), clock.Micros(g.UpdatedAt), clock.Micros(g.ArchivedAt), g.Revision, g.Revisions.String())
	return err
}

// SaveSignal implements work.Store.
func (*Store) SaveSignal(tx event.Tx, g work.Signal) error {
	faq, err := toText(g.FAQ)
	if err != nil {
		return err
	}
	_, err = q.Exec(tx, "save_signal", g.Description, g.PayloadGuidelines, faq, g.Trust, g.Label.String(), clock.Micros(g.UpdatedAt),
		clock.Micros(g.ArchivedAt), g.Revision, g.Revisions.String(), tx.Account(), g.ID)
	return err
}

func signal(tx event.Tx, name string, args ...any) (work.Signal, error) {
	return scanSignal(func(d ...any) error { return q.Row(tx, name, append([]any{tx.Account()}, args...), d...) })
}

// GetSignal implements work.Store.
func (*Store) GetSignal(tx event.Tx, g id.ID) (work.Signal, error) { return signal(tx, "signal", g) }

// ShareSignal implements work.Store.
func (*Store) ShareSignal(tx event.Tx, g id.ID) (work.Signal, error) {
	return signal(tx, "share_signal", g)
}

// LockSignal implements work.Store.
func (*Store) LockSignal(tx event.Tx, g id.ID) (work.Signal, error) {
	return signal(tx, "lock_signal", g)
}

// SignalByName implements work.Store.
func (*Store) SignalByName(tx event.Tx, name string) (work.Signal, error) {
	return signal(tx, "signal_by_name", name)
}

// ListSignals implements work.Store.
func (*Store) ListSignals(tx event.Tx, archived bool, after id.ID, limit int) (out []work.Signal, err error) {
	err = q.Each(tx, "signals", []any{tx.Account(), after[:], archived, limit}, func(scan func(...any) error) error {
		g, err := scanSignal(scan)
		out = append(out, g)
		return err
	})
	return out, err
}

// CountSignals implements work.Store.
func (*Store) CountSignals(tx event.Tx) (n int64, err error) {
	err = q.Row(tx, "count_signals", []any{tx.Account()}, &n)
	return n, err
}

// DropSignal implements work.Store.
func (*Store) DropSignal(tx event.Tx, g id.ID) error {
	if _, err := q.Exec(tx, "drop_spawns", tx.Account(), tx.Account(), g); err != nil {
		return err
	}
	if _, err := q.Exec(tx, "drop_publishes", tx.Account(), g); err != nil {
		return err
	}
	_, err := q.Exec(tx, "drop_signal", tx.Account(), g)
	return err
}

func scanSignal(scan func(...any) error) (g work.Signal, err error) {
	var faq, label, revisions string
	var trust, created, updated, archived int64
	if err := scan(&g.ID, &g.Name, &g.Description, &g.PayloadGuidelines, &faq, &g.CreatedBy, &trust, &label, &created, &updated, &archived,
		&g.Revision, &revisions); err != nil {
		return work.Signal{}, err
	}
	g.Trust, g.CreatedAt, g.UpdatedAt, g.ArchivedAt = int32(trust), clock.FromMicros(created), clock.FromMicros(updated), clock.FromMicros(archived)
	if g.FAQ, err = fromText[event.QA](faq); err != nil {
		return g, err
	}
	if g.Revisions, err = work.ParseRevisions(revisions); err != nil {
		return g, err
	}
	g.Label, err = event.ParseLabel(label)
	return g, err
}
