package llm_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/llmtest"
)

func TestCheckNamesTheField(t *testing.T) {
	t.Parallel()
	call := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "a", Name: "x", Args: "{}"}}}}
	result := llm.Results(llm.ToolResult{CallID: "a", Name: "x"})
	minus := int64(-1)
	for _, c := range []struct {
		field string
		edit  func(r *llm.Request)
	}{
		{"", func(*llm.Request) {}},
		{"model", func(r *llm.Request) { r.Model = "" }},
		{"messages", func(r *llm.Request) { r.Messages = nil }},
		{"messages[0].role", func(r *llm.Request) { r.Messages[0].Role = llm.RoleAssistant }},
		{"messages[1]", func(r *llm.Request) {
			r.Messages = append(r.Messages, llm.Message{Role: "system", Parts: []llm.Part{{Text: "x"}}})
		}},
		{"messages[1]", func(r *llm.Request) { r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser}) }},
		{"maxTokens", func(r *llm.Request) { r.MaxTokens = 0 }},
		{"temperatureMicros", func(r *llm.Request) { r.TemperatureMicros = &minus }},
		{"seed", func(r *llm.Request) { r.Seed = &minus }},
		{"tools[0].name", func(r *llm.Request) { r.Tools[0].Name = "" }},
		{"tools[1].name", func(r *llm.Request) { r.Tools = append(r.Tools, r.Tools[0]) }},
		{"tools[0].schema", func(r *llm.Request) { r.Tools[0].Schema = "[]" }},
		{"toolChoice", func(r *llm.Request) { r.Choice = "nobody" }},
		{"toolChoice", func(r *llm.Request) { r.Choice, r.Tools = llm.ChooseAny, nil }},
		{"output", func(r *llm.Request) { r.Output = &llm.Output{Name: "x", Schema: "{"} }},
		{"", func(r *llm.Request) { r.Messages = append(r.Messages, call, result) }},
		{"messages", func(r *llm.Request) { r.Messages = append(r.Messages, call) }},
		{"messages[1]", func(r *llm.Request) { r.Messages = append(r.Messages, result) }},
		{"messages[2]", func(r *llm.Request) { r.Messages = append(r.Messages, call, llm.UserText("x")) }},
		{"messages[3]", func(r *llm.Request) { r.Messages = append(r.Messages, call, result, result) }},
	} {
		r := llmtest.Request()
		c.edit(&r)
		err := r.Check()
		_, field, _ := fault.Public(err)
		if (err == nil) != (c.field == "") || err != nil && (field != c.field || !fault.Is(err, fault.Invalid)) {
			t.Errorf("want %q, got %v", c.field, err)
		}
	}
}

// TestRecordsHoldIntegersOnly: the JSON of requests and replies has no fraction
// and no number beyond 2^53, whatever the model wrote.
func TestRecordsHoldIntegersOnly(t *testing.T) {
	t.Parallel()
	r := llmtest.Request()
	seed := int64(1<<53 - 1)
	r.Seed = &seed
	reply := llm.Response{Parts: []llm.Part{{Call: &llm.ToolCall{ID: "a", Name: "x", Args: `{"n":1.5e300}`}}}, Stop: llm.StopToolUse, Usage: llm.Usage{Input: 1}}
	r.Messages = append(r.Messages, reply.Message(), llm.Results(llm.ToolResult{CallID: "a", Name: "x", Content: `{"y":0.1}`}))
	vec, err := llm.NewVector([]float64{0.3, 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{r, reply, llm.EmbedResponse{Vectors: []llm.Vector{vec}}} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		for tok, err := d.Token(); err == nil; tok, err = d.Token() {
			if n, ok := tok.(json.Number); ok {
				if i, err := n.Int64(); err != nil || i > 1<<53 {
					t.Errorf("number %s in %s", n, raw)
				}
			}
		}
	}
	var back llm.Response
	raw, _ := json.Marshal(reply)
	if err := json.Unmarshal(raw, &back); err != nil || cmp.Diff(reply, back) != "" {
		t.Errorf("%v %s", err, cmp.Diff(reply, back))
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	text := func(s string) llm.Part { return llm.Part{Text: s} }
	res := func(id string) llm.Part { return llm.Part{Result: &llm.ToolResult{CallID: id}} }
	r := llm.Request{Messages: []llm.Message{
		llm.UserText("a"), llm.UserText(" "), llm.UserText("b"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{text("")}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{text("c")}},
		{Role: llm.RoleUser, Parts: []llm.Part{text("d"), res("1"), res("2")}},
	}}
	want := []llm.Message{
		{Role: llm.RoleUser, Parts: []llm.Part{text("a"), text("b")}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{text("c")}},
		{Role: llm.RoleUser, Parts: []llm.Part{res("1"), res("2"), text("d")}},
	}
	if diff := cmp.Diff(want, r.Turns()); diff != "" {
		t.Error(diff)
	}
	if len(r.Messages) != 6 || len(r.Messages[5].Parts) != 3 || r.Messages[5].Parts[0].Text != "d" {
		t.Error("Turns changed its input")
	}
}

func TestCollectUndoesEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r llm.Response
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "call") {
				r.Parts = append(r.Parts, llm.Part{Call: &llm.ToolCall{ID: rapid.String().Draw(t, "id"), Name: "n", Args: "{}"}})
			} else if n := len(r.Parts); n == 0 || r.Parts[n-1].Call != nil {
				r.Parts = append(r.Parts, llm.Part{Text: rapid.StringN(1, 9, -1).Draw(t, "text")})
			}
		}
		r.Stop, r.Model, r.Usage.Output = llm.StopEnd, "m", 3
		got, err := llm.Collect(func(yield func(llm.Event, error) bool) {
			for _, e := range r.Events() {
				if !yield(e, nil) {
					return
				}
			}
		})
		if diff := cmp.Diff(r, got); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	})
}

func TestWireNamesGoBothWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a._ é/]{1,4}`), rapid.StringMatching(`[a-c._-]{60,90}`)), 1, 12, rapid.ID[string]).Draw(t, "names")
		var r llm.Request
		for _, n := range names {
			r.Tools = append(r.Tools, llm.Tool{Name: n})
		}
		table := llm.WireNames(r)
		seen := map[string]bool{}
		for _, n := range names {
			w := table.Wire(n)
			if len(w) == 0 || len(w) > 64 || seen[w] || strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r) }) {
				t.Fatalf("%q is %q on the wire", n, w)
			}
			if seen[w] = true; table.Ours(w) != n {
				t.Fatalf("%q came back as %q", n, table.Ours(w))
			}
		}
		if got := table.Ours("not-offered!"); got != "not-offered!" {
			t.Fatal(got)
		}
	})
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for micros, want := range map[int64]string{0: "0", 1: "0.000001", 700_000: "0.7", 1_000_000: "1", 1_250_000: "1.25", -50_000: "-0.05"} {
		if got := string(llm.Decimal(micros)); got != want {
			t.Errorf("%d: want %s, got %s", micros, want, got)
		}
	}
}

func TestNewVector(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Float64Range(-1e300, 1e300), 1, 50).Draw(t, "v")
		v, err := llm.NewVector(in)
		if err != nil {
			return // no direction
		}
		if c := v.Cosine(v); c < 999_900 || c > 1_000_100 {
			t.Fatalf("length %d", c)
		}
	})
	for _, bad := range [][]float64{nil, {0, 0}, {math.NaN()}, {math.Inf(1), 1}} {
		if _, err := llm.NewVector(bad); err == nil {
			t.Errorf("%v has a direction", bad)
		}
	}
}
