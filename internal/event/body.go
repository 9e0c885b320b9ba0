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
	Payload json.RawMessage `json:"payload,omitempty"`
	Raise   *raised         `json:"raise,omitempty"`
	Summary string          `json:"summary,omitempty"`
}

type raised struct {
	By    RaiseBy `json:"by"`
	Label string  `json:"label"`
}

// EncodeBody returns the canonical JSON of e's body, ready to be sealed.
// It refuses text that canonical JSON refuses (U+0000, lone surrogates,
// fractions, integers of 2^53 and more), by name. The payload may be long, so it
// is walked once only; the members of body stand in their canonical order.
func EncodeBody(e Event, r Raise) ([]byte, error) {
	out, err := canon.JSON(e.Payload)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "encode "+string(e.Type))
	}
	rest := body{Summary: e.Summary}
	if r.By != "" {
		rest.Raise = &raised{By: r.By, Label: r.Label.String()}
	}
	tail, err := canon.JSON(rest)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "encode "+string(e.Type))
	}
	const head = `{"payload":`
	raw := make([]byte, 0, len(head)+len(out)+len(tail))
	raw = append(append(raw, head...), out...)
	if len(tail) > len("{}") {
		raw = append(raw, ',')
	}
	if raw = append(raw, tail[1:]...); len(raw) > canon.MaxBytes {
		return nil, fault.New(fault.Invalid, "encode %s: %d bytes, at most %d are taken", e.Type, len(raw), canon.MaxBytes)
	}
	return raw, nil
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
