package memory

import (
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory/recall"
)

// Limits of a memory, in bytes.
const (
	MaxTitle = 300
	MaxBody  = 64 << 10
	ownTitle = 80 // of a title that is made from the body
)

// Note is what a new memory needs besides its kind's own columns.
type Note struct {
	// Memory carries the columns that the caller knows: scope, sensitivity, how
	// it is known, title, body, times, importance, salience, valence, arousal,
	// source, and those of its kind. All others are set by Remember.
	Memory
	By      string // principal that writes it
	Stream  id.ID  // of the event
	Subject id.ID  // whose data it is; Nil means the account's
}

// Remember writes a memory caused by causes, whose joined label it carries, and
// returns the event. The memory is filled with what was written. fault.Invalid
// names the column at fault; nothing is written then.
func (m *Service) Remember(tx event.Tx, n Note, causes ...event.Ref) (event.Event, error) {
	r := n.Common()
	given := r.Title
	if err := n.complete(tx, r); err != nil {
		return event.Event{}, err
	}
	terms := m.tokens.Terms(given + "\n" + r.Body) // a title made from the body would count its words twice
	r.Tokens, r.Simhash = int64(len(terms)), simhash(terms)
	ev, err := tx.Emit(m.origin, event.Draft{
		Payload: event.MemoryStored{MemoryID: r.ID, Kind: string(n.Kind()), Epistemic: string(r.Epistemic), Scope: string(r.Scope),
			Sensitivity: r.Sensitivity.String(), Title: r.Title, Body: r.Body, Source: r.Source, By: n.By},
		Summary: "Something was remembered.", Stream: n.Stream, Subject: r.Subject, Causes: causes, OccurredAt: r.OccurredAt,
		Evidence: []event.Reference{{Kind: event.RefMemory, ID: r.ID}},
	})
	if err != nil {
		return event.Event{}, err
	}
	r.Label, r.Origin, r.RootGroup = ev.Label, ev.ID, ev.Correlation
	r.Credibility = credibility(ev.Label.Integrity())
	r.Confidence = int32(int64(r.Credibility) * r.Epistemic.weight() / micro)
	s := Shelf{ID: shelfID(r.Scope, r.Label, r.Sensitivity, r.Subject), Scope: r.Scope, Label: r.Label, Sensitivity: r.Sensitivity, Subject: r.Subject}
	if s, err = m.store.GrowShelf(tx, s, r.Tokens); err != nil {
		return event.Event{}, err
	}
	if err := m.store.AddMemory(tx, n.Memory, Place{s.ID, s.Rows}); err != nil {
		return event.Event{}, err
	}
	return ev, m.shelve(tx, s, terms)
}

// complete checks what was given and fills what follows from it.
func (n Note) complete(tx event.Tx, r *Row) error {
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	if n.By == "" {
		return bad("by", "a memory needs a writer")
	}
	if _, err := recall.ParseScope(string(r.Scope)); err != nil {
		return err
	}
	if r.Sensitivity < recall.Open || r.Sensitivity > recall.Restricted {
		return bad("sensitivity", "%d is no sensitivity", r.Sensitivity)
	}
	if _, err := ParseEpistemic(string(r.Epistemic)); err != nil {
		return err
	}
	r.Title, r.Body = strings.TrimSpace(r.Title), strings.TrimSpace(r.Body)
	switch {
	case r.Body == "":
		return bad("body", "there is nothing to remember")
	case len(r.Body) > MaxBody || !clean(r.Body):
		return bad("body", "a memory is text of at most %d bytes", MaxBody)
	case len(r.Title) > MaxTitle || !clean(r.Title):
		return bad("title", "a title is text of at most %d bytes", MaxTitle)
	case !r.ValidFrom.IsZero() && !r.ValidTo.IsZero() && r.ValidTo.Before(r.ValidFrom):
		return bad("validTo", "it ends before it begins")
	case r.Importance < 0 || r.Importance > micro || r.Salience < 0 || r.Salience > micro || r.Arousal < 0 || r.Arousal > micro ||
		r.Valence < -micro || r.Valence > micro:
		return bad("importance", "a weight is between 0 and 1,000,000 micro-units")
	}
	if r.Title == "" {
		r.Title = firstWords(r.Body)
	}
	if r.OccurredAt.IsZero() {
		r.OccurredAt = tx.Now()
	}
	if r.Source == "" {
		r.Source = n.By
	}
	r.ID, r.By, r.CreatedAt, r.Archived, r.Subject = tx.NewID(), n.By, tx.Now(), false, n.Subject
	if r.Subject.IsZero() {
		r.Subject = tx.Account()
	}
	return nil
}

func clean(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// firstWords makes a title of the beginning of a body: its first line, cut
// between words.
func firstWords(body string) string {
	line, _, _ := strings.Cut(body, "\n")
	line = strings.TrimSpace(line)
	if len(line) <= ownTitle {
		return line
	}
	cut := line[:ownTitle]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	if i := strings.LastIndexByte(cut, ' '); i > ownTitle/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// simhash is a 64-bit sketch of the terms: texts that share most of them differ
// in few bits (M. Charikar, 2002).
func simhash(terms []string) int64 {
	var weight [64]int
	for _, t := range terms {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t)) // a hash never fails
		x := h.Sum64()
		for i := range weight {
			if x>>i&1 == 1 {
				weight[i]++
			} else {
				weight[i]--
			}
		}
	}
	var out uint64
	for i, w := range weight {
		if w > 0 {
			out |= 1 << i
		}
	}
	return int64(out)
}
