package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/llm"
)

// chunk is one event of a stream, and also a whole reply: only the place of the
// message differs.
type chunk struct {
	ID      string   `json:"id"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Error   apiError `json:"error"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        message `json:"delta"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type message struct {
	Content   content    `json:"content"`
	Refusal   string     `json:"refusal"`
	ToolCalls []fragment `json:"tool_calls"`
}

// fragment is a piece of a tool call. The first of a call has id and name.
type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// content is a string, null, or parts of type text among others.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			if p.Type == "text" {
				*c += content(p.Text)
			}
		}
		return nil
	}
	return json.Unmarshal(b, (*string)(c))
}

// arguments is JSON text in a string; some servers send the object itself.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*a = arguments(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(a))
}

// apiError is {"message","type","code"}; a code may be a number, and some servers
// send a bare string.
type apiError struct {
	set           bool
	code, message string
	status        int
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *apiError) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	e.set = true
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &e.message)
	}
	var v struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	code := strings.Trim(string(v.Code), `"`)
	if n, err := strconv.Atoi(code); err == nil {
		e.status, code = n, ""
	}
	if code == "null" {
		code = ""
	}
	e.code, e.message = strings.TrimSpace(code+" "+v.Type), v.Message
	return nil
}

// refusal reads an error body.
func refusal(_ int, _ map[string][]string, body []byte) (code, msg string) {
	var v struct {
		Error   apiError `json:"error"`
		Message string   `json:"message"` // vLLM
		Detail  any      `json:"detail"`  // FastAPI
	}
	if json.Unmarshal(body, &v) != nil {
		return "", ""
	}
	if v.Error.set {
		return v.Error.code, v.Error.message
	}
	if s, ok := v.Detail.(string); ok && v.Message == "" {
		return "", s
	}
	return "", v.Message
}

// read turns a reply into events.
func read(b *llm.Body, names llm.Names, emit func(llm.Event) bool) error {
	a := assembly{names: names, emit: emit, body: b}
	if b.ContentType() == "application/json" { // a server that does not stream
		data, err := readAll(b)
		if err != nil {
			return err
		}
		if err := a.chunk(data); err != nil || a.stopped {
			return err
		}
		return a.end(false)
	}
	for e, err := range llm.DecodeSSE(b) {
		if err != nil {
			if a.finish != "" && llm.CutShort(err) {
				break // the answer is whole; only the count after it is lost
			}
			return err
		}
		if strings.TrimSpace(e.Data) == "[DONE]" {
			return a.end(true)
		}
		if err := a.chunk([]byte(e.Data)); err != nil || a.stopped {
			return err
		}
	}
	return a.end(false)
}

// assembly puts the pieces of one reply together.
type assembly struct {
	names   llm.Names
	emit    func(llm.Event) bool
	body    *llm.Body
	stopped bool

	id, model string
	calls     []*call
	usage     llm.Usage
	finish    string
	refused   bool
}

type call struct {
	index    int
	id, name string
	args     strings.Builder
}

func (a *assembly) chunk(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return a.body.Failure(llm.Malformed, "a piece of the reply is not the documented JSON: %v", err)
	}
	if c.Error.set {
		status := c.Error.status
		if status == 0 {
			status = statusOf(c.Error.code)
		}
		return a.body.Fail(status, c.Error.code, c.Error.message)
	}
	if c.ID != "" {
		a.id = c.ID
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if u := c.Usage; u != nil {
		a.usage = llm.Usage{Input: u.Prompt, Cached: u.Details.Cached, Output: u.Completion, Reported: true}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // one answer was asked for
		}
		for _, m := range []message{ch.Delta, ch.Message} {
			a.refused = a.refused || m.Refusal != ""
			for _, text := range []string{string(m.Content), m.Refusal} {
				if text != "" && !a.emit(llm.Event{Text: text}) {
					a.stopped = true
					return nil
				}
			}
			for i, f := range m.ToolCalls {
				a.fragment(i, f)
			}
		}
		if ch.FinishReason != "" {
			a.finish = ch.FinishReason
		}
	}
	return nil
}

// fragment adds a piece to the call of its index. Where a server gives none, a
// new id starts a new call and anything else continues the last one.
func (a *assembly) fragment(at int, f fragment) {
	var c *call
	switch {
	case f.Index != nil:
		for _, have := range a.calls {
			if have.index == *f.Index && (f.ID == "" || have.id == "" || have.id == f.ID) {
				c = have
			}
		}
		if c == nil {
			c = &call{index: *f.Index}
			a.calls = append(a.calls, c)
		}
	case len(a.calls) > 0 && f.Function.Name == "" && (f.ID == "" || f.ID == a.calls[len(a.calls)-1].id):
		c = a.calls[len(a.calls)-1]
	default:
		c = &call{index: len(a.calls) + at}
		a.calls = append(a.calls, c)
	}
	if f.ID != "" {
		c.id = f.ID
	}
	if c.name == "" {
		c.name = f.Function.Name
	}
	c.args.WriteString(string(f.Function.Arguments))
}

// end emits the calls and the end. done says that the server closed the stream in
// order; without it there must have been a finish reason.
func (a *assembly) end(done bool) error {
	if a.finish == "" {
		if !done {
			return a.body.Failure(llm.Truncated, "the reply ended without a finish reason")
		}
		return a.body.Failure(llm.Malformed, "the reply has no finish reason")
	}
	stop, raw := stopReason(a.finish)
	switch {
	case a.refused && stop == llm.StopEnd:
		stop = llm.StopRefusal
	case len(a.calls) > 0 && stop == llm.StopEnd:
		stop = llm.StopToolUse // several servers say "stop" after calls
	case len(a.calls) == 0 && stop == llm.StopToolUse:
		return a.body.Failure(llm.Malformed, "the reply announces tool calls and has none")
	}
	for i, c := range a.calls {
		if c.name == "" {
			return a.body.Failure(llm.Malformed, "a tool call has no name")
		}
		if c.id == "" {
			c.id = llm.MakeID(a.id, strconv.Itoa(i), c.name, c.args.String())
		}
		if !a.emit(llm.Event{Call: &llm.ToolCall{ID: c.id, Name: a.names.Ours(c.name), Args: c.args.String()}}) {
			return nil
		}
	}
	a.emit(llm.Event{End: &llm.End{Stop: stop, RawStop: raw, Usage: a.usage, Model: a.model, ID: a.id}})
	return nil
}

func stopReason(word string) (llm.StopReason, string) {
	switch word {
	case "stop":
		return llm.StopEnd, ""
	case "tool_calls", "function_call":
		return llm.StopToolUse, ""
	case "length":
		return llm.StopMaxTokens, ""
	case "content_filter":
		return llm.StopRefusal, ""
	}
	return llm.StopOther, word
}

// statusOf gives the status that an error inside a stream would have had.
func statusOf(code string) int {
	switch {
	case strings.Contains(code, "rate_limit"):
		return 429
	case strings.Contains(code, "overloaded"):
		return 503
	case strings.Contains(code, "invalid_request"):
		return 400
	}
	return 500
}
