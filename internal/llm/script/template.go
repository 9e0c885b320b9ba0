package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// template is a text with places for what was matched.
type template []piece

// piece is literal text, or a place: "user" or "result", with a group or a pointer.
type piece struct {
	text    string
	of      string
	group   int
	pointer string // "/..." or "" for none
}

// match holds what the conditions of a line found.
type match struct {
	user, result           string
	userGroups, resGroups  []string
	resultJSON             any
	resultErr              error
	resultJSONOnce, hasRes bool
}

// parseTemplate refuses a place that could never be filled.
func parseTemplate(s string, user, result *regexp.Regexp) (template, error) {
	var out template
	lit := func(t string) {
		if t != "" {
			out = append(out, piece{text: t})
		}
	}
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			lit(s)
			return out, nil
		}
		if at > 0 && s[at-1] == '$' {
			lit(s[:at-1] + "${")
			s = s[at+2:]
			continue
		}
		lit(s[:at])
		name, rest, ok := strings.Cut(s[at+2:], "}")
		if !ok {
			return nil, fmt.Errorf("%q has no end", s[at:])
		}
		s = rest
		p, err := parsePlace(name, user, result)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
}

func parsePlace(name string, user, result *regexp.Regexp) (piece, error) {
	if of, pointer, ok := strings.Cut(name, ":"); ok {
		if of != "result" || pointer != "" && pointer[0] != '/' {
			return piece{}, fmt.Errorf("${%s}: a pointer is like ${result:/a/0}", name)
		}
		return piece{of: of, group: -1, pointer: pointer}, nil
	}
	of, group, grouped := strings.Cut(name, ".")
	re := user
	switch of {
	case "user":
	case "result":
		re = result
	default:
		return piece{}, fmt.Errorf("${%s}: want user or result", name)
	}
	if !grouped {
		return piece{of: of}, nil
	}
	if re == nil {
		return piece{}, fmt.Errorf("${%s}: the line has no condition on %s", name, of)
	}
	n, err := strconv.Atoi(group)
	if err != nil {
		n = re.SubexpIndex(group)
	}
	if n < 1 || n > re.NumSubexp() {
		return piece{}, fmt.Errorf("${%s}: there is no such group", name)
	}
	return piece{of: of, group: n}, nil
}

// parseArgs turns the strings inside YAML values into templates.
func parseArgs(v any, user, result *regexp.Regexp) (any, error) {
	switch v := v.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			y, err := parseValue(x, user, result)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			out[k] = y
		}
		return out, nil
	}
	return nil, fmt.Errorf("want a mapping, got %T", v)
}

func parseValue(v any, user, result *regexp.Regexp) (any, error) {
	switch v := v.(type) {
	case string:
		return parseTemplate(v, user, result)
	case map[string]any:
		return parseArgs(v, user, result)
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			y, err := parseValue(x, user, result)
			if err != nil {
				return nil, err
			}
			out[i] = y
		}
		return out, nil
	}
	return v, nil
}

// fill returns the text.
func (t template) fill(m *match) (string, error) {
	var b strings.Builder
	for _, p := range t {
		if p.of == "" {
			b.WriteString(p.text)
			continue
		}
		v, err := p.value(m)
		if err != nil {
			return "", err
		}
		if s, ok := v.(string); ok {
			b.WriteString(s)
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		b.Write(raw)
	}
	return b.String(), nil
}

// fillArgs returns the arguments as values for encoding/json.
func fillArgs(v any, m *match) (any, error) {
	switch v := v.(type) {
	case template:
		if len(v) == 1 && v[0].of != "" && v[0].group < 0 {
			return v[0].value(m) // one pointer keeps the type
		}
		return v.fill(m)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			y, err := fillArgs(x, m)
			if err != nil {
				return nil, err
			}
			out[k] = y
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			y, err := fillArgs(x, m)
			if err != nil {
				return nil, err
			}
			out[i] = y
		}
		return out, nil
	}
	return v, nil
}

func (p piece) value(m *match) (any, error) {
	if p.group < 0 {
		return m.at(p.pointer)
	}
	whole, groups := m.user, m.userGroups
	if p.of == "result" {
		whole, groups = m.result, m.resGroups
	}
	if p.group == 0 {
		return whole, nil
	}
	return groups[p.group], nil
}

// at returns the value of the JSON result at a pointer (RFC 6901).
func (m *match) at(pointer string) (any, error) {
	if !m.resultJSONOnce {
		m.resultJSONOnce = true
		d := json.NewDecoder(bytes.NewReader([]byte(m.result)))
		d.UseNumber()
		m.resultErr = d.Decode(&m.resultJSON)
	}
	if m.resultErr != nil {
		return nil, fmt.Errorf("the result is not JSON: %w", m.resultErr)
	}
	v := m.resultJSON
	if pointer == "" {
		return v, nil
	}
	for tok := range strings.SplitSeq(pointer[1:], "/") {
		tok = strings.NewReplacer("~1", "/", "~0", "~").Replace(tok)
		ok := false
		switch x := v.(type) {
		case map[string]any:
			v, ok = x[tok]
		case []any:
			if i, err := strconv.Atoi(tok); err == nil && i >= 0 && i < len(x) {
				v, ok = x[i], true
			}
		}
		if !ok {
			return nil, fmt.Errorf("the result has nothing at %s", pointer)
		}
	}
	return v, nil
}
