package workdb

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// AddTrigger implements work.Store. What a trigger says is the account's.
func (*Store) AddTrigger(tx event.Tx, g work.Trigger) error {
	_, err := q.Exec(tx, "add_trigger", tx.Account(), g.ID, g.SignalID, g.WorkspaceID, g.Title, g.Body, string(g.Assignee), g.AssigneeRef,
		g.AllowAllCommands, g.EmitID, g.Enabled, g.CreatedBy, tx.Account(), g.Trust, g.Label.String(), clock.Micros(g.CreatedAt),
		clock.Micros(g.UpdatedAt), g.Revision, g.Revisions.String())
	return err
}

// SaveTrigger implements work.Store.
func (*Store) SaveTrigger(tx event.Tx, g work.Trigger) error {
	_, err := q.Exec(tx, "save_trigger", g.WorkspaceID, g.Title, g.Body, string(g.Assignee), g.AssigneeRef, g.AllowAllCommands, g.EmitID, g.Enabled,
		g.Trust, g.Label.String(), clock.Micros(g.UpdatedAt), g.Revision, g.Revisions.String(), tx.Account(), g.ID)
	return err
}

func trigger(tx event.Tx, name string, g id.ID) (work.Trigger, error) {
	return scanTrigger(func(d ...any) error { return q.Row(tx, name, []any{tx.Account(), g}, d...) })
}

// GetTrigger implements work.Store.
func (*Store) GetTrigger(tx event.Tx, g id.ID) (work.Trigger, error) {
	return trigger(tx, "trigger", g)
}

// LockTrigger implements work.Store.
func (*Store) LockTrigger(tx event.Tx, g id.ID) (work.Trigger, error) {
	return trigger(tx, "lock_trigger", g)
}

// DropTrigger implements work.Store.
func (*Store) DropTrigger(tx event.Tx, g id.ID) error {
	_, err := q.Exec(tx, "drop_trigger", tx.Account(), g)
	return err
}

func triggers(tx event.Tx, name string, of id.ID) (out []work.Trigger, err error) {
	err = q.Each(tx, name, []any{tx.Account(), of}, func(scan func(...any) error) error {
		g, err := scanTrigger(scan)
		out = append(out, g)
		return err
	})
	return out, err
}

// TriggersOf implements work.Store.
func (*Store) TriggersOf(tx event.Tx, signal id.ID) ([]work.Trigger, error) {
	return triggers(tx, "triggers_of", signal)
}

// TriggersEmitting implements work.Store.
func (*Store) TriggersEmitting(tx event.Tx, signal id.ID) ([]work.Trigger, error) {
	return triggers(tx, "triggers_emitting", signal)
}

// TriggersInto implements work.Store.
func (*Store) TriggersInto(tx event.Tx, workspace id.ID) ([]work.Trigger, error) {
	return triggers(tx, "triggers_into", workspace)
}

// CountTriggers implements work.Store.
func (*Store) CountTriggers(tx event.Tx) (n int64, err error) {
	err = q.Row(tx, "count_triggers", []any{tx.Account()}, &n)
	return n, err
}

// Chains implements work.Store.
func (*Store) Chains(tx event.Tx, but id.ID) (out []work.Edge, err error) {
	err = q.Each(tx, "chains", []any{tx.Account(), but}, func(scan func(...any) error) error {
		var e work.Edge
		err := scan(&e.From, &e.To)
		out = append(out, e)
		return err
	})
	return out, err
}

func scanTrigger(scan func(...any) error) (g work.Trigger, err error) {
	var assignee, label, revisions string
	var trust, created, updated int64
	if err := scan(&g.ID, &g.SignalID, &g.WorkspaceID, &g.Title, &g.Body, &assignee, &g.AssigneeRef, &g.AllowAllCommands, &g.EmitID, &g.Enabled,
		&g.CreatedBy, &trust, &label, &created, &updated, &g.Revision, &revisions); err != nil {
		return work.Trigger{}, err
	}
	g.Assignee, g.Trust, g.CreatedAt, g.UpdatedAt = work.Assignee(assignee), int32(trust), clock.FromMicros(created), clock.FromMicros(updated)
	if g.Revisions, err = work.ParseRevisions(revisions); err != nil {
		return g, err
	}
	g.Label, err = event.ParseLabel(label)
	return g, err
}
