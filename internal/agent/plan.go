package agent

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

// plan is what the next commit will do, computed before the transaction: making
// and encoding a long request inside would hold up everybody's writes.
type plan struct {
	moves []Move
	call  *llm.Call // of the Ask that ends the moves, if one does
	// reply is the response as it was planned with; what End records must agree.
	reply event.LLMResponse
}

// plan computes the moves up to the first that has to wait for somebody.
func (f *flight) plan(ask *llm.Call, reply *llm.Reply) (plan, error) {
	var out plan
	records := append([]Record(nil), f.records...)
	if !f.started {
		records = append(records, provisional(f.run.ID, 0, RecordStart, 0, "", f.in.StartLabel, f.in.Start))
	}
	if reply != nil {
		out.reply = event.LLMResponse{}
		if reply.Err != nil {
			out.reply.ErrorKind = fault.KindOf(reply.Err).String()
		} else {
			raw, err := canon.JSON(reply.Response)
			if err != nil {
				// What the journal cannot hold was no reply.
				reply.Err = fault.Wrap(fault.Invalid, err, "the model's reply")
				out.reply.ErrorKind = fault.KindOf(reply.Err).String()
			}
			out.reply.Response = raw
		}
		records = append(records, provisional(f.run.ID, len(records), RecordReply, ask.Step, ask.ID.String(), ask.Draft.Label, out.reply))
	}
	for {
		m, err := Next(f.in, records)
		if err != nil {
			return out, err
		}
		out.moves = append(out.moves, m)
		if m.Ask != nil {
			out.call = f.call(m)
			return out, nil
		}
		if m.Summary == nil {
			return out, nil
		}
		records = append(records, provisional(f.run.ID, len(records), RecordSummary, m.Summary.Step, "", m.Summary.Label, f.summarised(*m.Summary)))
	}
}

// provisional is a record whose event does not exist yet.
func provisional(run id.ID, n int, kind RecordKind, step int, callID string, label event.Label, p event.Payload) Record {
	return Record{RunID: run, N: n, Kind: kind, Step: step, CallID: callID, Label: label, Event: event.Event{Payload: p, Label: label}}
}

// call makes the model call of an Ask, all but its target and causes.
func (f *flight) call(m Move) *llm.Call {
	b := f.in.Definition.Budgets
	return &llm.Call{ID: m.Ask.CallID, RunID: f.run.ID, Step: m.Ask.Step, Agent: f.run.Agent, Role: m.Ask.Role,
		Prompt: m.Ask.Prompt, Request: m.Ask.Request, Run: llm.Amount{Tokens: b.Tokens, USDMicro: b.USDMicro},
		Draft: event.Draft{Stream: f.run.Thread, Subject: f.run.Subject, Label: m.Label}}
}

// aim fills in who is asked, which makes the request whole, and encodes it.
func aim(c *llm.Call, t llm.Target) error {
	c.Target = t
	c.Request.Model, c.Request.TemperatureMicros, c.Request.Seed = t.Model, t.TemperatureMicros, t.Seed
	return c.Encode()
}

// recordedTarget reads back from a recorded request who was asked: asking again
// asks the same.
func recordedTarget(e event.Event) (llm.Target, error) {
	p, _ := e.Payload.(event.LLMRequest)
	r, err := llm.RequestOf(e)
	return llm.Target{Provider: p.Provider, Model: r.Model, TemperatureMicros: r.TemperatureMicros, Seed: r.Seed}, err
}

// summarised is the payload of a summary.
func (f *flight) summarised(s Summary) event.ThreadSummarised { return f.in.summarised(s) }

func (in Inputs) summarised(s Summary) event.ThreadSummarised {
	return event.ThreadSummarised{ThreadID: in.Run.Thread, Through: in.Fold[len(in.Fold)-1].ID, Text: s.Text,
		TurnID: in.summaryID(), RunID: in.Run.ID, Turns: s.Turns, By: s.By}
}

// response is the payload of an answer.
func (in Inputs) response(a Answer) event.AgentResponse {
	return event.AgentResponse{RunID: in.Run.ID, Agent: in.Run.Agent, ThreadID: in.Run.Thread, MessageID: in.answerID(),
		InReplyTo: in.Task.MessageID, Text: a.Text, IsError: a.Outcome != Answered, ErrorKind: a.ErrorKind, Skills: a.Skills, Bindings: a.Bindings}
}

// sameReply reports whether a recorded reply is the one that was planned with.
func sameReply(a, b event.LLMResponse) bool {
	return a.ErrorKind == b.ErrorKind && string(a.Response) == string(b.Response)
}
