package llm

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Request is one question to a model. It holds text and integers only, so that
// its canonical JSON and its digest are the same everywhere.
type Request struct {
	Model    string      `json:"model"` // as the provider names it
	System   Instruction `json:"system,omitzero"`
	Messages []Message   `json:"messages"`
	Tools    []Tool      `json:"tools,omitempty"`
	Choice   ToolChoice  `json:"toolChoice,omitempty"`
	Output   *Output     `json:"output,omitempty"`
	// MaxTokens bounds the answer and so its price; always required.
	MaxTokens int64 `json:"maxTokens"`
	// TemperatureMicros is the temperature in millionths; nil leaves it to the model.
	TemperatureMicros *int64 `json:"temperatureMicros,omitempty"`
	// Seed is sent where the provider takes one; nil sends none.
	Seed *int64 `json:"seed,omitempty"`
}

// Tool is what the model may call. Names may hold dots; wires that refuse them
// translate both ways.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      string `json:"schema"` // JSON Schema of the arguments, as text
}

// ToolChoice says whether the model may, must or must not call a tool. Any other
// value than these three is the name of the tool that must be called.
type ToolChoice string

// The general choices.
const (
	ChooseAuto ToolChoice = ""
	ChooseNone ToolChoice = "none"
	ChooseAny  ToolChoice = "any"
)

// Output asks for an answer that is JSON by a schema.
type Output struct {
	Name   string `json:"name"`
	Schema string `json:"schema"` // JSON Schema, as text
}

// Upper bounds of what a wire is asked to carry; beyond is a bug of the caller.
const (
	maxTokensCap    = 1 << 24
	temperatureCap  = 2_000_000
	maxToolName     = 200
	maxRequestTools = 512
)

// Check refuses a request that no provider can answer, naming the field.
// The error is of kind Invalid.
func (r Request) Check() error {
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	switch {
	case r.Model == "":
		return bad("model", "no model is named")
	case len(r.Messages) == 0:
		return bad("messages", "there is nothing to answer")
	case r.Messages[0].Role != RoleUser:
		return bad("messages[0].role", "a conversation starts with the user")
	case r.MaxTokens <= 0 || r.MaxTokens > maxTokensCap:
		return bad("maxTokens", "want 1 to %d", maxTokensCap)
	case r.TemperatureMicros != nil && (*r.TemperatureMicros < 0 || *r.TemperatureMicros > temperatureCap):
		return bad("temperatureMicros", "want 0 to %d", temperatureCap)
	case r.Seed != nil && (*r.Seed < 0 || *r.Seed >= 1<<53):
		return bad("seed", "want 0 to 2^53-1")
	case len(r.Tools) > maxRequestTools:
		return bad("tools", "at most %d tools", maxRequestTools)
	}
	names := map[string]bool{}
	for i, t := range r.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Name == "" || len(t.Name) > maxToolName || !utf8.ValidString(t.Name):
			return bad(at+".name", "want 1 to %d bytes of UTF-8", maxToolName)
		case names[t.Name]:
			return bad(at+".name", "%q is there twice", t.Name)
		case !isObject(t.Schema):
			return bad(at+".schema", "the schema of %s is not a JSON object", t.Name)
		}
		names[t.Name] = true
	}
	switch r.Choice {
	case ChooseAuto, ChooseNone:
	case ChooseAny:
		if len(r.Tools) == 0 {
			return bad("toolChoice", "there is no tool to call")
		}
	default:
		if !names[string(r.Choice)] {
			return bad("toolChoice", "there is no tool %q", string(r.Choice))
		}
	}
	if r.Output != nil && (r.Output.Name == "" || !isObject(r.Output.Schema)) {
		return bad("output", "want a name and a JSON object as schema")
	}
	return r.checkTurns()
}

// checkTurns refuses a conversation whose tool calls and results do not pair up:
// every provider does, each in other words and some only after billing.
func (r Request) checkTurns() error {
	open := map[string]bool{} // calls of the last assistant turn that want an answer
	for i, m := range r.Messages {
		bad := func(format string, args ...any) error {
			return fault.New(fault.Invalid, format, args...).On(fmt.Sprintf("messages[%d]", i))
		}
		if m.Role != RoleUser && m.Role != RoleAssistant {
			return bad("unknown role %q", m.Role)
		}
		if len(m.Parts) == 0 {
			return bad("a message needs a part")
		}
		for _, res := range m.Results() {
			if m.Role != RoleUser || !open[res.CallID] {
				return bad("a result for call %q, which is not open", res.CallID)
			}
			delete(open, res.CallID)
		}
		if len(open) > 0 {
			return bad("%d tool calls have no result", len(open))
		}
		for _, c := range m.Calls() {
			if m.Role != RoleAssistant || c.ID == "" || c.Name == "" || open[c.ID] {
				return bad("a tool call needs the assistant, an id of its own and a name")
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fault.New(fault.Invalid, "%d tool calls have no result", len(open)).On("messages")
	}
	return nil
}

// LastUserText returns the text of the last message of the user that has one.
func (r Request) LastUserText() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == RoleUser && strings.TrimSpace(m.Text()) != "" {
			return m.Text()
		}
	}
	return ""
}

// Turns returns the conversation with neighbours of one role joined, results
// before texts and empty texts dropped: the one shape that every wire accepts.
func (r Request) Turns() []Message {
	var out []Message
	for _, m := range r.Messages {
		if n := len(out); n == 0 || out[n-1].Role != m.Role {
			out = append(out, Message{Role: m.Role})
		}
		last := &out[len(out)-1]
		for _, p := range m.Parts {
			if p.Result != nil {
				at := 0
				for at < len(last.Parts) && last.Parts[at].Result != nil {
					at++
				}
				last.Parts = append(last.Parts[:at], append([]Part{p}, last.Parts[at:]...)...)
			} else if p.Call != nil || strings.TrimSpace(p.Text) != "" {
				last.Parts = append(last.Parts, p)
			}
		}
	}
	kept := out[:0]
	for _, m := range out {
		if len(m.Parts) > 0 {
			kept = append(kept, m)
		}
	}
	return kept
}
