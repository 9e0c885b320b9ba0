package store

import (
	"context"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

var deferredSQL = MustQueries(`
-- name: next
SELECT d.seq, d.subscriber, d.stream_id, d.event_id, d.tries FROM deferred d
WHERE d.account_id = ? AND d.parked = 0 AND NOT EXISTS (
  SELECT 1 FROM deferred p WHERE p.account_id = d.account_id AND p.subscriber = d.subscriber
  AND p.stream_id = d.stream_id AND p.parked = 1)
ORDER BY d.seq, d.subscriber LIMIT ?
-- name: drop
DELETE FROM deferred WHERE account_id = ? AND seq = ? AND subscriber = ?
-- name: fail
UPDATE deferred SET tries = tries + 1, parked = CASE WHEN tries >= 1 THEN 1 ELSE 0 END, error_kind = ?, error = ?
WHERE account_id = ? AND seq = ? AND subscriber = ? AND parked = 0 RETURNING parked
-- name: unpark
UPDATE deferred SET parked = 0, tries = 0 WHERE account_id = ? AND subscriber = ? AND stream_id = ? AND parked = 1
-- name: give_up
DELETE FROM deferred WHERE account_id = ? AND subscriber = ? AND stream_id = ? AND parked = 1
-- name: parked
SELECT seq, subscriber, stream_id, event_id, tries, error_kind, error FROM deferred
WHERE account_id = ? AND parked = 1 ORDER BY seq LIMIT ?
-- name: waiting
SELECT count(*) FROM deferred WHERE account_id = ?
`)

// DeferredAccounts implements bus.Engine.
func (db *DB) DeferredAccounts(ctx context.Context) (out []id.ID, err error) {
	if db.lite != nil && !db.lite.anyDeferred() {
		return nil, nil
	}
	err = db.View(ctx, system(), func(t event.Tx) error {
		return nodeSQL.Each(t, "deferred_accounts", nil, func(scan func(...any) error) error {
			var a id.ID
			err := scan(&a)
			out = append(out, a)
			return err
		})
	})
	return out, err
}

// NextDeferred implements bus.Engine.
func (db *DB) NextDeferred(t event.Tx, limit int) (out []bus.Deferred, err error) {
	err = deferredSQL.Each(t, "next", []any{t.Account(), limit}, func(scan func(...any) error) error {
		d := bus.Deferred{Account: t.Account()}
		err := scan(&d.Seq, &d.Subscriber, &d.Stream, &d.Event, &d.Tries)
		out = append(out, d)
		return err
	})
	return out, err
}

// DropDeferred implements bus.Engine.
func (db *DB) DropDeferred(t event.Tx, d bus.Deferred) (bool, error) {
	n, err := deferredSQL.Exec(t, "drop", t.Account(), d.Seq, d.Subscriber)
	mustTx(t).undeferred += int(n)
	return n == 1, err
}

// FailDeferred implements bus.Engine: the second failure parks.
func (db *DB) FailDeferred(t event.Tx, d bus.Deferred, kind, message string) (parked bool, err error) {
	err = deferredSQL.Row(t, "fail", []any{kind, message, t.Account(), d.Seq, d.Subscriber}, &parked)
	if fault.Is(err, fault.NotFound) { // another node was first
		return false, nil
	}
	return parked, err
}

// Unpark implements bus.Engine.
func (db *DB) Unpark(t event.Tx, subscriber string, stream id.ID, skip bool) error {
	name := "unpark"
	if skip {
		name = "give_up"
	}
	n, err := deferredSQL.Exec(t, name, t.Account(), subscriber, stream)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.NotFound, "%s is not parked on stream %s", subscriber, stream)
	}
	if skip {
		mustTx(t).undeferred += int(n)
	}
	db.voids.forget(voidKey{subscriber, stream})
	return nil
}

// Forget implements bus.Engine.
func (db *DB) Forget(subscriber string, stream id.ID) { db.voids.forget(voidKey{subscriber, stream}) }

// Parked lists reactions that wait for a person, oldest first.
func Parked(t event.Tx, limit int) (out []bus.Deferred, err error) {
	err = deferredSQL.Each(t, "parked", []any{t.Account(), limit}, func(scan func(...any) error) error {
		d := bus.Deferred{Account: t.Account(), Parked: true}
		err := scan(&d.Seq, &d.Subscriber, &d.Stream, &d.Event, &d.Tries, &d.ErrorKind, &d.Error)
		out = append(out, d)
		return err
	})
	return out, err
}

// GetEvent implements bus.Engine.
func (db *DB) GetEvent(t event.Tx, e id.ID) (event.Event, error) { return GetEvent(t, e) }

// MarksAfter implements bus.Engine.
func (db *DB) MarksAfter(t event.Tx, after int64, limit int) ([]Mark, error) {
	return MarksAfter(t, after, limit)
}

// HeadOf implements bus.Engine.
func (db *DB) HeadOf(t event.Tx) (Tip, [32]byte, error) { return HeadOf(t) }

var _ bus.Engine = (*DB)(nil)

func (e *sqliteEngine) anyDeferred() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.deferred {
		if n > 0 {
			return true
		}
	}
	return false
}
