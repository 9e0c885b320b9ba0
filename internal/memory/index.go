package memory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// shelve puts the words of a new row into the index. The row's number is
// s.Rows, as GrowShelf returned it.
func (m *Service) shelve(tx event.Tx, s Shelf, terms []string) error {
	err := m.store.AddFresh(tx, s, Fresh{Place: Place{s.ID, s.Rows}, Terms: encodeTerms(terms)})
	if err != nil || s.Fresh < foldAt {
		return err
	}
	return m.foldShelf(tx, s)
}

// foldShelf moves the fresh rows of a shelf into its postings, term by term in
// order, so that the same rows make the same bytes everywhere.
func (m *Service) foldShelf(tx event.Tx, s Shelf) error {
	lists := map[string][]posting{}
	if err := m.store.EachFresh(tx, s.ID, func(f Fresh) error {
		return eachTerm(f, func(t string, p posting) { lists[t] = append(lists[t], p) })
	}); err != nil {
		return err
	}
	for _, term := range slices.Sorted(maps.Keys(lists)) {
		if err := m.appendPostings(tx, s, term, lists[term]); err != nil {
			return err
		}
	}
	if err := m.store.DropFresh(tx, s.ID); err != nil {
		return err
	}
	return m.store.FoldShelf(tx, s.ID)
}

func (m *Service) appendPostings(tx event.Tx, s Shelf, term string, list []posting) error {
	b, err := m.store.LastBlock(tx, s, term)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	changed := false
	for _, p := range list {
		if b.Count == 0 || b.Count >= maxPostings {
			if changed {
				if err := m.store.SaveBlock(tx, s, b); err != nil {
					return err
				}
			}
			b = Block{Shelf: s.ID, Term: term, First: p.number, Last: p.number}
		}
		b.Packed = appendPosting(b.Packed, b.Last, p)
		b.Last, b.Count, changed = p.number, b.Count+1, true
	}
	return m.store.SaveBlock(tx, s, b)
}

// search is one look into the index.
type search struct {
	shelves []Shelf
	at      map[id.ID]int      // of a shelf in shelves
	terms   []string           // distinct, sorted
	times   map[string]int64   // how often the query says a term
	fresh   map[string][]entry // postings not folded yet
	corpus  corpus
	scores  [][]int64 // by shelf and row number; nil where nothing was found
}

// entry is a posting on a shelf.
type entry struct {
	shelf int
	posting
}

// candidate is a row that holds a term of the query.
type candidate struct {
	Place
	bm25 int64
}

// candidates returns the best rows by BM25, best first; equals in the order of
// shelf and number. Only the given shelves are looked at: their rows are all
// there is, for every count and average.
func (m *Service) candidates(tx event.Tx, shelves []Shelf, terms []string, most int) ([]candidate, error) {
	s := &search{shelves: shelves, at: map[id.ID]int{}, times: counts(terms), fresh: map[string][]entry{}, scores: make([][]int64, len(shelves))}
	s.terms = slices.Sorted(maps.Keys(s.times))
	for i, sh := range shelves {
		s.at[sh.ID] = i
		s.corpus.rows += sh.Rows
		s.corpus.tokens += sh.Tokens
		if sh.Fresh == 0 {
			continue
		}
		if err := m.store.EachFresh(tx, sh.ID, func(f Fresh) error {
			return eachTerm(f, func(t string, p posting) {
				if s.times[t] > 0 {
					s.fresh[t] = append(s.fresh[t], entry{i, p})
				}
			})
		}); err != nil {
			return nil, err
		}
	}
	for _, t := range s.terms {
		if err := m.scoreTerm(tx, s, t); err != nil {
			return nil, err
		}
	}
	return s.best(most), nil
}

// scoreTerm adds the weight of one term to all rows that hold it.
func (m *Service) scoreTerm(tx event.Tx, s *search, term string) error {
	list := s.fresh[term]
	scopes := map[string]bool{}
	for _, sh := range s.shelves {
		if scopes[string(sh.Scope)] {
			continue
		}
		scopes[string(sh.Scope)] = true
		if err := m.store.EachBlock(tx, sh.Scope, term, func(b Block) error {
			i, ok := s.at[b.Shelf]
			if !ok {
				return nil // of a shelf that may not be read: never opened
			}
			return eachPosting(b, func(p posting) { list = append(list, entry{i, p}) })
		}); err != nil {
			return err
		}
	}
	weight := idf(s.corpus.rows, int64(len(list))) * s.times[term]
	for _, e := range list {
		if s.scores[e.shelf] == nil {
			s.scores[e.shelf] = make([]int64, s.shelves[e.shelf].Rows+1)
		}
		row := s.scores[e.shelf]
		if e.number < 1 || e.number >= int64(len(row)) {
			return fault.New(fault.Corrupt, "the memory index names a row that is not there").WithFix("rebuild the index")
		}
		row[e.number] += s.corpus.bm25(weight, e.posting)
	}
	return nil
}

// best returns the most highest-scored rows, by insertion into a short sorted list.
func (s *search) best(most int) []candidate {
	better := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.bm25, a.bm25), strings.Compare(string(a.Shelf[:]), string(b.Shelf[:])), cmp.Compare(a.Number, b.Number))
	}
	var top []candidate
	for i, rows := range s.scores {
		for n, score := range rows {
			if score <= 0 || len(top) == most && score < top[most-1].bm25 {
				continue
			}
			c := candidate{Place{s.shelves[i].ID, int64(n)}, score}
			at, _ := slices.BinarySearchFunc(top, c, better)
			if at == most {
				continue
			}
			if len(top) == most {
				top = top[:most-1]
			}
			top = slices.Insert(top, at, c)
		}
	}
	return top
}
