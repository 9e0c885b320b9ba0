package openai_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/llmtest"
	"github.com/witan-run/witan/internal/llm/openai"
)

func newModel(t *testing.T, c openai.Config) *openai.Model {
	t.Helper()
	m, err := openai.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wire(base, field string, extra bool) llmtest.Wire {
	return llmtest.Wire{
		New: func(t *testing.T, c *http.Client, w llm.WireConfig) llm.Model {
			return newModel(t, openai.Config{Base: base, Key: secret.New(testKey), Client: c, Wire: w})
		},
		Fake:     func(t *testing.T) http.Handler { return fake{t: t, tokensField: field, extra: extra} },
		Complete: complete,
	}
}

func TestScenarioOnTheWire(t *testing.T) {
	t.Parallel()
	t.Run("openai", func(t *testing.T) { llmtest.Suite(t, wire("", "max_completion_tokens", false)) })
	t.Run("compatible server with fields of its own", func(t *testing.T) {
		w := wire("http://127.0.0.1:8000/v1/", "max_tokens", true)
		w.Stride = 7
		llmtest.Suite(t, w)
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	llmtest.Timeouts(t, wire("", "max_completion_tokens", false))
}

func TestScenarioOverASocket(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(fake{t: t, tokensField: "max_tokens"})
	defer s.Close()
	tr, err := llmtest.Play(t.Context(), newModel(t, openai.Config{Base: s.URL + "/v1", Key: secret.New(testKey)}))
	if err != nil {
		t.Fatal(err)
	}
	llmtest.Check(t, tr, true)
}

// reply asks once and answers with a body.
func reply(t *testing.T, contentType, body string) (llm.Response, error) {
	t.Helper()
	tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	})}
	m := newModel(t, openai.Config{Key: secret.New(testKey), Client: tp.Client(), Wire: llm.WireConfig{Limits: llm.Limits{Attempts: 1, MaxBytes: 1 << 20, MaxLine: 64 << 10}}})
	return llm.Collect(m.Stream(t.Context(), llmtest.Request()))
}

func sse(chunks ...string) string {
	return "data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n"
}

