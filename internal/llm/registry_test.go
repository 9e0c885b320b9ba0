package llm_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/script"
)

func scripted(t testing.TB, text string) llm.Model {
	t.Helper()
	s, err := script.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return script.New(s, nil)
}

func saying(t testing.TB, text string) llm.Model { return scripted(t, "lines: [{say: '"+text+"'}]") }
func failing(t testing.TB, reason llm.Reason) llm.Model {
	return scripted(t, "lines: [{fail: {reason: "+string(reason)+", message: x}}]")
}

func registry(t testing.TB, c llm.RegistryConfig) *llm.Registry {
	t.Helper()
	g, err := llm.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func question() llm.Request {
	return llm.Request{MaxTokens: 50, Messages: []llm.Message{llm.UserText("hello")}}
}

func TestFallbackOnlyOnPassingFailures(t *testing.T) {
	t.Parallel()
	for reason, falls := range map[llm.Reason]bool{
		llm.Unreachable: true, llm.Slow: true, llm.Stalled: true, llm.Truncated: true, llm.Malformed: true, llm.RateLimited: true,
		llm.Overloaded: true, llm.ServerError: true, llm.NoQuota: true, llm.TooLong: true, llm.TooLarge: true,
		llm.BadKey: false, llm.NoModel: false, llm.BadRequest: false,
	} {
		g := registry(t, llm.RegistryConfig{
			Models: map[string]llm.Model{"a": failing(t, reason), "b": saying(t, "from b")},
			Routes: map[string][]llm.Target{llm.DefaultRole: {{Provider: "a", Model: "m"}, {Provider: "b", Model: "n"}}},
		})
		a, err := g.Ask(t.Context(), llm.Respond, question(), nil)
		if falls != (err == nil) || falls && (a.Response.Text() != "from b" || a.Target.Provider != "b" || len(a.Tried) != 1) || !falls && (llm.ReasonOf(err) != reason || a.Target.Provider != "a") {
			t.Errorf("%s: %+v %v", reason, a, err)
		}
	}
}

// deaf fails with an error of the caller's context.
type deaf struct{ calls *int }

func (d deaf) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		*d.calls++
		yield(llm.Event{}, llm.NewFailure("deaf", llm.Slow, "%v", ctx.Err()))
	}
}

