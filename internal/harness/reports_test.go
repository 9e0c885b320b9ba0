package harness_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/killer"
	"github.com/witan-run/witan/internal/kit/failpoint"
)

// The bug reports of other systems that are ours to be right about, from end to
// end, with the process killed where theirs lost something. The numbers are
// those of the collection that the specification names.

// single is a load of one thread that is driven by hand.
func single(h *house, verb, tag string) *load {
	return &load{h: h, verb: verb, tag: tag, enough: make(chan struct{}), leave: func() {}}
}

// say sends the next message of the thread and waits for the acknowledgement.
func (l *load) say(ctx context.Context, t *testing.T) *errand {
	t.Helper()
	e := &errand{name: fmt.Sprintf("%s-%d", l.tag, len(l.errands)), thread: l.tag}
	if !l.send(ctx, 0, e) {
		t.Fatal(l.broken())
	}
	l.errands = append(l.errands, e)
	return e
}

func (l *load) awaitAll(ctx context.Context, t *testing.T, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, e := range l.errands {
		l.await(ctx, 0, e)
	}
	if ctx.Err() != nil {
		t.Errorf("not all is answered within %v", limit)
	}
}

// report prints the line by which the torture is judged.
func report(t *testing.T, rep harness.Report) {
	t.Helper()
	if err := rep.Print(os.Stdout); err != nil || !rep.Good() {
		t.Errorf("%s, %v", rep, err)
	}
}

// TestTortureReport1: twenty messages into one thread, killed after the tenth
// was acknowledged and while the fifteenth is worked on. Each ends in one task
// and one answer, in order.
func TestTortureReport1(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "sqlite", "")
	p := h.start()
	h.settle(1)
	l := single(h, "one", "r")
	for range 10 {
		l.say(t.Context(), t)
	}
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p = h.start()
	for range 5 {
		l.say(t.Context(), t)
	}
	was := p.Steps()["effect.dispatching"]
	waitFor(t, 20*time.Second, "a message is worked on", func() bool { return p.Steps()["effect.dispatching"] > was })
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p = h.start()
	for range 5 {
		l.say(t.Context(), t)
	}
	l.awaitAll(t.Context(), t, 30*time.Second)
	rep := l.judge(t.Context(), t)
	rep.Kills = 2
	h.stop(p)
	h.verify()
	report(t, rep)
}

