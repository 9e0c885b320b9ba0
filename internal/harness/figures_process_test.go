package harness_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/harness/bench"
	"github.com/witan-run/witan/internal/harness/killer"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

// shipped is the binary as it is released: static, stripped, without paths.
func shipped(t testing.TB) string {
	t.Helper()
	t.Setenv("CGO_ENABLED", "0")
	return binary(t, "shipped", "github.com/witan-run/witan/cmd/witan", nil, "-trimpath", "-ldflags", "-s -w")
}

// serve is `witan serve` on a house, by the released binary.
func (h *house) serve(bin string) killer.Config {
	return killer.Config{Command: []string{bin, "serve", "--config", h.config()}, Env: h.env, Output: h.log,
		Ready: "http://" + h.addr + "/readyz", ReadyIn: 60 * time.Second, PollEvery: time.Millisecond}
}

// figuresStart fills a journal with a million events, and measures how soon the
// real program is ready on it, after a stop and after kill -9, and how fast it
// verifies on one core.
func figuresStart(t *testing.T, tab *bench.Table) {
	bin := shipped(t)
	h := newHouse(t, "sqlite", "")
	h.stopAfter(t, bin)
	const events = 1_000_000
	fillJournal(t, h, events)
	one := func(end func(*killer.Process)) float64 {
		t.Helper()
		p, err := killer.Start(h.serve(bin))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = p.Kill() })
		took, err := p.WaitReady(t.Context())
		if err != nil {
			t.Fatalf("%v\n%s", err, h.log.tail())
		}
		end(p)
		return float64(took) / float64(time.Millisecond)
	}
	kill := func(p *killer.Process) {
		if _, err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	one(func(p *killer.Process) { h.stop(p) })
	var clean, killed []float64
	for range 5 {
		clean = append(clean, one(func(p *killer.Process) { h.stop(p) }))
	}
	one(kill)
	for range 5 {
		killed = append(killed, one(kill))
	}
	tab.Row("ready on a journal of 1 M events", median(clean), "ms", bench.AtMost(300), fmt.Sprintf("worst of 5: %.0f ms", slices.Max(clean)))
	tab.Row("ready after kill -9", median(killed), "ms", bench.AtMost(300), fmt.Sprintf("worst of 5: %.0f ms", slices.Max(killed)))
	var rates []float64
	for range turns {
		cmd := exec.CommandContext(t.Context(), bin, "audit", "verify", "--data", h.data())
		cmd.Env = append(append(os.Environ(), h.env...), "GOMAXPROCS=1")
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		took := time.Since(begin)
		m := regexp.MustCompile(`verified (\d+) events`).FindSubmatch(out)
		if err != nil || m == nil {
			t.Fatalf("%v\n%s", err, out)
		}
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || n < events {
			t.Fatalf("verified %v events, %v", n, err)
		}
		rates = append(rates, n/took.Seconds())
	}
	tab.Row("verify, one core", median(rates), "events/s", bench.AtLeast(80_000), "the whole command, from stored bytes")
}

// stopAfter lets a house be served once, so that its account is there.
func (h *house) stopAfter(t *testing.T, bin string) {
	t.Helper()
	p, err := killer.Start(h.serve(bin))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Kill() })
	if _, err := p.WaitReady(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, h.log.tail())
	}
	h.stop(p)
}

