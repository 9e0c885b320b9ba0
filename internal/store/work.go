package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// beatFor is how long a node's leases live without a heartbeat. A node beats
// every 2 s; another takes its work over within 10 s.
const beatFor = 8 * time.Second

var workSQL = MustQueries(`
-- name: enqueue
INSERT INTO work (account_id, kind, id, scope, state, due_at, node_id, fence, attempt, reason)
VALUES (?, ?, ?, ?, 'ready', ?, NULL, 0, 0, '')
-- name: item sqlite
SELECT w.scope, w.state, w.due_at, w.node_id, w.fence, w.attempt, COALESCE(n.beat_at, 0)
FROM work w LEFT JOIN nodes n ON n.id = w.node_id WHERE w.account_id = ? AND w.kind = ? AND w.id = ?
-- name: item postgres
SELECT w.scope, w.state, w.due_at, w.node_id, w.fence, w.attempt, COALESCE((SELECT n.beat_at FROM nodes n WHERE n.id = w.node_id), 0)
FROM work w WHERE w.account_id = ? AND w.kind = ? AND w.id = ? FOR UPDATE
-- name: lease
UPDATE work SET state = 'leased', node_id = ?, fence = fence + 1, attempt = attempt + 1
WHERE account_id = ? AND kind = ? AND id = ? AND fence = ?
-- name: holds sqlite
SELECT 1 FROM work WHERE account_id = ? AND kind = ? AND id = ? AND fence = ? AND node_id = ? AND state = 'leased'
-- name: holds postgres
SELECT 1 FROM work WHERE account_id = ? AND kind = ? AND id = ? AND fence = ? AND node_id = ? AND state = 'leased' FOR UPDATE
-- name: finish
DELETE FROM work WHERE account_id = ? AND kind = ? AND id = ? AND fence = ? AND node_id = ? AND state = 'leased'
-- name: release
UPDATE work SET state = 'ready', due_at = ?, node_id = NULL
WHERE account_id = ? AND kind = ? AND id = ? AND fence = ? AND node_id = ? AND state = 'leased'
-- name: wait
UPDATE work SET state = 'waiting', node_id = NULL, attempt = 0, failures = 0
WHERE account_id = ? AND kind = ? AND id = ? AND fence = ? AND node_id = ? AND state = 'leased'
-- name: wake
UPDATE work SET due_at = CASE WHEN state IN ('waiting', 'ready') THEN ? ELSE due_at END,
  state = CASE WHEN state = 'waiting' THEN 'ready' ELSE state END
WHERE account_id = ? AND kind = ? AND id = ? RETURNING state, scope
-- name: strike
UPDATE work SET failures = failures + 1, state = 'ready', node_id = NULL
WHERE account_id = ? AND kind = ? AND id = ? AND (state = 'ready' OR state = 'leased' AND node_id = ?) RETURNING failures
-- name: put_off
UPDATE work SET due_at = ? WHERE account_id = ? AND kind = ? AND id = ?
-- name: hold
UPDATE work SET state = 'held', node_id = NULL, reason = ?, fence = fence + 1 WHERE account_id = ? AND kind = ? AND id = ?
-- name: unhold
UPDATE work SET state = 'ready', reason = '', due_at = ?, failures = 0 WHERE account_id = ? AND kind = ? AND id = ? AND state = 'held'
-- name: drop_work
DELETE FROM work WHERE account_id = ? AND kind = ? AND id = ?
-- name: stop
INSERT INTO stops (account_id, scope, since) VALUES (?, ?, ?) ON CONFLICT (account_id, scope) DO NOTHING
-- name: unstop
DELETE FROM stops WHERE account_id = ? AND scope = ?
-- name: stopped
SELECT scope FROM stops WHERE account_id = ? AND scope IN (?, ?, ?) LIMIT 1
-- name: stops
SELECT scope, since FROM stops WHERE account_id = ? ORDER BY since, scope
`)

// Enqueue adds a row of leased work that is ready at due. scope names what a
// halt can stop: "agent:NAME", "workspace:ID".
func Enqueue(t event.Tx, kind event.WorkKind, item id.ID, scope string, due time.Time) error {
	x := mustTx(t)
	if _, err := workSQL.Exec(t, "enqueue", x.Account(), string(kind), item, scope, clock.Micros(due)); err != nil {
		return err
	}
	x.offer(kind, item, scope, due)
	return nil
}

// offerSlack is how much two clocks may drift apart until the next heartbeat.
const offerSlack = 50 * time.Millisecond

