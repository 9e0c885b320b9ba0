package openai

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/llm"
)

type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Tools               []chatTool      `json:"tools,omitempty"`
	ToolChoice          any             `json:"tool_choice,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	MaxTokens           int64           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64           `json:"max_completion_tokens,omitempty"`
	Temperature         json.Number     `json:"temperature,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	} `json:"json_schema"`
}

// request translates ours into the API's.
func (m *Model) request(r llm.Request, names llm.Names) chatRequest {
	out := chatRequest{Model: r.Model, Seed: r.Seed, Stream: true}
	out.StreamOptions.IncludeUsage = true
	if m.tokensField == "max_tokens" {
		out.MaxTokens = r.MaxTokens
	} else {
		out.MaxCompletionTokens = r.MaxTokens
	}
	if r.TemperatureMicros != nil {
		out.Temperature = llm.Decimal(*r.TemperatureMicros)
	}
	if !r.System.IsZero() {
		s := r.System.String()
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: &s})
	}
	for _, t := range r.Turns() {
		out.Messages = append(out.Messages, messages(t, names)...)
	}
	for _, t := range r.Tools {
		c := chatTool{Type: "function"}
		c.Function.Name, c.Function.Description = names.Wire(t.Name), t.Description
		c.Function.Parameters = json.RawMessage(t.Schema)
		out.Tools = append(out.Tools, c)
	}
	switch {
	case len(r.Tools) == 0 || r.Choice == llm.ChooseAuto:
	case r.Choice == llm.ChooseNone:
		out.ToolChoice = "none"
	case r.Choice == llm.ChooseAny:
		out.ToolChoice = "required"
	default:
		out.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": names.Wire(string(r.Choice))}}
	}
	if r.Output != nil {
		f := &responseFormat{Type: "json_schema"}
		f.JSONSchema.Name, f.JSONSchema.Schema, f.JSONSchema.Strict = wireName(r.Output.Name), json.RawMessage(r.Output.Schema), true
		out.ResponseFormat = f
	}
	return out
}

// wireName makes the name of a schema fit; it carries no meaning.
func wireName(name string) string {
	return llm.WireNames(llm.Request{Tools: []llm.Tool{{Name: name}}}).Wire(name)
}

// messages translates one turn: results are messages of their own here.
func messages(t llm.Message, names llm.Names) []chatMessage {
	var out []chatMessage
	for _, res := range t.Results() {
		text := res.Content
		if res.IsError {
			text = "error: " + text // the API has no mark for it
		}
		out = append(out, chatMessage{Role: "tool", Content: &text, ToolCallID: llm.WireID(res.CallID)})
	}
	text, calls := t.Text(), t.Calls()
	if text == "" && len(calls) == 0 {
		return out
	}
	m := chatMessage{Role: string(t.Role)}
	if text != "" {
		m.Content = &text
	}
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, chatCall{
			ID: llm.WireID(c.ID), Type: "function",
			Function: chatFunction{Name: names.Wire(c.Name), Arguments: string(llm.ObjectOr(c.Args))},
		})
	}
	return append(out, m)
}
