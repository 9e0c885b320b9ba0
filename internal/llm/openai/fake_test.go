package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/llm/llmtest"
)

const testKey = "sk-test-0123456789abcdef"

// fake is a strict server of POST /v1/chat/completions: it refuses what the
// public reference does not allow, by name.
type fake struct {
	t *testing.T
	// tokensField is the bound it wants; the other one is refused.
	tokensField string
	extra       bool // adds fields, comments and choices that nobody asked for
}

type fakeBody struct {
	Model    string `json:"model"`
	Messages []struct {
		Role      string  `json:"role"`
		Content   *string `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	MaxTokens           *int64      `json:"max_tokens"`
	MaxCompletionTokens *int64      `json:"max_completion_tokens"`
	Temperature         json.Number `json:"temperature"`
	Stream              bool        `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(format string, args ...any) {
		f.t.Errorf("fake refuses: "+format, args...)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`, fmt.Sprintf(format, args...))
	}
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions":
		refuse("%s %s", r.Method, r.URL.Path)
		return
	case r.Header.Get("Authorization") != "Bearer "+testKey:
		refuse("authorization %q", r.Header.Get("Authorization"))
		return
	case r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != "text/event-stream":
		refuse("headers %v", r.Header)
		return
	}
	var b fakeBody
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		refuse("body: %v", err)
		return
	}
	bound, other := b.MaxTokens, b.MaxCompletionTokens
	if f.tokensField == "max_completion_tokens" {
		bound, other = other, bound
	}
	switch {
	case b.Model != llmtest.ModelName || !b.Stream || !b.StreamOptions.IncludeUsage:
		refuse("model %q, stream %v", b.Model, b.Stream)
		return
	case bound == nil || *bound != llmtest.MaxTokens || other != nil:
		refuse("want %s = %d only", f.tokensField, llmtest.MaxTokens)
		return
	case b.Temperature != "0.2":
		refuse("temperature %s", b.Temperature)
		return
	case len(b.Tools) != 1 || b.Tools[0].Type != "function" || b.Tools[0].Function.Name != llmtest.WireName || string(b.Tools[0].Function.Parameters) != llmtest.Schema:
		refuse("tools %+v", b.Tools)
		return
	case len(b.Messages) < 2 || b.Messages[0].Role != "system" || *b.Messages[0].Content != llmtest.System:
		refuse("the first message is not the system's")
		return
	case b.Messages[1].Role != "user" || *b.Messages[1].Content != llmtest.Ask:
		refuse("the second message is not the user's")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	switch len(b.Messages) {
	case 2:
		_, _ = w.Write(f.callReply())
	case 4:
		a, res := b.Messages[2], b.Messages[3]
		ok := a.Role == "assistant" && a.Content != nil && *a.Content == llmtest.Before && len(a.ToolCalls) == 1 &&
			a.ToolCalls[0].ID == "call_9Zq" && a.ToolCalls[0].Type == "function" &&
			a.ToolCalls[0].Function.Name == llmtest.WireName && a.ToolCalls[0].Function.Arguments == llmtest.Args &&
			res.Role == "tool" && res.ToolCallID == "call_9Zq" && res.Content != nil && *res.Content == llmtest.Result
		if !ok {
			refuse("history %+v", b.Messages[2:])
			return
		}
		_, _ = w.Write(f.finalReply())
	default:
		refuse("%d messages", len(b.Messages))
	}
}

func (f fake) chunk(b *bytes.Buffer, choices, tail string) {
	extra := ""
	if f.extra {
		extra = `"service_tier":"default","obfuscation":"aX9","x":{"y":[1.5,null]},`
		b.WriteString(": keep-alive\n\nid: 7\nretry: 10\n")
	}
	fmt.Fprintf(b, "data: {%s\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"%s\",\"choices\":[%s]%s}\n\n", extra, llmtest.ModelName, choices, tail)
}

func delta(v any) string {
	raw, _ := json.Marshal(v)
	return fmt.Sprintf(`{"index":0,"delta":%s,"logprobs":null,"finish_reason":null}`, raw)
}

type obj = map[string]any

func (f fake) callReply() []byte {
	var b bytes.Buffer
	f.chunk(&b, delta(obj{"role": "assistant", "content": "", "refusal": nil}), "")
	for _, s := range []string{llmtest.Before[:12], llmtest.Before[12:]} {
		f.chunk(&b, delta(obj{"content": s}), "")
	}
	if f.extra {
		f.chunk(&b, `{"index":1,"delta":{"content":"another answer"},"finish_reason":null}`, "")
	}
	f.chunk(&b, delta(obj{"tool_calls": []obj{{"index": 0, "id": "call_9Zq", "type": "function", "function": obj{"name": llmtest.WireName, "arguments": ""}}}}), "")
	rest := []rune(llmtest.Args)
	for len(rest) > 0 {
		n := min(11, len(rest))
		f.chunk(&b, delta(obj{"tool_calls": []obj{{"index": 0, "function": obj{"arguments": string(rest[:n])}}}}), "")
		rest = rest[n:]
	}
	f.chunk(&b, `{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}`, "")
	f.chunk(&b, "", `,"usage":{"prompt_tokens":31,"completion_tokens":12,"total_tokens":43,"prompt_tokens_details":{"cached_tokens":0}}`)
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

func (f fake) finalReply() []byte {
	var b bytes.Buffer
	for _, s := range strings.SplitAfter(llmtest.Final, " ") {
		f.chunk(&b, delta(obj{"content": s}), "")
	}
	f.chunk(&b, `{"index":0,"delta":{},"finish_reason":"stop"}`, "")
	f.chunk(&b, "", `,"usage":{"prompt_tokens":57,"completion_tokens":9,"total_tokens":66,"prompt_tokens_details":{"cached_tokens":20,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`)
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// complete returns the bytes up to the end of the chunk with the finish reason.
func complete(reply []byte) int {
	at := bytes.Index(reply, []byte(`"finish_reason":"`))
	return at + bytes.Index(reply[at:], []byte("\n\n")) + 2
}
