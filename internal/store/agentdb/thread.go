package agentdb

import (
	"slices"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func readThread(scan scanner) (t agent.Thread, err error) {
	var changed int64
	err = scan(&t.ID, &t.Active, &t.Turns, &t.Runs, &t.Summary, &t.Folded, &changed)
	t.Changed = clock.FromMicros(changed)
	return t, err
}

// LockThread implements agent.Store.
func (*Store) LockThread(tx event.Tx, thread id.ID) (agent.Thread, error) {
	args := []any{tx.Account(), thread}
	t, err := one(tx, "lock_thread", args, readThread)
	if !fault.Is(err, fault.NotFound) {
		return t, err
	}
	if _, err := q.Exec(tx, "add_thread", tx.Account(), thread, us(tx.Now())); err != nil {
		return t, err
	}
	return one(tx, "lock_thread", args, readThread)
}

// GetThread implements agent.Store.
func (*Store) GetThread(tx event.Tx, thread id.ID) (agent.Thread, error) {
	return one(tx, "get_thread", []any{tx.Account(), thread}, readThread)
}

// SaveThread implements agent.Store.
func (*Store) SaveThread(tx event.Tx, t agent.Thread) error {
	_, err := q.Exec(tx, "save_thread", t.Active, t.Turns, t.Runs, t.Summary, t.Folded, us(t.Changed), tx.Account(), t.ID)
	return err
}

// ListThreads implements agent.Store.
func (*Store) ListThreads(tx event.Tx, before time.Time, limit int) ([]agent.Thread, error) {
	return list(tx, "list_threads", []any{tx.Account(), us(before), limit}, readThread)
}

func readTurn(scan scanner) (t agent.Turn, err error) {
	var role, label string
	var at int64
	if err := scan(&t.ID, &t.Thread, &t.Seq, &t.Ord, &role, &t.Author, &t.Text, &label, &t.EventID, &t.MessageID, &t.RunID,
		&t.Channel, &t.Sender, &t.Files, &t.Covers, &at, &t.Subject); err != nil {
		return t, err
	}
	t.Role, t.At = agent.TurnRole(role), clock.FromMicros(at)
	t.Label, err = event.ParseLabel(label)
	return t, err
}

// AppendTurn implements agent.Store.
func (*Store) AppendTurn(tx event.Tx, t agent.Turn) error {
	_, err := q.Exec(tx, "append_turn", tx.Account(), t.Thread, t.Seq, t.ID, t.Ord, string(t.Role), t.Author, t.Text, t.Label.String(),
		t.EventID, t.MessageID, t.RunID, t.Channel, t.Sender, t.Files, t.Covers, us(t.At), t.Subject)
	return err
}

// perQuery is how many turns one query names.
const perQuery = 24

// LoadTurns implements agent.Store.
func (*Store) LoadTurns(tx event.Tx, thread id.ID, ids []id.ID) ([]agent.Turn, error) {
	found := make(map[id.ID]agent.Turn, len(ids))
	for part := range slices.Chunk(ids, perQuery) {
		name, args := "get_turn", []any{tx.Account(), thread, part[0]}
		if len(part) > 1 {
			name = "get_turns"
			for i := range perQuery - 1 {
				args = append(args, part[min(i+1, len(part)-1)])
			}
		}
		turns, err := list(tx, name, args, readTurn)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			found[t.ID] = t
		}
	}
	out := make([]agent.Turn, 0, len(ids))
	for _, i := range ids {
		t, ok := found[i]
		if !ok {
			return out, fault.New(fault.NotFound, "turn %s of thread %s is not there", i, thread)
		}
		out = append(out, t)
	}
	return out, nil
}

// LoadOpen implements agent.Store.
func (*Store) LoadOpen(tx event.Tx, thread id.ID, folded int) ([]agent.Turn, error) {
	return list(tx, "load_open", []any{tx.Account(), thread, folded}, readTurn)
}

// ListTurns implements agent.Store.
func (*Store) ListTurns(tx event.Tx, thread id.ID, before, limit int) ([]agent.Turn, error) {
	return list(tx, "list_turns", []any{tx.Account(), thread, before, limit}, readTurn)
}