func TestServersThatDiffer(t *testing.T) {
	t.Parallel()
	call := func(name, args string) llm.Part { return llm.Part{Call: &llm.ToolCall{Name: name, Args: args}} }
	for _, c := range []struct {
		name, contentType, body string
		parts                   []llm.Part
		stop                    llm.StopReason
	}{
		{"parallel calls, fragments interleaved", "text/event-stream", sse(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"file_write","arguments":"{\"a\""}},{"index":1,"id":"b","function":{"name":"other","arguments":"{"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":":1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			[]llm.Part{call("file.write", `{"a":1}`), call("other", "{}")}, llm.StopToolUse},
		{"no index, no id, arguments as an object, stop after calls", "text/event-stream", sse(
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"file_write","arguments":{"a": 1.50}}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"file_write","arguments":{"a": 2}}}]},"finish_reason":"stop"}]}`),
			[]llm.Part{call("file.write", `{"a": 1.50}`), call("file.write", `{"a": 2}`)}, llm.StopToolUse},
		{"the same index for two calls", "text/event-stream", sse(
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":"{"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`),
			[]llm.Part{call("x", "{}"), call("y", "{}")}, llm.StopToolUse},
		{"a whole reply where a stream was asked for", "application/json; charset=utf-8",
			`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
			[]llm.Part{{Text: "hi"}}, llm.StopEnd},
		{"content in parts", "text/event-stream", sse(
			`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"}]},"finish_reason":"stop"}]}`, `[DONE]`),
			[]llm.Part{{Text: "hi"}}, llm.StopEnd},
		{"cut by max tokens inside a call", "text/event-stream", sse(
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"file_write","arguments":"{\"pa"}}]},"finish_reason":"length"}]}`, `[DONE]`),
			[]llm.Part{call("file.write", `{"pa`)}, llm.StopMaxTokens},
		{"a refusal", "text/event-stream", sse(
			`{"choices":[{"delta":{"refusal":"I will not."}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
			[]llm.Part{{Text: "I will not."}}, llm.StopRefusal},
		{"a filter", "text/event-stream", sse(`{"choices":[{"delta":{"content":"a\u0000b"},"finish_reason":"content_filter"}]}`, `[DONE]`),
			[]llm.Part{{Text: "a\uFFFDb"}}, llm.StopRefusal},
		{"a word we do not know, and CR line ends", "text/event-stream",
			"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"weird\"}]}\r\rdata: [DONE]\r\r",
			[]llm.Part{{Text: "x"}}, llm.StopOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := reply(t, c.contentType, c.body)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, p := range r.Parts {
				if p.Call != nil {
					if p.Call.ID == "" || seen[p.Call.ID] {
						t.Errorf("call id %q is empty or not its own", p.Call.ID)
					}
					seen[p.Call.ID], p.Call.ID = true, ""
				}
			}
			if diff := cmp.Diff(c.parts, r.Parts); diff != "" || r.Stop != c.stop {
				t.Errorf("stop %s, parts (-want +got):\n%s", r.Stop, diff)
			}
		})
	}
}

func TestServersThatLie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       llm.Reason
	}{
		{"not JSON", sse(`{"choices":[{`, `[DONE]`), llm.Malformed},
		{"HTML with status 200", "<html>\n\nlogin</html>\n", llm.Truncated},
		{"nothing", "", llm.Truncated},
		{"done without an end", sse(`{"choices":[{"delta":{"content":"x"}}]}`, `[DONE]`), llm.Malformed},
		{"calls announced, none made", sse(`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`), llm.Malformed},
		{"a call without a name", sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`), llm.Malformed},
		{"an error in the stream", sse(`{"error":{"message":"slow down","code":429}}`), llm.RateLimited},
		{"an error in the stream by word", sse(`{"error":{"message":"x","type":"server_error","code":null}}`), llm.ServerError},
		{"an error as a string", sse(`{"error":"boom"}`), llm.ServerError},
		{"a line without end", "data: " + strings.Repeat("x", 128<<10), llm.TooLarge},
		{"an endless stream", strings.Repeat(": ping\n\n", 1<<18), llm.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := reply(t, "text/event-stream", c.body)
			if llm.ReasonOf(err) != c.want {
				t.Errorf("want %s, got %v", c.want, err)
			}
		})
	}
	t.Run("impossible counts are not reported", func(t *testing.T) {
		t.Parallel()
		r, err := reply(t, "text/event-stream", sse(`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":1}}`, `[DONE]`))
		if err != nil || r.Usage != (llm.Usage{}) {
			t.Errorf("usage %+v, %v", r.Usage, err)
		}
	})
	t.Run("no quota is not a rate", func(t *testing.T) {
		t.Parallel()
		tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`))
		})}
		_, err := llm.Collect(newModel(t, openai.Config{Client: tp.Client()}).Stream(t.Context(), llmtest.Request()))
		if llm.ReasonOf(err) != llm.NoQuota || tp.Sent() != 1 || !fault.Is(err, fault.Limited) {
			t.Errorf("%v after %d calls", err, tp.Sent())
		}
	})
}

// TestKeyNeverShows is bug report 38 of the evals: a key that a header refuses,
// and a provider that quotes the key, leave no byte of it in the error.
func TestKeyNeverShows(t *testing.T) {
	t.Parallel()
	for _, k := range []string{testKey + "\n", testKey + "\r\n", "sk-té" + testKey, " " + testKey, "“" + testKey + "”", testKey + "\x00"} {
		_, err := openai.New(openai.Config{Key: secret.New(k)})
		if !fault.Is(err, fault.Invalid) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "0123") {
			t.Errorf("key %q: %v", k, err)
		}
		if _, field, fix := fault.Public(err); field != "key" || fix == "" {
			t.Errorf("key %q: field %q, fix %q", k, field, fix)
		}
	}
	for _, status := range []int{400, 401, 403, 500} {
		tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"bad key %s, that is %s***%s","type":"invalid_request_error"}}`, testKey, testKey[:10], testKey[len(testKey)-9:])
		})}
		m := newModel(t, openai.Config{Key: secret.New(testKey), Client: tp.Client(), Wire: llm.WireConfig{Limits: llm.Limits{Attempts: 1}}})
		_, err := llm.Collect(m.Stream(t.Context(), llmtest.Request()))
		for at := 0; at+8 <= len(testKey); at++ {
			if err == nil || strings.Contains(err.Error(), testKey[at:at+8]) {
				t.Fatalf("status %d: %v", status, err)
			}
		}
		if (status == 401 || status == 403) && strings.Contains(err.Error(), "***") {
			t.Errorf("status %d quotes what was said of the key: %v", status, err)
		}
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]openai.Config{
		"base_url":              {Base: "ftp://x"},
		"base_url#1":            {Base: "https://user:pw@x/v1"},
		"base_url#2":            {Base: "https://x/v1?key=1"},
		"base_url#3":            {Base: "http://models.example/v1", Key: secret.New(testKey)},
		"headers.Authorization": {Headers: map[string]string{"Authorization": "Bearer x"}},
		"headers.X-A":           {Headers: map[string]string{"X-A": "a\nb"}},
		"max_tokens_field":      {MaxTokensField: "tokens"},
	} {
		_, err := openai.New(c)
		want, _, _ := strings.Cut(field, "#")
		if _, got, _ := fault.Public(err); got != want || !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v (field %q)", field, err, got)
		}
	}
	for _, c := range []openai.Config{
		{Base: "http://localhost:11434/v1", Key: secret.New("x")},
		{Base: "http://192.168.1.5:8000/v1"},
		{Base: "http://192.168.1.5:8000/v1", Key: secret.New("x"), Insecure: true},
	} {
		if _, err := openai.New(c); err != nil {
			t.Error(err)
		}
	}
}
