package store

import (
	"strings"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

const eventColumns = `account_id, seq, id, type, version, stream_id, addressee_id, layer, source, parents,
  causation_id, correlation_id, occurred_at, recorded_at, label, salience, confidence, valence, arousal,
  evidence, subject_id, body_commit, hash, body`

var readSQL = MustQueries(strings.ReplaceAll(`
-- name: by_id
SELECT COLS FROM events WHERE account_id = ? AND id = ?
-- name: after
SELECT COLS FROM events WHERE account_id = ? AND seq > ? ORDER BY seq LIMIT ?
-- name: before
SELECT COLS FROM events WHERE account_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?
-- name: stream
SELECT COLS FROM events WHERE account_id = ? AND stream_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
-- name: own_stream
SELECT COLS FROM events WHERE account_id = ? AND stream_id IS NULL AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
-- name: addressee
SELECT COLS FROM events WHERE account_id = ? AND addressee_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
-- name: correlation
SELECT COLS FROM events WHERE account_id = ? AND (correlation_id = ? OR id = ?) ORDER BY seq LIMIT ?
-- name: heads_after
SELECT seq, id, type, stream_id, correlation_id FROM events WHERE account_id = ? AND seq > ? ORDER BY seq LIMIT ?
`, "COLS", eventColumns))

// scanEvent reads one row of eventColumns; the body stays sealed.
func scanEvent(scan func(...any) error) (e event.Event, err error) {
	var typ, label string
	var parents, evidence, commit, hash []byte
	var occurred, recorded int64
	var layer int
	var sal, con, val, aro *int64
	if err := scan(&e.Account, &e.Seq, &e.ID, &typ, &e.Version, &e.Stream, &e.Addressee, &layer, &e.Source, &parents,
		&e.Causation, &e.Correlation, &occurred, &recorded, &label, &sal, &con, &val, &aro,
		&evidence, &e.Subject, &commit, &hash, &e.Sealed); err != nil {
		return e, err
	}
	e.Type, e.Layer = event.Type(typ), event.Layer(layer)
	if e.Stream.IsZero() {
		e.Stream = e.Account
	}
	if e.Subject.IsZero() {
		e.Subject = e.Account
	}
	if e.Correlation.IsZero() {
		e.Correlation = e.ID
	}
	e.OccurredAt, e.RecordedAt = clock.FromMicros(occurred), clock.FromMicros(recorded)
	if e.Label, err = event.ParseLabel(label); err != nil {
		return e, err
	}
	e.Feelings = event.Feelings{Salience: narrow(sal), Confidence: narrow(con), Valence: narrow(val), Arousal: narrow(aro)}
	if len(parents)%16 != 0 || len(evidence)%17 != 0 || len(commit) != 32 || len(hash) != 32 {
		return e, fault.New(fault.Corrupt, "event %d: a column has a wrong length", e.Seq)
	}
	for i := 0; i < len(parents); i += 16 {
		e.Parents = append(e.Parents, id.ID(parents[i:i+16]))
	}
	for i := 0; i < len(evidence); i += 17 {
		e.Evidence = append(e.Evidence, event.Reference{Kind: event.RefKind(evidence[i]), ID: id.ID(evidence[i+1 : i+17])})
	}
	copy(e.BodyCommit[:], commit)
	copy(e.Hash[:], hash)
	return e, nil
}

func narrow(p *int64) *int32 {
	if p == nil {
		return nil
	}
	v := int32(*p)
	return &v
}

// readEvents runs a query over eventColumns and opens every body.
func readEvents(t event.Tx, name string, args ...any) ([]event.Event, error) {
	x := mustTx(t)
	var out []event.Event
	if err := readSQL.Each(t, name, args, func(scan func(...any) error) error {
		e, err := scanEvent(scan)
		out = append(out, e)
		return err
	}); err != nil {
		return nil, err
	}
	var h head
	if x.db.lite == nil && len(out) > 0 { // another node may have destroyed keys since
		var err error
		if h, _, err = x.readHead("read_head"); err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	for i := range out {
		if err := x.openBody(&out[i], h.keyEpoch); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// GetEvent reads one committed event with its payload. NotFound if the account
// has no such event, which is also the answer for another account's.
func GetEvent(t event.Tx, e id.ID) (event.Event, error) {
	evs, err := readEvents(t, "by_id", t.Account(), e)
	if err != nil {
		return event.Event{}, err
	}
	if len(evs) == 0 {
		return event.Event{}, fault.New(fault.NotFound, "no event %s", e)
	}
	return evs[0], nil
}

// EventsAfter reads up to limit events with seq > after, in order.
func EventsAfter(t event.Tx, after int64, limit int) ([]event.Event, error) {
	return readEvents(t, "after", t.Account(), after, limit)
}

// EventsBefore reads up to limit events with seq < before, newest first.
func EventsBefore(t event.Tx, before int64, limit int) ([]event.Event, error) {
	return readEvents(t, "before", t.Account(), before, limit)
}

// EventsOfRound reads the round trip with this correlation, in order: the tree
// of everything that one message caused.
func EventsOfRound(t event.Tx, correlation id.ID, limit int) ([]event.Event, error) {
	return readEvents(t, "correlation", t.Account(), correlation, correlation, limit)
}

// StreamPart is a stream up to a seq: a fork reads its parent that way.
type StreamPart struct {
	Stream id.ID
	Upper  int64 // inclusive; 0 means all
}

// EventsOfStreams reads up to limit events after a seq of several stream parts,
// merged in seq order.
func EventsOfStreams(t event.Tx, parts []StreamPart, after int64, limit int) ([]event.Event, error) {
	var all []event.Event
	for _, p := range parts {
		upper := p.Upper
		if upper == 0 {
			upper = 1<<62 - 1
		}
		var evs []event.Event
		var err error
		if p.Stream == t.Account() {
			evs, err = readEvents(t, "own_stream", t.Account(), after, upper, limit)
		} else {
			evs, err = readEvents(t, "stream", t.Account(), p.Stream, after, upper, limit)
		}
		if err != nil {
			return nil, err
		}
		all = mergeBySeq(all, evs)
	}
	return all[:min(len(all), limit)], nil
}

// EventsFor reads up to limit events addressed to someone, in order.
func EventsFor(t event.Tx, addressee id.ID, after, upper int64, limit int) ([]event.Event, error) {
	return readEvents(t, "addressee", t.Account(), addressee, after, upper, limit)
}

func mergeBySeq(a, b []event.Event) []event.Event {
	out := make([]event.Event, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Seq < b[0].Seq:
			out, a = append(out, a[0]), a[1:]
		case a[0].Seq > b[0].Seq:
			out, b = append(out, b[0]), b[1:]
		default: // named twice
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Mark is what a tail sends of an event.
type Mark = bus.Mark

// MarksAfter reads up to limit marks after a seq. It opens no body.
func MarksAfter(t event.Tx, after int64, limit int) (out []Mark, err error) {
	err = readSQL.Each(t, "heads_after", []any{t.Account(), after, limit}, func(scan func(...any) error) error {
		var m Mark
		var typ string
		if err := scan(&m.Seq, &m.ID, &typ, &m.Stream, &m.Correlation); err != nil {
			return err
		}
		m.Type = event.Type(typ)
		if m.Stream.IsZero() {
			m.Stream = t.Account()
		}
		if m.Correlation.IsZero() {
			m.Correlation = m.ID
		}
		out = append(out, m)
		return nil
	})
	return out, err
}

// HeadOf returns the account's tip, zero if it has no event.
func HeadOf(t event.Tx) (tip Tip, hash [32]byte, err error) {
	h, _, err := mustTx(t).readHead("read_head")
	if fault.Is(err, fault.NotFound) {
		return Tip{Epoch: 1}, hash, nil
	}
	return Tip{Epoch: h.epoch, Seq: h.seq}, h.hash, err
}
