package harness_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness/bench"
)

// roundScript writes one file for each message and answers.
const roundScript = `name: harness
lines:
  - when: {user: '\bnote (?P<name>[a-z0-9.-]+)', step: 0, offers: file.write}
    call:
      - {tool: file.write, args: {path: '${user.name}.md', text: 'Noted.', expect: new}}
  - when: {tool: file.write, error: false}
    say: 'It is noted. [r1]'
  - say: 'I could not.'
`

// turnBytes is the size of a message.
const turnBytes = 2048

// figuresRound measures the whole road over HTTP, from a message to its answer,
// with one idempotent call that writes a file, against the served process.
func figuresRound(t *testing.T, tab *bench.Table) {
	// The gates let a person say ten messages a second; what is measured is the
	// road behind them.
	const open = "limits: {person: 1000000, people: 1000000}\n"
	for _, engine := range engines() {
		if only := os.Getenv("WITAN_BENCH_ENGINE"); only != "" && only != engine {
			continue
		}
		t.Run(engine, func(t *testing.T) {
			h := newHouse(t, engine, open)
			h.write("script.yaml", roundScript)
			if dir := os.Getenv("WITAN_BENCH_PROFILE"); dir != "" {
				h.env = append(h.env, "HARNESS_PROFILE="+filepath.Join(dir, "round-"+engine+".prof"))
			}
			p := h.start()
			h.settle(1)
			h.hundredRules()
			r := follow(t, h)
			one := &talker{r: r, name: "idle"}
			for range 10 { // twenty turns
				one.round(t)
			}
			var l bench.Latency
			const rounds = 100
			before, writes := h.metric("witan_commits_total"), 0
			for range rounds {
				at := time.Now()
				one.round(t)
				l.Add(time.Since(at))
				writes++
				if one.n >= 12 { // the next thread, also of twenty turns
					one = &talker{r: r, name: fmt.Sprintf("idle%d", writes)}
					mid := h.metric("witan_commits_total")
					for range 10 {
						one.round(t)
					}
					before += h.metric("witan_commits_total") - mid
				}
			}
			commits := (h.metric("witan_commits_total") - before) / rounds
			if engine == "sqlite" {
				tab.Row("round trip, durable commits", commits, "", bench.AtMost(8), "counted by the driver")
				tab.Row("round trip, idle, p50", l.Quantile(0.5), "ms", bench.AtMost(15), fmt.Sprintf("p99 %.1f ms", l.Quantile(0.99)))
			} else {
				tab.Row("PostgreSQL: round trip, durable commits", commits, "", bench.AtMost(8), "")
				tab.Row("PostgreSQL: round trip, idle, p50", l.Quantile(0.5), "ms", bench.Info(), fmt.Sprintf("p99 %.1f ms", l.Quantile(0.99)))
			}
			rate, l2, cpu := roundRate(t, r, p.PID())
			if engine == "sqlite" {
				tab.Row("round trips at 64 in flight", rate, "/s", bench.AtLeast(600), fmt.Sprintf("p50 %.0f ms, p99 %.0f ms", l2.Quantile(0.5), l2.Quantile(0.99)))
				tab.Row("round trip, processor", cpu, "ms", bench.Info(), "of Witan's process, at 64 in flight")
			} else {
				tab.Row("PostgreSQL: round trip, processor", cpu, "ms", bench.Info(), "of Witan's process, at 64 in flight")
				tab.Row("PostgreSQL: round trips at 64 in flight", rate, "/s", bench.Info(), fmt.Sprintf("p50 %.0f ms, p99 %.0f ms", l2.Quantile(0.5), l2.Quantile(0.99)))
			}
			r.stop()
			h.stop(p)
		})
	}
}

// hundredRules makes the policy one of a hundred rules, none of which holds.
func (h *house) hundredRules() {
	h.t.Helper()
	var pol struct {
		Version  int            `json:"version"`
		Document map[string]any `json:"document"`
	}
	h.local("owner", "GET", "/api/v1/policy", nil, &pol)
	rules, _ := pol.Document["rules"].([]any)
	for n := len(rules); n < 100; n++ {
		rules = append(rules, map[string]any{"id": 1000 + n, "effect": "deny", "who": []string{fmt.Sprintf("agent:nobody%d", n)},
			"skill": []string{"file.*"}, "target": []string{fmt.Sprintf("secret%d/*", n)}})
	}
	pol.Document["rules"] = rules
	h.local("owner", "PUT", "/api/v1/policy", map[string]any{"base": pol.Version, "document": pol.Document}, nil)
}