// offer tells this node's workers of ready work after the commit, so that it
// need not be found by a scan.
func (x *tx) offer(kind event.WorkKind, item id.ID, scope string, due time.Time) {
	// Whoever asked for "now" read a clock a little after this transaction began:
	// the database's, which Claim asks as well. Between two heartbeats the clocks
	// part by less than the slack, and an offer that is too early costs nothing.
	now := x.db.clock.Now().Add(time.Millisecond)
	if x.db.pg != nil {
		now = now.Add(time.Duration(x.db.skew.Load()) + offerSlack)
	}
	if !due.After(now) {
		x.work = append(x.work, event.Lease{Account: x.Account(), Kind: kind, ID: item, Scope: scope})
	}
}

// Claim takes the lease of a ready row, or of one whose holder is gone. It
// belongs into the first commit of the work, before anything was done: Stale
// means that somebody else holds it, Halted that a stop is in force.
func Claim(t event.Tx, kind event.WorkKind, item id.ID) (event.Lease, error) {
	x := mustTx(t)
	l := event.Lease{Account: x.Account(), Kind: kind, ID: item, Node: x.db.node}
	var state string
	var due, beat int64
	var holder id.ID
	var attempt int64
	err := workSQL.Row(t, "item", []any{x.Account(), string(kind), item}, &l.Scope, &state, &due, &holder, &l.Fence, &attempt, &beat)
	if fault.Is(err, fault.NotFound) {
		return l, fault.New(fault.Stale, "%s %s is done", kind, item)
	}
	if err != nil {
		return l, err
	}
	now, err := DBNow(t)
	if err != nil {
		return l, err
	}
	mine := state == "leased" && holder == x.db.node
	gone := state == "leased" && clock.FromMicros(beat).Before(x.db.deadline(now))
	switch {
	case state == "ready" && clock.FromMicros(due).After(now):
		return l, fault.New(fault.Stale, "%s %s is not due", kind, item)
	case state != "ready" && !gone && !mine: // what this node holds, its pool runs at most once at a time
		return l, fault.New(fault.Stale, "%s %s is %s", kind, item, state)
	}
	if scope, halted, err := Stopped(t, l.Scope); err != nil {
		return l, err
	} else if halted {
		return l, fault.New(fault.Halted, "%s is halted", scope)
	}
	n, err := workSQL.Exec(t, "lease", x.db.node, x.Account(), string(kind), item, l.Fence)
	if err != nil {
		return l, err
	}
	if n == 0 {
		return l, fault.New(fault.Stale, "%s %s was taken by another node", kind, item)
	}
	l.Fence++
	l.Attempt = int(attempt) + 1
	return l, nil
}

func leaseArgs(l event.Lease) []any { return []any{l.Account, string(l.Kind), l.ID, l.Fence, l.Node} }

func staleLease(l event.Lease) error {
	return fault.New(fault.Stale, "%s %s is no longer held by this worker", l.Kind, l.ID)
}

// Guard refuses a stale lease. Every write of leased work calls it (INV-6).
func Guard(t event.Tx, l event.Lease) error {
	var one int
	err := workSQL.Row(t, "holds", leaseArgs(l), &one)
	if fault.Is(err, fault.NotFound) {
		return staleLease(l)
	}
	return err
}

func held(t event.Tx, l event.Lease, name string, args ...any) error {
	n, err := workSQL.Exec(t, name, append(args, leaseArgs(l)...)...)
	if err == nil && n == 0 {
		err = staleLease(l)
	}
	return err
}

// Finish ends the work: its row goes.
func Finish(t event.Tx, l event.Lease) error { return held(t, l, "finish") }

// Release gives the lease back; the work is ready again at due.
func Release(t event.Tx, l event.Lease, due time.Time) error {
	if err := held(t, l, "release", clock.Micros(due)); err != nil {
		return err
	}
	mustTx(t).offer(l.Kind, l.ID, l.Scope, due)
	return nil
}

// Wait gives the lease back; the work sleeps until Wake.
func Wait(t event.Tx, l event.Lease) error { return held(t, l, "wait") }

// Wake makes waiting work ready at due. Waking work that is leased, held or
// done changes nothing, but it takes the row all the same: a worker that calls
// Guard, looks for what it waits for and then calls Wait, either sees what was
// written before this Wake, or is woken by it.
func Wake(t event.Tx, kind event.WorkKind, item id.ID, due time.Time) error {
	x := mustTx(t)
	var state, scope string
	err := workSQL.Row(t, "wake", []any{clock.Micros(due), x.Account(), string(kind), item}, &state, &scope)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err == nil && state == "ready" {
		x.offer(kind, item, scope, due)
	}
	return err
}

