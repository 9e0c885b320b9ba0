package store

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
)

// head is the tip of an account's chain.
type head struct {
	seq      int64
	hash     [32]byte
	recorded time.Time
	epoch    int64
	keyEpoch int64
}

var appendSQL = MustQueries(`
-- name: head sqlite
SELECT seq, hash, recorded_at, epoch, key_epoch FROM journal_heads WHERE account_id = ?
-- name: head postgres
SELECT seq, hash, recorded_at, epoch, key_epoch FROM journal_heads WHERE account_id = ? FOR UPDATE
-- name: read_head
SELECT seq, hash, recorded_at, epoch, key_epoch FROM journal_heads WHERE account_id = ?
-- name: new_head
INSERT INTO journal_heads (account_id, seq, hash, recorded_at, epoch, key_epoch) VALUES (?, 0, ?, 0, 1, 1)
ON CONFLICT (account_id) DO NOTHING
-- name: set_head
UPDATE journal_heads SET seq = ?, hash = ?, recorded_at = ? WHERE account_id = ?
-- name: add_event
INSERT INTO events (account_id, seq, id, type, version, stream_id, addressee_id, layer, source, parents,
  causation_id, correlation_id, occurred_at, recorded_at, label, salience, confidence, valence, arousal,
  evidence, subject_id, body_commit, hash, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: add_deferred
INSERT INTO deferred (account_id, seq, subscriber, stream_id, event_id, tries, parked, error_kind, error)
VALUES (?, ?, ?, ?, ?, 0, 0, '', '')
-- name: pending sqlite
SELECT DISTINCT subscriber FROM deferred WHERE account_id = ? AND stream_id = ?
-- name: pending postgres
SELECT DISTINCT subscriber FROM deferred WHERE account_id = ? AND stream_id = ?
-- name: lock_stream postgres cross-account
SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended(encode(?::bytea || ?::bytea, 'hex'), 7))) l
-- name: lock_stream sqlite cross-account
SELECT 1 WHERE ? IS NOT ?
`)

func (x *tx) readHead(name string) (h head, found bool, err error) {
	var hash []byte
	var us int64
	err = appendSQL.Row(x, name, []any{x.Account()}, &h.seq, &hash, &us, &h.epoch, &h.keyEpoch)
	if err != nil {
		return head{}, false, err
	}
	copy(h.hash[:], hash)
	h.recorded = clock.FromMicros(us)
	return h, true, nil
}

// finish puts everything that is left into the transaction: sealed events in
// one go after the last domain row, then the head once (architecture §4). In
// the lane, h is the head as the members before left it.
func (x *tx) finish(h *head, hasher *event.Hasher) error {
	evs := x.Events()
	if len(evs) == 0 {
		return nil
	}
	for i := range evs {
		e := &evs[i]
		if e.RecordedAt.Before(h.recorded) { // the clock went back: the journal's does not
			e.RecordedAt = h.recorded
		}
		if err := x.sealBody(e, x.raw[i], h); err != nil {
			return err
		}
		h.seq++
		e.Seq = h.seq
		h.recorded = e.RecordedAt
		e.Hash = hasher.Chain(x.Account(), h.hash, e)
		h.hash = e.Hash
	}
	return nil
}

// insertDeferred writes the rows of reactions left to the router.
func (x *tx) insertDeferred() error {
	for _, d := range x.deferred {
		e := x.Events()[d.index]
		if _, err := appendSQL.Exec(x, "add_deferred", x.Account(), e.Seq, d.subscriber, e.Stream, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// loadPending fills x.pending for a stream: subscribers with older events of it
// still waiting must not overtake them. On PostgreSQL the stream is locked
// first, so that two transactions react to one stream in seq order.
func (db *DB) loadPending(x *tx, stream id.ID) error {
	k := voidKey{"", stream}
	if x.pending[k] {
		return nil
	}
	if x.pending == nil {
		x.pending = map[voidKey]bool{}
	}
	x.pending[k] = true
	if db.lite != nil && !db.lite.mayDefer(x.Account()) {
		return nil
	}
	if db.pg != nil {
		var one int
		if err := appendSQL.Row(x, "lock_stream", []any{x.Account(), stream}, &one); err != nil {
			return err
		}
	}
	return appendSQL.Each(x, "pending", []any{x.Account(), stream}, func(scan func(...any) error) error {
		var sub string
		if err := scan(&sub); err != nil {
			return err
		}
		x.pending[voidKey{sub, stream}] = true
		return nil
	})
}

// eventArgs returns e as the arguments of add_event. Columns that equal their
// default (stream = account, subject = account, correlation = own id) are NULL.
func eventArgs(e *event.Event) []any {
	nilIf := func(v, d id.ID) any {
		if v == d || v == id.Nil {
			return nil
		}
		return v[:]
	}
	num := func(p *int32) any {
		if p == nil {
			return nil
		}
		return int64(*p)
	}
	return []any{e.Account[:], e.Seq, e.ID[:], string(e.Type), int64(e.Version), nilIf(e.Stream, e.Account),
		nilIf(e.Addressee, id.Nil), int64(e.Layer), e.Source, packIDs(e.Parents), nilIf(e.Causation, id.Nil),
		nilIf(e.Correlation, e.ID), clock.Micros(e.OccurredAt), clock.Micros(e.RecordedAt), e.Label.String(),
		num(e.Feelings.Salience), num(e.Feelings.Confidence), num(e.Feelings.Valence), num(e.Feelings.Arousal),
		packRefs(e.Evidence), nilIf(e.Subject, e.Account), e.BodyCommit[:], e.Hash[:], e.Sealed}
}

func packIDs(ids []id.ID) any {
	if len(ids) == 0 {
		return nil
	}
	b := make([]byte, 0, 16*len(ids))
	for _, i := range ids {
		b = append(b, i[:]...)
	}
	return b
}

func packRefs(refs []event.Reference) any {
	if len(refs) == 0 {
		return nil
	}
	b := make([]byte, 0, 17*len(refs))
	for _, r := range refs {
		b = append(append(b, byte(r.Kind)), r.ID[:]...)
	}
	return b
}
