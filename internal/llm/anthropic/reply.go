package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/witan-run/witan/internal/llm"
)

// event is any event of a stream; which fields are set depends on its type.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage   `json:"usage"`
	Error apiError `json:"error"`
}

// usage counts input without what went through the cache. In message_delta the
// counts are running totals and may leave out what did not change.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	Output     *int64 `json:"output_tokens"`
}

type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// refusal reads an error body.
func refusal(_ int, _ map[string][]string, body []byte) (code, message string) {
	var v struct {
		Error apiError `json:"error"`
	}
	if json.Unmarshal(body, &v) != nil {
		return "", ""
	}
	return v.Error.Type, v.Error.Message
}

// assembly puts the pieces of one reply together.
type assembly struct {
	names llm.Names
	emit  func(llm.Event) bool
	body  *llm.Body

	begun     bool
	id, model string
	open      map[int]*toolUse // blocks of type tool_use that have not ended
	calls     int
	input     int64
	cacheR    int64
	cacheW    int64
	output    int64
	counted   bool
	stop      string
}

type toolUse struct {
	id, name string
	first    string // the input that came with the start of the block
	args     strings.Builder
}

// read turns a stream into events.
func read(b *llm.Body, names llm.Names, emit func(llm.Event) bool) error {
	a := assembly{names: names, emit: emit, body: b, open: map[int]*toolUse{}}
	for e, err := range llm.DecodeSSE(b) {
		if err != nil {
			return err
		}
		if more, err := a.event([]byte(e.Data)); err != nil || !more {
			return err
		}
	}
	return b.Failure(llm.Truncated, "the reply ended without message_stop")
}

// event handles one event and reports whether to read on.
func (a *assembly) event(data []byte) (more bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, a.body.Failure(llm.Malformed, "an event of the reply is not the documented JSON: %v", err)
	}
	switch e.Type {
	case "message_start":
		a.begun, a.id, a.model = true, e.Message.ID, e.Message.Model
		a.count(e.Message.Usage)
	case "content_block_start":
		return a.start(e)
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return e.Delta.Text == "" || a.emit(llm.Event{Text: e.Delta.Text}), nil
		case "input_json_delta":
			t := a.open[e.Index]
			if t == nil {
				return false, a.body.Failure(llm.Malformed, "a piece of tool input for block %d, which is no open tool call", e.Index)
			}
			t.args.WriteString(e.Delta.PartialJSON)
		}
	case "content_block_stop":
		return a.finish(e.Index), nil
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		a.count(e.Usage)
	case "message_stop":
		return false, a.end()
	case "error":
		return false, a.body.Fail(statusOf(e.Error.Type), e.Error.Type, e.Error.Message)
	}
	return true, nil
}

func (a *assembly) start(e event) (bool, error) {
	if !a.begun {
		return false, a.body.Failure(llm.Malformed, "content came before message_start")
	}
	switch c := e.ContentBlock; c.Type {
	case "text":
		return c.Text == "" || a.emit(llm.Event{Text: c.Text}), nil
	case "tool_use":
		if c.ID == "" || c.Name == "" || a.open[e.Index] != nil {
			return false, a.body.Failure(llm.Malformed, "tool call in block %d has no id or name, or is there twice", e.Index)
		}
		a.open[e.Index] = &toolUse{id: c.ID, name: c.Name, first: string(c.Input)}
	}
	return true, nil
}

// finish emits the call of a block, if it is one. A reply that was cut by
// max_tokens ends its block too; the call is then malformed, for the caller to see.
func (a *assembly) finish(index int) bool {
	t := a.open[index]
	if t == nil {
		return true
	}
	delete(a.open, index)
	a.calls++
	args := t.args.String()
	if args == "" {
		args = t.first
	}
	return a.emit(llm.Event{Call: &llm.ToolCall{ID: t.id, Name: a.names.Ours(t.name), Args: args}})
}

func (a *assembly) end() error {
	stop, raw := stopReason(a.stop)
	switch {
	case a.stop == "":
		return a.body.Failure(llm.Malformed, "the reply has no stop_reason")
	case len(a.open) > 0:
		return a.body.Failure(llm.Malformed, "the reply ended inside a tool call")
	case stop == llm.StopToolUse && a.calls == 0:
		return a.body.Failure(llm.Malformed, "the reply announces tool calls and has none")
	}
	u := llm.Usage{
		Input: a.input + a.cacheR + a.cacheW, Cached: a.cacheR, CacheWrite: a.cacheW,
		Output: a.output, Reported: a.counted,
	}
	a.emit(llm.Event{End: &llm.End{Stop: stop, RawStop: raw, Usage: u, Model: a.model, ID: a.id}})
	return nil
}

func (a *assembly) count(u *usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		to   *int64
		from *int64
	}{{&a.input, u.Input}, {&a.cacheW, u.CacheWrite}, {&a.cacheR, u.CacheRead}, {&a.output, u.Output}} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	a.counted = a.counted || u.Output != nil
}

func stopReason(word string) (llm.StopReason, string) {
	switch word {
	case "end_turn":
		return llm.StopEnd, ""
	case "tool_use":
		return llm.StopToolUse, ""
	case "max_tokens":
		return llm.StopMaxTokens, ""
	case "refusal":
		return llm.StopRefusal, ""
	case "stop_sequence":
		return llm.StopSequence, ""
	case "model_context_window_exceeded":
		return llm.StopContext, ""
	}
	return llm.StopOther, word
}

// statusOf gives the status that an error inside a stream would have had; the
// table is the API's own.
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "timeout_error":
		return 504
	case "overloaded_error":
		return 529
	}
	return 500
}
