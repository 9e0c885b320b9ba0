package store

import (
	"context"
	"fmt"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// verifyPage is how many events one snapshot reads: an open snapshot slows
// PostgreSQL's head rows, so none may live longer than about a second.
const verifyPage = 10_000

// VerifyReport is what a verification found.
type VerifyReport struct {
	Account id.ID
	Events  int64 // verified
	Erased  int64 // of these, bodies whose key was destroyed
	Base    int64 // seq below which the chain was cut; 0 for none
	Head    int64
	Hash    [32]byte
}

// BadEvent says where the chain breaks first.
type BadEvent struct {
	Seq    int64
	Reason string
}

func (e *BadEvent) Error() string { return fmt.Sprintf("event %d: %s", e.Seq, e.Reason) }

// Kind makes a broken chain a fault of its own kind.
func (e *BadEvent) Unwrap() error { return fault.New(fault.Corrupt, "the chain is broken") }

// VerifyChain reads an account's events as they are stored and checks every
// hash. It needs no key. It finds an edit of a header or a body, a removed, a
// swapped and an added event; a chain rewritten from the start is found by a
// checkpoint that left the machine (at).
func VerifyChain(ctx context.Context, j event.Journal, account id.ID, at []Checkpoint) (VerifyReport, error) {
	return VerifyProgress(ctx, j, account, at, nil)
}

// VerifyProgress is VerifyChain that tells, now and then, how many events were
// checked so far.
func VerifyProgress(ctx context.Context, j event.Journal, account id.ID, at []Checkpoint, progress func(events int64)) (r VerifyReport, err error) {
	r.Account = account
	var base head
	if err := j.View(ctx, account, func(t event.Tx) (err error) {
		base, err = baseOf(t)
		return err
	}); err != nil {
		return r, err
	}
	r.Base, r.Head, r.Hash = base.seq, base.seq, base.hash
	marks := map[int64]Checkpoint{}
	for _, c := range at {
		if c.Account == account {
			marks[c.Seq] = c
		}
	}
	hasher := event.NewHasher()
	for {
		n := 0
		err := j.View(ctx, account, func(t event.Tx) error {
			return readSQL.Each(t, "after", []any{account, r.Head, verifyPage}, func(scan func(...any) error) error {
				n++
				return verifyOne(&r, hasher, marks, scan)
			})
		})
		if err != nil {
			return r, err
		}
		if progress != nil {
			progress(r.Events)
		}
		if n < verifyPage {
			break
		}
	}
	return r, verifyTip(ctx, j, account, &r, marks)
}

func verifyOne(r *VerifyReport, hasher *event.Hasher, marks map[int64]Checkpoint, scan func(...any) error) error {
	e, err := scanEvent(scan)
	if err != nil {
		return &BadEvent{r.Head + 1, "its columns cannot be read: " + err.Error()}
	}
	if e.Seq != r.Head+1 {
		return &BadEvent{r.Head + 1, fmt.Sprintf("it is missing; the next event is %d", e.Seq)}
	}
	if event.Commit(e.Sealed) != e.BodyCommit {
		return &BadEvent{e.Seq, "its body was changed"}
	}
	if got := hasher.Chain(r.Account, r.Hash, &e); got != e.Hash {
		return &BadEvent{e.Seq, "its header was changed, or an event before it"}
	}
	r.Head, r.Hash = e.Seq, e.Hash
	r.Events++
	if c, ok := marks[e.Seq]; ok && c.Hash != e.Hash {
		return &BadEvent{e.Seq, "the chain was rewritten: a signed checkpoint of " + c.At.Format("2006-01-02 15:04:05Z") + " has another hash"}
	}
	return nil
}

// verifyTip compares the end of the chain with the head row and the newest checkpoint.
func verifyTip(ctx context.Context, j event.Journal, account id.ID, r *VerifyReport, marks map[int64]Checkpoint) error {
	return j.View(ctx, account, func(t event.Tx) error {
		tip, hash, err := HeadOf(t)
		if err != nil {
			return err
		}
		if tip.Seq < r.Head || tip.Seq == r.Head && hash != r.Hash {
			return &BadEvent{r.Head, "the head row names another end of the chain"}
		}
		if tip.Seq > r.Head {
			var n int64
			if err := auditSQL.Row(t, "count", []any{account}, &n); err != nil {
				return err
			}
			if n < tip.Seq-r.Base {
				return &BadEvent{r.Head + 1, fmt.Sprintf("it is missing; the head row names %d", tip.Seq)}
			}
		}
		for seq := range marks {
			if seq > r.Head {
				return &BadEvent{r.Head + 1, fmt.Sprintf("it is missing; a signed checkpoint names event %d", seq)}
			}
		}
		return auditSQL.Row(t, "erased", []any{account, account}, &r.Erased)
	})
}

var auditSQL = MustQueries(`
-- name: count
SELECT count(*) FROM events WHERE account_id = ?
-- name: erased
SELECT count(*) FROM events e WHERE e.account_id = ? AND NOT EXISTS (
  SELECT 1 FROM subject_keys k WHERE k.account_id = ? AND k.subject_id = COALESCE(e.subject_id, e.account_id)
  AND k.made_at <= e.recorded_at)
-- name: base
SELECT seq, hash, cut_at FROM journal_bases WHERE account_id = ?
-- name: set_base
INSERT INTO journal_bases (account_id, seq, hash, key_id, signature, cut_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, key_id = excluded.key_id,
  signature = excluded.signature, cut_at = excluded.cut_at WHERE journal_bases.seq = ?
-- name: waiting_below
SELECT count(*) FROM deferred WHERE account_id = ? AND seq <= ?
-- name: cut
DELETE FROM events WHERE account_id = ? AND seq <= ? AND seq > ?
-- name: accounts cross-account
SELECT account_id FROM journal_heads ORDER BY account_id
-- name: bump_keys
UPDATE journal_heads SET key_epoch = key_epoch + 1 WHERE account_id = ?
-- name: bump_epoch
UPDATE journal_heads SET epoch = epoch + 1 WHERE account_id = ?
-- name: hold_work
UPDATE work SET state = 'held', reason = 'restore', node_id = NULL, fence = fence + 1 WHERE account_id = ? AND state <> 'held'
-- name: hold_timers
UPDATE timers SET held = 1 WHERE account_id = ? AND held = 0
-- name: release_work
UPDATE work SET state = 'ready', reason = '', due_at = ?, failures = 0
WHERE account_id = ? AND state = 'held' AND reason IN ('restore', 'poison') AND kind <> 'effect'
-- name: release_timers
UPDATE timers SET held = 0 WHERE account_id = ? AND held = 1
-- name: held_in_all
SELECT (SELECT count(*) FROM work WHERE account_id = ? AND state = 'held' AND reason = 'restore'),
  (SELECT count(*) FROM timers WHERE account_id = ? AND held = 1)
-- name: held_counts
SELECT kind, reason, count(*) FROM work WHERE account_id = ? AND state = 'held' GROUP BY kind, reason
-- name: held_timers
SELECT count(*) FROM timers WHERE account_id = ? AND held = 1
-- name: held_work
SELECT kind, id, scope, reason FROM work WHERE account_id = ? AND state = 'held' ORDER BY kind, id
`)

// baseOf returns where the chain begins: zero, or the signed base of a cut.
func baseOf(t event.Tx) (h head, err error) {
	var hash []byte
	var us int64
	err = auditSQL.Row(t, "base", []any{t.Account()}, &h.seq, &hash, &us)
	if fault.Is(err, fault.NotFound) {
		return head{}, nil
	}
	copy(h.hash[:], hash)
	h.recorded = clock.FromMicros(us)
	return h, err
}

// Accounts lists the accounts that have a journal.
func Accounts(ctx context.Context, j event.Journal) (out []id.ID, err error) {
	err = j.View(ctx, system(), func(t event.Tx) error {
		return auditSQL.Each(t, "accounts", nil, func(scan func(...any) error) error {
			var a id.ID
			err := scan(&a)
			out = append(out, a)
			return err
		})
	})
	return out, err
}
