package harness_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness/bench"
	"github.com/witan-run/witan/internal/harness/fakeworld"
)

// benchDisk prints what the harness itself costs, so that a figure taken with
// it can be read: one durable effect of the fake world.
func benchDisk(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	tab := &bench.Table{Title: "harness"}
	p50, err := tab.Machine(dir)
	if err != nil {
		t.Fatal(err)
	}
	world, err := fakeworld.Open(filepath.Join(dir, "world.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var l bench.Latency
	for n := range 300 {
		begin := time.Now()
		if _, err := world.Do(fakeworld.Once, keyOf(fakeworld.Once, n), ""); err != nil {
			t.Fatal(err)
		}
		l.Add(time.Since(begin))
	}
	tab.Row("one effect of the fake world, p50", 1000*l.Quantile(0.5), "µs", bench.AtMost(1000*(20*p50+1)), "20 syncs and 1 ms at most")
	if err := tab.Print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	for _, m := range tab.Missed() {
		t.Error(m)
	}
	if err := world.Close(); err != nil {
		t.Fatal(err)
	}
}
