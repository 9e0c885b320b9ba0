package harness_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/fakeworld"
	"github.com/witan-run/witan/internal/harness/killer"
	"github.com/witan-run/witan/internal/store/storetest"
)

// modelHouse is a house whose model is the fake provider.
func modelHouse(t *testing.T, fake *fakeModel) *house {
	t.Helper()
	h := newHouse(t, "sqlite", fmt.Sprintf("models:\n  providers: {fake: {kind: openai, base_url: %q, key: '${HARNESS_KEY}'}}\n  roles: {default: [fake/fake]}\n", fake.URL))
	h.env = append(h.env, "HARNESS_KEY=sk-harness-0123456789")
	return h
}

// TestTortureOfABadProvider: a provider that hangs, lies, answers 429 or cuts its
// answer, with a kill while it hangs. Every message is answered in the end, by
// itself, and the run says what happened.
func TestTortureOfABadProvider(t *testing.T) {
	t.Parallel()
	fake := newFakeModel(t)
	h := modelHouse(t, fake)
	p := h.start()
	h.settle(4)
	rep := harness.Report{}
	for n, modes := range [][]answerMode{
		{answerTooMany}, {answerTooMany, answerTooMany}, {answerCut}, {answerCut, answerCut}, {answerHang},
		{answerGarbage}, {answerUnknown}, {answerBadArgs}, {answerSlowly},
	} {
		fake.tell(modes...)
		l := single(h, "say", fmt.Sprint("r", n))
		l.say(t.Context(), t)
		l.awaitAll(t.Context(), t, 90*time.Second)
		e := l.errands[0]
		if len(e.answers) != 1 || !strings.HasSuffix(e.answers[0], "did "+e.name+".") {
			t.Errorf("after %v the message is %s: %q", modes, e.state, e.answers)
			rep.Lost++
		}
	}
	fake.tell(answerHang)
	l := single(h, "say", "killed")
	was := fake.asked()
	l.say(t.Context(), t)
	waitFor(t, 10*time.Second, "the provider hangs", func() bool { return fake.asked() > was })
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	rep.Kills++
	p = h.start()
	l.awaitAll(t.Context(), t, 60*time.Second)
	if e := l.errands[0]; len(e.answers) != 1 || e.answers[0] != "did "+e.name+"." {
		t.Errorf("killed while the provider hung: %s %q", e.state, e.answers)
		rep.Lost++
	}
	h.stop(p)
	report(t, rep)
}

// TestTortureOfABadWorld: acts that fail, hang, die or are cut, before and after
// they happened, in every effect class, with kills between. Nothing doubles and
// every message is answered once.
func TestTortureOfABadWorld(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "sqlite", "")
	p := h.start()
	h.settle(8)
	l := begin(t.Context(), h, "do", "m", slots)
	waitFor(t, 30*time.Second, "messages are answered", func() bool { return l.acknowledged() > slots })
	r := rand.New(rand.NewPCG(9, 9))
	rep := harness.Report{}
	for range harness.Pick(harness.TortureMode(), 2, 4, 40) {
		for _, c := range fakeworld.Classes() {
			for _, m := range fakeworld.Modes() {
				if m == fakeworld.HangBefore || m == fakeworld.HangAfter {
					if r.IntN(4) > 0 { // each costs the skill's timeout
						continue
					}
				}
				if err := h.world.World.Tell(fakeworld.Behaviour{Mode: m, Class: c}); err != nil {
					t.Fatal(err)
				}
			}
		}
		<-time.After(time.Duration(500+r.IntN(700)) * time.Millisecond)
		if _, err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		rep.Kills++
		h.verify()
		p = h.start()
	}
	<-time.After(time.Second)
	h.world.World.Behave()
	if err := l.finish(t.Context(), 120*time.Second); err != nil {
		t.Errorf("%v\n%s", err, h.log.tail())
	}
	l.lenient = true // an act that failed for good is told as such
	one := l.judge(t.Context(), t)
	one.Kills = rep.Kills
	h.stop(p)
	h.verify()
	report(t, one)
}

// TestTortureOfABackupUnderLoad backs up while messages come in, lets a hundred
// more effects happen, and restores: not one of them, and none of the past, runs
// again unasked.
func TestTortureOfABackupUnderLoad(t *testing.T) {
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) { t.Parallel(); backupUnderLoad(t, engine) })
	}
}

