package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"retry-after", " 0 ", 0},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "99999999999999999999", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After-Ms", "-250", 0},
	} {
		if got := retryAfter(map[string][]string{c.key: {c.value}}, now); got != c.want {
			t.Errorf("%s: %q: want %v, got %v", c.key, c.value, c.want, got)
		}
	}
	both := map[string][]string{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}
	if got := retryAfter(both, now); got != 250*time.Millisecond {
		t.Errorf("the finer one wins, got %v", got)
	}
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	t.Parallel()
	l := Limits{}.withDefaults()
	none := func(time.Duration) time.Duration { return 0 }
	most := func(limit time.Duration) time.Duration { return limit - 1 }
	var low, high []time.Duration
	for n := 1; n <= 7; n++ {
		low, high = append(low, l.wait(n, none)), append(high, l.wait(n, most))
	}
	ms := time.Millisecond
	want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 4000 * ms, 4000 * ms}
	if diff := cmp.Diff(want, low); diff != "" {
		t.Error(diff)
	}
	for i := range high {
		if high[i] != 2*want[i]-1 {
			t.Errorf("try %d: at most %v, got %v", i+1, 2*want[i]-1, high[i])
		}
	}
}

func TestScrubHidesPiecesOfASecret(t *testing.T) {
	t.Parallel()
	key := secret.New("sk-0123456789abcdefghij")
	for in, want := range map[string]string{
		"no such model":                           "no such model",
		"bad key sk-0123456789abcdefghij!":        "bad key [secret]!",
		"tail 56789abcdefghij and head sk-012345": "tail [secret] and head [secret]",
		"too short to matter: sk-0123":            "too short to matter: sk-0123",
		"two\nlines\x00 \t and\x7f more":          "two lines and more",
		"bad \xff byte":                           "bad \uFFFD byte",
	} {
		if got := scrub(in, []secret.String{key}); got != want {
			t.Errorf("%q: want %q, got %q", in, want, got)
		}
	}
	if got := scrub(strings.Repeat("é", 5000), nil); len(got) > maxQuoted+len("…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := scrub("pw is abc", []secret.String{secret.New("abc"), secret.New("")}); got != "pw is [secret]" {
		t.Error(got)
	}
}

// body returns a Body over a text, with small limits.
func body(text string, maxLine int) *Body {
	w := NewWire(WireConfig{Provider: "p", Limits: Limits{MaxBytes: 1 << 20}})
	return &Body{w: w, ctx: context.Background(), src: strings.NewReader(text), timer: time.AfterFunc(time.Hour, func() {}), left: 1 << 20, MaxLine: maxLine}
}

