package bedrock

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/llm"
)

type converseRequest struct {
	Messages        []turn           `json:"messages"`
	System          []systemBlock    `json:"system,omitempty"`
	InferenceConfig inferenceConfig  `json:"inferenceConfig"`
	ToolConfig      *toolConfig      `json:"toolConfig,omitempty"`
	OutputConfig    *json.RawMessage `json:"outputConfig,omitempty"`
}

type systemBlock struct {
	Text string `json:"text"`
}

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Text       *string     `json:"text,omitempty"`
	ToolUse    *toolUse    `json:"toolUse,omitempty"`
	ToolResult *toolResult `json:"toolResult,omitempty"`
}

type toolUse struct {
	ToolUseID string          `json:"toolUseId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type toolResult struct {
	ToolUseID string        `json:"toolUseId"`
	Content   []systemBlock `json:"content"`
	Status    string        `json:"status,omitempty"`
}

type inferenceConfig struct {
	MaxTokens   int64       `json:"maxTokens"`
	Temperature json.Number `json:"temperature,omitempty"`
}

type toolConfig struct {
	Tools      []toolEntry    `json:"tools"`
	ToolChoice map[string]any `json:"toolChoice,omitempty"`
}

type toolEntry struct {
	ToolSpec toolSpec `json:"toolSpec"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"`
}

// request translates ours into the API's.
func request(r llm.Request, names llm.Names) converseRequest {
	out := converseRequest{InferenceConfig: inferenceConfig{MaxTokens: r.MaxTokens}}
	if r.TemperatureMicros != nil {
		out.InferenceConfig.Temperature = llm.Decimal(*r.TemperatureMicros)
	}
	if !r.System.IsZero() {
		out.System = []systemBlock{{Text: r.System.String()}}
	}
	for _, m := range r.Turns() {
		t := turn{Role: string(m.Role)}
		for _, p := range m.Parts {
			t.Content = append(t.Content, part(p, names))
		}
		out.Messages = append(out.Messages, t)
	}
	out.ToolConfig = tools(r, names)
	if r.Output != nil {
		raw := outputConfig(*r.Output)
		out.OutputConfig = &raw
	}
	return out
}

func part(p llm.Part, names llm.Names) block {
	switch {
	case p.Call != nil:
		return block{ToolUse: &toolUse{ToolUseID: llm.WireID(p.Call.ID), Name: names.Wire(p.Call.Name), Input: llm.ObjectOr(p.Call.Args)}}
	case p.Result != nil:
		text := p.Result.Content
		if text == "" {
			text = "(empty)" // the API refuses an empty text
		}
		res := &toolResult{ToolUseID: llm.WireID(p.Result.CallID), Content: []systemBlock{{Text: text}}}
		if p.Result.IsError {
			res.Status = "error"
		}
		return block{ToolResult: res}
	}
	return block{Text: &p.Text}
}

// tools lists the tools. The API refuses a history with calls where no tool is
// listed, so that the tools of the history stand in when the request has none.
// It has no way to forbid calls: with ChooseNone the caller refuses them.
func tools(r llm.Request, names llm.Names) *toolConfig {
	list := r.Tools
	if len(list) == 0 {
		seen := map[string]bool{}
		for _, m := range r.Messages {
			for _, c := range m.Calls() {
				if !seen[c.Name] {
					seen[c.Name] = true
					list = append(list, llm.Tool{Name: c.Name, Description: "no longer available", Schema: `{"type":"object"}`})
				}
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	out := &toolConfig{}
	for _, t := range list {
		e := toolEntry{ToolSpec: toolSpec{Name: names.Wire(t.Name), Description: t.Description}}
		e.ToolSpec.InputSchema.JSON = json.RawMessage(t.Schema)
		out.Tools = append(out.Tools, e)
	}
	switch r.Choice {
	case llm.ChooseAuto, llm.ChooseNone:
	case llm.ChooseAny:
		out.ToolChoice = map[string]any{"any": struct{}{}}
	default:
		out.ToolChoice = map[string]any{"tool": map[string]string{"name": names.Wire(string(r.Choice))}}
	}
	return out
}

// outputConfig wants the schema as a string, unlike the tools' schemas.
func outputConfig(o llm.Output) json.RawMessage {
	raw, err := llm.EncodeJSON(map[string]any{"textFormat": map[string]any{
		"type":      "json_schema",
		"structure": map[string]any{"jsonSchema": map[string]string{"name": o.Name, "schema": o.Schema}},
	}})
	if err != nil { // maps of strings always encode
		return json.RawMessage("{}")
	}
	return raw
}