func TestAskStops(t *testing.T) {
	t.Parallel()
	calls := 0
	g := registry(t, llm.RegistryConfig{
		Models: map[string]llm.Model{"a": deaf{&calls}},
		Routes: map[string][]llm.Target{llm.Respond: {{Provider: "a", Model: "m"}, {Provider: "a", Model: "n"}}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Ask(ctx, llm.Respond, question(), nil); err == nil || calls != 1 {
		t.Errorf("a caller that is gone: %d calls, %v", calls, err)
	}
	_, err := g.Ask(t.Context(), llm.Judge, question(), nil)
	if _, ok := g.Route(llm.Judge); ok || llm.ReasonOf(err) != llm.NoProvider || !fault.Is(err, fault.Unavailable) {
		t.Errorf("no model: %v", err)
	}
	if _, _, fix := fault.Public(err); !strings.Contains(fix, "route for judge") {
		t.Errorf("fix %q", fix)
	}
}

func TestAnswersMustFitTheirSchema(t *testing.T) {
	t.Parallel()
	q := question()
	q.Output = &llm.Output{Name: "x", Schema: `{"type":"object"}`}
	g := registry(t, llm.RegistryConfig{
		Models: map[string]llm.Model{"a": saying(t, "sure!"), "b": saying(t, `[1]`), "c": saying(t, `{"a":1}`)},
		Routes: map[string][]llm.Target{llm.Extract: {{Provider: "a", Model: "m"}, {Provider: "b", Model: "m"}, {Provider: "c", Model: "m"}}},
		Validate: func(_, doc string) error {
			if doc[0] != '{' {
				return errors.New("no object")
			}
			return nil
		},
	})
	var heard strings.Builder
	a, err := g.Ask(t.Context(), llm.Extract, q, func(s string) { heard.WriteString(s) })
	if err != nil || a.Response.Text() != `{"a":1}` || len(a.Tried) != 2 || llm.ReasonOf(a.Tried[0]) != llm.BadOutput || llm.ReasonOf(a.Tried[1]) != llm.BadOutput {
		t.Errorf("%+v %v", a, err)
	}
	if heard.String() != `sure![1]{"a":1}` {
		t.Errorf("heard %q", heard.String())
	}
}

func TestRegistrySettings(t *testing.T) {
	t.Parallel()
	models := map[string]llm.Model{"a": saying(t, "x")}
	ok := []llm.Target{{Provider: "a", Model: "m"}}
	for field, c := range map[string]llm.RegistryConfig{
		"roles":          {Roles: []llm.RoleSpec{{Name: llm.Judge}}},
		"routes.juggle":  {Models: models, Routes: map[string][]llm.Target{"juggle": ok}},
		"routes.judge":   {Models: models, Routes: map[string][]llm.Target{llm.Judge: {{Provider: "b", Model: "m"}}}},
		"routes.respond": {Models: models, Routes: map[string][]llm.Target{llm.Respond: nil}},
		"routes.embed":   {Models: models, Routes: map[string][]llm.Target{llm.Embed: ok}},
	} {
		_, err := llm.NewRegistry(c)
		if _, got, _ := fault.Public(err); got != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	g := registry(t, llm.RegistryConfig{Roles: []llm.RoleSpec{{Name: "dream", About: "x"}}, Models: models, Routes: map[string][]llm.Target{"dream": ok}})
	if _, found := g.Route("dream"); !found || len(g.Roles()) != 9 {
		t.Errorf("roles %v", g.Roles())
	}
	if _, _, found := g.Embedder(); found {
		t.Error("an embedder from nowhere")
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	p, err := llm.NewPrices(llm.PriceRow{Provider: "home-*", Model: "*"}, llm.PriceRow{Provider: "openai", Model: "gpt-4o", Price: llm.Price{Input: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		provider, model string
		known           bool
		input           int64
	}{
		{"home-ollama", "llama3:8b", true, 0}, {"openai", "gpt-4o", true, 1}, {"openai", "gpt-4o-mini-2024-07-18", true, 150_000},
		{"anthropic", "claude-sonnet-4-5-20250929", true, 3_000_000}, {"script", "x", true, 0}, {"openai", "gpt-99", false, 0}, {"vllm", "gpt-4o", false, 0},
	} {
		got, known := p.Of(c.provider, c.model)
		if known != c.known || got.Input != c.input {
			t.Errorf("%s %s: %+v %v", c.provider, c.model, got, known)
		}
	}
	for _, bad := range []llm.PriceRow{{Provider: "[", Model: "*"}, {Provider: "a"}, {Provider: "a", Model: "*", Price: llm.Price{Output: -1}}, {Provider: "a", Model: "*", Price: llm.Price{Input: 1 << 60}}} {
		if _, err := llm.NewPrices(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	price := llm.Price{Input: 3_000_000, Output: 15_000_000, Cached: 300_000, CacheWrite: 3_750_000}
	if got := price.Cost(llm.Usage{Input: 1000, Cached: 400, CacheWrite: 100, Output: 10}); got != 500*3+120+375+150 {
		t.Errorf("cost %d", got)
	}
	if got := price.Cost(llm.Usage{Cached: 1, Input: 1}); got != 1 {
		t.Errorf("a third of a micro-dollar rounds up, got %d", got)
	}
	if got := (llm.Price{Output: 1 << 39}).Cost(llm.Usage{Output: 1 << 62}); got != math.MaxInt64 {
		t.Errorf("what does not fit is the largest number, got %d", got)
	}
}

// TestHoldsNeverPassALimit: whatever is held, settled and in which order, a limit
// is passed only by what a provider counted beyond its reservation.
func TestHoldsNeverPassALimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := []llm.Limit{
			{Scope: "day", Period: "2026-01-01", Tokens: rapid.Int64Range(0, 500).Draw(t, "dayTokens"), USDMicro: rapid.Int64Range(0, 500).Draw(t, "dayMoney")},
			{Scope: "run:x", Tokens: rapid.Int64Range(0, 500).Draw(t, "runTokens")},
		}
		spends := []llm.Spend{{SpendKey: limits[0].Key()}, {SpendKey: limits[1].Key()}}
		amount := func(name string, most int64) llm.Amount {
			return llm.Amount{Tokens: rapid.Int64Range(0, most).Draw(t, name), USDMicro: rapid.Int64Range(0, most).Draw(t, name)}
		}
		var open []llm.Amount
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "settle") {
				held := open[0]
				used := llm.Amount{Tokens: rapid.Int64Range(0, held.Tokens).Draw(t, "t"), USDMicro: rapid.Int64Range(0, held.USDMicro).Draw(t, "m")}
				spends, open = llm.Settle(spends, held, used), open[1:]
			} else {
				ask := amount("ask", 200)
				next, met := llm.Hold(limits, spends, ask)
				if met == nil {
					spends, open = next, append(open, ask)
				} else if met.Limit <= 0 || met.Spent+met.Asked <= met.Limit {
					t.Fatalf("stopped without need: %+v", met)
				}
			}
			for i, s := range spends {
				l := limits[i]
				if l.Tokens > 0 && s.Spent.Tokens+s.Held.Tokens > l.Tokens || l.USDMicro > 0 && s.Spent.USDMicro+s.Held.USDMicro > l.USDMicro {
					t.Fatalf("%+v passed %+v", s, l)
				}
			}
		}
		for len(open) > 0 {
			spends, open = llm.Settle(spends, open[0], llm.Amount{}), open[1:]
		}
		for _, s := range spends {
			if s.Held != (llm.Amount{}) {
				t.Fatalf("something stays held: %+v", s)
			}
		}
	})
}
