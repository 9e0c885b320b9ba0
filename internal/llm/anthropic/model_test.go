package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/anthropic"
	"github.com/witan-run/witan/internal/llm/llmtest"
)

func newModel(t *testing.T, c anthropic.Config) llm.Model {
	t.Helper()
	c.Key = secret.New(testKey)
	m, err := anthropic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wire(extra bool) llmtest.Wire {
	return llmtest.Wire{
		New: func(t *testing.T, c *http.Client, w llm.WireConfig) llm.Model {
			return newModel(t, anthropic.Config{Client: c, Wire: w})
		},
		Fake: func(t *testing.T) http.Handler { return fake{t: t, extra: extra} },
	}
}

func TestScenarioOnTheWire(t *testing.T) {
	t.Parallel()
	llmtest.Suite(t, wire(false))
}

func TestUnknownEventsAndFieldsArePassedOver(t *testing.T) {
	t.Parallel()
	tp := &llmtest.Transport{Handler: fake{t: t, extra: true}}
	tr, err := llmtest.Play(t.Context(), newModel(t, anthropic.Config{Client: tp.Client()}))
	if err != nil {
		t.Fatal(err)
	}
	llmtest.Check(t, tr, true)
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	llmtest.Timeouts(t, wire(false))
}

func TestScenarioOverASocket(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(fake{t: t})
	defer s.Close()
	tr, err := llmtest.Play(t.Context(), newModel(t, anthropic.Config{Base: s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	llmtest.Check(t, tr, true)
}

// ask sends a request and answers with events; it returns the body that was sent.
func ask(t *testing.T, c anthropic.Config, r llm.Request, events ...string) (llm.Response, fakeBody, error) {
	t.Helper()
	var sent fakeBody
	tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&sent); err != nil {
			t.Errorf("fake refuses: %v", err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
		}
	})}
	c.Client = tp.Client()
	c.Wire.Limits.Attempts = 1
	reply, err := llm.Collect(newModel(t, c).Stream(t.Context(), r))
	return reply, sent, err
}

const (
	begin  = `{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":3,"output_tokens":1}}}`
	finish = `{"type":"message_stop"}`
)

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.StopReason{
		"end_turn": llm.StopEnd, "max_tokens": llm.StopMaxTokens, "refusal": llm.StopRefusal, "stop_sequence": llm.StopSequence,
		"model_context_window_exceeded": llm.StopContext, "pause_turn": llm.StopOther,
	} {
		r, _, err := ask(t, anthropic.Config{}, llmtest.Request(), begin, stop(word), finish)
		if err != nil || r.Stop != want || r.Usage != (llm.Usage{Input: 3, Output: 5, Reported: true}) {
			t.Errorf("%s: %+v %v", word, r, err)
		}
		if want == llm.StopOther && r.RawStop != word {
			t.Errorf("%s: raw %q", word, r.RawStop)
		}
	}
}

