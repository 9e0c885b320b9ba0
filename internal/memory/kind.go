package memory

import (
	"slices"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Kind is what sort of memory a row is (seed 001 §4).
type Kind string

// The four kinds.
const (
	KindEpisodic         Kind = "episodic"         // something that happened
	KindSemantic         Kind = "semantic"         // something that is so
	KindProcedural       Kind = "procedural"       // how something is done
	KindAutobiographical Kind = "autobiographical" // who the rememberer is
)

// ParseKind returns fault.Invalid for a word that is no kind.
func ParseKind(w string) (Kind, error) {
	if k := Kind(w); slices.Contains([]Kind{KindEpisodic, KindSemantic, KindProcedural, KindAutobiographical}, k) {
		return k, nil
	}
	return "", fault.New(fault.Invalid, "%q is no kind of memory", w).On("kind").WithFix("write episodic, semantic, procedural or autobiographical")
}

// Epistemic says how a memory came to be known.
type Epistemic string

// The five ways.
const (
	Observed  Epistemic = "observed"  // a record of ours shows it
	Told      Epistemic = "told"      // somebody said so
	Inferred  Epistemic = "inferred"  // concluded from other things
	Imagined  Epistemic = "imagined"  // a supposition
	Generated Epistemic = "generated" // a model's words, with nothing behind them
)

// ParseEpistemic returns fault.Invalid for another word.
func ParseEpistemic(w string) (Epistemic, error) {
	if e := Epistemic(w); slices.Contains([]Epistemic{Observed, Told, Inferred, Imagined, Generated}, e) {
		return e, nil
	}
	return "", fault.New(fault.Invalid, "%q is not a way of knowing", w).On("epistemic").WithFix("write observed, told, inferred, imagined or generated")
}

// weight is how far a way of knowing carries the source's credibility into the
// row's confidence, in micro-units.
func (e Epistemic) weight() int64 {
	switch e {
	case Observed, Told:
		return micro
	case Inferred:
		return 700_000
	case Imagined, Generated:
	}
	return 300_000
}
