package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/llm/llmtest"
)

const testKey = "sk-ant-test-0123456789abcdef"

// fake is a strict server of POST /v1/messages: it refuses what the public
// reference does not allow, by name.
type fake struct {
	t     *testing.T
	extra bool // adds events, blocks and fields that nobody knows
}

type fakeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   string          `json:"content"`
	IsError   bool            `json:"is_error"`
}

type fakeBody struct {
	Model       string      `json:"model"`
	MaxTokens   int64       `json:"max_tokens"`
	System      string      `json:"system"`
	Temperature json.Number `json:"temperature"`
	Stream      bool        `json:"stream"`
	Messages    []struct {
		Role    string      `json:"role"`
		Content []fakeBlock `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	OutputConfig *struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(format string, args ...any) {
		f.t.Errorf("fake refuses: "+format, args...)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, fmt.Sprintf(format, args...))
	}
	for k, want := range map[string]string{"X-Api-Key": testKey, "Anthropic-Version": "2023-06-01", "Content-Type": "application/json", "Authorization": ""} {
		if got := r.Header.Get(k); got != want {
			refuse("header %s %q", k, got)
			return
		}
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.URL.RawQuery != "" {
		refuse("%s %s", r.Method, r.URL)
		return
	}
	var b fakeBody
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		refuse("body: %v", err)
		return
	}
	roles := []string{}
	for i, m := range b.Messages {
		roles = append(roles, m.Role)
		if len(m.Content) == 0 || i > 0 && roles[i-1] == m.Role {
			refuse("message %d is empty or repeats the role", i)
			return
		}
	}
	switch {
	case b.Model != llmtest.ModelName || b.MaxTokens != llmtest.MaxTokens || !b.Stream || b.Temperature != "0.2" || b.System != llmtest.System:
		refuse("parameters %+v", b)
		return
	case len(b.Tools) != 1 || b.Tools[0].Name != llmtest.WireName || string(b.Tools[0].InputSchema) != llmtest.Schema || b.ToolChoice != nil:
		refuse("tools %+v", b.Tools)
		return
	case roles[0] != "user" || len(b.Messages[0].Content) != 1 || b.Messages[0].Content[0].Type != "text" || b.Messages[0].Content[0].Text != llmtest.Ask:
		refuse("the first message is not the user's")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	switch len(b.Messages) {
	case 1:
		_, _ = w.Write(f.callReply())
	case 3:
		a, u := b.Messages[1].Content, b.Messages[2].Content
		ok := len(a) == 2 && a[0].Type == "text" && a[0].Text == llmtest.Before &&
			a[1].Type == "tool_use" && a[1].ID == "toolu_01A" && a[1].Name == llmtest.WireName && string(a[1].Input) == llmtest.Args &&
			len(u) == 1 && u[0].Type == "tool_result" && u[0].ToolUseID == "toolu_01A" && u[0].Content == llmtest.Result && !u[0].IsError
		if !ok {
			refuse("history %+v", b.Messages[1:])
			return
		}
		_, _ = w.Write(f.finalReply())
	default:
		refuse("%d messages", len(b.Messages))
	}
}

type obj = map[string]any

func (f fake) event(b *bytes.Buffer, name string, v obj) {
	v["type"] = name
	if f.extra {
		v["new_field"] = obj{"a": []any{1.5, nil}}
		b.WriteString("event: ping\ndata: {\"type\": \"ping\"}\n\n")
	}
	raw, _ := json.Marshal(v)
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", name, raw)
}

func (f fake) start(b *bytes.Buffer, id string, usage obj) {
	f.event(b, "message_start", obj{"message": obj{
		"id": id, "type": "message", "role": "assistant", "model": llmtest.ModelName, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	if f.extra {
		f.event(b, "content_block_start", obj{"index": 90, "content_block": obj{"type": "thinking", "thinking": "", "signature": ""}})
		f.event(b, "content_block_delta", obj{"index": 90, "delta": obj{"type": "thinking_delta", "thinking": "hm"}})
		f.event(b, "content_block_stop", obj{"index": 90})
		f.event(b, "brand_new_event", obj{})
	}
}

func (f fake) text(b *bytes.Buffer, index int, pieces ...string) {
	f.event(b, "content_block_start", obj{"index": index, "content_block": obj{"type": "text", "text": ""}})
	for _, p := range pieces {
		f.event(b, "content_block_delta", obj{"index": index, "delta": obj{"type": "text_delta", "text": p}})
	}
	f.event(b, "content_block_stop", obj{"index": index})
}

func (f fake) callReply() []byte {
	var b bytes.Buffer
	f.start(&b, "msg_1", obj{"input_tokens": 31, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1})
	f.text(&b, 0, llmtest.Before[:12], llmtest.Before[12:])
	f.event(&b, "content_block_start", obj{"index": 1, "content_block": obj{"type": "tool_use", "id": "toolu_01A", "name": llmtest.WireName, "input": obj{}}})
	f.event(&b, "content_block_delta", obj{"index": 1, "delta": obj{"type": "input_json_delta", "partial_json": ""}})
	rest := []rune(llmtest.Args)
	for len(rest) > 0 {
		n := min(13, len(rest))
		f.event(&b, "content_block_delta", obj{"index": 1, "delta": obj{"type": "input_json_delta", "partial_json": string(rest[:n])}})
		rest = rest[n:]
	}
	f.event(&b, "content_block_stop", obj{"index": 1})
	f.event(&b, "message_delta", obj{"delta": obj{"stop_reason": "tool_use", "stop_sequence": nil}, "usage": obj{"output_tokens": 12}})
	f.event(&b, "message_stop", obj{})
	return b.Bytes()
}

func (f fake) finalReply() []byte {
	var b bytes.Buffer
	// Input without the cache; ours counts all of it: 37 + 20.
	f.start(&b, "msg_2", obj{"input_tokens": 37, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 1})
	f.text(&b, 0, strings.SplitAfter(llmtest.Final, " ")...)
	f.event(&b, "message_delta", obj{"delta": obj{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": obj{"output_tokens": 9}})
	f.event(&b, "message_stop", obj{})
	return b.Bytes()
}