// Strike counts a failure of work that this node tried, gives back the lease if
// it still has one, and puts the next try off: by waits[0] after the first
// failure, by nothing once the waits are used up. It returns how often the work
// failed since it last slept; 0 for work that is done, asleep, held, or another
// node's.
func Strike(t event.Tx, kind event.WorkKind, item id.ID, waits []time.Duration) (n int, err error) {
	x := mustTx(t)
	err = workSQL.Row(t, "strike", []any{x.Account(), string(kind), item, x.db.node}, &n)
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	due, err := DBNow(t)
	if err != nil {
		return 0, err
	}
	if n <= len(waits) {
		due = due.Add(waits[n-1])
	}
	_, err = workSQL.Exec(t, "put_off", clock.Micros(due), x.Account(), string(kind), item)
	return n, err
}

// Strike implements bus.Engine.
func (db *DB) Strike(t event.Tx, kind event.WorkKind, item id.ID, waits []time.Duration) (int, error) {
	return Strike(t, kind, item, waits)
}

// Hold implements bus.Engine.
func (db *DB) Hold(t event.Tx, kind event.WorkKind, item id.ID, reason string) error {
	return Hold(t, kind, item, reason)
}

// Hold takes work out of the hands of workers until a person decides. A lease
// on it becomes stale.
func Hold(t event.Tx, kind event.WorkKind, item id.ID, reason string) error {
	_, err := workSQL.Exec(t, "hold", reason, t.Account(), string(kind), item)
	return err
}

// Unhold makes held work ready at due.
func Unhold(t event.Tx, kind event.WorkKind, item id.ID, due time.Time) error {
	n, err := workSQL.Exec(t, "unhold", clock.Micros(due), t.Account(), string(kind), item)
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "%s %s is not held", kind, item)
	}
	return err
}

// Drop removes work whatever its state; a lease on it becomes stale.
func Drop(t event.Tx, kind event.WorkKind, item id.ID) error {
	_, err := workSQL.Exec(t, "drop_work", t.Account(), string(kind), item)
	return err
}

// StopAccount is the scope that stops everything of an account.
const StopAccount = "account"

// Stop halts a scope. Stopping twice is no error.
func Stop(t event.Tx, scope string) error {
	now, err := DBNow(t)
	if err != nil {
		return err
	}
	_, err = workSQL.Exec(t, "stop", t.Account(), scope, clock.Micros(now))
	return err
}

// Unstop lifts a halt; NotFound if there is none.
func Unstop(t event.Tx, scope string) error {
	n, err := workSQL.Exec(t, "unstop", t.Account(), scope)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "%s is not halted", scope)
	}
	return err
}

// Stopped reports whether the account or one of at most two scopes is halted,
// and by which stop.
func Stopped(t event.Tx, scopes ...string) (string, bool, error) {
	args := []any{t.Account(), StopAccount, StopAccount, StopAccount}
	for i, s := range scopes {
		args[min(i+2, 3)] = s
	}
	var scope string
	err := workSQL.Row(t, "stopped", args, &scope)
	if fault.Is(err, fault.NotFound) {
		return "", false, nil
	}
	return scope, err == nil, err
}

// StopRow is one halt in force.
type StopRow struct {
	Scope string
	Since time.Time
}

// Stops lists the halts in force, oldest first.
func Stops(t event.Tx) (out []StopRow, err error) {
	err = workSQL.Each(t, "stops", []any{t.Account()}, func(scan func(...any) error) error {
		var r StopRow
		var us int64
		if err := scan(&r.Scope, &us); err != nil {
			return err
		}
		r.Since = clock.FromMicros(us)
		out = append(out, r)
		return nil
	})
	return out, err
}

// OnWork registers the hand-over of fresh work to this node's workers. A
// hand-over is a hint: it may be lost, and the scan of Ready finds the work.
func (db *DB) OnWork(f func([]event.Lease)) { db.workHook.Store(&f) }

// Ready lists work that is due, over all accounts: rows ready now and rows
// whose holder's heartbeat stopped. It takes nothing; Claim does.
func (db *DB) Ready(ctx context.Context, limit int) ([]event.Lease, error) {
	return db.scanWork(ctx, limit)
}

// heartbeat keeps this node's leases alive.
func (db *DB) heartbeat(ctx context.Context) {
	if err := db.beat(ctx); err != nil && ctx.Err() == nil {
		db.log.WarnContext(ctx, "heartbeat", slog.Any("error", err))
	}
}