func TestRepliesThatLie(t *testing.T) {
	t.Parallel()
	tool := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"file_write","input":{}}}`
	for name, c := range map[string]struct {
		events []string
		want   llm.Reason
	}{
		"not JSON":                   {[]string{begin, `{`}, llm.Malformed},
		"content before the start":   {[]string{tool}, llm.Malformed},
		"input for no call":          {[]string{begin, `{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{"}}`}, llm.Malformed},
		"a call without a name":      {[]string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`}, llm.Malformed},
		"the same block twice":       {[]string{begin, tool, tool}, llm.Malformed},
		"the end inside a call":      {[]string{begin, tool, stop("tool_use"), finish}, llm.Malformed},
		"calls announced, none made": {[]string{begin, stop("tool_use"), finish}, llm.Malformed},
		"no stop reason":             {[]string{begin, finish}, llm.Malformed},
		"overloaded in the stream":   {[]string{begin, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, llm.Overloaded},
		"limited in the stream":      {[]string{`{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`}, llm.RateLimited},
		"bad request in the stream":  {[]string{`{"type":"error","error":{"type":"invalid_request_error","message":"x"}}`}, llm.BadRequest},
		"unknown error":              {[]string{`{"type":"error","error":{"type":"new_error","message":"x"}}`}, llm.ServerError},
	} {
		if _, _, err := ask(t, anthropic.Config{}, llmtest.Request(), c.events...); llm.ReasonOf(err) != c.want {
			t.Errorf("%s: want %s, got %v", name, c.want, err)
		}
	}
}

func TestACallThatWasCutIsMalformed(t *testing.T) {
	t.Parallel()
	r, _, err := ask(t, anthropic.Config{}, llmtest.Request(), begin,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"file_write","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"no"}}`,
		`{"type":"content_block_stop","index":0}`, stop("max_tokens"), finish)
	if err != nil || len(r.Calls()) != 1 || !r.Calls()[0].Malformed() || r.Stop != llm.StopMaxTokens {
		t.Errorf("%+v %v", r, err)
	}
}

// TestRequestShapes checks what the scenario does not send: two results in one
// turn, an error, a call of another provider, a malformed call, forced tools,
// JSON output.
func TestRequestShapes(t *testing.T) {
	t.Parallel()
	r := llmtest.Request()
	r.TemperatureMicros, r.Choice = nil, llmtest.ToolName
	r.Output = &llm.Output{Name: "note", Schema: `{"type":"object"}`}
	r.Messages = append(r.Messages,
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			{Call: &llm.ToolCall{ID: "functions.x:0", Name: "mcp/odd name", Args: `{"a":`}},
			{Call: &llm.ToolCall{ID: "b", Name: llmtest.ToolName, Args: `{}`}}}},
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
			{Text: "and now?"},
			{Result: &llm.ToolResult{CallID: "functions.x:0", Name: "mcp/odd name", Content: "malformed", IsError: true}},
			{Result: &llm.ToolResult{CallID: "b", Name: llmtest.ToolName, Content: ""}}}},
		llm.UserText("hurry"), llm.UserText("  "))
	_, sent, err := ask(t, anthropic.Config{}, r, begin, stop("end_turn"), finish)
	if err != nil {
		t.Fatal(err)
	}
	got := sent.Messages[1:]
	callID := llm.WireID("functions.x:0")
	want := []fakeBlock{
		{Type: "tool_use", ID: callID, Name: "mcp_odd_name", Input: json.RawMessage("{}")},
		{Type: "tool_use", ID: "b", Name: llmtest.WireName, Input: json.RawMessage("{}")},
		{Type: "tool_result", ToolUseID: callID, Content: "malformed", IsError: true},
		{Type: "tool_result", ToolUseID: "b"},
		{Type: "text", Text: "and now?"}, {Type: "text", Text: "hurry"},
	}
	if len(got) != 2 {
		t.Fatalf("%d turns", len(got))
	}
	if diff := cmp.Diff(want, append(got[0].Content, got[1].Content...)); diff != "" {
		t.Error(diff)
	}
	if c := sent.ToolChoice; c == nil || c.Type != "tool" || c.Name != llmtest.WireName {
		t.Errorf("tool choice %+v", c)
	}
	if o := sent.OutputConfig; o == nil || o.Format.Type != "json_schema" || string(o.Format.Schema) != `{"type":"object"}` {
		t.Errorf("output %+v", o)
	}
}

func TestOutputAsTool(t *testing.T) {
	t.Parallel()
	r := llmtest.Request()
	r.Tools, r.Output = nil, &llm.Output{Name: "note", Schema: `{"type":"object"}`}
	reply, sent, err := ask(t, anthropic.Config{OutputAsTool: true}, r, begin,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Here it is:"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"note","input":{"x":1}}}`,
		`{"type":"content_block_stop","index":1}`, stop("tool_use"), finish)
	if err != nil || reply.Text() != `{"x":1}` || reply.Stop != llm.StopEnd || len(reply.Calls()) != 0 {
		t.Errorf("%+v %v", reply, err)
	}
	if sent.OutputConfig != nil || len(sent.Tools) != 1 || sent.ToolChoice == nil || sent.ToolChoice.Name != "note" {
		t.Errorf("sent %+v", sent)
	}
}

// TestKeyNeverShows is bug report 38 of the evals on this wire.
func TestKeyNeverShows(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"", testKey + "\n", testKey + "é"} {
		_, err := anthropic.New(anthropic.Config{Key: secret.New(k)})
		if _, field, _ := fault.Public(err); field != "key" || !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "0123") {
			t.Errorf("%q: %v", k, err)
		}
	}
	tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":"header was %s"}}`, r.Header.Get("X-Api-Key"))
	})}
	_, err := llm.Collect(newModel(t, anthropic.Config{Client: tp.Client()}).Stream(t.Context(), llmtest.Request()))
	if err == nil || strings.Contains(err.Error(), testKey) || !strings.Contains(err.Error(), "[secret]") {
		t.Errorf("%v", err)
	}
}
