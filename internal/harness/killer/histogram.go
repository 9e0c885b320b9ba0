package killer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Histogram counts deaths by step. The zero value is ready; it is not safe for
// concurrent use.
type Histogram struct{ counts map[string]int }

// Add counts one death.
func (h *Histogram) Add(step string) {
	if h.counts == nil {
		h.counts = map[string]int{}
	}
	h.counts[step]++
}

// Merge adds the deaths of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for step, n := range o.counts {
		for range n {
			h.Add(step)
		}
	}
}

// Count returns the deaths at a step.
func (h *Histogram) Count(step string) int { return h.counts[step] }

// Total returns all deaths.
func (h *Histogram) Total() int {
	n := 0
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Print writes one line per step, most deaths first, with a bar.
func (h *Histogram) Print(w io.Writer) error {
	steps := slices.Collect(maps.Keys(h.counts))
	slices.SortFunc(steps, func(a, b string) int {
		if d := h.counts[b] - h.counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "step at death, %d kills\n", h.Total())
	for _, s := range steps {
		name := s
		if s == "" {
			name = "(no step announced)"
		}
		n := h.counts[s]
		bar := strings.Repeat("#", max(1, n*40/max(h.counts[steps[0]], 1)))
		fmt.Fprintf(&b, "  %-40s %5d %s\n", name, n, bar)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
