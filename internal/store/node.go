package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
)

// dbNow reads the database's clock. SQLite has one process, so it is that
// process's clock; tests may make both follow a fake one.
func (db *DB) dbNow(ctx context.Context, ex executor) (time.Time, error) {
	if db.lite != nil || db.opts.VirtualClock {
		return db.clock.Now(), nil
	}
	r, err := ex.query(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", nil)
	if err != nil {
		return time.Time{}, err
	}
	defer r.Close()
	var us int64
	if r.Next() {
		err = r.Scan(&us)
	}
	if err == nil {
		err = r.Err()
	}
	return clock.FromMicros(us), err
}

// system is the pseudo-account of rows that belong to no account: heartbeats.
// No event ever has it.
func system() id.ID { return id.ID{0: 1, 6: 0x70, 8: 0x80} }

var nodeSQL = MustQueries(strings.NewReplacer("READY", readyText(), "KINDS", "'"+strings.Join(workKinds(), "', '")+"'").Replace(`
-- name: beat cross-account
INSERT INTO nodes (id, beat_at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at
-- name: forget_nodes cross-account
DELETE FROM nodes WHERE beat_at < ? AND NOT EXISTS (SELECT 1 FROM work w WHERE w.node_id = nodes.id)
-- name: ready cross-account
READY
-- name: orphans cross-account
SELECT w.account_id, w.kind, w.id, w.scope FROM work w
WHERE w.kind IN (KINDS) AND w.state = 'leased' AND (w.node_id = ? OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = w.node_id AND n.beat_at >= ?))
AND NOT EXISTS (SELECT 1 FROM stops s WHERE s.account_id = w.account_id AND s.scope IN ('account', w.scope))
ORDER BY w.due_at LIMIT ?
-- name: due cross-account
SELECT account_id, kind, key, due_at FROM timers WHERE held = 0 AND due_at <= ? ORDER BY due_at LIMIT ?
-- name: next_due cross-account
SELECT COALESCE(MIN(due_at), 0) FROM timers WHERE held = 0
-- name: deferred_accounts cross-account
SELECT DISTINCT account_id FROM deferred WHERE parked = 0
`))

func workKinds() (out []string) {
	for _, k := range event.WorkKinds() {
		out = append(out, string(k))
	}
	return out
}

// readyText lists each kind's oldest due rows by itself, so that a long line of
// one kind cannot hide the others. What is halted is left out: it would stand
// first for as long as the halt lasts.
func readyText() string {
	var b strings.Builder
	for i, k := range workKinds() {
		if i > 0 {
			b.WriteString("UNION ALL ")
		}
		fmt.Fprintf(&b, `SELECT * FROM (SELECT w.account_id, w.kind, w.id, w.scope FROM work w
WHERE w.kind = '%s' AND w.state = 'ready' AND w.due_at <= ? AND NOT EXISTS (
  SELECT 1 FROM stops s WHERE s.account_id = w.account_id AND s.scope IN ('account', w.scope))
ORDER BY w.due_at LIMIT ?) r%d
`, k, i)
	}
	return b.String()
}

// beat writes this node's heartbeat on the database's clock.
func (db *DB) beat(ctx context.Context) error {
	return db.DoBulk(ctx, system(), func(t event.Tx) error {
		now, err := DBNow(t)
		if err != nil {
			return err
		}
		db.skew.Store(int64(now.Sub(db.clock.Now())))
		if _, err := nodeSQL.Exec(t, "beat", db.node, clock.Micros(now)); err != nil {
			return err
		}
		_, err = nodeSQL.Exec(t, "forget_nodes", clock.Micros(now.Add(-time.Hour)))
		return err
	})
}

// scanWork lists due work, up to limit of each kind, and orphaned leases. On SQLite every other node's
// lease is an orphan at once: the folder's lock proves that the node is gone.
func (db *DB) scanWork(ctx context.Context, limit int) (out []event.Lease, err error) {
	err = db.View(ctx, system(), func(t event.Tx) error {
		now, err := DBNow(t)
		if err != nil {
			return err
		}
		add := func(scan func(...any) error) error {
			var l event.Lease
			var kind string
			if err := scan(&l.Account, &kind, &l.ID, &l.Scope); err != nil {
				return err
			}
			l.Kind = event.WorkKind(kind)
			out = append(out, l)
			return nil
		}
		if err := nodeSQL.Each(t, "orphans", []any{db.node, clock.Micros(db.deadline(now)), limit}, add); err != nil {
			return err
		}
		var args []any
		for range event.WorkKinds() {
			args = append(args, clock.Micros(now), limit)
		}
		return nodeSQL.Each(t, "ready", args, add)
	})
	return out, err
}

// deadline is the oldest heartbeat that still keeps leases.
func (db *DB) deadline(now time.Time) time.Time {
	if db.lite != nil {
		return now.Add(time.Hour) // nobody else can be alive
	}
	return now.Add(-beatFor)
}
