package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTableShowsFigureLimitAndVerdict(t *testing.T) {
	t.Parallel()
	tab := &Table{Title: "journal"}
	tab.Head("fdatasync of 4 KiB: p50 50 µs, p99 80 µs")
	tab.Row("append, 64 producers", 61.25, "%", AtLeast(60), "of a bare insert")
	tab.Row("p99", 51, "ms", AtMost(50), "")
	tab.Row("closures", 12345.6, "/s", Info(), "")
	tab.Row("never ran", math.NaN(), "/s", AtLeast(1), "")
	var b strings.Builder
	if err := tab.Print(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := []string{
		"  fdatasync of 4 KiB: p50 50 µs, p99 80 µs",
		"  figure                 measured       limit    ok",
		"  append, 64 producers   61.2 %         ≥ 60 %   yes   of a bare insert",
		"  p99                    51 ms          ≤ 50 ms  NO",
		"  closures               12,346 /s      -        -",
		"  never ran              not measured /s ≥ 1 /s  NO",
	}
	squeeze := func(ls []string) (out []string) {
		for _, l := range ls {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
		return out
	}
	if diff := cmp.Diff(squeeze(want), squeeze(lines[2:])); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"p99: 51 ms, limit ≤ 50 ms", "never ran: not measured /s, limit ≥ 1 /s"}, tab.Missed()); diff != "" {
		t.Fatal(diff)
	}
}

func TestQuantileIsASampleWithEnoughBelowIt(t *testing.T) {
	t.Parallel()
	if !math.IsNaN((&Latency{}).Quantile(0.5)) {
		t.Fatal("no samples must give no figure")
	}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 60).Draw(t, "ms")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		l := &Latency{}
		for _, m := range ms {
			l.Add(time.Duration(m) * time.Millisecond)
		}
		got := l.Quantile(q)
		below, strictly := 0, 0
		for _, m := range ms {
			if float64(m) <= got {
				below++
			}
			if float64(m) < got {
				strictly++
			}
		}
		n := float64(l.Len())
		if float64(below) < q*n-1e-9 || float64(strictly) >= q*n+1e-9 {
			t.Fatalf("q=%v of %v: %v", q, ms, got)
		}
	})
}

func TestSyncMeasuresThisDisk(t *testing.T) {
	t.Parallel()
	tab := &Table{Title: "x"}
	p50, err := tab.Machine(t.TempDir())
	if err != nil || p50 <= 0 || p50 > 5000 {
		t.Fatalf("p50 %v ms, %v", p50, err)
	}
	if _, err := Sync("/nonexistent", 1); err == nil {
		t.Fatal("no folder, no figure")
	}
}
