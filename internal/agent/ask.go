package agent

import (
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// What the program itself says to a model in the middle of a conversation.
const (
	sayContinue = "Your reply was cut by the length limit. Continue exactly where it stopped; repeat nothing."
	sayAnswer   = "Your reply was empty. Answer in words now."
)

// before returns the progress as it was when step n was asked.
func (p *progress) before(n int) *progress {
	out := *p
	out.steps = p.steps[:min(n-1, len(p.steps))]
	out.budget, out.answer = nil, nil
	return &out
}

// ask builds the request of step n from everything before it.
func (in Inputs) ask(p *progress, n int) Move {
	p = p.before(n)
	shown := in
	if s := in.folded(p); s != nil {
		shown.Summary = s
	}
	messages := shown.base()
	messages = append(in.instructions(shown.fence()), messages...)
	for _, s := range p.steps {
		if s.role != summariseRole {
			messages = append(messages, in.exchange(p, s)...)
		}
	}
	r := llm.Request{System: in.System, Messages: messages, Tools: in.offered(), MaxTokens: in.Definition.Budgets.Answer}
	if p.thoughts()+1 >= in.Definition.Budgets.Steps && len(r.Tools) > 0 {
		r.Choice = llm.ChooseNone // the last step is for the answer
	}
	return Move{Ask: &Ask{Step: n, CallID: in.callID(n), Role: in.Start.Role, Prompt: in.Start.Prompt, Request: r}, Label: in.why(p)}
}

// folded returns the summary that this run made, as the turn it became.
func (in Inputs) folded(p *progress) *Turn {
	r := p.folded
	for _, s := range p.steps {
		if s.summary != nil {
			r = s.summary
		}
	}
	if r == nil {
		return nil
	}
	v, _ := r.Event.Payload.(event.ThreadSummarised)
	return &Turn{ID: v.TurnID, Role: TurnSummary, Text: v.Text, Label: r.Label, EventID: r.EventID, Covers: v.Turns}
}

// exchange renders a past step: what the model said, and what it got back.
func (in Inputs) exchange(p *progress, s *step) []llm.Message {
	var out []llm.Message
	said := llm.Message{Role: llm.RoleAssistant}
	call := 0
	for _, part := range s.answer.Parts {
		switch {
		case part.Call != nil:
			call++
			c := *part.Call
			c.ID = callName(s.n, call)
			if c.Name == "" {
				c.Name = "unnamed"
			}
			said.Parts = append(said.Parts, llm.Part{Call: &c})
		case strings.TrimSpace(part.Text) != "":
			said.Parts = append(said.Parts, llm.Part{Text: part.Text})
		}
	}
	if len(said.Parts) > 0 {
		out = append(out, said)
	}
	if call == 0 {
		if s.cut() {
			return append(out, llm.UserText(sayContinue))
		}
		return append(out, llm.UserText(sayAnswer))
	}
	_, bad := in.calls(p.before(s.n+1), s)
	results := map[string]result{}
	for _, r := range p.results() {
		results[r.call.CallID] = r
	}
	var list []llm.ToolResult
	for i, c := range s.answer.Calls() {
		t := llm.ToolResult{CallID: callName(s.n, i+1), Name: c.Name}
		if t.Name == "" {
			t.Name = "unnamed"
		}
		if r, ok := results[t.CallID]; ok {
			t.Content, t.IsError = in.content(r), r.is.State != stateConfirmed
		} else {
			t.Content, t.IsError = bad[t.CallID], true
		}
		list = append(list, t)
	}
	return append(out, llm.Results(list...))
}

// stateConfirmed is the one state of a skill result that says it happened.
const stateConfirmed = "confirmed"

// callName is the id of a call inside its run.
func callName(step, n int) string { return "s" + itoa(step) + "c" + itoa(n) }

// offered lists the tools of a request: executable skills that the agent holds.
func (in Inputs) offered() []llm.Tool {
	var out []llm.Tool
	for _, t := range in.Tools {
		m := t.Manifest
		if m.Kind == manifest.Instruction {
			continue
		}
		tool := llm.Tool{Name: m.Name, Description: m.Description, Schema: string(m.Input)}
		if !ours(t.Label) && !in.shown(t.Label) {
			tool.Description = "(description withheld: less trusted than the one you work for)"
		}
		if strings.TrimSpace(tool.Schema) == "" {
			tool.Schema = `{"type":"object"}`
		}
		out = append(out, tool)
	}
	return out
}

// instructions are the texts of instruction skills that the agent holds. They
// are data like any other: an installed text is not our prompt.
func (in Inputs) instructions(fence string) []llm.Message {
	var out []llm.Message
	for _, t := range in.Tools {
		if t.Manifest.Kind == manifest.Instruction && (ours(t.Label) || in.shown(t.Label)) {
			head := "how to work, label " + t.Label.Integrity().String()
			out = append(out, llm.UserText(block(fence, "skill:"+t.Manifest.Name, head, string(t.Content))))
		}
	}
	return out
}

// calls checks the tool calls of a reply. Those that can be made become calls;
// the others get a sentence for the model, by call id.
func (in Inputs) calls(p *progress, s *step) ([]event.SkillInvoke, map[string]string) {
	if len(s.answer.Calls()) == 0 {
		return nil, nil
	}
	then := p.before(s.n)
	why := in.why(then)
	sources := in.sources(then, why)
	last := then.thoughts()+1 >= in.Definition.Budgets.Steps
	var out []event.SkillInvoke
	bad := map[string]string{}
	for i, c := range s.answer.Calls() {
		name := callName(s.n, i+1)
		t, held := in.tool(c.Name)
		switch {
		case last:
			bad[name] = refusal("no step is left for a call: answer with what you have")
			continue
		case i >= maxCallsPerReply:
			bad[name] = refusal("at most " + itoa(maxCallsPerReply) + " calls are made per reply; make this one again")
			continue
		case !held || t.Manifest.Kind == manifest.Instruction:
			bad[name] = refusal("there is no tool " + quoteName(c.Name) + "; yours are: " + strings.Join(toolNames(in.offered()), ", "))
			continue
		}
		args, what, err := arguments(c.Args, why, sources)
		if err != nil {
			bad[name] = refusal(clipText(err.Error(), 600))
			continue
		}
		out = append(out, event.SkillInvoke{
			RunID: in.Run.ID, Step: s.n, CallID: name,
			Actor: "agent:" + in.Definition.Name, Requester: in.Task.Requester,
			Skill: t.Manifest.Name, Manifest: t.Hash, Catalogue: in.Start.Catalogue,
			Arguments: args, What: what, Trust: in.Task.Trust,
			Reason: clipText(strings.TrimSpace(s.answer.Text()), 400), Channel: in.Task.Channel, Recipient: in.Task.Requester,
		})
	}
	return out, bad
}

func toolNames(tools []llm.Tool) []string {
	out := make([]string, 0, len(tools))
	for _, t := range tools {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

// refusal is the content of a tool result that never became a call.
func refusal(sentence string) string {
	raw, err := encode(map[string]string{"state": "not_made", "error": sentence})
	if err != nil {
		return `{"state":"not_made"}`
	}
	return string(raw)
}

func quoteName(s string) string {
	return `"` + oneLine(clipText(s, 80)) + `"`
}