func TestDecodeSSE(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]SSE{
		"data: a\n\n":                                     {{Data: "a"}},
		"\xef\xbb\xbfdata: a\n\n":                         {{Data: "a"}},
		"data:a\r\ndata: b\r\n\r\n":                       {{Data: "a\nb"}},
		"data: a\r\rdata: b\r\r":                          {{Data: "a"}, {Data: "b"}},
		": hi\n\nevent: x\n\ndata\n\n":                    {{Data: ""}},
		"event: x\nid: 4\nretry: 9\nfoo: z\ndata:  a\n\n": {{Event: "x", Data: " a"}},
		"data: a\n\ndata: cut off":                        {{Data: "a"}},
		"data: a\n\ndata: cut off\n":                      {{Data: "a"}},
		"event: x\ndata: a\n\ndata: b\n\n":                {{Event: "x", Data: "a"}, {Data: "b"}},
		"":                                                nil,
	} {
		var got []SSE
		for e, err := range DecodeSSE(body(in, 1<<10)) {
			if err != nil {
				t.Fatalf("%q: %v", in, err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
	for name, in := range map[string]string{"a line": "data: " + strings.Repeat("x", 200), "an event": strings.Repeat("data: xxxxxxxxxxxxxxxxxxxxxxxxx\n", 20)} {
		var last error
		for _, err := range DecodeSSE(body(in, 100)) {
			last = err
		}
		if ReasonOf(last) != TooLarge {
			t.Errorf("%s: %v", name, last)
		}
	}
}

func FuzzDecodeSSE(f *testing.F) {
	f.Add("data: a\r\n\r\nevent: b\ndata: c\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		var whole, bytewise []string
		for e, err := range DecodeSSE(body(in, 64)) {
			whole = append(whole, fmt.Sprint(e, err))
		}
		b := body("", 64)
		b.src = oneByte{strings.NewReader(in)}
		for e, err := range DecodeSSE(b) {
			bytewise = append(bytewise, fmt.Sprint(e, err))
		}
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Error(diff)
		}
	})
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

func TestFailuresKeepTheirKind(t *testing.T) {
	t.Parallel()
	for _, r := range []Reason{Unreachable, Slow, Stalled, TooLong, Truncated, Malformed, TooLarge, RateLimited, Overloaded, ServerError, NoQuota, BadKey, NoModel, BadRequest, Redirected, Gone, Unanswerable, OverBudget, BadOutput, NoProvider, BadConfig} {
		err := fmt.Errorf("call: %w", NewFailure("p", r, "x").WithFix("y"))
		if !fault.Is(err, r.kind()) || ReasonOf(err) != r {
			t.Errorf("%s: %v", r, err)
		}
		elsewhere := r.kind() == fault.Unavailable || r.kind() == fault.Timeout || r.kind() == fault.Limited && r != OverBudget
		if Elsewhere(err) != elsewhere {
			t.Errorf("%s: elsewhere %v", r, Elsewhere(err))
		}
		if r.again() && !elsewhere {
			t.Errorf("%s may be tried again here but not elsewhere", r)
		}
	}
	if Elsewhere(nil) || Elsewhere(errors.New("x")) || ReasonOf(nil) != "" {
		t.Error("no failure, no elsewhere")
	}
}

// TestUnreachable names what did not answer, without its address or key.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	tries := 0
	w := NewWire(WireConfig{
		Provider: "home", Secrets: []secret.String{secret.New("sk-0123456789")},
		Sleep: func(context.Context, time.Duration) error { return nil },
		Do: func(context.Context, WireCall) (WireReply, error) {
			tries++
			return WireReply{}, errors.New("dial tcp: connection refused for sk-0123456789")
		},
	})
	parse := func(*Body, func(Event) bool) error { return nil }
	_, err := Collect(w.Stream(t.Context(), func() (WireCall, error) { return WireCall{}, nil }, parse))
	if ReasonOf(err) != Unreachable || tries != 4 || err.Error() != "home: it cannot be reached: dial tcp: connection refused for [secret] (tried 4 times)" {
		t.Errorf("%d tries: %v", tries, err)
	}
	want := fault.New(fault.Invalid, "no")
	_, err = Collect(w.Stream(t.Context(), func() (WireCall, error) { return WireCall{}, want }, parse))
	if !errors.Is(err, want) || tries != 4 {
		t.Errorf("an error of build: %v", err)
	}
}

// TestNoRetryAfterTheFirstEvent: what the caller has seen is not said twice.
func TestNoRetryAfterTheFirstEvent(t *testing.T) {
	t.Parallel()
	tries := 0
	w := NewWire(WireConfig{Provider: "p", Do: func(context.Context, WireCall) (WireReply, error) {
		tries++
		return WireReply{Status: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
	}})
	r, err := Collect(w.Stream(t.Context(), func() (WireCall, error) { return WireCall{}, nil }, func(b *Body, emit func(Event) bool) error {
		emit(Event{Text: "half an ans"})
		return b.Failure(Truncated, "cut")
	}))
	if tries != 1 || ReasonOf(err) != Truncated || r.Text() != "half an ans" || r.Stop != "" {
		t.Errorf("%d tries, %+v, %v", tries, r, err)
	}
}

// TestAReplyWithoutAnEndIsTruncated, also where a parser thinks that all is well.
func TestAReplyWithoutAnEndIsTruncated(t *testing.T) {
	t.Parallel()
	w := NewWire(WireConfig{Provider: "p", Limits: Limits{Attempts: 1}, Do: func(context.Context, WireCall) (WireReply, error) {
		return WireReply{Status: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
	}})
	_, err := Collect(w.Stream(t.Context(), func() (WireCall, error) { return WireCall{}, nil }, func(_ *Body, emit func(Event) bool) error {
		emit(Event{Text: "half an answer"})
		return nil
	}))
	if ReasonOf(err) != Truncated {
		t.Error(err)
	}
}

func TestFenceAvoidsWhatTheDataHolds(t *testing.T) {
	t.Parallel()
	values := map[string]Value{}
	seen := map[string]bool{}
	for range 5 {
		code := fence([32]byte{1}, values)
		if seen[code] {
			t.Fatalf("the data holds %s already", code)
		}
		seen[code] = true
		values["a"] = Value{Text: values["a"].Text + " " + strings.ToUpper(code)}
	}
}
