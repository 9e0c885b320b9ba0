package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
)

const (
	maxArguments = 256 << 10 // bytes of a call's arguments
	maxWhat      = 256       // leaves whose provenance is listed; the rest counts as why
)

// arguments turns what a model wrote into the canonical arguments of a call:
// handles are replaced by their values, and each leaf is told where it came
// from. why is the label of the whole context; a leaf has it unless it is a
// handle, or byte-equal to a typed field of a source with a higher label.
// The error is a sentence for the model.
func arguments(text string, why event.Label, sources []source) (json.RawMessage, []event.Argument, error) {
	if len(text) > maxArguments {
		return nil, nil, fmt.Errorf("the arguments have %d bytes; at most %d are taken", len(text), maxArguments)
	}
	if firstByte([]byte(text)) != '{' {
		return nil, nil, fmt.Errorf("the arguments are not a JSON object")
	}
	raw, err := canon.Canonicalize([]byte(text))
	if err != nil {
		return nil, nil, fmt.Errorf("the arguments cannot be recorded: %w", err)
	}
	w := leafWalk{why: why, sources: sources}
	out, err := w.value(raw, "")
	if err != nil {
		return nil, nil, err
	}
	if out, err = canon.Canonicalize(out); err != nil {
		return nil, nil, fmt.Errorf("the arguments cannot be recorded: %w", err)
	}
	return out, w.what, nil
}

type leafWalk struct {
	why     event.Label
	sources []source
	what    []event.Argument
}

// value returns raw with its handles replaced; raw is canonical.
func (w *leafWalk) value(raw json.RawMessage, at string) (json.RawMessage, error) {
	switch firstByte(raw) {
	case '{':
		var obj map[string]json.RawMessage
		if err := json.Unmarshal(raw, &obj); err != nil {
			return nil, err
		}
		keys := make([]string, 0, len(obj))
		for k := range obj {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			v, err := w.value(obj[k], at+"/"+escapePointer(k))
			if err != nil {
				return nil, err
			}
			obj[k] = v
		}
		return encode(obj)
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for i := range list {
			v, err := w.value(list[i], at+"/"+strconv.Itoa(i))
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return encode(list)
	}
	return w.leaf(raw, at)
}

func (w *leafWalk) leaf(raw json.RawMessage, at string) (json.RawMessage, error) {
	a := event.Argument{Pointer: at, How: "value", Label: w.why.String()}
	value := string(raw)
	if firstByte(raw) == '"' {
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		if isHandle(value) {
			s, f, err := resolve(w.sources, value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			a.How, a.From, a.Handle, a.Label = "handle", s.event, value, s.label.String()
			a.Field = f.name
			if raw = f.raw; raw == nil {
				if raw, err = encode(f.value); err != nil {
					return nil, err
				}
			}
			w.list(a)
			return raw, nil
		}
	}
	if s, f, ok := w.quoted(value); ok {
		a.How, a.From, a.Field, a.Label = "quote", s.event, f.name, s.label.String()
	}
	w.list(a)
	return raw, nil
}

// quoted finds the source with the highest label that has a typed field
// byte-equal to value. A label that is not above why raises nothing.
func (w *leafWalk) quoted(value string) (best source, which field, ok bool) {
	if len(value) < minQuote {
		return source{}, field{}, false
	}
	for _, s := range w.sources {
		if !raises(s.label, w.why) || ok && !best.label.AtMost(s.label) {
			continue
		}
		for _, f := range s.fields {
			if f.value == value && (!ok || !s.label.AtMost(best.label)) {
				best, which, ok = s, f, true
				break
			}
		}
	}
	return best, which, ok
}

// raises reports whether a source's label is above that of the whole context.
func raises(label, why event.Label) bool { return why.AtMost(label) && !label.AtMost(why) }

func (w *leafWalk) list(a event.Argument) {
	if len(w.what) < maxWhat {
		w.what = append(w.what, a)
	}
}

// encode is json.Marshal without HTML escapes, so that bytes stay the writer's.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// escapePointer escapes one token of a JSON pointer (RFC 6901).
func escapePointer(k string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
}
