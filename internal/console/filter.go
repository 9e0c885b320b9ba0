package console

import (
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// How much of the journal one page reads and shows.
const (
	eventsPerPage = 60
	scanMost      = 2000 // events that one filtered page looks at
)

// filter is the query of the journal.
type filter struct {
	text    string // as typed
	typ     string
	actor   string
	outside bool

	words  []string
	types  []string // a type, or its beginning with a dot
	actors []string
	stream id.ID
	round  id.ID
	hash   string
	broken string // a part that cannot be read
}

// readFilter reads the address. Parts are "key:value"; anything else is a word.
func readFilter(q url.Values) filter {
	f := filter{text: strings.TrimSpace(q.Get("q")), typ: q.Get("type"), actor: q.Get("actor"), outside: q.Get("outside") == "1"}
	for _, part := range strings.Fields(f.text) {
		key, value, found := strings.Cut(part, ":")
		if !found || value == "" {
			f.words = append(f.words, strings.ToLower(part))
			continue
		}
		switch key {
		case "type":
			f.types = append(f.types, value)
		case "actor":
			f.actors = append(f.actors, strings.ToLower(value))
		case "thread", "round":
			v, err := id.Parse(value)
			if err != nil {
				f.broken = part
			} else if key == "thread" {
				f.stream = v
			} else {
				f.round = v
			}
		case "hash":
			f.hash = strings.ToLower(value)
		case "label", "taint":
			f.outside = f.outside || value == "outside"
		default:
			f.words = append(f.words, strings.ToLower(part))
		}
	}
	if f.typ != "" {
		f.types = append(f.types, f.typ)
	}
	if f.actor != "" {
		f.actors = append(f.actors, strings.ToLower(f.actor))
	}
	return f
}

// none reports whether the filter lets everything through.
func (f filter) none() bool {
	return len(f.words)+len(f.types)+len(f.actors) == 0 && !f.outside && f.stream.IsZero() && f.round.IsZero() && f.hash == "" && f.broken == ""
}

func (f filter) fits(e event.Event) bool {
	if f.broken != "" || f.outside && e.Label.Integrity() != event.Outside ||
		!f.stream.IsZero() && e.Stream != f.stream || !f.round.IsZero() && e.Correlation != f.round {
		return false
	}
	for _, t := range f.types {
		if string(e.Type) != t && !(strings.HasSuffix(t, ".") && strings.HasPrefix(string(e.Type), t)) {
			return false
		}
	}
	for _, a := range f.actors {
		if !strings.Contains(strings.ToLower(e.Source), a) {
			return false
		}
	}
	if f.hash != "" && !strings.HasPrefix(hex.EncodeToString(e.Hash[:]), f.hash) {
		return false
	}
	for _, w := range f.words {
		if !strings.Contains(strings.ToLower(e.Summary), w) && !strings.Contains(string(e.Type), w) {
			return false
		}
	}
	return true
}

// address is the journal's with this filter and other changes.
func (f filter) address(path string, change func(url.Values)) string {
	q := url.Values{}
	for k, v := range map[string]string{"q": f.text, "type": f.typ, "actor": f.actor} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.outside && !strings.Contains(f.text, "label:outside") && !strings.Contains(f.text, "taint:outside") {
		q.Set("outside", "1")
	}
	if change != nil {
		change(q)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// chips are the parts of the filter, each with the address without it.
func (f filter) chips() []ui.FilterChip {
	var out []ui.FilterChip
	parts := strings.Fields(f.text)
	for i, p := range parts {
		rest := strings.Join(append(append([]string{}, parts[:i]...), parts[i+1:]...), " ")
		c := ui.FilterChip{Text: p, Remove: f.address("/journal", func(q url.Values) { set(q, "q", rest) }), Path: strings.HasPrefix(p, "round:")}
		if key, value, ok := strings.Cut(p, ":"); ok && (key == "thread" || key == "round") {
			c.Text = key + ":" + short(value)
		}
		out = append(out, c)
	}
	for _, k := range []string{"type", "actor"} {
		v := map[string]string{"type": f.typ, "actor": f.actor}[k]
		if v != "" {
			out = append(out, ui.FilterChip{Text: k + ":" + v, Remove: f.address("/journal", func(q url.Values) { q.Del(k) })})
		}
	}
	if f.outside {
		out = append(out, ui.FilterChip{Text: "outside bytes", Remove: f.address("/journal", func(q url.Values) { q.Del("outside") })})
	}
	return out
}

func set(q url.Values, k, v string) {
	if v == "" {
		q.Del(k)
		return
	}
	q.Set(k, v)
}

// types are the families and names that the filter offers.
func typeChoices(on string) []ui.Choice {
	var out []ui.Choice
	family := ""
	for _, r := range event.Rows() {
		f, _, _ := strings.Cut(string(r.Type), ".")
		if f != family {
			family = f
			out = append(out, ui.Choice{Value: f + ".", Label: f + ", all", On: on == f+"."})
		}
		out = append(out, ui.Choice{Value: string(r.Type), Label: string(r.Type), On: on == string(r.Type)})
	}
	return out
}

// page reads the events of one page: newest first before a seq, or oldest first
// after one and turned round. more says that there are further ones that way.
func (r *reader) page(f filter, before, after int64) (out []event.Event, more bool, err error) {
	if !f.round.IsZero() && after == 0 {
		return r.roundPage(f, before)
	}
	at := before
	if after > 0 {
		at = after
	}
	for scanned := 0; scanned < scanMost; {
		n := 200
		if f.none() {
			n = eventsPerPage + 1
		}
		var list []event.Event
		if after > 0 {
			list, err = r.Record.After(r.tx, at, n)
		} else {
			list, err = r.Record.Before(r.tx, at, n)
		}
		if err != nil {
			return nil, false, err
		}
		for _, e := range list {
			if f.fits(e) {
				if len(out) == eventsPerPage {
					return out, true, nil
				}
				out = append(out, e)
			}
			at = e.Seq
		}
		scanned += len(list)
		if len(list) < n {
			return out, false, nil
		}
	}
	return out, true, nil
}

// roundPage is the page of one round trip: it is read by its own index.
func (r *reader) roundPage(f filter, before int64) (out []event.Event, more bool, err error) {
	list, err := r.round(f.round)
	if err != nil {
		return nil, false, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Seq < before && f.fits(list[i]) {
			if len(out) == eventsPerPage {
				return out, true, nil
			}
			out = append(out, list[i])
		}
	}
	return out, false, nil
}

func seqOf(q url.Values, k string) int64 {
	n, err := strconv.ParseInt(q.Get(k), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
