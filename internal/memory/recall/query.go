package recall

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of a query.
const (
	MaxQuery = 4096 // bytes of text
	MaxLimit = 100  // hits
	// DefaultLimit is used when Limit is 0.
	DefaultLimit = 10
)

// Query asks for memories.
type Query struct {
	Text   string
	Scopes []Scope // searched; none finds nothing
	// Readers are the principals that will read the answer: the agent, and the
	// one it answers. A row is found only if its audience includes all of them.
	// No reader finds nothing.
	Readers []string
	// Most is the highest sensitivity that is wanted.
	Most  Sensitivity
	Limit int // 0 means DefaultLimit
	// Now is the moment from which recency is measured.
	Now time.Time
}

// Parts are the component scores of a hit, in micro-units.
type Parts struct {
	BM25       int64 // how well the words match; 0 and up
	Recency    int64 // 1,000,000 now, half of it 30 days later
	Importance int64 // 0 to 1,000,000
}

// Map returns the parts by name, as memory.retrieved records them.
func (p Parts) Map() map[string]int64 {
	return map[string]int64{"bm25": p.BM25, "recency": p.Recency, "importance": p.Importance}
}

// Hit is one memory that was found.
type Hit struct {
	ID          id.ID
	Kind        string
	Epistemic   string
	Scope       Scope
	Title, Body string
	OccurredAt  time.Time
	Source      string // principal it comes from
	Credibility int32  // of the source, micro-units
	Confidence  int32  // micro-units
	Label       event.Label
	Score       int64 // micro-units; what the hits are ordered by
	Parts       Parts
}

// Found is the answer to a query.
type Found struct {
	Hits    []Hit
	Ranking string // name of the formula and its constants, for the record
}

// Label is the join of the labels of all hits; the zero Label if there is none.
func (f Found) Label() event.Label {
	labels := make([]event.Label, 0, len(f.Hits))
	for _, h := range f.Hits {
		labels = append(labels, h.Label)
	}
	return event.Join(labels...)
}

// Recaller finds memories. It only reads.
type Recaller interface {
	Recall(tx event.Tx, q Query) (Found, error)
}
