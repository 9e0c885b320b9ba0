package work

import (
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// maxChain is how many signals may follow from each other, the first included.
const maxChain = 32

// Edge is a step of a chain: a publish of From makes a task that is to publish To.
type Edge struct{ From, To id.ID }

// checkChain refuses an edge that would close a circle with those that there are,
// or make a chain longer than most signals. What there is must hold no circle.
func checkChain(have []Edge, add Edge, most int) error {
	down, up := map[id.ID][]id.ID{}, map[id.ID][]id.ID{}
	for _, e := range have {
		down[e.From] = append(down[e.From], e.To)
		up[e.To] = append(up[e.To], e.From)
	}
	circle, err := reaches(add.To, add.From, func(n id.ID) ([]id.ID, error) { return down[n], nil })
	if err != nil {
		return err
	}
	if circle {
		return fault.New(fault.Conflict, "the signal that it emits leads back to its own: that would be a circle").On("emitEventId")
	}
	if n := longest(add.From, up) + longest(add.To, down); n > most {
		return fault.New(fault.Limited, "%d signals would follow from each other, at most %d may", n, most).On("emitEventId")
	}
	return nil
}

// longest counts the signals of the longest way from one on, itself included, in
// a graph without circles.
func longest(from id.ID, next map[id.ID][]id.ID) int {
	known := map[id.ID]int{}
	var walk func(id.ID) int
	walk = func(at id.ID) int {
		if n, ok := known[at]; ok {
			return n
		}
		n := 0
		for _, to := range next[at] {
			n = max(n, walk(to))
		}
		known[at] = n + 1
		return n + 1
	}
	return walk(from)
}

// stopped says why a chain goes no further with a signal; "" lets it go on.
func stopped(chain []id.ID, signal id.ID) string {
	for _, before := range chain {
		if before == signal {
			return StopCircle
		}
	}
	if len(chain) >= maxChain {
		return StopDepth
	}
	return ""
}
