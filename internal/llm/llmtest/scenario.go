package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/llm"
)

// The scenario: a person asks for a note, the model calls a tool with a dotted
// name, the result goes back, and the model answers. The texts hold what breaks
// naive wires: quotes, line breaks, characters of two to four bytes, a fraction.
const (
	ModelName = "test-model-1"
	System    = "You keep notes. Answer in one sentence."
	Ask       = "Note: \"Zoë's café\" ☕ opens\nat 7:30 🕢"
	ToolName  = "file.write"
	WireName  = "file_write" // ToolName where dots are not allowed
	Schema    = `{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"weight":{"type":"number"}},"required":["path","text"],"additionalProperties":false}`
	Before    = "I will note that – one moment 🖊. "
	Args      = `{"path":"notes/today.md","text":"\"Zoë's café\" ☕ opens\nat 7:30 🕢","weight":1.50}`
	Result    = `{"written":42}`
	Final     = "Noted in notes/today.md ✓"
	MaxTokens = 256
)

// Usages that the fakes report, in order.
func Usages() []llm.Usage {
	return []llm.Usage{
		{Input: 31, Output: 12, Reported: true},
		{Input: 57, Cached: 20, Output: 9, Reported: true},
	}
}

// Request returns the first request of the scenario.
func Request() llm.Request {
	temperature := int64(200_000)
	return llm.Request{
		Model: ModelName, System: llm.Instruct(System), MaxTokens: MaxTokens, TemperatureMicros: &temperature,
		Messages: []llm.Message{llm.UserText(Ask)},
		Tools:    []llm.Tool{{Name: ToolName, Description: "Write a file.", Schema: Schema}},
	}
}

// Transcript is what happened.
type Transcript struct {
	Replies []llm.Response
	Files   map[string]string
}

// Play lets a model act until it has answered: the smallest agent there is.
func Play(ctx context.Context, m llm.Model) (Transcript, error) {
	tr := Transcript{Files: map[string]string{}}
	r := Request()
	for range 4 {
		reply, err := llm.Collect(m.Stream(ctx, r))
		if err != nil {
			return tr, err
		}
		tr.Replies = append(tr.Replies, reply)
		r.Messages = append(r.Messages, reply.Message())
		if reply.Stop != llm.StopToolUse {
			return tr, nil
		}
		var results []llm.ToolResult
		for _, c := range reply.Calls() {
			results = append(results, tr.act(c))
		}
		r.Messages = append(r.Messages, llm.Results(results...))
	}
	return tr, fmt.Errorf("no answer after %d replies", len(tr.Replies))
}

func (tr *Transcript) act(c llm.ToolCall) llm.ToolResult {
	res := llm.ToolResult{CallID: c.ID, Name: c.Name, Content: Result}
	var args struct{ Path, Text string }
	if err := json.Unmarshal([]byte(c.Args), &args); err != nil || c.Name != ToolName {
		res.IsError, res.Content = true, "unknown tool or arguments"
		return res
	}
	tr.Files[args.Path] = args.Text
	return res
}

// Check compares a transcript with the scenario. exact is for wires: the arguments
// to the byte and the counts as the provider said; a model that counts and encodes
// by itself is held to the meaning.
func Check(t *testing.T, tr Transcript, exact bool) {
	t.Helper()
	if diff := cmp.Diff(map[string]string{"notes/today.md": "\"Zoë's café\" ☕ opens\nat 7:30 🕢"}, tr.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if len(tr.Replies) != 2 {
		t.Fatalf("replies: want 2, got %d: %+v", len(tr.Replies), tr.Replies)
	}
	first, second := tr.Replies[0], tr.Replies[1]
	if first.Text() != Before || first.Stop != llm.StopToolUse {
		t.Errorf("first reply: text %q, stop %q", first.Text(), first.Stop)
	}
	calls := first.Calls()
	if len(calls) != 1 || calls[0].Name != ToolName || calls[0].ID == "" || exact && calls[0].Args != Args || !sameJSON(calls[0].Args, Args) {
		t.Errorf("calls: %+v", calls)
	}
	if second.Text() != Final || second.Stop != llm.StopEnd || len(second.Calls()) != 0 {
		t.Errorf("second reply: %+v", second)
	}
	if exact {
		if diff := cmp.Diff(Usages(), []llm.Usage{first.Usage, second.Usage}); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}
