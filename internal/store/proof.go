package store

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

var proofSQL = MustQueries(strings.ReplaceAll(`
-- name: one
SELECT COLS FROM events WHERE account_id = ? AND id = ?
-- name: hash_at
SELECT hash FROM events WHERE account_id = ? AND seq = ?
-- name: caused
SELECT id FROM events WHERE account_id = ? AND correlation_id = ? AND causation_id = ? AND type = ? ORDER BY seq LIMIT 1000
`, "COLS", eventColumns))

// CheckEvent proves that one event's row is as it was appended: its body meets
// its commitment, and its columns meet the hash that chains it to the event
// before. It is fault.Corrupt otherwise, and fault.NotFound if there is none.
// The whole chain is proven by VerifyChain.
func CheckEvent(t event.Tx, e id.ID) error {
	var ev event.Event
	found := false
	if err := proofSQL.Each(t, "one", []any{t.Account(), e}, func(scan func(...any) error) (err error) {
		ev, err = scanEvent(scan)
		found = true
		return err
	}); err != nil {
		return err
	}
	if !found {
		return fault.New(fault.NotFound, "no event %s", e)
	}
	if event.Commit(ev.Sealed) != ev.BodyCommit {
		return fault.New(fault.Corrupt, "event %d: its body was changed", ev.Seq)
	}
	var prev [32]byte
	base, err := baseOf(t)
	if err != nil {
		return err
	}
	switch ev.Seq {
	case 1:
	case base.seq + 1:
		prev = base.hash
	default:
		var before []byte
		if err := proofSQL.Row(t, "hash_at", []any{t.Account(), ev.Seq - 1}, &before); err != nil {
			return err
		}
		copy(prev[:], before)
	}
	if event.NewHasher().Chain(t.Account(), prev, &ev) != ev.Hash {
		return fault.New(fault.Corrupt, "event %d: its header was changed, or the hash before it", ev.Seq)
	}
	return nil
}

// CausedBy lists the events of one type whose direct cause is e, oldest first,
// by their ids: so that one that cannot be read hides none of the others.
func CausedBy(t event.Tx, e event.Event, typ event.Type) (out []id.ID, err error) {
	err = proofSQL.Each(t, "caused", []any{t.Account(), e.Correlation, e.ID, string(typ)}, func(scan func(...any) error) error {
		var x id.ID
		err := scan(&x)
		out = append(out, x)
		return err
	})
	return out, err
}
