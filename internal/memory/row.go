package memory

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory/recall"
)

// micro is 1.0 in micro-units.
const micro = 1_000_000

// MaxUses is how many use stamps a row keeps (cognition.md §1).
const MaxUses = 10

// Row is what all kinds of memory have.
type Row struct {
	ID          id.ID
	Scope       recall.Scope
	Sensitivity recall.Sensitivity
	Label       event.Label // integrity and audience
	Subject     id.ID       // whose data it is
	Epistemic   Epistemic
	Title, Body string
	Tokens      int64 // terms in the index
	// OccurredAt is when it happened or was so; ValidFrom and ValidTo bound the
	// time in which it is true, zero means unbounded.
	OccurredAt, ValidFrom, ValidTo time.Time
	// Micro-units; Valence is -1,000,000 to 1,000,000, the others from 0.
	Importance, Salience, Valence, Arousal int32
	Source                                 string // principal it comes from
	Credibility, Confidence                int32  // micro-units
	UseCount                               int64
	FirstUse                               time.Time
	LastUses                               []time.Time // at most 10, oldest first
	RetrievalCount                         int64
	LastRetrieved                          time.Time
	Simhash                                int64 // near-duplicates differ in few bits
	RootGroup                              id.ID // rows of one round trip share a root: one witness
	Origin                                 id.ID // the memory.stored event
	By                                     string
	CreatedAt                              time.Time
	Archived                               bool
}

// Memory is a row of one of the four kinds.
type Memory interface {
	// Common returns the columns that all kinds have.
	Common() *Row
	// Kind returns which kind it is.
	Kind() Kind
	sealed()
}

// Episodic is something that happened.
type Episodic struct {
	Row
	Participants []string // principals or names
	Context      string
}

// Semantic is something that is so.
type Semantic struct{ Row }

// Procedural is how something is done, and how often it went well.
type Procedural struct {
	Row
	Steps, Preconditions []string
	Success, Failure     int64
}

// Autobiographical is about the rememberer itself.
type Autobiographical struct{ Row }

// Common implements Memory.
func (r *Row) Common() *Row { return r }

// Kind implements Memory.
func (*Episodic) Kind() Kind { return KindEpisodic }

// Kind implements Memory.
func (*Semantic) Kind() Kind { return KindSemantic }

// Kind implements Memory.
func (*Procedural) Kind() Kind { return KindProcedural }

// Kind implements Memory.
func (*Autobiographical) Kind() Kind { return KindAutobiographical }

func (*Episodic) sealed()         {}
func (*Semantic) sealed()         {}
func (*Procedural) sealed()       {}
func (*Autobiographical) sealed() {}

// credibility is how far a source is believed before anything is known about
// it, by the integrity of what it said. Micro-units.
func credibility(i event.Integrity) int32 {
	switch i {
	case event.Person:
		return 900_000
	case event.House:
		return 800_000
	case event.Known:
		return 600_000
	case event.Outside:
	}
	return 300_000
}

// Of returns a memory of a kind with the common columns, those of its kind empty.
// A word that is no kind is fault.Invalid.
func Of(k Kind, r Row) (Memory, error) {
	switch k {
	case KindEpisodic:
		return &Episodic{Row: r}, nil
	case KindSemantic:
		return &Semantic{Row: r}, nil
	case KindProcedural:
		return &Procedural{Row: r}, nil
	case KindAutobiographical:
		return &Autobiographical{Row: r}, nil
	}
	_, err := ParseKind(string(k))
	return nil, err
}
