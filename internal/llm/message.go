package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Role says who speaks in a Message. The system speaks in Request.System only.
type Role string

// The two sides of a conversation. Tool results are parts of the user's side.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is a piece of a message: exactly one field is set.
type Part struct {
	Text   string      `json:"text,omitempty"`
	Call   *ToolCall   `json:"call,omitempty"`   // assistant only
	Result *ToolResult `json:"result,omitempty"` // user only
}

// ToolCall is the model's wish to use a tool. It is text until somebody checks it.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is the JSON text exactly as the model wrote it; "{}" for none. It is
	// text, because its numbers are not ours to rewrite and it may be malformed.
	Args string `json:"args"`
}

// Malformed reports whether Args is not one JSON object.
func (c ToolCall) Malformed() bool { return !isObject(c.Args) }

// ToolResult answers a ToolCall.
type ToolResult struct {
	CallID  string `json:"callId"`
	Name    string `json:"name"`
	Content string `json:"content"`
	IsError bool   `json:"isError,omitempty"`
}

// UserText returns a message of the user with one text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Text: text}}}
}

// Results returns the message that answers tool calls.
func Results(results ...ToolResult) Message {
	m := Message{Role: RoleUser}
	for i := range results {
		m.Parts = append(m.Parts, Part{Result: &results[i]})
	}
	return m
}

// Text returns the texts of the message, a blank line between them.
func (m Message) Text() string {
	var out []string
	for _, p := range m.Parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n\n")
}

// Calls returns the tool calls of the message.
func (m Message) Calls() []ToolCall {
	var out []ToolCall
	for _, p := range m.Parts {
		if p.Call != nil {
			out = append(out, *p.Call)
		}
	}
	return out
}

// Results returns the tool results of the message.
func (m Message) Results() []ToolResult {
	var out []ToolResult
	for _, p := range m.Parts {
		if p.Result != nil {
			out = append(out, *p.Result)
		}
	}
	return out
}

// isObject reports whether s is one valid JSON object.
func isObject(s string) bool {
	b := bytes.TrimSpace([]byte(s))
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}
