package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/killer"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store/storetest"
)

// waitFor polls until f holds.
func waitFor(t testing.TB, limit time.Duration, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// acknowledgedSoFar counts what producers were told, while they go on.
func (g ground) acknowledgedSoFar() int {
	raw, _ := os.ReadFile(g.Told)
	return bytes.Count(raw, []byte("+"))
}

// TestTortureOfAVanishedPostgres ends the server as a crash would, several
// times, under a process that lives on. Nothing that was told "failed" is there,
// nothing that was acknowledged is missing, and the process goes on by itself.
func TestTortureOfAVanishedPostgres(t *testing.T) {
	t.Parallel()
	server, err := storetest.StartServer(true) // of its own: others need theirs alive
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(server.Stop)
	g := newGround(t, "sqlite")
	g.Dir, g.Life = "", "life"
	if g.URL, err = server.Create(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p, err := killer.Start(killer.Config{Command: []string{os.Args[0]}, Env: []string{g.env()}, Output: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Kill() })
	r := rand.New(rand.NewPCG(3, 3))
	outages := harness.Pick(harness.TortureMode(), 1, 3, 25)
	for i := range outages {
		before := g.acknowledgedSoFar()
		waitFor(t, 30*time.Second, fmt.Sprintf("outage %d: the process goes on", i), func() bool { return g.acknowledgedSoFar() > before+50 })
		server.Kill()
		<-time.After(time.Duration(r.IntN(500)) * time.Millisecond)
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	before := g.acknowledgedSoFar()
	waitFor(t, 30*time.Second, "the process goes on after the last outage", func() bool { return g.acknowledgedSoFar() > before+50 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	said, err := g.told()
	if err != nil || len(said.refused) == 0 {
		t.Errorf("%d closures failed, %v: did the outage happen?", len(said.refused), err)
	}
	for key, kind := range said.refused {
		if kind != fault.Unavailable.String() && kind != fault.Unknown.String() {
			t.Errorf("%s was told %q, not that the database is unavailable", key, kind)
			break
		}
	}
	v := g.check(t, 0)
	rep := harness.Report{Kills: outages, Lost: len(v.lost) + len(v.torn) + len(v.lied), Doubled: len(v.doubled)}
	if err := rep.Print(os.Stdout); err != nil {
		t.Error(err)
	}
}

// TestTortureOfAFullDisk fills the disk under 64 producers, twice over: it says
// so by name, loses nothing, goes on by itself when there is room again, and
// a start on the full disk works or says so by name.
func TestTortureOfAFullDisk(t *testing.T) {
	t.Parallel()
	g := newGround(t, "sqlite")
	g.Life = "full"
	g.Dir = filepath.Join(t.TempDir(), "small")
	if err := os.MkdirAll(g.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	small := mountSmall(t, g.Dir, 3<<20)
	ballast := filepath.Join(g.Dir, "ballast")
	if small {
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("no tmpfs here: the page limit of SQLite stands for the disk")
		g.MaxPages = 700
	}
	db, err := g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var good, bad int64
	done := make(chan error, 1)
	go func() {
		var err error
		good, bad, err = g.produce(ctx, db)
		done <- err
	}()
	full := func() int { raw, _ := os.ReadFile(g.Told); return bytes.Count(raw, []byte("-")) }
	waitFor(t, 60*time.Second, "the disk fills", func() bool { return full() > 2*producers })
	if small {
		before := g.acknowledgedSoFar() // read first: the room is full again in a few milliseconds
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		waitFor(t, 30*time.Second, "it goes on when there is room", func() bool { return g.acknowledgedSoFar() > before+5 })
		was := full()
		waitFor(t, 60*time.Second, "the disk fills again", func() bool { return full() > was+2*producers })
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	db.Close()
	if db, err = g.open(t.Context(), nil); err == nil { // on the full disk
		db.Close()
	} else if !fault.Is(err, fault.Unavailable) {
		t.Errorf("opening on a full disk says %s: %v", fault.KindOf(err), err)
	}
	said, err := g.told()
	if err != nil || good == 0 || bad == 0 {
		t.Fatalf("%d acknowledged, %d refused, %v", good, bad, err)
	}
	for key, kind := range said.refused {
		if kind != fault.Unavailable.String() {
			t.Fatalf("%s was told %q on a full disk", key, kind)
		}
	}
	if small { // what a person does: the database moves to where there is room
		roomy := filepath.Join(t.TempDir(), "roomy")
		if err := os.CopyFS(roomy, os.DirFS(g.Dir)); err != nil {
			t.Fatal(err)
		}
		g.Dir = roomy
	}
	g.MaxPages = 0
	g.check(t, 0)
	db, err = g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o, err := says()
	if err == nil {
		err = put(t.Context(), db, g.Account, o, "after")
	}
	if err != nil {
		t.Errorf("with room it writes: %v", err)
	}
}

// TestAFullDiskIsNamed: the error says what is full, before anything
// is acknowledged.
func TestAFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	g := newGround(t, "sqlite")
	g.MaxPages = 300
	db, err := g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o, err := says()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100_000 {
		if err = put(t.Context(), db, g.Account, o, fmt.Sprint(n)); err != nil {
			break
		}
	}
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "full") {
		t.Fatalf("a full disk says: %v", err)
	}
}

// jumpy is a wall clock that somebody sets.
type jumpy struct{ by atomic.Int64 }

func (c *jumpy) Now() time.Time { return clock.System{}.Now().Add(time.Duration(c.by.Load())) }

// TestTortureOfAClockThatJumpsBack sets the clock an hour back and forth under
// the producers, and restarts the engine in the past.
func TestTortureOfAClockThatJumpsBack(t *testing.T) {
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, engine)
			clk := &jumpy{}
			for i, by := range []time.Duration{0, -time.Hour, time.Hour, -2 * time.Hour} {
				g.Life = fmt.Sprint("jump", i)
				db, err := g.open(t.Context(), clk)
				if err != nil {
					t.Fatal(err)
				}
				before := g.acknowledgedSoFar()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { _, _, err := g.produce(ctx, db); done <- err }()
				more := func() bool { return g.acknowledgedSoFar() > before+300 }
				waitFor(t, 20*time.Second, "before the jump", more)
				clk.by.Add(int64(by))
				before = g.acknowledgedSoFar()
				waitFor(t, 20*time.Second, fmt.Sprintf("after a jump of %v", by), more)
				cancel()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				db.Close()
				said, err := g.told()
				if err != nil || len(said.refused) > 0 {
					t.Fatalf("refused: %v, %v", said.refused, err)
				}
			}
			g.check(t, 0)
		})
	}
}

// TestTortureOfALockedDatabase lets a foreign program hold the file's write lock
// for longer than the engine waits: it says so by name, and goes on when the
// lock is gone.
func TestTortureOfALockedDatabase(t *testing.T) {
	t.Parallel()
	g := newGround(t, "sqlite")
	g.Life = "locked"
	db, err := g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, _, err := g.produce(ctx, db); done <- err }()
	more := func(what string) {
		t.Helper()
		was := g.acknowledgedSoFar()
		waitFor(t, 30*time.Second, what, func() bool { return g.acknowledgedSoFar() > was+100 })
	}
	more("before the lock")
	unlock, err := storetest.LockSQLite(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(unlock)
	defer func() { release(); cancel() }() // before the engine is closed, whatever is found
	refused := func() bool { raw, _ := os.ReadFile(g.Told); return bytes.Contains(raw, []byte("-")) }
	waitFor(t, 30*time.Second, "a locked database is told", refused)
	release()
	more("after the lock")
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	said, err := g.told()
	if err != nil {
		t.Fatal(err)
	}
	for key, kind := range said.refused {
		if kind != fault.Unavailable.String() {
			t.Fatalf("%s was told %q of a locked database", key, kind)
		}
	}
	db.Close()
	g.check(t, 0)
}
