package llmtest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/llm"
)

// Wire is an adapter under test: New returns a model over a client with limits
// and a sleep that the suite gives, Fake a fresh strict fake of the provider.
type Wire struct {
	New  func(t *testing.T, c *http.Client, w llm.WireConfig) llm.Model
	Fake func(t *testing.T) http.Handler
	// Complete returns how many bytes of a reply hold the whole answer; what
	// follows them may be lost without harm. 0 means all.
	Complete func(reply []byte) int
	// Stride cuts at every n-th byte only, for further variants of one wire; 1 by
	// default.
	Stride int
}

func (w Wire) stride() int { return max(w.Stride, raceStride) }

// Suite runs the scenario whole, bytewise and split at every byte, truncated at
// every byte, behind refusals, and with a provider that stands still.
func Suite(t *testing.T, w Wire) {
	t.Run("scenario", func(t *testing.T) {
		t.Parallel()
		tr, err := Play(t.Context(), w.New(t, (&Transport{Handler: w.Fake(t)}).Client(), llm.WireConfig{}))
		if err != nil {
			t.Fatal(err)
		}
		Check(t, tr, true)
	})
	t.Run("bytewise", func(t *testing.T) {
		t.Parallel()
		tp := &Transport{Handler: w.Fake(t), Cut: func(int) Cut { return Cut{Bytewise: true} }}
		tr, err := Play(t.Context(), w.New(t, tp.Client(), llm.WireConfig{}))
		if err != nil {
			t.Fatal(err)
		}
		Check(t, tr, true)
	})
	t.Run("split at every byte", func(t *testing.T) { t.Parallel(); w.split(t) })
	t.Run("truncated at every byte", func(t *testing.T) { t.Parallel(); w.truncate(t) })
	t.Run("retries", func(t *testing.T) { t.Parallel(); w.retries(t) })
	t.Run("refusals", func(t *testing.T) { t.Parallel(); w.refusals(t) })
}

// replies returns the bytes of the two replies of the scenario.
func (w Wire) replies(t *testing.T) [][]byte {
	t.Helper()
	var out [][]byte
	h := w.Fake(t)
	tp := &Transport{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		tee := &teeWriter{ResponseWriter: rw}
		h.ServeHTTP(tee, r)
		out = append(out, tee.data)
	})}
	if _, err := Play(t.Context(), w.New(t, tp.Client(), llm.WireConfig{})); err != nil {
		t.Fatal(err)
	}
	if len(out) != 2 {
		t.Fatalf("want 2 replies, got %d", len(out))
	}
	return out
}

type teeWriter struct {
	http.ResponseWriter
	data []byte
}

func (w *teeWriter) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	return w.ResponseWriter.Write(p)
}

func (w Wire) split(t *testing.T) {
	for n, reply := range w.replies(t) {
		for at := 1; at < len(reply); at += w.stride() {
			tp := &Transport{Handler: w.Fake(t), Cut: func(i int) Cut {
				if i == n {
					return Cut{Split: at}
				}
				return Cut{}
			}}
			tr, err := Play(t.Context(), w.New(t, tp.Client(), llm.WireConfig{}))
			if err != nil {
				t.Fatalf("reply %d split at %d: %v", n, at, err)
			}
			if Check(t, tr, true); t.Failed() {
				t.Fatalf("reply %d split at %d", n, at)
			}
		}
	}
}

// truncate checks that a broken reply is never taken for a whole one: without
// retries it is an error, unless everything but the count had come.
func (w Wire) truncate(t *testing.T) {
	for n, reply := range w.replies(t) {
		whole := len(reply)
		if w.Complete != nil {
			whole = w.Complete(reply)
		}
		for at := 0; at < len(reply); at += w.stride() {
			cut := Cut{Truncate: at, Clean: at%2 == 1} // a proxy may close in order
			if at == 0 {
				cut.Truncate = -1
			}
			tp := &Transport{Handler: w.Fake(t), Cut: func(i int) Cut {
				if i == n {
					return cut
				}
				return Cut{}
			}}
			tr, err := Play(t.Context(), w.New(t, tp.Client(), llm.WireConfig{Limits: llm.Limits{Attempts: 1}}))
			switch {
			case at < whole && llm.ReasonOf(err) != llm.Truncated:
				t.Fatalf("reply %d cut at %d of %d: want truncated, got %v", n, at, len(reply), err)
			case at >= whole && err != nil:
				t.Fatalf("reply %d cut at %d of %d, after the answer: %v", n, at, len(reply), err)
			case err == nil:
				// The counts may be lost, nothing else.
				if Check(t, tr, false); t.Failed() {
					t.Fatalf("reply %d cut at %d", n, at)
				}
			}
		}
	}
}

// retries checks that a limited or truncated reply is tried again, after the time
// that the provider asked for.
func (w Wire) retries(t *testing.T) {
	var slept []time.Duration
	var cfg llm.WireConfig
	cfg.Sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
	cfg.Jitter = func(time.Duration) time.Duration { return time.Millisecond }
	h, tries := w.Fake(t), 0
	tp := &Transport{Cut: func(n int) Cut {
		if n == 2 {
			return Cut{Truncate: 7} // nothing was said yet: safe to ask again
		}
		return Cut{}
	}}
	tp.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		tries++
		switch tries {
		case 1:
			rw.Header().Set("Retry-After", "3")
			rw.WriteHeader(http.StatusTooManyRequests)
		case 2:
			rw.WriteHeader(529)
		default:
			h.ServeHTTP(rw, r)
		}
	})
	tr, err := Play(t.Context(), w.New(t, tp.Client(), cfg))
	if err != nil {
		t.Fatal(err)
	}
	Check(t, tr, true)
	if len(slept) != 3 || slept[0] != 3*time.Second+time.Millisecond || slept[1] <= 0 || slept[2] <= slept[1] {
		t.Errorf("slept %v", slept)
	}
}

// refusals checks what each status means, and that only passing ones are retried.
func (w Wire) refusals(t *testing.T) {
	for _, c := range []struct {
		status int
		after  string
		want   llm.Reason
		sent   int
	}{
		{400, "", llm.BadRequest, 1},
		{401, "", llm.BadKey, 1},
		{402, "", llm.NoQuota, 1},
		{403, "", llm.BadKey, 1},
		{404, "", llm.NoModel, 1},
		{307, "", llm.Redirected, 1},
		{429, "", llm.RateLimited, 4},
		{429, "3600", llm.RateLimited, 1}, // longer than anybody waits
		{500, "", llm.ServerError, 4},
		{503, "", llm.Overloaded, 4},
		{529, "", llm.Overloaded, 4},
		{504, "", llm.Slow, 4},
	} {
		tp := &Transport{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				rw.Header().Set("Retry-After", c.after)
			}
			if c.status == http.StatusTemporaryRedirect {
				rw.Header().Set("Location", "https://elsewhere.example/v1")
			}
			rw.WriteHeader(c.status)
		})}
		cfg := llm.WireConfig{Sleep: func(context.Context, time.Duration) error { return nil }}
		_, err := Play(t.Context(), w.New(t, tp.Client(), cfg))
		if llm.ReasonOf(err) != c.want || tp.Sent() != c.sent {
			t.Errorf("status %d (Retry-After %q): want %s after %d calls, got %v after %d", c.status, c.after, c.want, c.sent, err, tp.Sent())
		}
	}
}