func backupUnderLoad(t *testing.T, engine string) {
	h := newHouse(t, engine, "")
	p := h.start()
	h.settle(8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := begin(ctx, h, "do", "m", slots)
	waitFor(t, 60*time.Second, "messages are answered", func() bool { return l.acknowledged() > 2*slots })
	to := filepath.Join(h.dir, "backup")
	h.local("owner", "POST", "/api/v1/backup", map[string]string{"to": to}, nil)
	at := len(h.world.World.Effects())
	waitFor(t, 60*time.Second, "a hundred more effects", func() bool { return len(h.world.World.Effects()) >= at+100 })
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	cancel() // nobody may say again to the restored house what the lost one did not take
	l.wg.Wait()
	l.person.Wait()
	args := []string{"restore", to, "--data", filepath.Join(h.dir, "restored"), "--config", h.config()}
	env := h.env
	if engine == "postgres" {
		url, err := postgres(t).Create()
		if err != nil {
			t.Fatal(err)
		}
		h.url, env = url, []string{"HARNESS_DATABASE=" + url}
	}
	cmd := exec.CommandContext(t.Context(), witan(t), args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if held := regexp.MustCompile(`(\d+) pieces of work wait`).FindSubmatch(out); err != nil || held == nil || string(held[1]) == "0" {
		t.Fatalf("restore: %v\n%s", err, out) // with messages in flight something must be held
	}
	if err := os.Rename(h.data(), filepath.Join(h.dir, "lost")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(h.dir, "restored"), h.data()); err != nil {
		t.Fatal(err)
	}
	h.env = env
	h.verify()
	before := h.world.World.Counts()
	p = h.start()
	<-time.After(harness.Pick(harness.TortureMode(), 2*time.Second, 3*time.Second, 15*time.Second))
	after := h.world.World.Counts()
	for c, n := range after.Effects {
		if n != before.Effects[c] {
			t.Errorf("%d %s effects happened again after the restore, unasked", n-before.Effects[c], c)
		}
	}
	if after.Repeats != before.Repeats {
		t.Errorf("%d idempotent effects were asked for again after the restore", after.Repeats-before.Repeats)
	}
	fresh := single(h, "one", "fresh") // what is new works: only the past waits
	fresh.say(t.Context(), t)
	fresh.awaitAll(t.Context(), t, 30*time.Second)
	rep := fresh.judge(t.Context(), t)
	rep.Kills, rep.Doubled = 1, rep.Doubled+len(h.world.World.Doubled())
	h.stop(p)
	h.verify()
	report(t, rep)
}

// TestTortureOfAVanishedDatabaseUnderWitan ends PostgreSQL under load, several
// times. The program goes on by itself, and nothing is lost or doubled.
func TestTortureOfAVanishedDatabaseUnderWitan(t *testing.T) {
	t.Parallel()
	server, err := storetest.StartServer(true)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(server.Stop)
	h := newHouse(t, "sqlite", "")
	if h.url, err = server.Create(); err != nil {
		t.Fatal(err)
	}
	h.configure("")
	p := h.start()
	h.settle(8)
	l := begin(t.Context(), h, "do", "m", slots)
	r := rand.New(rand.NewPCG(11, 11))
	outages := harness.Pick(harness.TortureMode(), 1, 2, 15)
	for i := range outages {
		was := l.acknowledged()
		waitFor(t, 60*time.Second, fmt.Sprintf("outage %d: messages are taken", i), func() bool { return l.acknowledged() > was+slots/2 })
		server.Kill()
		<-time.After(time.Duration(r.IntN(2000)) * time.Millisecond)
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	was := l.acknowledged()
	waitFor(t, 60*time.Second, "messages are taken after the last outage", func() bool { return l.acknowledged() > was+slots/2 })
	select {
	case <-p.Exited():
		t.Fatalf("the program ended:\n%s", h.log.tail())
	default:
	}
	if err := l.finish(t.Context(), 90*time.Second); err != nil {
		t.Errorf("%v\n%s", err, h.log.tail())
	}
	rep := l.judge(t.Context(), t)
	rep.Kills = outages
	h.stop(p)
	h.verify()
	report(t, rep)
}

// TestTortureOfTwoWitans runs two processes on one PostgreSQL, both under load,
// and kills one after the other. No effect doubles, and what a dead one held is
// taken over within 10 s.
func TestTortureOfTwoWitans(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "postgres", "")
	p := h.start()
	h.settle(8)
	twin := *h
	twin.addr, twin.dir = freePort(t), filepath.Join(h.dir, "twin")
	if err := os.CopyFS(filepath.Join(twin.dir, "agents"), os.DirFS(filepath.Join(h.dir, "agents"))); err != nil {
		t.Fatal(err)
	}
	twin.write("script.yaml", scriptText)
	twin.configure("")
	if err := os.CopyFS(filepath.Join(twin.data(), "keys"), os.DirFS(filepath.Join(h.data(), "keys"))); err != nil {
		t.Fatal(err)
	}
	chmodKeys(t, twin.data())
	q := twin.start()
	l := begin(t.Context(), h, "do", "m", slots/2)
	m := begin(t.Context(), &twin, "do", "n", slots/2)
	rep := harness.Report{}
	for range harness.Pick(harness.TortureMode(), 1, 1, 10) {
		for _, victim := range []struct {
			h *house
			p **killer.Process
		}{{h, &p}, {&twin, &q}} {
			was := l.acknowledged() + m.acknowledged()
			waitFor(t, 60*time.Second, "both take messages", func() bool { return l.acknowledged()+m.acknowledged() > was+slots })
			if _, err := (*victim.p).Kill(); err != nil {
				t.Fatal(err)
			}
			rep.Kills++
			*victim.p = victim.h.start()
		}
	}
	for _, one := range []*load{l, m} {
		if err := one.finish(t.Context(), 60*time.Second); err != nil {
			t.Errorf("%v\n%s", err, h.log.tail())
		}
		r := one.judge(t.Context(), t)
		rep = rep.Add(r)
	}
	h.stop(p)
	twin.stop(q)
	h.verify()
	report(t, rep)
}

// chmodKeys closes copied keys to others, as the keyring demands.
func chmodKeys(t *testing.T, data string) {
	t.Helper()
	dir := filepath.Join(data, "keys")
	names, err := os.ReadDir(dir)
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	for _, n := range names {
		if err == nil {
			err = os.Chmod(filepath.Join(dir, n.Name()), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
