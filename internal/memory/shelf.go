package memory

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory/recall"
)

// Shelf holds the rows of one scope, label, sensitivity and subject. Everything
// that decides who may read a row is the shelf's, so a query looks at shelves
// first and never meets what it may not see.
type Shelf struct {
	ID          id.ID
	Scope       recall.Scope
	Label       event.Label
	Sensitivity recall.Sensitivity
	Subject     id.ID
	Rows        int64 // rows on it, which are numbered from 1
	Tokens      int64 // sum of their lengths
	Fresh       int64 // of the rows, those not yet folded into postings
}

// shelfID names a shelf by what it is for: two transactions that need the same
// shelf make the same one.
func shelfID(scope recall.Scope, l event.Label, s recall.Sensitivity, subject id.ID) id.ID {
	d := canon.Digest("witan/memory-shelf/1", []byte(scope), []byte(l.String()), []byte(s.String()), subject[:])
	return id.ID(d[:16])
}

// readable reports whether everybody in readers may read the shelf.
func (s Shelf) readable(readers event.Audience) bool { return s.Label.Audience().Includes(readers) }

// Place is where a row stands.
type Place struct {
	Shelf  id.ID
	Number int64
}

// foldAt is how many fresh rows a shelf gathers before they are folded: more make
// writing cheaper and the one write that folds slower.
const foldAt = 32

// maxPostings is how many postings one block holds.
const maxPostings = 256

// Fresh is a row whose words are not yet in the postings.
type Fresh struct {
	Place
	Terms []byte // see encodeTerms
}

// Block is a run of postings of one term on one shelf.
type Block struct {
	Shelf  id.ID
	Term   string
	First  int64 // number of its first row
	Last   int64 // number of its last row
	Count  int64
	Packed []byte // see appendPosting
}
