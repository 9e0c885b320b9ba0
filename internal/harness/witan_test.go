package harness_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/killer"
)

// slots is how many messages are in flight: the issue asks for 32.
const slots = 40

// livesPerHouse bounds the journal that `witan audit verify` reads after each life.
const livesPerHouse = 12

// namedSteps are those at which the process is killed: around each commit, and
// each step of an effect and of a run.
func namedSteps() []string {
	return []string{
		"journal.before_commit", "journal.after_commit",
		"effect.intended.before_commit", "effect.intended", "effect.dispatching.before_commit", "effect.dispatching",
		"effect.replied", "effect.confirmed.before_commit", "effect.confirmed", "run.requested", "run.answered",
	}
}

// TestTortureWitan kills the real process, with 40 messages in flight, each of
// which acts once in every effect class: at random moments, at every named step,
// and while it starts. Every acknowledged message ends in exactly one answer, no
// effect happens twice, and the chain verifies after each life.
func TestTortureWitan(t *testing.T) {
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) { t.Parallel(); tortureWitan(t, engine) })
	}
}

func tortureWitan(t *testing.T, engine string) {
	mode := harness.TortureMode()
	r := rand.New(rand.NewPCG(5, uint64(len(engine))))
	var plans []killer.Plan
	for range harness.Pick(mode, 1, 8, 300) {
		plans = append(plans, killer.Random(r, 600*time.Millisecond))
	}
	for range harness.Pick(mode, 0, 1, 30) {
		plans = append(plans, killer.AfterStart(time.Duration(r.IntN(300))*time.Millisecond))
		for _, step := range namedSteps() {
			plans = append(plans, killer.AtStep(step, 1+r.IntN(60)))
		}
	}
	if mode == harness.Glance {
		plans = append(plans, killer.AtStep("effect.replied", 5), killer.AtStep("effect.dispatching", 9))
	}
	r.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
	var rep harness.Report
	var deaths killer.Histogram
	var flying []int
	for part := range slices.Chunk(plans, livesPerHouse) {
		one, k, f := leadLives(t, engine, "", part)
		rep = rep.Add(one)
		deaths.Merge(&k.Deaths)
		flying = append(flying, f...)
		if t.Failed() {
			break
		}
	}
	slices.Sort(flying)
	fmt.Printf("witan on %s: messages in flight at death: at least %d, median %d\n", engine, flying[0], flying[len(flying)/2])
	if err := deaths.Print(os.Stdout); err != nil {
		t.Error(err)
	}
	if err := rep.Print(os.Stdout); err != nil || !rep.Good() {
		t.Errorf("%s, %v", rep, err)
	}
	for _, step := range namedSteps() {
		if mode != harness.Glance && deaths.Count(step) == 0 {
			t.Errorf("nobody died at %s", step)
		}
	}
}

// leadLives leads one house through planned lives under load, and through a last
// one in which everything comes to its end.
func leadLives(t *testing.T, engine, bin string, plans []killer.Plan) (harness.Report, *killer.Killer, []int) {
	t.Helper()
	h := newHouse(t, engine, "")
	h.binary = bin
	p := h.start()
	h.settle(8)
	k := h.killer()
	l := begin(t.Context(), h, "do", "m", slots)
	waitFor(t, 60*time.Second, "the first messages are in flight", func() bool { return l.inFlight() >= slots && l.acknowledged() >= slots })
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	k.Deaths.Add(p.LastStep())
	var flying []int
	for i, plan := range plans {
		h.verify()
		d, err := k.Live(t.Context(), plan, nil)
		if err != nil {
			t.Fatalf("life %d, %v: %v\n%s", i, plan, err, h.log.tail())
		}
		flying = append(flying, l.inFlight())
		if err := l.broken(); err != nil {
			t.Fatalf("life %d, %v, died at %q: %v\n%s", i, plan, d.Step, err, h.log.tail())
		}
	}
	h.verify()
	last := h.start()
	if err := l.finish(t.Context(), 60*time.Second); err != nil {
		t.Errorf("%v\n%s", err, h.log.tail())
	}
	rep := l.judge(t.Context(), t)
	rep.Kills = k.Deaths.Total()
	h.stop(last)
	h.verify()
	return rep, k, flying
}
