package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects that is accepted.
const MaxDepth = 64

// MaxBytes is the size limit of JSON and Canonicalize, in bytes.
// A door with a smaller limit calls CanonicalizeMax.
const MaxBytes = 16 << 20

// JSON marshals v with encoding/json and returns its canonical form.
//
// A float that happens to be integral (float64(3)) is accepted, because values
// decoded into `any` hold such floats; payload types are held to integers by
// Integral instead. It returns *Error for what has no canonical form.
func JSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	out, err := Canonicalize(raw)
	if err != nil {
		return nil, err
	}
	// encoding/json silently turns invalid UTF-8 into U+FFFD. Only a document
	// that holds one can have been damaged so; then the value itself is asked.
	if bytes.Contains(out, []byte(string(utf8.RuneError))) {
		if err := validStrings(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Canonicalize returns the canonical form of one JSON document of at most
// MaxBytes bytes. It returns *Error for anything that has no canonical form.
func Canonicalize(raw []byte) ([]byte, error) { return CanonicalizeMax(raw, MaxBytes) }

// CanonicalizeMax is Canonicalize with a size limit in bytes of its own.
func CanonicalizeMax(raw []byte, limit int) ([]byte, error) {
	if len(raw) > limit {
		return nil, &Error{Path: "$", Reason: ErrSize, Detail: fmt.Sprintf("%d bytes, limit %d", len(raw), limit)}
	}
	s := scanner{in: raw, out: make([]byte, 0, len(raw))}
	err := s.value(0)
	if err == nil {
		if s.space(); s.pos < len(s.in) {
			err = s.syntax()
		}
	}
	if err != nil {
		err.Path = "$" + err.Path
		return nil, err
	}
	return s.out, nil
}
