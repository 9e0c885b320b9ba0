package harness

import (
	"fmt"
	"io"
	"os"
)

// The environment of the make targets.
const (
	TortureEnv = "WITAN_TORTURE" // "short" or "full"; anything else is a plain test run
	BenchEnv   = "WITAN_BENCH"   // "1" under make bench
)

// Mode is how long a torture test may take.
type Mode int

// The modes, shortest first.
const (
	Glance Mode = iota // inside `make test`: seconds, only that it works
	Short              // inside `make check`: a minute
	Full               // `make torture`: as long as the figures of the issue ask
)

// TortureMode returns the mode that the environment asks for.
func TortureMode() Mode {
	switch os.Getenv(TortureEnv) {
	case "full":
		return Full
	case "short":
		return Short
	}
	return Glance
}

// Pick returns the value for the mode.
func Pick[T any](m Mode, glance, short, full T) T {
	switch m {
	case Full:
		return full
	case Short:
		return short
	case Glance:
	}
	return glance
}

// Benching reports whether the figures were asked for.
func Benching() bool { return os.Getenv(BenchEnv) == "1" }

// Report is the outcome of a torture run.
type Report struct {
	Kills   int // deaths by SIGKILL, as planned
	Lost    int // acknowledged work that has no outcome
	Doubled int // effects that were done twice
	Unknown int // effects whose outcome a person had to settle
}

// Add returns the sum of two reports.
func (r Report) Add(o Report) Report {
	return Report{r.Kills + o.Kills, r.Lost + o.Lost, r.Doubled + o.Doubled, r.Unknown + o.Unknown}
}

// Good reports whether nothing was lost or doubled, and something was killed.
func (r Report) Good() bool { return r.Kills > 0 && r.Lost == 0 && r.Doubled == 0 }

// String is the line that .ci/torture reads: "torture: kills 300, lost 0,
// doubled 0, unknown 12".
func (r Report) String() string {
	return fmt.Sprintf("torture: kills %d, lost %d, doubled %d, unknown %d", r.Kills, r.Lost, r.Doubled, r.Unknown)
}

// Print writes the line for itself, as .ci/torture wants it.
func (r Report) Print(w io.Writer) error { _, err := fmt.Fprintf(w, "%s\n", r); return err }
