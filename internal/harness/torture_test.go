package harness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/fakeworld"
	"github.com/witan-run/witan/internal/harness/killer"
)

const actsPerRound = 8 // of each class: more than the kills of a round get through

// The test binary is its own victim; see worker_test.go, ground_test.go and
// publish_test.go.
func TestMain(m *testing.M) {
	if g, ok := groundFromEnv(); ok {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		run := g.work
		switch {
		case os.Getenv(nodeEnv) == "1":
			run = g.node
		case os.Getenv(publishEnv) == "1":
			run = g.publisher
		}
		err := run(ctx)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("HARNESS_WORKER"); dir != "" {
		w := worker{dir: dir, world: os.Getenv("HARNESS_WORLD"), broken: os.Getenv("HARNESS_BROKEN") == "1"}
		acts, err := strconv.Atoi(os.Getenv("HARNESS_ACTS"))
		fmt.Fprintln(os.Stderr, errors.Join(err, w.run(acts)))
		os.Exit(1)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	if durableServer.s != nil {
		durableServer.s.Stop()
	}
	os.Exit(code)
}

// torture kills a worker at every named step and at random moments, then lets
// it finish, and reports.
func torture(t *testing.T, broken string, rounds int) (harness.Report, *killer.Killer) {
	t.Helper()
	dir, acts := t.TempDir(), rounds*actsPerRound
	world, err := fakeworld.Serve(filepath.Join(dir, "world.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	}()
	var log strings.Builder
	k := &killer.Killer{Limit: 300 * time.Millisecond, Config: killer.Config{
		Command: []string{os.Args[0]}, Output: &log,
		Env: []string{"HARNESS_WORKER=" + dir, "HARNESS_WORLD=" + world.URL, "HARNESS_BROKEN=" + broken, "HARNESS_ACTS=" + strconv.Itoa(acts)},
	}}
	r := rand.New(rand.NewPCG(1, 1))
	var plans []killer.Plan
	for range rounds {
		plans = append(plans, killer.AtStep("recovered", 1)) // hit once in a life
		steps := []string{"act.before", "act.after", "confirmed.before_commit", "confirmed.after_commit"}
		if broken == "" { // its twin has no such steps
			steps = append(steps, "dispatching.before_commit", "dispatching.after_commit")
		}
		for _, step := range steps {
			plans = append(plans, killer.AtStep(step, 1+r.IntN(4)))
		}
		plans = append(plans, killer.Random(r, 5*time.Millisecond), killer.AfterStart(time.Duration(r.IntN(10))*time.Millisecond))
	}
	live := func(p killer.Plan) killer.Death {
		t.Helper()
		d, err := k.Live(t.Context(), p, nil)
		if err != nil {
			t.Fatalf("%v: %v\n%s", p, err, log.String())
		}
		return d
	}
	for _, p := range plans {
		live(p)
	}
	for range 20 { // a last life long enough to finish
		live(killer.AfterReady(100 * time.Millisecond))
		if state, err := readLedger(dir); err != nil || finished(state, acts) {
			break
		}
	}
	return judge(t, dir, acts, world.World, k), k
}

func finished(state map[string]string, acts int) bool {
	for n := range acts {
		for _, c := range fakeworld.Classes() {
			if s := state[keyOf(c, n)]; s != confirmed && s != unknown {
				return false
			}
		}
	}
	return true
}

// judge compares what the worker believes with what the world has seen.
func judge(t *testing.T, dir string, acts int, w *fakeworld.World, k *killer.Killer) harness.Report {
	t.Helper()
	state, err := readLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	rep := harness.Report{Kills: k.Deaths.Total(), Doubled: len(w.Doubled())}
	for n := range acts {
		for _, c := range fakeworld.Classes() {
			key := keyOf(c, n)
			switch s := state[key]; {
			case s == unknown:
				rep.Unknown++
			case s != confirmed, c != fakeworld.Read && w.Count(key) == 0:
				rep.Lost++
			}
		}
	}
	return rep
}

func TestTortureOfTheHarness(t *testing.T) {
	t.Parallel()
	rep, k := torture(t, "", harness.Pick(harness.TortureMode(), 2, 3, 12))
	if err := k.Deaths.Print(os.Stdout); err != nil {
		t.Error(err)
	}
	if err := rep.Print(os.Stdout); err != nil || !rep.Good() {
		t.Errorf("%s, %v", rep, err)
	}
	for _, step := range []string{"act.before", "act.after", "dispatching.after_commit"} {
		if k.Deaths.Count(step) == 0 {
			t.Errorf("nobody died at %s", step)
		}
	}
	if rep.Unknown == 0 {
		t.Error("a once effect whose life ended around the call must be left to a person")
	}
}

// TestTheHarnessSeesADoubledEffect is the kept mutation: a worker that acts
// before it has written "dispatching" must be found out.
func TestTheHarnessSeesADoubledEffect(t *testing.T) {
	t.Parallel()
	if rep, _ := torture(t, "1", 2); rep.Doubled == 0 || rep.Good() {
		t.Fatalf("the broken worker passed: %s", rep)
	}
}

func TestReportsAddUp(t *testing.T) {
	t.Parallel()
	sum := harness.Report{Kills: 1, Unknown: 2}.Add(harness.Report{Kills: 2, Lost: 1})
	if sum.String() != "torture: kills 3, lost 1, doubled 0, unknown 2" || sum.Good() {
		t.Fatal(sum)
	}
	if (harness.Report{}).Good() {
		t.Fatal("a run that killed nobody is not good")
	}
}

func TestBenchDisk(t *testing.T) {
	if !harness.Benching() {
		t.Skip("figures are for make bench")
	}
	benchDisk(t)
}
