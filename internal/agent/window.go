package agent

import (
	"cmp"
	"slices"
)

// Window is which part of a thread a run is given.
type Window struct {
	Full []Turn // in full, in order; the last is the task's own turn
	Fold []Turn // too old for the budget: they become part of the summary
}

// PlanWindow chooses from the turns that no summary stands for. own is the turn
// of the run's task, ord the run's place in its thread: turns of later runs wait
// for theirs. budget is in estimated tokens.
//
// What fits stays in full. Once it does not, turns are folded until half the
// budget is left, so that a long thread is not summarised at every message; the
// fold ends before the first turn that stays, and the task's own turn always
// stays. It is pure.
func PlanWindow(turns []Turn, own Turn, ord, budget int) Window {
	var before []Turn
	for _, t := range turns {
		if t.Ord < ord && t.Role != TurnSummary && t.Text != "" {
			before = append(before, t)
		}
	}
	slices.SortFunc(before, func(a, b Turn) int { return cmp.Or(a.Ord-b.Ord, a.Seq-b.Seq) })
	total := own.tokens()
	for _, t := range before {
		total += t.tokens()
	}
	w := Window{}
	if total > budget {
		left := own.tokens()
		keep := len(before)
		for keep > 0 && left+before[keep-1].tokens() <= budget/2 {
			keep--
			left += before[keep].tokens()
		}
		// A fold covers whole runs: a summary stands for all turns up to one Ord.
		for keep > 0 && keep < len(before) && before[keep].Ord == before[keep-1].Ord {
			keep++
		}
		w.Fold, before = before[:keep], before[keep:]
	}
	w.Full = append(before, own)
	return w
}
