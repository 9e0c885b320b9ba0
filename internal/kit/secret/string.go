package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// String is a secret text. It prints as "[secret]" wherever it is formatted,
// logged or encoded; only Reveal returns the text.
type String struct{ v string }

// New wraps v.
func New(v string) String { return String{v: v} }

// Reveal returns the text. Call it at the last moment, on the way out.
func (s String) Reveal() string { return s.v }

// Empty reports whether there is no text.
func (s String) Empty() bool { return s.v == "" }

const mask = "[secret]"

// String implements fmt.Stringer.
func (s String) String() string {
	if s.v == "" {
		return ""
	}
	return mask
}

// GoString implements fmt.GoStringer, so that %#v does not leak.
func (s String) GoString() string { return mask }

// Format implements fmt.Formatter: %d of a struct would print its fields.
func (s String) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements slog.LogValuer.
func (s String) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
