package harness_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness/bench"
)

// figuresStreams measures what live readers over HTTP cost the served process:
// reads of the journal per commit, and how soon the last of them has an event.
func figuresStreams(t *testing.T, tab *bench.Table) {
	const readers, perPerson, rounds = 500, 32, 30
	h := newHouse(t, "sqlite", "")
	h.write("script.yaml", roundScript)
	p := h.start()
	h.settle((readers + perPerson - 1) / perPerson)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var seen [rounds]atomic.Int64 // readers that have the answer of a round
	for i := range readers {
		wg.Go(func() { h.countAnswers(ctx, t, h.token(i/perPerson), seen[:]) })
	}
	waitFor(t, 30*time.Second, "readers are joined", func() bool { return h.metric("witan_stream_readers") == readers })
	reads, commits := h.metric("witan_tail_reads_total"), h.metric("witan_commits_total")
	var l bench.Latency
	for n := range rounds {
		name := fmt.Sprintf("s-%d", n)
		if err := h.ask(ctx, h.token(n), http.MethodPost, "/api/v1/channels/bridge/messages",
			map[string]any{"text": "Please note " + name, "thread": name, "agent": "tortured"}, nil, "Idempotency-Key", name); err != nil {
			t.Fatal(err)
		}
		waitFor(t, 20*time.Second, "one reader has the answer", func() bool { return seen[n].Load() > 0 })
		at := time.Now()
		waitFor(t, 20*time.Second, "all readers have the answer", func() bool { return seen[n].Load() == readers })
		l.Add(time.Since(at))
	}
	reads, commits = h.metric("witan_tail_reads_total")-reads, h.metric("witan_commits_total")-commits
	tab.Row("500 SSE readers, reads per commit", reads/commits, "", bench.AtMost(1), fmt.Sprintf("%.0f commits over HTTP", commits))
	tab.Row("500 SSE readers, first to last, p50", l.Quantile(0.5), "ms", bench.Info(), "")
	cancel()
	wg.Wait()
	h.stop(p)
}

// countAnswers reads the stream until ctx ends, and counts in seen[n] that the
// answer of round n came.
func (h *house) countAnswers(ctx context.Context, t *testing.T, token string, seen []atomic.Int64) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/api/v1/stream", http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	n := 0
	for sc := bufio.NewScanner(res.Body); n < len(seen) && sc.Scan(); {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok && strings.Contains(data, `"outbound.message"`) {
			seen[n].Add(1)
			n++
		}
	}
}
