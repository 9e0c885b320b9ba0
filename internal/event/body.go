package event

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// body is what is sealed: the payload, the sentence, and how the label rose.
type body struct {
	Payload json.RawMessage `json:"payload"`
	Raise   *raised         `json:"raise,omitempty"`
	Summary string          `json:"summary,omitempty"`
}

type raised struct {
	By    RaiseBy `json:"by"`
	Label string  `json:"label"`
}

// EncodeBody returns the canonical JSON of e's body, ready to be sealed.
// It refuses text that canonical JSON refuses (U+0000, lone surrogates,
// fractions, integers of 2^53 and more), by name.
func EncodeBody(e Event, r Raise) ([]byte, error) {
	p, err := json.Marshal(e.Payload)
	if err != nil {
		return nil, fault.New(fault.Invalid, "encode %s: %w", e.Type, err)
	}
	b := body{Payload: p, Summary: e.Summary}
	if r.By != "" {
		b.Raise = &raised{By: r.By, Label: r.Label.String()}
	}
	out, err := canon.JSON(b)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "encode "+string(e.Type))
	}
	return out, nil
}

// DecodeBody fills e's Payload and Summary from opened body bytes. Payloads of
// older versions are upcast; an unknown type or a newer version is refused.
func DecodeBody(e *Event, raw []byte) error {
	row, ok := Lookup(e.Type)
	if !ok {
		return fault.New(fault.Corrupt, "event %s has unknown type %q", e.ID, e.Type)
	}
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return fault.New(fault.Corrupt, "event %s: body is no JSON: %w", e.ID, err)
	}
	p := []byte(b.Payload)
	if e.Version < 1 || e.Version > row.Version {
		return fault.New(fault.Corrupt, "event %s has version %d of %s; this build knows up to %d", e.ID, e.Version, e.Type, row.Version)
	}
	for v := e.Version; v < row.Version; v++ {
		var err error
		if p, err = row.Upcast[v-1](p); err != nil {
			return fault.New(fault.Corrupt, "event %s: upcast %s from version %d: %w", e.ID, e.Type, v, err)
		}
	}
	ptr := row.New()
	dec := json.NewDecoder(bytes.NewReader(p))
	if err := dec.Decode(ptr); err != nil {
		return fault.New(fault.Corrupt, "event %s: decode %s: %w", e.ID, e.Type, err)
	}
	e.Payload = reflect.ValueOf(ptr).Elem().Interface().(Payload)
	e.Summary = b.Summary
	return nil
}