// fillJournal appends small events to the account of a stopped house.
func fillJournal(t *testing.T, h *house, events int) {
	t.Helper()
	g := ground{Dir: filepath.Join(h.data(), "db"), Keyring: filepath.Join(h.data(), "keys", "keyring")}
	db, err := g.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	accounts, err := store.Accounts(t.Context(), db)
	if err != nil || len(accounts) == 0 {
		t.Fatalf("accounts %v, %v", accounts, err)
	}
	var account id.ID
	for _, a := range accounts { // the one that the installation serves has events
		var n int
		if err := db.View(t.Context(), a, func(tx event.Tx) error {
			evs, err := store.EventsAfter(tx, 0, 1)
			n = len(evs)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			account = a
		}
	}
	o, err := says()
	if err != nil {
		t.Fatal(err)
	}
	const batch = 1000
	for at := 0; at < events; at += batch {
		if err := db.Do(context.Background(), account, func(tx event.Tx) error {
			for i := range batch {
				if _, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: groundKind, Key: fmt.Sprint(at + i)},
					Label: event.NewLabel(event.House, event.AccountWide()), Summary: "A small fact."}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// ticksPerSecond is USER_HZ, which Linux fixes at 100 for what it shows in /proc.
const ticksPerSecond = 100

// usage reads memory (bytes) and processor time of a process.
func usage(t *testing.T, pid int) (rss int64, cpu time.Duration) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("this figure is read from /proc: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			rss = kb << 10
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return rss, time.Duration(user+system) * time.Second / ticksPerSecond
}

// figuresIdle measures the real program when nobody wants anything: with an
// owner, an agent, a model and one thread behind it.
func figuresIdle(t *testing.T, tab *bench.Table) {
	bin := shipped(t)
	fake := newFakeModel(t)
	h := modelHouse(t, fake)
	p, err := killer.Start(h.serve(bin))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Kill() })
	if _, err := p.WaitReady(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, h.log.tail())
	}
	rss0, _ := usage(t, p.PID())
	<-time.After(3 * time.Second) // the first start has settled
	_, cpu := usage(t, p.PID())
	asked := fake.asked()
	const watched = 20 * time.Second
	<-time.After(watched)
	rss, now := usage(t, p.PID())
	tab.Row("idle: memory", float64(rss)/(1<<20), "MiB", bench.AtMost(60), fmt.Sprintf("RSS; %.0f MiB when ready", float64(rss0)/(1<<20)))
	tab.Row("idle: processor", 100*float64(now-cpu)/float64(watched), "%", bench.AtMost(0.5), fmt.Sprintf("of one core over %v", watched))
	tab.Row("idle: model calls", float64(fake.asked()-asked), "", bench.AtMost(0), "")
	h.stop(p)
}

// figuresBinary measures the released binary and lists its biggest parts.
func figuresBinary(t *testing.T, tab *bench.Table) {
	st, err := os.Stat(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	tab.Row("stripped binary", float64(st.Size())/(1<<20), "MiB", bench.AtMost(64), "")
	t.Setenv("CGO_ENABLED", "0")
	whole := binary(t, "unstripped", "github.com/witan-run/witan/cmd/witan", nil, "-trimpath")
	out, err := exec.CommandContext(t.Context(), "go", "tool", "nm", "-size", whole).Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]int64{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 4 || f[2] == "B" || f[2] == "b" { // zeroed data takes no room in the file
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			continue
		}
		parts[partOf(strings.Join(f[3:], " "))] += n
	}
	type part struct {
		name string
		size int64
	}
	var list []part
	for name, size := range parts {
		list = append(list, part{name, size})
	}
	slices.SortFunc(list, func(a, b part) int { return int(b.size - a.size) })
	named := st.Size()
	for _, p := range list[:min(8, len(list))] {
		tab.Row("  of it "+p.name, float64(p.size)/(1<<20), "MiB", bench.Info(), "code and data")
		named -= p.size
	}
	tab.Row("  of it the rest", float64(named)/(1<<20), "MiB", bench.Info(), "line tables, smaller parts")
}

// partOf names the module, or the corner of the standard library, of a symbol.
func partOf(symbol string) string {
	symbol = strings.TrimPrefix(strings.TrimPrefix(symbol, "type:."), "go:itab.")
	symbol = strings.TrimLeft(symbol, "*")
	path, _, _ := strings.Cut(symbol, "[")
	dir := strings.Split(path, "/")
	last := strings.SplitN(dir[len(dir)-1], ".", 2)[0]
	switch {
	case strings.HasPrefix(symbol, "runtime.") || strings.HasPrefix(symbol, "go:") || strings.HasPrefix(symbol, "type:"):
		return "runtime and type data"
	case strings.Contains(dir[0], ".") && len(dir) > 2:
		if dir[0] == "github.com" && dir[1] == "witan-run" {
			return "witan"
		}
		return strings.Join(dir[:min(3, len(dir)-1)], "/")
	case strings.Contains(dir[0], ".") && len(dir) == 2:
		return dir[0] + "/" + last
	}
	return "standard library"
}
