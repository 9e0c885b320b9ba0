package anthropic

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/llm"
)

type messagesRequest struct {
	Model        string        `json:"model"`
	MaxTokens    int64         `json:"max_tokens"`
	System       string        `json:"system,omitempty"`
	Messages     []turn        `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Temperature  json.Number   `json:"temperature,omitempty"`
	Stream       bool          `json:"stream"`
}

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type outputConfig struct {
	Format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

// request translates ours into the API's.
func request(r llm.Request, names llm.Names) messagesRequest {
	out := messagesRequest{Model: r.Model, MaxTokens: r.MaxTokens, System: r.System.String(), Stream: true}
	if r.TemperatureMicros != nil {
		out.Temperature = llm.Decimal(*r.TemperatureMicros)
	}
	for _, m := range r.Turns() {
		out.Messages = append(out.Messages, turn{Role: string(m.Role), Content: blocks(m, names)})
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Name: names.Wire(t.Name), Description: t.Description, InputSchema: json.RawMessage(t.Schema)})
	}
	switch {
	case len(r.Tools) == 0 || r.Choice == llm.ChooseAuto:
	case r.Choice == llm.ChooseNone, r.Choice == llm.ChooseAny:
		out.ToolChoice = &toolChoice{Type: string(r.Choice)}
	default:
		out.ToolChoice = &toolChoice{Type: "tool", Name: names.Wire(string(r.Choice))}
	}
	if r.Output != nil {
		out.OutputConfig = &outputConfig{}
		out.OutputConfig.Format.Type, out.OutputConfig.Format.Schema = "json_schema", json.RawMessage(r.Output.Schema)
	}
	return out
}

func blocks(m llm.Message, names llm.Names) []block {
	var out []block
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			out = append(out, block{Type: "tool_use", ID: llm.WireID(p.Call.ID), Name: names.Wire(p.Call.Name), Input: llm.ObjectOr(p.Call.Args)})
		case p.Result != nil:
			out = append(out, block{Type: "tool_result", ToolUseID: llm.WireID(p.Result.CallID), Content: &p.Result.Content, IsError: p.Result.IsError})
		default:
			out = append(out, block{Type: "text", Text: p.Text})
		}
	}
	return out
}
