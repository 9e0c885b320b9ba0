package work

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Match is a document that a search found.
type Match struct {
	Document        // without its text
	Words    int    // how many of the words it holds
	Times    int    // how often, together
	Excerpt  string // the line with the first of them
}

const (
	maxQuery   = 1024 // bytes
	maxWords   = 16
	maxExcerpt = 240 // bytes
	perWord    = 999 // occurrences counted of one word
)

// Search returns the documents that hold words of the query, in path or text:
// those with more different words first, then with more occurrences, then by
// path. It reads every document, so it is for hundreds, not for millions.
func (p *Pano) Search(tx event.Tx, query string, limit int, readers []string) ([]Match, error) {
	if len(query) > maxQuery || !utf8.ValidString(query) {
		return nil, fault.New(fault.Invalid, "a query is text of at most %d bytes", maxQuery).On("query")
	}
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) == 0 {
		return nil, nil
	}
	words = words[:min(len(words), maxWords)]
	var out []Match
	err := p.store.EachDocument(tx, "", true, func(d Document) bool {
		if readable(d, readers) {
			if m, ok := match(d, words); ok {
				out = append(out, m)
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Words, a.Words), cmp.Compare(b.Times, a.Times), strings.Compare(a.Path, b.Path))
	})
	return out[:min(len(out), max(limit, 1), MaxPage)], err
}

// match looks for words, which are in lower case, in one document.
func match(d Document, words []string) (Match, bool) {
	m := Match{Document: d}
	low, path := strings.ToLower(d.Text), strings.ToLower(d.Path)
	first := -1
	for _, w := range words {
		n := min(strings.Count(low, w), perWord)
		if n > 0 {
			if at := strings.Index(low, w); first < 0 || at < first {
				first = at
			}
		}
		n += strings.Count(path, w)
		if n > 0 {
			m.Words++
			m.Times += n
		}
	}
	if first >= 0 {
		// Lower case may change lengths, never the number of lines.
		lines := strings.Split(d.Text, "\n")
		m.Excerpt = excerpt(lines[strings.Count(low[:first], "\n")])
	}
	m.Text = ""
	return m, m.Words > 0
}

func excerpt(line string) string {
	line = strings.TrimSpace(line)
	if len(line) <= maxExcerpt {
		return line
	}
	cut := line[:maxExcerpt]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return cut + "…"
}
