package agent

import (
	"context"
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

// pins reads back what a run.started pins. Work and Replay share it, so that a
// replay computes from the same rows as the run did.
type pins struct {
	store     Store
	prompts   Prompts
	catalogue Catalogue
	parse     func(Version) (Definition, error)
}

// task reads what a run is about.
func (p pins) task(tx event.Tx, run Run) (in Inputs, err error) {
	in.Run = run
	if in.TaskEvent, err = p.store.GetEvent(tx, run.Task); err != nil {
		return in, err
	}
	task, ok := in.TaskEvent.Payload.(event.AgentTask)
	if !ok {
		return in, fault.New(fault.NotFound, "the task of run %s is erased", run.ID)
	}
	in.Task = task
	return in, nil
}

// inputs reads everything that start names.
func (p pins) inputs(tx event.Tx, run Run, start event.RunStarted) (Inputs, error) {
	in, err := p.task(tx, run)
	if err != nil {
		return in, err
	}
	in.Start = start
	if start.AgentVersion > 0 {
		v, err := p.store.GetVersion(tx, run.Agent, start.AgentVersion)
		if err != nil {
			return in, err
		}
		if in.Definition, err = p.parse(v); err != nil {
			return in, err
		}
	}
	ids := slices.Concat(start.Turns, start.Fold)
	if !start.Summary.IsZero() {
		ids = append(ids, start.Summary)
	}
	turns, err := p.store.LoadTurns(tx, run.Thread, ids)
	if err != nil {
		return in, err
	}
	in.Turns, turns = turns[:len(start.Turns):len(start.Turns)], turns[len(start.Turns):]
	in.Fold, turns = turns[:len(start.Fold):len(start.Fold)], turns[len(start.Fold):]
	if len(turns) > 0 {
		in.Summary = &turns[0]
	}
	if start.Prompt != "" {
		name, n := promptName(start.Prompt)
		if in.System, _, err = p.prompts.Instruction(tx, name, n); err != nil {
			return in, err
		}
	}
	if start.Summariser != "" {
		name, n := promptName(start.Summariser)
		if in.Summariser, _, err = p.prompts.Instruction(tx, name, n); err != nil {
			return in, err
		}
	}
	if start.AgentVersion > 0 && start.Catalogue > 0 && len(in.Definition.Skills) > 0 {
		if in.Tools, err = p.catalogue.Offered(tx, start.Catalogue, in.Definition.Skills, id.Nil); err != nil {
			return in, err
		}
	}
	in.StartLabel, _ = in.startLabel()
	return in, nil
}

func (s *Service) pins() pins { return pins{s.Store, s.Prompts, s.Catalogue, s.parse} }

// newInputs chooses what a run that nobody took up yet is given, from the newest
// of everything. rest is true when it must wait for a model.
func (s *Service) newInputs(tx event.Tx, run Run) (in Inputs, rest bool, err error) {
	if in, err = s.pins().task(tx, run); err != nil {
		return in, false, err
	}
	in.Start = event.RunStarted{RunID: run.ID, Agent: run.Agent, Code: s.Code, Brain: BrainPlain,
		At: clock.Micros(s.Clock.Now()), Zone: s.Zone}
	thread, err := s.Store.GetThread(tx, run.Thread)
	if err != nil {
		return in, false, err
	}
	ids := []id.ID{run.Turn}
	if !thread.Summary.IsZero() {
		ids = append(ids, thread.Summary)
	}
	own, err := s.Store.LoadTurns(tx, run.Thread, ids)
	if err != nil {
		return in, false, err
	}
	in.Turns, in.Start.Turns = own[:1:1], []id.ID{run.Turn}
	rest, err = s.equip(tx, &in, thread, own)
	if err == nil {
		in.StartLabel, _ = in.startLabel()
		in.Start.Given = in.given()
	}
	return in, rest, err
}

// equip gives a run its definition, brain, skills, window and prompts.
func (s *Service) equip(tx event.Tx, in *Inputs, thread Thread, own []Turn) (rest bool, err error) {
	start := &in.Start
	v, err := s.Store.CurrentVersion(tx, in.Run.Agent)
	if fault.Is(err, fault.NotFound) {
		return false, nil // version 0: the answer says that there is no such agent
	}
	if err != nil {
		return false, err
	}
	if in.Definition, err = s.parse(v); err != nil {
		return false, err
	}
	def := in.Definition
	start.AgentVersion, start.Role = v.Number, def.ModelRole
	if start.Policy, err = s.Policy.Version(tx); err != nil {
		return false, err
	}
	head, err := s.Catalogue.Head(tx)
	if err != nil {
		return false, err
	}
	start.Catalogue = head.Number
	if head.Number > 0 && len(def.Skills) > 0 {
		if in.Tools, err = s.Catalogue.Offered(tx, head.Number, def.Skills, id.Nil); err != nil {
			return false, err
		}
	}
	if _, ok := s.Models.Route(def.ModelRole); ok {
		start.Brain = BrainModel
	} else if !def.PlainCommands {
		return true, nil
	}
	open, err := s.Store.LoadOpen(tx, in.Run.Thread, thread.Folded)
	if err != nil {
		return false, err
	}
	w := PlanWindow(open, own[0], in.Run.Ord, def.Budgets.Context)
	in.Turns, in.Fold = w.Full, w.Fold
	start.Turns, start.Fold, start.Summary = turnIDs(w.Full), turnIDs(w.Fold), thread.Summary
	if len(own) > 1 {
		in.Summary = &own[1]
	}
	if start.Brain == BrainPlain {
		return false, nil
	}
	if in.System, start.Prompt, err = s.prompt(tx, def.Prompt); err != nil {
		return false, err
	}
	if _, ok := s.Models.Route(summariseRole); ok && len(w.Fold) > 0 {
		in.Summariser, start.Summariser, err = s.prompt(tx, summarisePrompt)
	}
	return false, err
}

// prompt reads the newest number of a prompt and its NAME@N; "" if there is none.
func (s *Service) prompt(tx event.Tx, name string) (llm.Instruction, string, error) {
	text, n, err := s.Prompts.Instruction(tx, name, 0)
	if fault.Is(err, fault.NotFound) {
		return llm.Instruction{}, "", nil
	}
	return text, promptRef(name, n), err
}

func turnIDs(list []Turn) []id.ID {
	var out []id.ID
	for _, t := range list {
		out = append(out, t.ID)
	}
	return out
}

// flight is one call of Work: a run with its inputs, its log and its lease.
type flight struct {
	account id.ID
	run     Run
	in      Inputs
	records []Record
	started bool // run.started is recorded
	rest    bool // not started, and to wait for a model
	lease   event.Lease
	held    bool // lease is ours
}

// load reads a run as it stands now.
func (s *Service) load(ctx context.Context, account, runID id.ID) (*flight, error) {
	var f *flight
	kept, warm := s.warmth.take(runID, s.Clock.Now())
	err := s.Journal.View(ctx, account, func(tx event.Tx) error {
		f = &flight{account: account}
		var err error
		if f.run, err = s.Store.GetRun(tx, runID); err != nil || f.run.State == Finished {
			return err
		}
		if f.records, err = s.Store.LoadRecords(tx, runID); err != nil {
			return err
		}
		f.started = len(f.records) > 0
		if !f.started {
			f.in, f.rest, err = s.newInputs(tx, f.run)
			return err
		}
		if warm && kept.begins(f.records) {
			return s.goOn(tx, f, kept)
		}
		if f.records[0].Event, err = s.Store.GetEvent(tx, f.records[0].EventID); err != nil {
			return err
		}
		start, _ := f.records[0].Event.Payload.(event.RunStarted)
		if f.in, err = s.pins().inputs(tx, f.run, start); err != nil {
			return err
		}
		for i := 1; i < len(f.records); i++ {
			r := &f.records[i]
			if r.Kind == RecordRequest && i+1 < len(f.records) {
				// A long text of which an answered request needs only the role.
				r.Event = event.Event{ID: r.EventID, Correlation: f.records[0].Event.Correlation, Label: r.Label,
					Payload: event.LLMRequest{Role: f.in.roleOf(r.Step)}}
				continue
			}
			if r.Event, err = s.Store.GetEvent(tx, r.EventID); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}