// sink is an outside program's webhook that counts by idempotency key.
type sink struct {
	*httptest.Server
	mu    sync.Mutex
	busy  bool           // answers 503; guarded by mu
	tries map[string]int // guarded by mu
	taken map[string]int // answered 200; guarded by mu
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{tries: map[string]int{}, taken: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		key := r.Header.Get("Idempotency-Key")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tries[key]++
		if s.busy {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.taken[key]++
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) set(busy bool) { s.mu.Lock(); s.busy = busy; s.mu.Unlock() }

// counts returns how many keys were tried and taken, and the most of one key.
func (s *sink) counts() (tried, taken, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.taken {
		most = max(most, n)
	}
	return len(s.tries), len(s.taken), most
}

// hooked makes a house whose channel is carried to a sink.
func hooked(t *testing.T, s *sink) *house {
	t.Helper()
	h := newHouse(t, "sqlite", fmt.Sprintf("channels:\n  http:\n    bridge: {trust: high, webhook: %q, secret: '${HARNESS_HOOK}', loopback: true}\n", s.URL))
	h.env = append(h.env, "HARNESS_HOOK=0123456789abcdef0123456789abcdef")
	return h
}

// TestTortureReport3: five replies wait for a sink that answers 503; the process
// is killed and started in the middle. All five arrive once, when it is back.
func TestTortureReport3(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	s.set(true)
	h := hooked(t, s)
	p := h.start()
	h.settle(1)
	const replies = 5
	var loads []*load
	for n := range replies {
		l := single(h, "one", fmt.Sprint("r", n))
		l.say(t.Context(), t)
		loads = append(loads, l)
	}
	waitFor(t, 30*time.Second, "every reply was tried", func() bool { tried, _, _ := s.counts(); return tried == replies })
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p = h.start()
	<-time.After(harness.Pick(harness.TortureMode(), time.Second, time.Second, 30*time.Second))
	s.set(false)
	waitFor(t, 90*time.Second, "every reply arrives", func() bool { _, taken, _ := s.counts(); return taken == replies })
	h.stop(p) // politely: what is known is written, and a later life replays nothing
	p = h.start()
	<-time.After(time.Second)
	tried, taken, most := s.counts()
	rep := harness.Report{Kills: 1, Lost: replies - taken, Doubled: most - 1}
	if tried != replies {
		t.Errorf("%d keys were tried for %d replies", tried, replies)
	}
	for _, l := range loads {
		l.awaitAll(t.Context(), t, 20*time.Second)
		one := l.judge(t.Context(), t)
		rep.Lost, rep.Doubled = rep.Lost+one.Lost, rep.Doubled+one.Doubled
	}
	h.stop(p)
	report(t, rep)
}

// TestTortureReport5: the sink takes a message and the process dies before it
// writes that down, three times over. The key is the same each time, there is at
// most one further attempt, and later lives replay nothing.
func TestTortureReport5(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	h := hooked(t, s)
	p := h.start()
	h.settle(1)
	h.stop(p)
	armed, err := killer.Start(h.process(), failpoint.Arm{Name: "delivery.answered", Action: failpoint.Kill, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := armed.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := single(h, "one", "r")
	l.say(t.Context(), t)
	<-armed.Exited()
	if _, taken, _ := s.counts(); taken != 1 || armed.LastStep() != "delivery.answered" {
		t.Fatalf("died at %q with %d messages taken", armed.LastStep(), taken)
	}
	for range 3 {
		p = h.start()
		<-time.After(1200 * time.Millisecond) // longer than the scan for what a crash left
		if _, err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	tried, _, most := s.counts()
	if tried != 1 || most > 2 {
		t.Errorf("%d keys were tried, one of them taken %d times; want one key and one further attempt at the most", tried, most)
	}
	report(t, harness.Report{Kills: 4, Doubled: tried - 1})
}

// stream reads server-sent events from a position and returns "EPOCH-SEQ type"
// of n of them.
func (h *house) stream(ctx context.Context, after string, n int) (out []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/api/v1/stream", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+h.owner)
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var at string
	for sc := bufio.NewScanner(res.Body); sc.Scan() && len(out) < n; {
		if v, ok := strings.CutPrefix(sc.Text(), "id: "); ok {
			at = v
		}
		if strings.HasPrefix(sc.Text(), "data: {") {
			out = append(out, at)
		}
	}
	if len(out) < n {
		return out, fmt.Errorf("the stream ended after %d of %d events: %w", len(out), n, ctx.Err())
	}
	return out, nil
}

// TestTortureReport7: a reader that has consumed 50 events goes on at 51 after a
// kill, and is not given what it had.
func TestTortureReport7(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "sqlite", "")
	p := h.start()
	h.settle(1)
	l := single(h, "one", "r")
	for range 4 {
		l.say(t.Context(), t)
	}
	l.awaitAll(t.Context(), t, 30*time.Second)
	first, err := h.stream(t.Context(), "1-0", 50)
	if err != nil {
		t.Fatal(err)
	}
	if first[0] != "1-1" || first[49] != "1-50" {
		t.Fatalf("50 events from the start go from %s to %s", first[0], first[49])
	}
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p = h.start()
	l.say(t.Context(), t)
	next, err := h.stream(t.Context(), first[49], 1)
	if err != nil || next[0] != "1-51" {
		t.Errorf("after the restart the reader goes on at %v, %v", next, err)
	}
	h.stop(p)
	report(t, harness.Report{Kills: 1})
}

// TestTortureReport48: the reader's connection flaps 50 times while runs go on,
// and a message is said after each; every tenth flap is a kill. The thread never
// wedges: each message starts a run or is queued, and is answered.
func TestTortureReport48(t *testing.T) {
	t.Parallel()
	fake := newFakeModel(t)
	h := newHouse(t, "sqlite", fmt.Sprintf("models:\n  providers: {fake: {kind: openai, base_url: %q, key: '${HARNESS_KEY}'}}\n  roles: {default: [fake/fake]}\n", fake.URL))
	h.env = append(h.env, "HARNESS_KEY=sk-harness-0123456789")
	p := h.start()
	h.settle(1)
	l := single(h, "say", "r")
	flaps := harness.Pick(harness.TortureMode(), 10, 20, 50)
	kills := 0
	for n := range flaps {
		if n < 3 {
			fake.tell(answerSlowly)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = h.stream(ctx, "", 1_000_000) }() // ends with ctx
		l.say(t.Context(), t)
		cancel()
		if n%10 == 9 {
			kills++
			if _, err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			p = h.start()
		}
	}
	l.awaitAll(t.Context(), t, 60*time.Second)
	rep := harness.Report{Kills: kills}
	for _, e := range l.errands {
		if len(e.answers) != 1 || !strings.HasSuffix(e.answers[0], "did "+e.name+".") {
			t.Errorf("%s is %s: %q", e.name, e.state, e.answers)
			rep.Lost++
		}
	}
	l.judgeOrder(t.Context(), t)
	h.stop(p)
	report(t, rep)
}
