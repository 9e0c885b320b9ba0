package bedrock

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/witan-run/witan/internal/llm"
)

type usage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
}

func (u *usage) ours() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	return llm.Usage{
		Input: u.Input + u.CacheRead + u.CacheWrite, Cached: u.CacheRead, CacheWrite: u.CacheWrite,
		Output: u.Output, Reported: true,
	}
}

// refusal reads an error reply: the code stands in a header, the message in the body.
func refusal(_ int, header map[string][]string, body []byte) (code, message string) {
	for k, v := range header {
		if strings.EqualFold(k, "X-Amzn-Errortype") && len(v) > 0 {
			code, _, _ = strings.Cut(v[0], ":")
		}
	}
	return code, messageOf(body)
}

func messageOf(body []byte) string {
	var v struct {
		Message string `json:"message"` // in either case: encoding/json folds it
	}
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	return v.Message
}

// event is the payload of any frame; which fields are set depends on its type.
type event struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *struct {
			ToolUseID string `json:"toolUseId"`
			Name      string `json:"name"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    string `json:"text"`
		ToolUse *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
	} `json:"delta"`
	StopReason string `json:"stopReason"`
	Usage      *usage `json:"usage"`
}

// assembly puts the pieces of one reply together.
type assembly struct {
	names llm.Names
	emit  func(llm.Event) bool
	body  *llm.Body

	open  map[int]*pending
	calls int
	stop  string
	usage llm.Usage
}

type pending struct {
	id, name string
	args     strings.Builder
}

// readStream turns an event stream into events. The count comes in a last frame
// after messageStop; a reply that lost only that is whole.
func readStream(b *llm.Body, names llm.Names, emit func(llm.Event) bool) error {
	a := assembly{names: names, emit: emit, body: b, open: map[int]*pending{}}
	for {
		f, err := readFrame(b, b.MaxLine)
		switch {
		case err == nil:
		case a.stop != "" && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || llm.CutShort(err)):
			return a.end()
		case errors.Is(err, errFrameSize):
			return b.Failure(llm.TooLarge, "a frame of the reply is larger than %d bytes", b.MaxLine)
		case errors.Is(err, errChecksum), errors.Is(err, errFrame):
			return b.Failure(llm.Malformed, "the reply is damaged: %v", err)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return b.Failure(llm.Truncated, "the reply ended without messageStop")
		default:
			return err
		}
		more, err := a.frame(f)
		if err != nil || !more {
			return err
		}
	}
}

func (a *assembly) frame(f frame) (more bool, err error) {
	switch f.header[":message-type"] {
	case "exception":
		kind := f.header[":exception-type"]
		return false, a.body.Fail(statusOf(kind), kind, messageOf(f.payload))
	case "error": // a failure below the service: no JSON
		return false, a.body.Fail(500, f.header[":error-code"], f.header[":error-message"])
	}
	var e event
	if err := json.Unmarshal(f.payload, &e); err != nil {
		return false, a.body.Failure(llm.Malformed, "an event of the reply is not the documented JSON: %v", err)
	}
	switch f.header[":event-type"] {
	case "contentBlockStart":
		if t := e.Start.ToolUse; t != nil {
			if t.ToolUseID == "" || t.Name == "" || a.open[e.Index] != nil {
				return false, a.body.Failure(llm.Malformed, "tool call in block %d has no id or name, or is there twice", e.Index)
			}
			a.open[e.Index] = &pending{id: t.ToolUseID, name: t.Name}
		}
	case "contentBlockDelta":
		if e.Delta.Text != "" && !a.emit(llm.Event{Text: e.Delta.Text}) {
			return false, nil
		}
		if t := e.Delta.ToolUse; t != nil {
			p := a.open[e.Index]
			if p == nil {
				return false, a.body.Failure(llm.Malformed, "a piece of tool input for block %d, which is no open tool call", e.Index)
			}
			p.args.WriteString(t.Input)
		}
	case "contentBlockStop":
		if p := a.open[e.Index]; p != nil {
			delete(a.open, e.Index)
			return a.call(p.id, p.name, p.args.String()), nil
		}
	case "messageStop":
		a.stop = e.StopReason
		if a.stop == "" {
			return false, a.body.Failure(llm.Malformed, "the reply has no stopReason")
		}
	case "metadata":
		a.usage = e.Usage.ours()
		if a.stop != "" {
			return false, a.end()
		}
	}
	return true, nil
}

func (a *assembly) call(id, name, args string) bool {
	a.calls++
	return a.emit(llm.Event{Call: &llm.ToolCall{ID: id, Name: a.names.Ours(name), Args: args}})
}

func (a *assembly) end() error {
	stop, raw := stopReason(a.stop)
	switch {
	case len(a.open) > 0:
		return a.body.Failure(llm.Malformed, "the reply ended inside a tool call")
	case stop == llm.StopToolUse && a.calls == 0:
		return a.body.Failure(llm.Malformed, "the reply announces tool calls and has none")
	}
	a.emit(llm.Event{End: &llm.End{Stop: stop, RawStop: raw, Usage: a.usage}})
	return nil
}

// wholeReply is the answer of Converse.
type wholeReply struct {
	Output struct {
		Message struct {
			Content []struct {
				Text    string `json:"text"`
				ToolUse *struct {
					ToolUseID string          `json:"toolUseId"`
					Name      string          `json:"name"`
					Input     json.RawMessage `json:"input"`
				} `json:"toolUse"`
			} `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string `json:"stopReason"`
	Usage      *usage `json:"usage"`
}

// readWhole turns a whole reply into events.
func readWhole(b *llm.Body, names llm.Names, emit func(llm.Event) bool) error {
	data, err := io.ReadAll(b)
	if err != nil {
		return err
	}
	var v wholeReply
	// A Decoder, unlike Unmarshal, tells a document that was cut from a wrong one.
	switch err := json.NewDecoder(bytes.NewReader(data)).Decode(&v); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b.Failure(llm.Truncated, "the reply is cut short")
	case err != nil:
		return b.Failure(llm.Malformed, "the reply is not the documented JSON: %v", err)
	}
	if v.StopReason == "" {
		return b.Failure(llm.Malformed, "the reply has no stopReason")
	}
	a := assembly{names: names, emit: emit, body: b, stop: v.StopReason, usage: v.Usage.ours()}
	for _, c := range v.Output.Message.Content {
		if c.Text != "" && !emit(llm.Event{Text: c.Text}) {
			return nil
		}
		if t := c.ToolUse; t != nil {
			if t.ToolUseID == "" || t.Name == "" {
				return b.Failure(llm.Malformed, "a tool call has no id or name")
			}
			if !a.call(t.ToolUseID, t.Name, string(t.Input)) {
				return nil
			}
		}
	}
	return a.end()
}

func stopReason(word string) (llm.StopReason, string) {
	switch word {
	case "end_turn":
		return llm.StopEnd, ""
	case "tool_use":
		return llm.StopToolUse, ""
	case "max_tokens":
		return llm.StopMaxTokens, ""
	case "stop_sequence":
		return llm.StopSequence, ""
	case "guardrail_intervened", "content_filtered":
		return llm.StopRefusal, ""
	case "model_context_window_exceeded":
		return llm.StopContext, ""
	}
	return llm.StopOther, word
}

// statusOf gives the status that an exception inside a stream would have had.
func statusOf(kind string) int {
	switch kind {
	case "validationException":
		return 400
	case "throttlingException":
		return 429
	case "serviceUnavailableException":
		return 503
	case "modelStreamErrorException":
		return 424
	case "modelTimeoutException":
		return 408
	}
	return 500
}
