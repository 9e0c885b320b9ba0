package memory

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory/recall"
)

// maxQueryTerms bounds the work of one query; further terms are left out.
const maxQueryTerms = 64

// Recall implements recall.Recaller. Its terms are ORed. It writes nothing: say
// what was found with Retrieved.
func (m *Service) Recall(tx event.Tx, q recall.Query) (recall.Found, error) {
	found := recall.Found{Ranking: Ranking}
	if len(q.Text) > recall.MaxQuery || !utf8.ValidString(q.Text) {
		return found, fault.New(fault.Invalid, "a query is text of at most %d bytes", recall.MaxQuery).On("query")
	}
	if q.Limit < 0 || q.Limit > recall.MaxLimit {
		return found, fault.New(fault.Invalid, "a recall gives 1 to %d memories", recall.MaxLimit).On("limit")
	}
	limit := cmp.Or(q.Limit, recall.DefaultLimit)
	shelves, err := m.readable(tx, q)
	if err != nil || len(shelves) == 0 {
		return found, err
	}
	terms := m.tokens.Terms(q.Text)
	terms = terms[:min(len(terms), maxQueryTerms)]
	// The boosts add at most 15 %: whoever they can lift among the first is among
	// the best twice as many by BM25.
	rows, err := m.candidates(tx, shelves, terms, 2*limit+32)
	if err != nil {
		return found, err
	}
	for _, c := range rows {
		mem, err := m.store.LoadMemory(tx, c.Place)
		if fault.Is(err, fault.NotFound) {
			continue // archived
		}
		if err != nil {
			return found, err
		}
		found.Hits = append(found.Hits, hit(mem, c.bm25, q))
	}
	slices.SortStableFunc(found.Hits, func(a, b recall.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(string(a.ID[:]), string(b.ID[:])))
	})
	found.Hits = found.Hits[:min(len(found.Hits), limit)]
	return found, nil
}

// readable returns the shelves that a query may look at, by id.
func (m *Service) readable(tx event.Tx, q recall.Query) ([]Shelf, error) {
	if len(q.Readers) == 0 {
		return nil, nil
	}
	readers := event.Only(q.Readers...)
	scopes := slices.Clone(q.Scopes)
	slices.Sort(scopes)
	var out []Shelf
	for _, scope := range slices.Compact(scopes) {
		all, err := m.store.ListShelves(tx, scope, q.Most)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if s.Scope == scope && s.readable(readers) {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

func hit(mem Memory, bm25 int64, q recall.Query) recall.Hit {
	r := mem.Common()
	h := recall.Hit{ID: r.ID, Kind: string(mem.Kind()), Epistemic: string(r.Epistemic), Scope: r.Scope, Title: r.Title, Body: r.Body,
		OccurredAt: r.OccurredAt, Source: r.Source, Credibility: r.Credibility, Confidence: r.Confidence, Label: r.Label,
		Parts: recall.Parts{BM25: bm25, Recency: recency(q.Now, r.OccurredAt), Importance: int64(r.Importance)}}
	h.Score = fuse(h.Parts)
	return h
}

// Retrieved records what a recall found: memory.retrieved, caused by cause, with
// the parts of every score, and the use stamps of the rows.
func (m *Service) Retrieved(tx event.Tx, q recall.Query, f recall.Found, by string, stream, subject id.ID, cause event.Ref) (event.Event, error) {
	scopes := make([]string, 0, len(q.Scopes))
	for _, s := range q.Scopes {
		scopes = append(scopes, string(s))
	}
	p := event.MemoryRetrieved{Query: q.Text, Scope: strings.Join(scopes, ","), Ranking: f.Ranking, Hits: []event.MemoryHit{}, By: by}
	d := event.Draft{Summary: "Memories were looked for.", Stream: stream, Subject: subject, Causes: []event.Ref{cause}, Label: f.Label()}
	for _, h := range f.Hits {
		p.Hits = append(p.Hits, event.MemoryHit{MemoryID: h.ID, Score: h.Score, Parts: h.Parts.Map()})
		d.Evidence = append(d.Evidence, event.Reference{Kind: event.RefMemory, ID: h.ID})
		err := m.store.AddUse(tx, h.ID, tx.Now())
		if err != nil && !fault.Is(err, fault.NotFound) { // erased between the search and now
			return event.Event{}, err
		}
	}
	d.Payload = p
	return tx.Emit(m.origin, d)
}
