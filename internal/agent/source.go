package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// field is one typed value of a source: an address, amount, path, URL or id.
type field struct {
	name  string // in the handle: "from", "items.0.path"; text fields are not handles
	value string
	raw   json.RawMessage // as it stood in a result; nil for a string of a message
	inner bool            // found inside a text: may be quoted, is no handle
}

// source is one piece of a context that a call may draw a value from.
type source struct {
	name   string // msg1 is the task's own message, msg2 the one before; r1 the first result
	label  event.Label
	event  id.ID
	fields []field
}

const (
	minQuote   = 6  // bytes: a shorter value is equal to something by chance
	maxFields  = 64 // per source
	maxPointer = 120
)

// messageSource returns the fields of a turn that is a message: who sent it, on
// which channel, its id. These are its handles; what stands in its text is for
// typedWords, which costs a walk over it.
func messageSource(name string, t Turn) source {
	s := source{name: name, label: t.Label, event: t.EventID}
	from := t.Sender
	if from == "" {
		from = t.Author
	}
	for _, f := range []field{{name: "from", value: from}, {name: "channel", value: t.Channel}, {name: "id", value: t.MessageID.String()}} {
		if f.value != "" {
			s.fields = append(s.fields, f)
		}
	}
	return s
}

// typedWords returns fields with the typed words of a text: they may be quoted.
func typedWords(fields []field, text string) []field {
	for w := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
		if len(fields) >= maxFields {
			break
		}
		if len(w) < minQuote { // most words of a long text; trimmed, they are shorter still
			continue
		}
		w = strings.Trim(w, `.,;:!?"'()[]{}<>`)
		if kind := typed(w); kind != "" {
			fields = append(fields, field{name: "text." + kind, value: w, inner: true})
		}
	}
	return fields
}

// typed names the type of a word that has one: what a person writes exactly.
func typed(w string) string {
	if len(w) < minQuote {
		return ""
	}
	at := strings.IndexByte(w, '@')
	switch {
	case strings.Contains(w, "://"):
		return "url"
	case at > 0 && at < len(w)-1 && strings.Count(w, "@") == 1:
		return "address"
	case strings.Contains(w, "/"):
		return "path"
	case isAmount(w):
		return "amount"
	}
	if i, err := id.Parse(w); err == nil && !i.IsZero() {
		return "id"
	}
	return ""
}

func isAmount(w string) bool {
	digits := 0
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case strings.ContainsRune(".,-+'", r):
		default:
			return false
		}
	}
	return digits >= 4
}

// resultSource returns the typed fields of a skill's output: those that its
// output schema gives a format, and whole numbers and ids by their look.
func resultSource(name string, r event.SkillResult, label event.Label, ev id.ID, schema string) source {
	s := source{name: name, label: label, event: ev}
	var sch any
	if json.Unmarshal([]byte(schema), &sch) != nil {
		sch = nil
	}
	walkOutput(r.Output, sch, "", func(pointer string, value string, raw json.RawMessage) {
		if len(s.fields) < maxFields && len(pointer) <= maxPointer {
			s.fields = append(s.fields, field{name: pointer, value: value, raw: raw})
		}
	})
	return s
}

// walkOutput calls found for each typed leaf of a canonical JSON document, with
// its dotted path. Keys that hold a dot or a blank have no path.
func walkOutput(raw json.RawMessage, schema any, at string, found func(string, string, json.RawMessage)) {
	join := func(k string) string {
		if at == "" {
			return k
		}
		return at + "." + k
	}
	s, _ := schema.(map[string]any)
	switch firstByte(raw) {
	case '{':
		var obj map[string]json.RawMessage
		if json.Unmarshal(raw, &obj) != nil {
			return
		}
		props, _ := s["properties"].(map[string]any)
		keys := make([]string, 0, len(obj))
		for k := range obj {
			if k != "" && !strings.ContainsAny(k, ". \t\n$") {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			walkOutput(obj[k], props[k], join(k), found)
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return
		}
		for i, v := range list {
			walkOutput(v, s["items"], join(strconv.Itoa(i)), found)
		}
	case '"':
		var text string
		if at == "" || json.Unmarshal(raw, &text) != nil || text == "" {
			return
		}
		_, formatted := s["format"].(string)
		if formatted || typed(text) != "" && !strings.ContainsFunc(text, unicode.IsSpace) {
			found(at, text, raw)
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if at != "" {
			found(at, string(raw), raw)
		}
	}
}

func firstByte(raw []byte) byte {
	for _, b := range raw {
		if b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return b
		}
	}
	return 0
}

// handles lists the handles that a source offers, at most n.
func (s source) handles(n int) []string {
	var out []string
	for _, f := range s.fields {
		if !f.inner && len(out) < n {
			out = append(out, "$"+s.name+"."+f.name)
		}
	}
	return out
}

// isHandle reports whether a string is written as a handle of ours.
func isHandle(v string) bool {
	if !strings.HasPrefix(v, "$") || strings.ContainsFunc(v, unicode.IsSpace) {
		return false
	}
	name, _, ok := strings.Cut(v[1:], ".")
	if !ok {
		return false
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "msg"), "r")
	_, err := strconv.Atoi(digits)
	return err == nil && digits != name
}

// resolve finds the field that a handle names.
func resolve(sources []source, handle string) (source, field, error) {
	name, path, _ := strings.Cut(handle[1:], ".")
	for _, s := range sources {
		if s.name != name {
			continue
		}
		for _, f := range s.fields {
			if !f.inner && f.name == path {
				return s, f, nil
			}
		}
		return source{}, field{}, fmt.Errorf("%s offers no field %q", name, path)
	}
	return source{}, field{}, fmt.Errorf("there is no %s in this conversation", name)
}
