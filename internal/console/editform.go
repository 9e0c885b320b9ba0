package console

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// property is one property of an input schema, as far as a form needs it.
type property struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	MaxLength   int               `json:"maxLength"`
}

// schemaOf reads the properties of an object schema in the order in which they
// stand there, and which of them are required.
func schemaOf(input json.RawMessage) (names []string, props map[string]property, required []string) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(input, &s) != nil {
		return nil, nil, nil
	}
	props = map[string]property{}
	for _, m := range members(s.Properties) {
		var p property
		if json.Unmarshal(m.value, &p) != nil {
			continue
		}
		names = append(names, m.name)
		props[m.name] = p
	}
	// The required ones first, else in the schema's order: optional ones seldom change.
	slices.SortStableFunc(names, func(a, b string) int {
		return boolInt(!slices.Contains(s.Required, a)) - boolInt(!slices.Contains(s.Required, b))
	})
	return names, props, s.Required
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kind is the control of a property: json for what has no plain control.
func (p property) kind(value string) string {
	if len(p.Enum) > 0 {
		return "choice"
	}
	var t string
	if json.Unmarshal(p.Type, &t) != nil {
		return "json"
	}
	switch t {
	case "string":
		if strings.Contains(value, "\n") || p.MaxLength > 400 || len(value) > 80 {
			return "multiline"
		}
		return "text"
	case "integer", "number", "boolean":
		return t
	}
	return "json"
}

// editFields is the call as a form.
func editFields(input, arguments json.RawMessage, p pressed) []ui.Field {
	names, props, required := schemaOf(input)
	now := map[string]json.RawMessage{}
	for _, m := range members(arguments) {
		now[m.name] = m.value
	}
	var out []ui.Field
	for _, n := range names {
		f := ui.Field{Name: n, Label: props[n].Title, Help: props[n].Description, Required: slices.Contains(required, n), Error: p.fields[n]}
		text := plainValue(now[n])
		f.Kind = props[n].kind(text)
		if f.Kind == "json" {
			text = string(now[n])
		}
		if typed, ok := p.args[n]; ok {
			text = typed
		}
		f.Value = text
		if f.Kind == "choice" {
			if !f.Required {
				f.Choices = append(f.Choices, ui.Choice{Label: "not given"})
			}
			for _, e := range props[n].Enum {
				f.Choices = append(f.Choices, ui.Choice{Value: plainValue(e), Label: plainValue(e)})
			}
		}
		// A form cannot tell "" from nothing, and "" can be right: it is not refused
		// by the browser where it stands already.
		if f.Value == "" {
			f.Required = false
		}
		out = append(out, f)
	}
	return out
}

// plainValue is a JSON scalar as a person types it.
func plainValue(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && len(raw) > 0 && raw[0] == '"' {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// editedArguments reads the form back into canonical arguments. A field that it
// cannot read is named in the errors.
func editedArguments(input, first json.RawMessage, f url.Values) (json.RawMessage, map[string]string, error) {
	names, props, required := schemaOf(input)
	out := map[string]json.RawMessage{}
	for _, m := range members(first) {
		if !slices.Contains(names, m.name) {
			out[m.name] = m.value // the schema does not name it, so no field did
		}
	}
	had := func(n string) bool {
		return slices.ContainsFunc(members(first), func(m member) bool { return m.name == n })
	}
	bad := map[string]string{}
	for _, n := range names {
		if !f.Has("arg." + n) {
			continue
		}
		text := unbreak(f.Get("arg." + n))
		if text == "" && !slices.Contains(required, n) && !had(n) {
			continue
		}
		v, why := readValue(props[n], text)
		if why != "" {
			bad[n] = why
			continue
		}
		if v != nil {
			out[n] = v
		}
	}
	if len(bad) > 0 {
		return nil, bad, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, nil, err
	}
	raw, err := canon.Canonicalize(b.Bytes())
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "these arguments cannot be recorded: %v", err)
	}
	return raw, nil, nil
}

// readValue makes JSON of what was typed; nil leaves the argument away.
func readValue(p property, text string) (json.RawMessage, string) {
	switch p.kind(text) {
	case "text", "multiline":
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(text) != nil {
			return nil, "This text cannot be recorded."
		}
		return bytes.TrimSpace(b.Bytes()), ""
	case "integer":
		if text == "" {
			return nil, ""
		}
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, "Not a whole number."
		}
		return json.RawMessage(text), ""
	case "boolean":
		if text == "true" || text == "false" {
			return json.RawMessage(text), ""
		}
		return nil, "True or false."
	case "choice":
		if text == "" {
			return nil, ""
		}
		for _, e := range p.Enum {
			if plainValue(e) == text {
				return e, ""
			}
		}
		return nil, "Not one of the choices."
	}
	if text == "" {
		return nil, ""
	}
	if !json.Valid([]byte(text)) {
		return nil, "Not JSON."
	}
	return json.RawMessage(text), ""
}
