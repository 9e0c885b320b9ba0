package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// marshal returns the raw JSON of an output value. nil is no output.
func marshal(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the output is no JSON: %w", err).On("output")
	}
	return b, nil
}

// record turns a checked raw output into what the journal keeps: masked, in
// canonical JSON, at most limit bytes. Numbers that the journal cannot hold
// exactly (fractions, 2^53 and more) become their decimal text; U+0000 and
// broken UTF-8 become U+FFFD. What is cut is marked where it was cut.
func record(raw []byte, limit int, mask func(string) string) (out json.RawMessage, truncated bool, err error) {
	if raw == nil {
		return nil, false, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false, fault.New(fault.Invalid, "the output is no JSON: %w", err).On("output")
	}
	v = clean(v, mask, 0)
	b, err := canon.JSON(v)
	if err != nil {
		return nil, false, fault.New(fault.Invalid, "the output has no canonical form: %w", err).On("output")
	}
	if len(b) <= limit {
		return b, false, nil
	}
	// The cost of escapes and keys is only estimated: shrink until it fits.
	for room := limit; room > 0; room = room * 3 / 4 {
		c := cutter{room: room}
		if b, err = canon.JSON(c.cut(v)); err != nil {
			return nil, false, fault.New(fault.Internal, "shorten the output: %w", err)
		}
		if len(b) <= limit {
			return b, true, nil
		}
	}
	return json.RawMessage(`"…"`), true, nil
}

// clean prepares every value of a decoded document.
func clean(v any, mask func(string) string, depth int) any {
	if depth > canon.MaxDepth-4 {
		return "… nested too deep"
	}
	switch t := v.(type) {
	case string:
		return text(t, mask)
	case json.Number:
		if s := mask(t.String()); s != t.String() { // a secret may be a number
			return s
		}
		if n, err := strconv.ParseInt(t.String(), 10, 64); err == nil && n < 1<<53 && n > -1<<53 {
			return n
		}
		return t.String()
	case []any:
		for i := range t {
			t[i] = clean(t[i], mask, depth+1)
		}
		return t
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			out[text(k, mask)] = clean(e, mask, depth+1)
		}
		return out
	}
	return v
}

func text(t string, mask func(string) string) string {
	t = mask(t)
	if !utf8.ValidString(t) {
		t = strings.ToValidUTF8(t, "\uFFFD")
	}
	return strings.ReplaceAll(t, "\x00", "\uFFFD")
}

// cutter rebuilds a document with about room bytes: in order, and with a marker
// where something is left out. Keys come in code point order, so the cut is the
// same everywhere.
type cutter struct{ room int }

const marker = "… %d %s left out"

func (c *cutter) cut(v any) any {
	switch t := v.(type) {
	case string:
		if len(t)+2 <= c.room {
			c.room -= len(t) + 2
			return t
		}
		head := Prefix(t, max(c.room-40, 0))
		c.room = 0
		return head + fmt.Sprintf(marker, len(t)-len(head), "bytes")
	case []any:
		out := []any{}
		c.room -= 2
		for i, e := range t {
			if c.room < 48 {
				return append(out, fmt.Sprintf(marker, len(t)-i, "items"))
			}
			c.room--
			out = append(out, c.cut(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		c.room -= 2
		keys := slices.Sorted(maps.Keys(t))
		for i, k := range keys {
			if c.room < 48+len(k) {
				out["…"] = fmt.Sprintf(marker, len(keys)-i, "fields")
				return out
			}
			c.room -= len(k) + 4
			out[k] = c.cut(t[k])
		}
		return out
	}
	c.room -= 8
	return v
}

// Prefix returns the longest prefix of at most n bytes that ends between two
// characters as people see them (grapheme clusters, UAX #29): no emoji, flag or
// accented letter is broken. The text must be valid UTF-8.
func Prefix(t string, n int) string {
	if len(t) <= n {
		return t
	}
	end, state := 0, -1
	for rest := t; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster) > n {
			break
		}
		end += len(cluster)
	}
	return t[:end]
}
