package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Target is one thing that a call acts on: where it stands among the arguments
// and its value as text.
type Target struct {
	Pointer string `json:"pointer"`
	Value   string `json:"value"`
}

var errPointer = errors.New(`want "/name" or "/name/deeper", with ~0 and ~1 as escapes (RFC 6901)`)

// segments splits a JSON pointer (RFC 6901).
func segments(p string) ([]string, error) {
	if len(p) < 2 || p[0] != '/' {
		return nil, errPointer
	}
	parts := strings.Split(p[1:], "/")
	for i, s := range parts {
		for j := 0; j < len(s); j++ {
			if s[j] == '~' && (j+1 == len(s) || s[j+1] != '0' && s[j+1] != '1') {
				return nil, errPointer
			}
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return parts, nil
}

func firstSegment(p string) (string, error) {
	s, err := segments(p)
	if err != nil {
		return "", err
	}
	return s[0], nil
}

// At returns the value a JSON pointer names inside a decoded document.
func At(doc any, pointer string) (any, bool) {
	parts, err := segments(pointer)
	if err != nil {
		return nil, false
	}
	for _, s := range parts {
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[s]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(s)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != s {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// Targets returns what a call acts on: the values of the manifest's pointers in
// the canonical arguments, in the manifest's order. An array gives one target
// per element (every recipient counts). An argument that is not given gives none.
func (m Manifest) Targets(arguments []byte) ([]Target, error) {
	if len(m.Target) == 0 {
		return nil, nil
	}
	doc, err := decodeAny(arguments)
	if err != nil {
		return nil, err
	}
	var out []Target
	for _, p := range m.Target {
		v, ok := At(doc, p)
		if !ok {
			continue
		}
		if list, ok := v.([]any); ok {
			for i, e := range list {
				out = append(out, Target{Pointer: p + "/" + strconv.Itoa(i), Value: text(e)})
			}
			continue
		}
		out = append(out, Target{Pointer: p, Value: text(v)})
	}
	return out, nil
}

// text renders a JSON value as a person reads it: a string as itself.
func text(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case json.Number:
		return t.String()
	}
	b, err := schemaText(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func decodeAny(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}
