// Package bench prints figures beside their limits, with the speed of the disk
// they were measured on.
//
// Purpose: a figure without its limit and its machine says nothing. Table
// collects rows and prints "measured, limit, ok"; Sync measures what one durable
// write costs here; Latency turns samples into percentiles.
//
// It imports kit and the standard library only, is used by tests only, and
// starts no goroutine.
package bench

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
)

// Limit is what a figure is held against.
type Limit struct {
	bound float64
	sense sense
}

type sense int8

const (
	none sense = iota
	atMost
	atLeast
)

// AtMost passes figures that are not above v.
func AtMost(v float64) Limit { return Limit{v, atMost} }

// AtLeast passes figures that are not below v.
func AtLeast(v float64) Limit { return Limit{v, atLeast} }

// Info has no limit: the figure is shown only.
func Info() Limit { return Limit{} }

// Holds reports whether a figure keeps the limit. NaN keeps none: a figure that
// could not be measured is not a good one.
func (l Limit) Holds(v float64) bool {
	switch l.sense {
	case atMost:
		return v <= l.bound
	case atLeast:
		return v >= l.bound
	case none:
	}
	return true
}

func (l Limit) text(unit string) string {
	switch l.sense {
	case atMost:
		return "≤ " + number(l.bound) + unit
	case atLeast:
		return "≥ " + number(l.bound) + unit
	case none:
	}
	return "-"
}

// row is one line of the table.
type row struct {
	name     string
	measured float64
	unit     string
	limit    Limit
	note     string
}

// Table collects figures. It is safe for concurrent use; the zero value is
// ready, but for its title.
type Table struct {
	Title string

	mu   sync.Mutex
	rows []row    // guarded by mu
	head []string // guarded by mu
}

// Head adds a line above the rows: what machine, which settings.
func (t *Table) Head(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = append(t.head, fmt.Sprintf(format, args...))
}

// Row adds a figure. The unit is printed behind figure and limit ("ms", "/s").
func (t *Table) Row(name string, measured float64, unit string, l Limit, note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if unit != "" {
		unit = " " + unit
	}
	t.rows = append(t.rows, row{name, measured, unit, l, note})
}

// Missed names the rows whose limit does not hold.
func (t *Table) Missed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, r := range t.rows {
		if !r.limit.Holds(r.measured) {
			out = append(out, fmt.Sprintf("%s: %s%s, limit %s", r.name, number(r.measured), r.unit, r.limit.text(r.unit)))
		}
	}
	return out
}

// Print writes the table.
func (t *Table) Print(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", t.Title)
	fmt.Fprintf(&b, "  %s/%s, %d cores, %s\n", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
	for _, h := range t.head {
		fmt.Fprintf(&b, "  %s\n", h)
	}
	tab := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	lines := []string{"  figure\tmeasured\tlimit\tok\t\n"}
	for _, r := range t.rows {
		verdict := "yes"
		switch {
		case r.limit.sense == none:
			verdict = "-"
		case !r.limit.Holds(r.measured):
			verdict = "NO"
		}
		lines = append(lines, fmt.Sprintf("  %s\t%s%s\t%s\t%s\t%s\n", r.name, number(r.measured), r.unit, r.limit.text(r.unit), verdict, r.note))
	}
	if _, err := io.WriteString(tab, strings.Join(lines, "")); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	if err := tab.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// number renders a figure with three significant digits, and whole above 100.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "not measured"
	case a >= 1000:
		return grouped(int64(math.Round(v)))
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return trim(fmt.Sprintf("%.1f", v))
	default:
		return trim(fmt.Sprintf("%.2f", v))
	}
}

func trim(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }

// grouped puts a thin comma between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
