package agent

import (
	"context"
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// outcome says what a commit left to do.
type outcome struct {
	run     Run
	records []Record
	lease   event.Lease
	ask     *llm.Call // recorded; its reply is awaited
	request event.Ref
}

// errMoved says that the run's log grew since it was read: read it again.
var errMoved = fault.New(fault.Conflict, "the run moved on")

// writer carries out a plan inside one transaction.
type writer struct {
	s       *Service
	tx      event.Tx
	f       *flight
	run     Run
	records []Record
	lease   event.Lease
	out     outcome
}

// commit records what is planned: with the first commit of a flight the lease is
// taken, with every later one it is proven. asked and reply are the model call
// that just came back, if one did.
func (s *Service) commit(ctx context.Context, f *flight, p plan, asked *llm.Call, request event.Ref, reply *llm.Reply) (outcome, error) {
	var out outcome
	err := s.Journal.Do(ctx, f.account, func(tx event.Tx) error {
		w := &writer{s: s, tx: tx, f: f, records: slices.Clone(f.records)}
		if err := w.carry(p, asked, request, reply); err != nil {
			return err
		}
		w.out.run, w.out.records, w.out.lease = w.run, w.records, w.lease
		out = w.out
		return nil
	})
	return out, err
}

func (w *writer) carry(p plan, asked *llm.Call, request event.Ref, reply *llm.Reply) error {
	var err error
	if w.run, err = w.s.Store.LockRun(w.tx, w.f.run.ID); err != nil {
		return err
	}
	over := w.run.State == Finished
	if !over && w.run.Records != len(w.records) {
		return errMoved
	}
	if w.f.held {
		w.lease = w.f.lease
		err = w.s.Store.Guard(w.tx, w.lease)
	} else {
		w.lease, err = w.s.Store.ClaimRun(w.tx, w.run.ID)
	}
	if err != nil {
		return err
	}
	if over {
		// It was cancelled meanwhile. What the reply cost is still settled.
		if reply != nil {
			if _, err := w.s.Models.End(w.tx, *asked, request, *reply); err != nil {
				return err
			}
		}
		return w.s.Store.Finish(w.tx, w.lease)
	}
	if !w.f.started {
		if err := w.start(); err != nil {
			return err
		}
	}
	if reply != nil {
		recorded, err := w.reply(*asked, request, *reply)
		if err != nil {
			return err
		}
		if !sameReply(recorded, p.reply) {
			return fault.New(fault.Internal, "run %s: the reply was recorded otherwise than it was read", w.run.ID)
		}
	}
	if w.f.held {
		halted, err := w.s.Store.Halted(w.tx, w.run.scope())
		if err != nil {
			return err
		}
		if halted { // what came back is kept; nothing new goes out
			return w.rest(Ready, func() error { return w.s.Store.Release(w.tx, w.lease, w.tx.Now()) })
		}
	}
	for _, m := range p.moves {
		if done, err := w.move(m, p.call); done || err != nil {
			return err
		}
	}
	return fault.New(fault.Internal, "run %s: a plan that leads nowhere", w.run.ID)
}

// rest ends this flight with the run in a state, its lease given back.
func (w *writer) rest(state State, giveBack func() error) error {
	w.run.State = state
	if err := giveBack(); err != nil {
		return err
	}
	return w.s.Store.SaveRun(w.tx, w.run)
}

func (w *writer) start() error {
	in := w.f.in
	refs := []event.Ref{in.TaskEvent.Ref()}
	for _, t := range in.Turns {
		if t.EventID != in.TaskEvent.ID && in.shown(t.Label) {
			refs = append(refs, t.ref())
		}
	}
	if in.Summary != nil && in.shown(in.Summary.Label) {
		refs = append(refs, in.Summary.ref())
	}
	// The fold is not in the first context: it comes in, with its label, as the
	// cause of the summary.
	e, err := w.emit(refs, in.StartLabel, in.Start, "Run started: "+w.run.Agent+" answers "+w.run.Requester+".")
	if err != nil {
		return err
	}
	w.run.Started = w.tx.Now()
	return w.record(RecordStart, 0, "", e)
}

// reply records what came back from a model.
func (w *writer) reply(c llm.Call, request event.Ref, r llm.Reply) (event.LLMResponse, error) {
	e, err := w.s.Models.End(w.tx, c, request, r)
	if err != nil {
		return event.LLMResponse{}, err
	}
	v, ok := e.Payload.(event.LLMResponse)
	if !ok {
		return v, fault.New(fault.Internal, "a model call ended with %s", e.Type)
	}
	w.run.TokensIn += v.TokensIn
	w.run.TokensOut += v.TokensOut
	w.run.Cost += v.Cost
	w.run.CostKnown = w.run.CostKnown && v.CostKnown
	w.run.Delays, w.run.Steps = 0, c.Step
	return v, w.record(RecordReply, c.Step, c.ID.String(), e)
}

// move carries out one move; done means that the flight is over or waits for a
// model.
func (w *writer) move(m Move, call *llm.Call) (done bool, err error) {
	switch {
	case m.Done:
		return true, w.s.Store.Finish(w.tx, w.lease)
	case m.Summary != nil:
		return false, w.summary(*m.Summary)
	case m.Ask != nil && call == nil:
		if err := w.delayed("no_model", 0, ""); err != nil {
			return true, err
		}
		return true, w.rest(Resting, func() error { return w.s.Store.Sleep(w.tx, w.lease) })
	case m.Ask != nil:
		return w.ask(*m.Ask, *call)
	case len(m.Calls) > 0:
		return true, w.calls(m)
	case len(m.Wait) > 0:
		return true, w.rest(Waiting, func() error { return w.s.Store.Sleep(w.tx, w.lease) })
	case m.Answer != nil:
		return true, w.answer(m)
	}
	return true, fault.New(fault.Internal, "run %s: an empty move", w.run.ID)
}

func (w *writer) summary(s Summary) error {
	in := w.f.in
	p := in.summarised(s)
	causes := w.frontier()
	for _, t := range in.Fold {
		if in.shown(t.Label) {
			causes = append(causes, t.ref())
		}
	}
	e, err := w.emit(causes, s.Label, p, "Older turns of the thread became a summary of "+itoa(s.Turns)+".")
	if err != nil {
		return err
	}
	if err := w.record(RecordSummary, s.Step, "", e); err != nil {
		return err
	}
	thread, err := w.s.Store.LockThread(w.tx, w.run.Thread)
	if err != nil {
		return err
	}
	thread.Turns++
	thread.Summary, thread.Folded = p.TurnID, in.Fold[len(in.Fold)-1].Ord
	t := Turn{ID: p.TurnID, Thread: w.run.Thread, Seq: thread.Turns, Ord: thread.Folded, Role: TurnSummary, Author: "agent:" + w.run.Agent,
		Text: s.Text, Label: e.Label, EventID: e.ID, RunID: w.run.ID, Covers: s.Turns, At: w.tx.Now(), Subject: w.run.Subject}
	if err := w.s.Store.AppendTurn(w.tx, t); err != nil {
		return err
	}
	return w.s.Store.SaveThread(w.tx, thread)
}

func (w *writer) ask(a Ask, c llm.Call) (bool, error) {
	w.run.State = Thinking
	if a.Asked {
		last := w.records[len(w.records)-1]
		w.out.ask, w.out.request = &c, ref(last)
		return true, w.s.Store.SaveRun(w.tx, w.run)
	}
	d, err := w.draft(w.frontier(), c.Draft.Label)
	if err != nil {
		return true, err
	}
	c.Draft = d
	e, met, err := w.s.Models.Begin(w.tx, c)
	if llm.ReasonOf(err) == llm.OverBudget {
		met, err = &event.BudgetMet{Scope: scopeUnpriced, Unit: llm.UnitUSDMicro, Limit: c.Run.USDMicro}, nil
	}
	if err != nil {
		return true, err
	}
	if met != nil {
		e, err := w.emit(w.frontier(), c.Draft.Label, *met, "A budget stopped the run.")
		if err != nil {
			return true, err
		}
		if err := w.record(RecordBudget, c.Step, "", e); err != nil {
			return true, err
		}
		m, err := Next(w.f.in, w.records)
		if err != nil {
			return true, err
		}
		return w.move(m, nil)
	}
	if err := w.record(RecordRequest, c.Step, c.ID.String(), e); err != nil {
		return true, err
	}
	w.out.ask, w.out.request = &c, e.Ref()
	return true, w.s.Store.SaveRun(w.tx, w.run)
}

// calls emits the calls of a step together. The run sleeps first, so that a call
// that is answered in this very transaction wakes it.
func (w *writer) calls(m Move) error {
	causes := w.frontier()
	if err := w.s.Store.Sleep(w.tx, w.lease); err != nil {
		return err
	}
	for _, c := range m.Calls {
		e, err := w.emit(causes, m.Label, c, w.run.Agent+" wants to call "+c.Skill+".")
		if err != nil {
			return err
		}
		if err := w.record(RecordCall, c.Step, c.CallID, e); err != nil {
			return err
		}
	}
	w.run.State, w.run.Steps = Waiting, m.Calls[0].Step
	return w.s.Store.SaveRun(w.tx, w.run)
}

func (w *writer) answer(m Move) error {
	e, err := w.emit(w.frontier(), m.Label, w.f.in.response(*m.Answer), w.run.Agent+" answered.")
	if err != nil {
		return err
	}
	if err := w.record(RecordAnswer, w.run.Steps, "", e); err != nil {
		return err
	}
	if err := w.s.Store.Finish(w.tx, w.lease); err != nil {
		return err
	}
	return w.s.end(w.tx, &w.run, w.records, m.Answer.Outcome, e.Ref())
}

// frontier names the records that the next event follows from: the results that
// just came in, or else the newest record.
func (w *writer) frontier() []event.Ref {
	last := w.records[len(w.records)-1]
	var out []event.Ref
	for i := len(w.records) - 1; i >= 0 && w.records[i].Kind == RecordResult; i-- {
		if w.records[i].Step == last.Step {
			out = append(out, ref(w.records[i]))
		}
	}
	if len(out) == 0 {
		return []event.Ref{ref(last)}
	}
	slices.Reverse(out)
	return out
}

func ref(r Record) event.Ref {
	return event.Ref{ID: r.EventID, Correlation: r.Event.Correlation, Label: r.Label}
}

// draft makes the envelope of an event of this run. Its label is what the run
// computed; where that is above the causes' — an agent that saw handles in place
// of texts — the raise is recorded as such, and allowed to no other agent.
func (w *writer) draft(causes []event.Ref, label event.Label) (event.Draft, error) {
	d := event.Draft{Stream: w.run.Thread, Subject: w.run.Subject, Causes: causes, Label: label}
	labels := make([]event.Label, 0, len(causes))
	for _, c := range causes {
		labels = append(labels, c.Label)
	}
	if join := event.Join(labels...); !label.AtMost(join) {
		if !w.f.in.Definition.Split {
			return d, fault.New(fault.Internal, "run %s: label %s is above that of its causes, %s", w.run.ID, label, join)
		}
		d.Raise, d.Label = event.Raise{By: event.RaiseHandle, Label: label}, event.Label{}
	}
	return d, nil
}

func (w *writer) emit(causes []event.Ref, label event.Label, p event.Payload, summary string) (event.Event, error) {
	d, err := w.draft(causes, label)
	if err != nil {
		return event.Event{}, err
	}
	d.Payload, d.Summary = p, clipText(summary, 400)
	return w.tx.Emit(w.s.as(w.run.Agent), d)
}

func (w *writer) record(kind RecordKind, step int, callID string, e event.Event) error {
	r, err := newRecord(w.run.ID, w.run.Records, kind, step, callID, e)
	if err != nil {
		return err
	}
	if err := w.s.Store.AppendRecord(w.tx, r); err != nil {
		return err
	}
	w.run.Records++
	w.records = append(w.records, r)
	return nil
}
