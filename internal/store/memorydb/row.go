package memorydb

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
)

// details are the columns that only one kind has.
type details struct {
	Participants  []string `json:"participants,omitempty"`
	Context       string   `json:"context,omitempty"`
	Steps         []string `json:"steps,omitempty"`
	Preconditions []string `json:"preconditions,omitempty"`
	Success       int64    `json:"success,omitempty"`
	Failure       int64    `json:"failure,omitempty"`
}

func detailsOf(m memory.Memory) (string, error) {
	var d details
	switch k := m.(type) {
	case *memory.Episodic:
		d = details{Participants: k.Participants, Context: k.Context}
	case *memory.Procedural:
		d = details{Steps: k.Steps, Preconditions: k.Preconditions, Success: k.Success, Failure: k.Failure}
	case *memory.Semantic, *memory.Autobiographical:
	}
	b, err := canon.JSON(d)
	return string(b), fault.Wrap(fault.Invalid, err, "encode the details of a memory")
}

// AddMemory implements memory.Store.
func (*Store) AddMemory(tx event.Tx, m memory.Memory, at memory.Place) error {
	d, err := detailsOf(m)
	if err != nil {
		return err
	}
	r := m.Common()
	status := "live"
	if r.Archived {
		status = "archived"
	}
	n, err := q.Exec(tx, "add_memory", tx.Account(), r.ID, at.Shelf, at.Number, string(m.Kind()), string(r.Epistemic), string(r.Scope),
		int(r.Sensitivity), r.Label.String(), r.Subject, r.Title, r.Body, d, r.Tokens, clock.Micros(r.OccurredAt), clock.Micros(r.ValidFrom),
		clock.Micros(r.ValidTo), int64(r.Importance), int64(r.Salience), int64(r.Valence), int64(r.Arousal), r.Source, int64(r.Credibility),
		int64(r.Confidence), r.UseCount, clock.Micros(r.FirstUse), packTimes(r.LastUses), r.RetrievalCount, clock.Micros(r.LastRetrieved),
		r.Simhash, r.RootGroup, r.Origin, r.By, clock.Micros(r.CreatedAt), status)
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "there is a memory at that place already")
	}
	return err
}

// LoadMemory implements memory.Store.
func (*Store) LoadMemory(tx event.Tx, at memory.Place) (memory.Memory, error) {
	return scan(func(d ...any) error { return q.Row(tx, "at_place", []any{tx.Account(), at.Shelf, at.Number}, d...) })
}

// GetMemory implements memory.Store.
func (*Store) GetMemory(tx event.Tx, m id.ID) (memory.Memory, error) {
	return scan(func(d ...any) error { return q.Row(tx, "by_id", []any{tx.Account(), m}, d...) })
}

func scan(row func(...any) error) (memory.Memory, error) {
	var r memory.Row
	var kind, epistemic, scope, label, raw, status string
	var sensitivity, occurred, from, to, importance, salience, valence, arousal, credibility, confidence, first, retrieved, created int64
	var uses []byte
	if err := row(&r.ID, &kind, &epistemic, &scope, &sensitivity, &label, &r.Subject, &r.Title, &r.Body, &raw, &r.Tokens, &occurred, &from,
		&to, &importance, &salience, &valence, &arousal, &r.Source, &credibility, &confidence, &r.UseCount, &first, &uses, &r.RetrievalCount,
		&retrieved, &r.Simhash, &r.RootGroup, &r.Origin, &r.By, &created, &status); err != nil {
		return nil, err
	}
	var err error
	if r.Label, err = event.ParseLabel(label); err != nil {
		return nil, err
	}
	if r.LastUses, err = unpackTimes(uses); err != nil {
		return nil, err
	}
	r.Epistemic, r.Scope, r.Sensitivity, r.Archived = memory.Epistemic(epistemic), recall.Scope(scope), recall.Sensitivity(sensitivity), status == "archived"
	r.OccurredAt, r.ValidFrom, r.ValidTo = clock.FromMicros(occurred), clock.FromMicros(from), clock.FromMicros(to)
	r.Importance, r.Salience, r.Valence, r.Arousal = int32(importance), int32(salience), int32(valence), int32(arousal)
	r.Credibility, r.Confidence = int32(credibility), int32(confidence)
	r.FirstUse, r.LastRetrieved, r.CreatedAt = clock.FromMicros(first), clock.FromMicros(retrieved), clock.FromMicros(created)
	var d details
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		return nil, fault.New(fault.Corrupt, "memory %s: its details are no JSON: %w", r.ID, err)
	}
	switch memory.Kind(kind) {
	case memory.KindEpisodic:
		return &memory.Episodic{Row: r, Participants: d.Participants, Context: d.Context}, nil
	case memory.KindSemantic:
		return &memory.Semantic{Row: r}, nil
	case memory.KindProcedural:
		return &memory.Procedural{Row: r, Steps: d.Steps, Preconditions: d.Preconditions, Success: d.Success, Failure: d.Failure}, nil
	case memory.KindAutobiographical:
		return &memory.Autobiographical{Row: r}, nil
	}
	return nil, fault.New(fault.Corrupt, "memory %s is of unknown kind %q", r.ID, kind)
}

// AddUse implements memory.Store.
func (*Store) AddUse(tx event.Tx, m id.ID, at time.Time) error {
	var first int64
	var packed []byte
	if err := q.Row(tx, "uses", []any{tx.Account(), m}, &first, &packed); err != nil {
		return err
	}
	uses, err := unpackTimes(packed)
	if err != nil {
		return err
	}
	uses = append(uses, at)
	uses = uses[max(len(uses)-memory.MaxUses, 0):]
	if first == 0 {
		first = clock.Micros(at)
	}
	_, err = q.Exec(tx, "add_use", first, packTimes(uses), clock.Micros(at), tx.Account(), m)
	return err
}

// packTimes stores stamps as big-endian microseconds.
func packTimes(stamps []time.Time) []byte {
	b := make([]byte, 0, 8*len(stamps))
	for _, t := range stamps {
		b = binary.BigEndian.AppendUint64(b, uint64(clock.Micros(t)))
	}
	return b
}

func unpackTimes(b []byte) (out []time.Time, err error) {
	if len(b)%8 != 0 {
		return nil, fault.New(fault.Corrupt, "the use stamps of a memory are damaged")
	}
	for ; len(b) > 0; b = b[8:] {
		out = append(out, clock.FromMicros(int64(binary.BigEndian.Uint64(b))))
	}
	return out, nil
}