// metric reads one number of /metrics.
func (h *house) metric(name string) float64 {
	h.t.Helper()
	for line := range strings.Lines(string(h.read(h.owner, "/metrics"))) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil {
				h.t.Fatal(err)
			}
			return f
		}
	}
	h.t.Fatalf("no metric %s", name)
	return 0
}

// roads follows the stream and tells who waits for an answer in a thread.
type roads struct {
	h    *house
	stop func()

	mu   sync.Mutex
	wait map[string]chan struct{} // by thread; guarded by mu
}

func follow(t *testing.T, h *house) *roads {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/api/v1/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.owner)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	r := &roads{h: h, wait: map[string]chan struct{}{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer res.Body.Close()
		sc := bufio.NewScanner(res.Body)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			data, ok := strings.CutPrefix(sc.Text(), "data: ")
			if !ok || !strings.Contains(data, `"outbound.message"`) {
				continue
			}
			var m struct{ Stream string }
			if json.Unmarshal([]byte(data), &m) == nil {
				r.mu.Lock()
				select {
				case r.of(m.Stream) <- struct{}{}:
				default:
				}
				r.mu.Unlock()
			}
		}
	}()
	r.stop = func() { cancel(); <-done }
	return r
}

// of returns the bell of a thread; the caller holds mu.
func (r *roads) of(thread string) chan struct{} {
	c := r.wait[thread]
	if c == nil {
		c = make(chan struct{}, 1)
		r.wait[thread] = c
	}
	return c
}

// talker says one message after the other in a thread.
type talker struct {
	r    *roads
	name string
	n    int
}

// round says a message and waits for its answer.
func (k *talker) round(t testing.TB) {
	t.Helper()
	name := fmt.Sprintf("%s-%d", k.name, k.n)
	k.n++
	text := "Please note " + name + " "
	text += strings.Repeat("and mind the weir. ", (turnBytes-len(text))/19)
	var acc struct {
		ThreadID string `json:"threadId"`
		State    string `json:"state"`
	}
	if err := k.r.h.ask(t.Context(), k.r.h.tokens[0], "POST", "/api/v1/channels/bridge/messages",
		map[string]any{"text": text, "thread": k.name, "agent": "tortured"}, &acc, "Idempotency-Key", name); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	k.r.mu.Lock()
	bell := k.r.of(acc.ThreadID)
	k.r.mu.Unlock()
	select {
	case <-bell:
	case <-time.After(30 * time.Second):
		t.Errorf("%s (%s) is not answered", name, acc.State)
	}
}

// roundRate fills threads to twenty turns and measures 64 at a time: rounds per
// second, their latency, and the milliseconds of processor that each took.
func roundRate(t *testing.T, r *roads, pid int) (float64, *bench.Latency, float64) {
	t.Helper()
	const inFlight, each, measured = 64, 6, 3
	talkers := make([][]*talker, inFlight)
	var wg sync.WaitGroup
	for i := range talkers {
		for k := range each {
			talkers[i] = append(talkers[i], &talker{r: r, name: fmt.Sprintf("t%d-%d", i, k)})
		}
		wg.Go(func() {
			for _, k := range talkers[i] {
				for range 10 {
					k.round(t)
				}
			}
		})
	}
	wg.Wait()
	l := &bench.Latency{}
	_, before := usage(t, pid)
	begin := time.Now()
	for i := range talkers {
		wg.Go(func() {
			for range measured {
				for _, k := range talkers[i] {
					at := time.Now()
					k.round(t)
					l.Add(time.Since(at))
				}
			}
		})
	}
	wg.Wait()
	rate := float64(l.Len()) / time.Since(begin).Seconds()
	_, after := usage(t, pid)
	return rate, l, float64((after - before).Microseconds()) / 1000 / float64(l.Len())
}
