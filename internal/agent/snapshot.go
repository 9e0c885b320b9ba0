package agent

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// pins reads back what a run.started pins. Work and Replay share it, so that a
// replay computes from the same rows as the run did.
type pins struct {
	store     Store
	prompts   Prompts
	catalogue Catalogue
}

// inputs reads everything that start names.
func (p pins) inputs(tx event.Tx, run Run, start event.RunStarted) (Inputs, error) {
	in := Inputs{Run: run, Start: start}
	var err error
	if in.TaskEvent, err = p.store.GetEvent(tx, run.Task); err != nil {
		return in, err
	}
	task, ok := in.TaskEvent.Payload.(event.AgentTask)
	if !ok {
		return in, fault.New(fault.NotFound, "the task of run %s is erased", run.ID)
	}
	in.Task = task
	if start.AgentVersion > 0 {
		v, err := p.store.GetVersion(tx, run.Agent, start.AgentVersion)
		if err != nil {
			return in, err
		}
		if in.Definition, err = v.parse(); err != nil {
			return in, err
		}
	}
	if in.Turns, err = p.store.LoadTurns(tx, run.Thread, start.Turns); err != nil {
		return in, err
	}
	if in.Fold, err = p.store.LoadTurns(tx, run.Thread, start.Fold); err != nil {
		return in, err
	}
	if !start.Summary.IsZero() {
		list, err := p.store.LoadTurns(tx, run.Thread, []id.ID{start.Summary})
		if err != nil {
			return in, err
		}
		in.Summary = &list[0]
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
		if in.Tools, _, err = p.catalogue.Entries(tx, start.Catalogue, in.Definition.Skills); err != nil {
			return in, err
		}
	}
	in.StartLabel, _ = in.startLabel()
	return in, nil
}

func (s *Service) pins() pins { return pins{s.Store, s.Prompts, s.Catalogue} }

// newStart chooses what a run that nobody took up yet is given, from the newest
// of everything. rest is true when it must wait for a model.
func (s *Service) newStart(tx event.Tx, run Run, modelled func(role string) bool) (start event.RunStarted, rest bool, err error) {
	start = event.RunStarted{RunID: run.ID, Agent: run.Agent, Code: s.Code, Brain: BrainPlain,
		At: clock.Micros(s.Clock.Now()), Zone: s.Zone}
	own, err := s.Store.LoadTurns(tx, run.Thread, []id.ID{run.Turn})
	if err != nil {
		return start, false, err
	}
	start.Turns = []id.ID{run.Turn}
	def, number, err := s.Definition(tx, run.Agent)
	if fault.Is(err, fault.NotFound) {
		return start, false, nil // version 0: the answer says that there is no such agent
	}
	if err != nil {
		return start, false, err
	}
	start.AgentVersion, start.Role = number, def.ModelRole
	if start.Policy, err = s.Policy.Version(tx); err != nil {
		return start, false, err
	}
	if _, start.Catalogue, err = s.Catalogue.Entries(tx, 0, def.Skills); err != nil {
		return start, false, err
	}
	if modelled(def.ModelRole) {
		start.Brain = BrainModel
	} else if !def.PlainCommands {
		return start, true, nil
	}
	thread, err := s.Store.GetThread(tx, run.Thread)
	if err != nil {
		return start, false, err
	}
	open, err := s.Store.LoadOpen(tx, run.Thread, thread.Folded)
	if err != nil {
		return start, false, err
	}
	w := PlanWindow(open, own[0], run.Ord, def.Budgets.Context)
	start.Turns, start.Fold, start.Summary = turnIDs(w.Full), turnIDs(w.Fold), thread.Summary
	if start.Brain == BrainModel {
		if start.Prompt, err = s.promptRef(tx, def.Prompt); err != nil {
			return start, false, err
		}
		if len(w.Fold) > 0 && modelled(summariseRole) {
			if start.Summariser, err = s.promptRef(tx, summarisePrompt); err != nil {
				return start, false, err
			}
		}
	}
	return start, false, nil
}

// promptRef names the newest number of a prompt; "" if there is no such prompt.
func (s *Service) promptRef(tx event.Tx, name string) (string, error) {
	_, n, err := s.Prompts.Instruction(tx, name, 0)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return promptRef(name, n), err
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
		for i := range f.records {
			if f.records[i].Event, err = s.Store.GetEvent(tx, f.records[i].EventID); err != nil {
				return err
			}
		}
		var start event.RunStarted
		if f.started {
			start, _ = f.records[0].Event.Payload.(event.RunStarted)
		} else {
			modelled := func(role string) bool { _, ok := s.Models.Route(role); return ok }
			if start, f.rest, err = s.newStart(tx, f.run, modelled); err != nil {
				return err
			}
		}
		if f.in, err = s.pins().inputs(tx, f.run, start); err != nil {
			return err
		}
		if !f.started {
			f.in.Start.Given = f.in.given()
		}
		return nil
	})
	return f, err
}
