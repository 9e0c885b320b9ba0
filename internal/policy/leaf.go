package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

// leaf is one scalar of a call's arguments, or an empty array or object.
type leaf struct {
	pointer string // JSON pointer (RFC 6901)
	text    string // a string's own text; the JSON of anything else
	folded  string // text in lower case, once a rule asked for it
}

// fold returns the text in lower case, worked out once: many rules may look at
// one long text.
func (l *leaf) fold() string {
	if l.folded == "" {
		l.folded = lower(l.text)
	}
	return l.folded
}

// maxLeaves bounds the arguments that a decision reads; a call with more is
// treated as one whose arguments are not known.
const maxLeaves = 4096

// leaves flattens canonical JSON arguments in the order of the document.
// Absent arguments (no bytes at all) are fault.Invalid: a call without
// arguments says "{}".
func leaves(raw json.RawMessage) ([]leaf, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fault.New(fault.Invalid, "read the arguments: %w", err).On("arguments")
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, fault.New(fault.Invalid, "arguments are no JSON object").On("arguments")
	}
	out := make([]leaf, 0, 8)
	if out = appendLeaves(out, "", v); len(out) > maxLeaves {
		return nil, fault.New(fault.Limited, "a call has at most %d argument values", maxLeaves).On("arguments")
	}
	return out, nil
}

func appendLeaves(out []leaf, at string, v any) []leaf {
	if len(out) > maxLeaves {
		return out
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			if at == "" {
				return out
			}
			return append(out, leaf{pointer: at, text: "{}"})
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = appendLeaves(out, at+"/"+escapePointer(k), v[k])
		}
	case []any:
		if len(v) == 0 {
			return append(out, leaf{pointer: at, text: "[]"})
		}
		for i, e := range v {
			out = appendLeaves(out, at+"/"+strconv.Itoa(i), e)
		}
	case string:
		return append(out, leaf{pointer: at, text: v})
	case json.Number:
		return append(out, leaf{pointer: at, text: v.String()})
	case bool:
		return append(out, leaf{pointer: at, text: strconv.FormatBool(v)})
	case nil:
		return append(out, leaf{pointer: at, text: "null"})
	}
	return out
}

func escapePointer(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// beneath reports whether pointer p is at or under pointer root.
func beneath(p, root string) bool {
	return strings.HasPrefix(p, root) && (len(p) == len(root) || p[len(root)] == '/')
}

// validPointer reports whether s is a pointer to a member: "/to", "/to/0/name".
func validPointer(s string) bool {
	if len(s) < 2 || s[0] != '/' || len(s) > maxGlob {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}
