package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// EncodeJSON encodes v without escaping HTML: a prompt full of \u003c costs tokens.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Decimal renders millionths as a JSON number (700000 is 0.7), without a float.
func Decimal(micros int64) json.Number {
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	s := sign + strconv.FormatInt(micros/1_000_000, 10)
	if rest := micros % 1_000_000; rest != 0 {
		digits := strconv.FormatInt(1_000_000+rest, 10)[1:]
		s += "." + strings.TrimRight(digits, "0")
	}
	return json.Number(s)
}

// ObjectOr returns args if it is a JSON object, else "{}": a wire that parses the
// arguments in its history would refuse the whole conversation for one bad call.
func ObjectOr(args string) json.RawMessage {
	if isObject(args) {
		return json.RawMessage(args)
	}
	return json.RawMessage("{}")
}
