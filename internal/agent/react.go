package agent

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// OnTask is the reaction to agent.task: the user's turn and the run, both rows in
// the transaction that made the task. The run goes at once if its thread is free;
// otherwise it stands in the thread's queue, which everybody can see.
func (s *Service) OnTask(tx event.Tx, e event.Event) error {
	t, ok := e.Payload.(event.AgentTask)
	if !ok {
		return erased(e)
	}
	thread, err := s.Store.LockThread(tx, t.ThreadID)
	if err != nil {
		return err
	}
	run := Run{
		ID: t.RunID, Thread: t.ThreadID, Agent: t.Agent, Ord: thread.Runs + 1, State: Queued,
		Task: e.ID, Message: t.MessageID, Requester: t.Requester, Subject: e.Subject,
		CostKnown: true, Created: tx.Now(),
	}
	turn := Turn{
		ID: tx.NewID(), Thread: t.ThreadID, Seq: thread.Turns + 1, Ord: run.Ord, Role: TurnUser, Author: t.Requester,
		Text: t.Text, Label: e.Label, EventID: e.ID, MessageID: t.MessageID, RunID: t.RunID,
		Channel: t.Channel, Sender: t.Sender, Files: files(t.Attachments), At: e.OccurredAt, Subject: e.Subject,
	}
	run.Turn = turn.ID
	thread.Turns, thread.Runs, thread.Changed = turn.Seq, run.Ord, tx.Now()
	if thread.Active.IsZero() {
		thread.Active, run.State = run.ID, Ready
	}
	if err := s.Store.AppendTurn(tx, turn); err != nil {
		return err
	}
	if err := s.Store.AddRun(tx, run); err != nil {
		return err
	}
	if run.State == Ready {
		if err := s.Store.EnqueueRun(tx, run); err != nil {
			return err
		}
	}
	return s.Store.SaveThread(tx, thread)
}

func files(list []event.Attachment) string {
	lines := make([]string, 0, len(list))
	for _, a := range list {
		lines = append(lines, oneLine(a.Name)+" ("+oneLine(a.Type)+", "+itoa(int(a.Size))+" bytes, "+a.Digest+")")
	}
	return strings.Join(lines, "\n")
}

// OnResult is the reaction to skill.result: it goes into its run's log, and the
// last one that a run waits for wakes it. A result of a run that is over, or of
// no run, changes nothing here: it stands in the journal.
func (s *Service) OnResult(tx event.Tx, e event.Event) error {
	v, ok := e.Payload.(event.SkillResult)
	if !ok {
		return erased(e)
	}
	if v.RunID.IsZero() {
		return nil
	}
	run, err := s.Store.LockRun(tx, v.RunID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || run.State == Finished {
		return err
	}
	records, err := s.Store.LoadRecords(tx, run.ID)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, r := range records {
		switch r.Kind {
		case RecordCall:
			open[r.CallID] = true
		case RecordResult:
			delete(open, r.CallID)
		}
	}
	if !open[v.CallID] {
		return nil // a second word on a call that has its result, or none of ours
	}
	delete(open, v.CallID)
	rec, err := newRecord(run.ID, run.Records, RecordResult, v.Step, v.CallID, e)
	if err != nil {
		return err
	}
	if err := s.Store.AppendRecord(tx, rec); err != nil {
		return err
	}
	run.Records++
	if len(open) == 0 {
		run.State = Ready
		if err := s.Store.WakeRun(tx, run.ID); err != nil {
			return err
		}
	}
	return s.Store.SaveRun(tx, run)
}

// OnOutbound is the reaction to outbound.message: what an agent said, as it
// leaves, becomes its turn of the thread.
func (s *Service) OnOutbound(tx event.Tx, e event.Event) error {
	m, ok := e.Payload.(event.OutboundMessage)
	if !ok {
		return erased(e)
	}
	author := "house"
	if m.Agent != "" {
		author = "agent:" + m.Agent
	}
	return s.note(tx, m.ThreadID, m.RunID, Turn{Role: TurnAssistant, Author: author, Text: m.Text, Label: e.Label, EventID: e.ID,
		MessageID: m.MessageID, Channel: m.Channel, At: e.OccurredAt, Subject: e.Subject})
}

// OnBlocked is the reaction to outbound.blocked: the thread keeps that an answer
// did not leave, and why, but not what it said.
func (s *Service) OnBlocked(tx event.Tx, e event.Event) error {
	b, ok := e.Payload.(event.OutboundBlocked)
	if !ok {
		return erased(e)
	}
	return s.note(tx, b.ThreadID, b.RunID, Turn{Role: TurnNote, Author: "house", Text: "A message was kept back: " + b.Reason + ".",
		Label: e.Label, EventID: e.ID, Channel: b.Channel, At: e.OccurredAt, Subject: e.Subject})
}

// note appends a turn at its run's place in the thread.
func (s *Service) note(tx event.Tx, threadID, runID id.ID, t Turn) error {
	if threadID.IsZero() {
		return nil
	}
	thread, err := s.Store.LockThread(tx, threadID)
	if err != nil {
		return err
	}
	t.ID, t.Thread, t.RunID, t.Ord = tx.NewID(), threadID, runID, thread.Runs
	if !runID.IsZero() {
		run, err := s.Store.GetRun(tx, runID)
		switch {
		case err == nil && run.Thread == threadID:
			t.Ord = run.Ord
		case err != nil && !fault.Is(err, fault.NotFound):
			return err
		}
	}
	// A summary that stands for its run already does not hold it: it comes next.
	t.Ord = max(t.Ord, thread.Folded+1)
	thread.Turns++
	t.Seq = thread.Turns
	thread.Changed = tx.Now()
	if err := s.Store.AppendTurn(tx, t); err != nil {
		return err
	}
	return s.Store.SaveThread(tx, thread)
}

// erased answers a delivery whose body is gone: there is nothing left to do.
func erased(e event.Event) error {
	if e.Erased {
		return nil
	}
	return fault.New(fault.Internal, "event %s is no payload for this reaction", e.ID)
}
