package agent

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// GaveUp is the error kind of a run that failed inside, time after time.
const GaveUp = "gave_up"

// GiveUp ends a run that cannot be carried on: trying it again only fails again.
// Whoever asked is told so in plain words; what failed is for the log, and for
// nobody outside. It reads as little as it can, because what it would read may
// be what is broken; what it cannot even end so is an error.
func (s *Service) GiveUp(ctx context.Context, account, runID id.ID, _ error) error {
	return s.Journal.Do(ctx, account, func(tx event.Tx) error {
		run, err := s.Store.LockRun(tx, runID)
		if err != nil {
			return err
		}
		l, err := s.Store.ClaimRun(tx, runID)
		if err != nil {
			return err
		}
		if run.State != Finished {
			if err := s.giveUp(tx, run); err != nil {
				return err
			}
		}
		return s.Store.Finish(tx, l)
	})
}

func (s *Service) giveUp(tx event.Tx, run Run) error {
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
	labels := []event.Label{task.Label}
	for _, r := range records {
		labels = append(labels, r.Label)
	}
	text := "I could not finish this: something inside Witan failed, and failed again each time it was tried. I have stopped trying."
	if n := len(openCalls(records)); n > 0 {
		text += " " + itoa(n) + " calls were still open; what became of them is in the record."
	}
	text += " Asking again may help; whoever looks after this Witan finds the cause in its log."
	in := Inputs{Run: run}
	in.Task, _ = task.Payload.(event.AgentTask)
	e, err := tx.Emit(s.as(run.Agent), event.Draft{
		Payload: in.response(Answer{Text: text, Outcome: Failed, ErrorKind: GaveUp}),
		Summary: run.Agent + " gave up.", Stream: run.Thread, Subject: run.Subject, Causes: []event.Ref{task.Ref()}, Label: event.Join(labels...),
	})
	if err != nil {
		return err
	}
	r, err := newRecord(run.ID, run.Records, RecordGaveUp, run.Steps, "", e)
	if err != nil {
		return err
	}
	if err := s.Store.AppendRecord(tx, r); err != nil {
		return err
	}
	run.Records++
	return s.end(tx, &run, append(records, r), Failed, e.Ref())
}

// openCalls lists the calls of a log that have no result.
func openCalls(records []Record) (open []string) {
	answered := map[string]bool{}
	for _, r := range records {
		answered[r.CallID] = answered[r.CallID] || r.Kind == RecordResult
	}
	for _, r := range records {
		if r.Kind == RecordCall && !answered[r.CallID] {
			open = append(open, r.CallID)
		}
	}
	return open
}
