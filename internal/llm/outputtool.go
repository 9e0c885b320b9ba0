package llm

import (
	"context"
	"iter"
)

// OutputAsTool gives JSON-schema output to a model whose API has none: the schema
// becomes a tool that must be called, and its arguments become the answer.
func OutputAsTool(m Model) Model { return outputTool{m} }

type outputTool struct{ m Model }

const outputToolText = "Give the final answer by calling this tool; its arguments are the answer."

// Stream implements Model. Text around the call is chatter about the answer: it
// is held back until the end and dropped if the call came.
func (o outputTool) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	if r.Output == nil {
		return o.m.Stream(ctx, r)
	}
	name := r.Output.Name
	choice := ToolChoice(name)
	if len(r.Tools) > 0 && r.Choice != ChooseNone {
		choice = ChooseAny // the answer, or one of the caller's tools first
	}
	r.Tools = append(r.Tools[:len(r.Tools):len(r.Tools)], Tool{Name: name, Description: outputToolText, Schema: r.Output.Schema})
	r.Choice, r.Output = choice, nil
	return func(yield func(Event, error) bool) {
		var held []Event
		answered, others := false, false
		for e, err := range o.m.Stream(ctx, r) {
			switch {
			case err != nil:
				yield(Event{}, err)
				return
			case e.Call != nil && e.Call.Name == name:
				if !answered && !yield(Event{Text: e.Call.Args}, nil) {
					return
				}
				answered = true
				continue
			case e.Call != nil:
				others = true
			case e.End == nil:
				held = append(held, e)
				continue
			default:
				for _, h := range held {
					if !answered && !yield(h, nil) {
						return
					}
				}
				if answered && !others && e.End.Stop == StopToolUse {
					end := *e.End
					end.Stop = StopEnd
					e.End = &end
				}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
