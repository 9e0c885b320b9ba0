package policy

import (
	"bytes"
	"encoding/json"
)

// Maybe is an input of a decision that may be unknown. The zero Maybe is
// unknown, so a field that somebody forgot to fill counts against the call
// instead of passing for the lowest value.
type Maybe[T any] struct {
	value T
	known bool
}

// Known returns an input with a value.
func Known[T any](v T) Maybe[T] { return Maybe[T]{value: v, known: true} }

// Get returns the value and whether it is known.
func (m Maybe[T]) Get() (T, bool) { return m.value, m.known }

// Or returns the value, or what stands for it when it is not known.
func (m Maybe[T]) Or(unknown T) T {
	if m.known {
		return m.value
	}
	return unknown
}

// IsZero reports whether the value is unknown; encoding/json's omitzero uses it.
func (m Maybe[T]) IsZero() bool { return !m.known }

// MarshalJSON renders an unknown input as null.
func (m Maybe[T]) MarshalJSON() ([]byte, error) {
	if !m.known {
		return []byte("null"), nil
	}
	return json.Marshal(m.value)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (m *Maybe[T]) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*m = Maybe[T]{}
		return nil
	}
	m.known = true
	return json.Unmarshal(b, &m.value)
}
