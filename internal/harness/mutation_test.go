package harness_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/witan-run/witan/internal/harness/killer"
)

// mutant builds the tortured program with one place of the source changed. The
// place must be there exactly once: a mutation that finds nothing proves nothing.
func mutant(t *testing.T, name, file, old, now string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(old)); n != 1 {
		t.Fatalf("%s holds the place of the mutation %d times: adjust the mutation, never drop it", file, n)
	}
	changed := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(changed, bytes.Replace(text, []byte(old), []byte(now), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return binary(t, name, "github.com/witan-run/witan/internal/harness/tortured", map[string]string{path: changed})
}

// TestWithoutTheDispatchingCommitEffectsDouble is the kept mutation of the
// issue: the commit before the first byte leaves is removed, so that a resumed
// effect looks as if it had never left. The torture must see it.
func TestWithoutTheDispatchingCommitEffectsDouble(t *testing.T) {
	t.Parallel()
	bin := mutant(t, "undispatched", "internal/skill/begin.go", "\tif e.Class == manifest.ClassRead {\n\t\te.Attempt = a.lease.Attempt\n",
		"\tif e.Class != \"\" { // mutation: nothing is written before the act\n\t\te.Attempt = a.lease.Attempt\n")
	var plans []killer.Plan
	for n := range 6 {
		plans = append(plans, killer.AtStep("effect.replied", 3+4*n), killer.AtStep("effect.confirmed.before_commit", 2+3*n))
	}
	h := newHouse(t, "sqlite", "")
	h.binary = bin
	p := h.start()
	h.settle(8)
	l := begin(t.Context(), h, "do", "m", slots)
	waitFor(t, patience*20, "messages are in flight", func() bool { return l.acknowledged() >= slots })
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	k := h.killer()
	for _, plan := range plans {
		if _, err := k.Live(t.Context(), plan, nil); err != nil {
			t.Fatalf("%v: %v\n%s", plan, err, h.log.tail())
		}
		if len(h.world.World.Doubled()) > 0 {
			break
		}
	}
	last := h.start()
	_ = l.finish(t.Context(), patience)
	h.stop(last)
	doubled := len(h.world.World.Doubled())
	if doubled == 0 {
		t.Fatal("effects without their dispatching commit passed the torture")
	}
	t.Logf("%d effects were done twice after %d kills", doubled, k.Deaths.Total())
}
