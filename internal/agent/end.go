package agent

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// end closes a run's log and lets the next run of its thread go.
func (s *Service) end(tx event.Tx, run *Run, records []Record, outcome string, cause event.Ref) error {
	run.State, run.Outcome, run.Ended = Finished, outcome, tx.Now()
	run.Digest = runDigest(run.ID, records)
	if _, err := tx.Emit(s.as(run.Agent), event.Draft{
		Payload: event.RunFinished{RunID: run.ID, Outcome: outcome, Steps: run.Steps, Digest: run.Digest,
			TokensIn: run.TokensIn, TokensOut: run.TokensOut, Cost: run.Cost, CostKnown: run.CostKnown},
		Summary: "Run finished: " + outcome + ".", Stream: run.Thread, Subject: run.Subject, Causes: []event.Ref{cause},
	}); err != nil {
		return err
	}
	if err := s.Store.SaveRun(tx, *run); err != nil {
		return err
	}
	thread, err := s.Store.LockThread(tx, run.Thread)
	if err != nil {
		return err
	}
	if thread.Active != run.ID {
		return nil // a queued run was cancelled: the thread's own goes on
	}
	next, ok, err := s.Store.FindQueued(tx, run.Thread)
	if err != nil {
		return err
	}
	thread.Active, thread.Changed = id.Nil, tx.Now()
	if ok {
		thread.Active, next.State = next.ID, Ready
		if err := s.Store.SaveRun(tx, next); err != nil {
			return err
		}
		if err := s.Store.EnqueueRun(tx, next); err != nil {
			return err
		}
	}
	return s.Store.SaveThread(tx, thread)
}

// Cancel ends a run at a person's word, whatever it is doing: a request that is
// out is dropped, calls that are out are left to the effect ledger, the next run
// of the thread goes. by is the person's principal. Denied if their role may not,
// Conflict if it is over.
func (s *Service) Cancel(ctx context.Context, account id.ID, by string, runID id.ID) error {
	err := s.Journal.Do(ctx, account, func(tx event.Tx) error {
		if err := s.People.May(tx, by, actCancel); err != nil {
			return err
		}
		run, err := s.Store.LockRun(tx, runID)
		if err != nil {
			return err
		}
		if run.State == Finished {
			return fault.New(fault.Conflict, "run %s is over: %s", runID, run.Outcome)
		}
		return s.cancel(tx, run, by, "Cancelled by "+by)
	})
	if err == nil {
		s.land(runID)
	}
	return err
}

// cancel ends a run without an answer of its agent.
func (s *Service) cancel(tx event.Tx, run Run, by, words string) error {
	task, err := s.Store.GetEvent(tx, run.Task)
	if err != nil {
		return err
	}
	if task.Erased {
		run.Subject = tx.Account() // nothing new is sealed for who is gone
	}
	records, err := s.Store.LoadRecords(tx, run.ID)
	if err != nil {
		return err
	}
	open := openCalls(records)
	labels := []event.Label{task.Label}
	for _, r := range records {
		labels = append(labels, r.Label)
	}
	e, err := tx.Emit(s.as(run.Agent), event.Draft{
		Payload: event.RunCancelled{RunID: run.ID, By: by, Steps: run.Steps, Open: open},
		Summary: words + ".", Stream: run.Thread, Subject: run.Subject, Causes: []event.Ref{task.Ref()}, Label: event.Join(labels...),
	})
	if err != nil {
		return err
	}
	line := words + ": " + itoa(run.Steps) + " steps done, " + itoa(len(open)) + " calls open."
	if err := s.note(tx, run.Thread, run.ID, Turn{Role: TurnNote, Author: by, Text: line, Label: e.Label, EventID: e.ID, At: tx.Now(), Subject: run.Subject}); err != nil {
		return err
	}
	if t, ok := task.Payload.(event.AgentTask); ok && by != t.Requester {
		// Whoever wrote is not left waiting for an answer that will not come.
		in := Inputs{Run: run, Task: t}
		if _, err := tx.Emit(s.as(run.Agent), event.Draft{
			Payload: in.response(Answer{Text: "This request was cancelled by a person before it was finished.", Outcome: Cancelled, ErrorKind: fault.Cancelled.String()}),
			Summary: run.Agent + " tells that the request was cancelled.", Stream: run.Thread, Subject: run.Subject, Causes: []event.Ref{e.Ref()},
		}); err != nil {
			return err
		}
	}
	queued := run.State == Queued
	if err := s.end(tx, &run, records, Cancelled, e.Ref()); err != nil || queued {
		return err
	}
	// A sleeping run wakes to give up its lease; one that flies finds out when it lands.
	return s.Store.WakeRun(tx, run.ID)
}

// abandon ends a run whose task or turns are gone: its subject was erased.
func (s *Service) abandon(ctx context.Context, account id.ID, run Run, cause error) error {
	return s.Journal.Do(ctx, account, func(tx event.Tx) error {
		fresh, err := s.Store.LockRun(tx, run.ID)
		if err != nil {
			return err
		}
		task, err := s.Store.GetEvent(tx, run.Task)
		if err != nil || !task.Erased || fresh.State == Finished {
			return cause // not an erasure: a store that lacks rows is no reason to drop work
		}
		l, err := s.Store.ClaimRun(tx, run.ID)
		if err != nil {
			return err
		}
		if err := s.cancel(tx, fresh, "house", "Ended because its data was erased"); err != nil {
			return err
		}
		return s.Store.Finish(tx, l)
	})
}
