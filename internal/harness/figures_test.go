package harness_test

import (
	"cmp"
	"os"
	"slices"
	"testing"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/bench"
)

// TestBenchFigures measures every figure of the specification beside its limit,
// on this machine in this run, and prints one table. A figure that misses its
// limit fails the test, so that nobody reads past it.
//
// WITAN_BENCH_ONLY names one part, WITAN_BENCH_ENGINE one engine, and WITAN_BENCH_PROFILE a folder for CPU
// profiles of the served process.
func TestBenchFigures(t *testing.T) {
	if !harness.Benching() {
		t.Skip("figures are for make bench")
	}
	tab := &bench.Table{Title: "Witan, measured"}
	p50, err := tab.Machine(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tab.Row("one durable write of 4 KiB, p50", p50, "ms", bench.AtMost(1), "what the latency figures assume")
	only := os.Getenv("WITAN_BENCH_ONLY")
	for _, part := range []struct {
		name string
		run  func(*testing.T, *bench.Table)
	}{
		{"append", figuresAppend}, {"tails", figuresTails}, {"streams", figuresStreams}, {"round", figuresRound}, {"start", figuresStart}, {"idle", figuresIdle}, {"binary", figuresBinary},
	} {
		if only == "" || only == part.name {
			t.Run(part.name, func(t *testing.T) { part.run(t, tab) })
		}
	}
	if _, err := tab.Machine(t.TempDir()); err != nil { // the disk may have been busier at the end
		t.Fatal(err)
	}
	if err := tab.Print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	for _, m := range tab.Missed() {
		t.Error(m)
	}
}

// median of some figures of the same thing.
func median[T cmp.Ordered](of []T) T {
	s := slices.Clone(of)
	slices.Sort(s)
	return s[len(s)/2]
}
