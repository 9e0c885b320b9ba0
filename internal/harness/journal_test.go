package harness_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/killer"
)

// livesPerGround bounds the journal that is read and verified after each life.
const livesPerGround = 12

// TestTortureJournal kills a process with 64 producers at random moments, at
// both sides of a commit and while it opens. What was acknowledged is what is
// durable, the chain verifies and has no gap, after each restart.
func TestTortureJournal(t *testing.T) {
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) { tortureJournal(t, engine) })
	}
}

func tortureJournal(t *testing.T, engine string) {
	mode := harness.TortureMode()
	r := rand.New(rand.NewPCG(2, uint64(len(engine))))
	var plans []killer.Plan
	for range harness.Pick(mode, 2, 8, 300) {
		plans = append(plans, killer.Random(r, 150*time.Millisecond))
	}
	for range harness.Pick(mode, 1, 3, 30) {
		plans = append(plans, killer.AtStep("journal.before_commit", 2+r.IntN(60)), killer.AtStep("journal.after_commit", 2+r.IntN(60)),
			killer.AfterStart(time.Duration(r.IntN(80))*time.Millisecond))
	}
	r.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
	var rep harness.Report
	var log bytes.Buffer
	k := &killer.Killer{Config: killer.Config{Command: []string{os.Args[0]}, Output: &log}}
	var g ground
	for i, p := range plans {
		if i%livesPerGround == 0 {
			g = newGround(t, engine)
		}
		g.Life = fmt.Sprint("life", i)
		k.Config.Env = []string{g.env()}
		if _, err := k.Live(t.Context(), p, nil); err != nil {
			t.Fatalf("life %d, %v: %v\n%s", i, p, err, log.String())
		}
		v := g.check(t, producers*(i%livesPerGround+1))
		rep.Lost += len(v.lost) + len(v.torn) + len(v.lied)
		rep.Doubled += len(v.doubled)
		if t.Failed() {
			t.Fatalf("after life %d, %v\n%s", i, p, log.String())
		}
	}
	rep.Kills = k.Deaths.Total()
	if err := k.Deaths.Print(os.Stdout); err != nil {
		t.Error(err)
	}
	if err := rep.Print(os.Stdout); err != nil || !rep.Good() {
		t.Errorf("%s, %v", rep, err)
	}
	for _, step := range []string{"journal.before_commit", "journal.after_commit"} {
		if k.Deaths.Count(step) == 0 {
			t.Errorf("nobody died at %s", step)
		}
	}
}

// TestComparingFindsEveryFault is the mutation of the check: what it does not
// see, the torture does not prove.
func TestComparingFindsEveryFault(t *testing.T) {
	t.Parallel()
	whole := func() (told, durable) {
		return told{map[string]bool{"a": true, "b": true}, map[string]string{"c": "unavailable"}},
			durable{map[string]int{"a": 1, "b": 1}, map[string]bool{"a": true, "b": true}, []int64{1, 2}}
	}
	if said, d := whole(); !compare(said, d).good(0) {
		t.Fatal(compare(said, d))
	}
	for name, breakIt := range map[string]func(*told, *durable){
		"an event is lost":          func(_ *told, d *durable) { delete(d.events, "a"); delete(d.rows, "a") },
		"a row is lost":             func(_ *told, d *durable) { delete(d.rows, "a") },
		"an event stands twice":     func(_ *told, d *durable) { d.events["a"] = 2 },
		"a failed one is there":     func(_ *told, d *durable) { d.events["c"], d.rows["c"] = 1, true },
		"a row without its event":   func(_ *told, d *durable) { d.rows["x"] = true },
		"one that nobody was told":  func(_ *told, d *durable) { d.events["x"], d.rows["x"] = 1, true },
		"a seq is missing":          func(_ *told, d *durable) { d.seqs[1] = 3 },
		"the first seq is not one":  func(_ *told, d *durable) { d.seqs = []int64{2, 3} },
		"acknowledged, never there": func(s *told, _ *durable) { s.acknowledged["z"] = true },
	} {
		said, d := whole()
		breakIt(&said, &d)
		if compare(said, d).good(0) {
			t.Errorf("%s, and nobody saw it", name)
		}
	}
	said, d := whole()
	said.refused["c"] = "unknown"
	d.events["c"], d.rows["c"] = 1, true
	if !compare(said, d).good(0) {
		t.Error("an outcome that is told as unknown may be either")
	}
}
