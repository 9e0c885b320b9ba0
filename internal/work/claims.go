package work

import (
	"maps"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Claimed is a task in a claimant's hands.
type Claimed struct {
	Task Task
	// Note is the workspace's self-learning note. It comes with the claim, once, and
	// is no part of the body.
	Note string
}

// ClaimNext takes the first task that the workspace offers to the actor; ok is
// false if it offers none. A task that cannot be offered hides none behind it,
// and of many who ask at once no two get the same.
func (s *Service) ClaimNext(tx event.Tx, a Actor, workspace id.ID, span time.Duration) (c Claimed, ok bool, err error) {
	w, err := s.seeWorkspace(tx, a, workspace, s.store.ShareWorkspace)
	if err != nil {
		return c, false, err
	}
	if span, err = s.span(a, span); err != nil {
		return c, false, err
	}
	if err := s.mayClaim(tx, w); err != nil {
		return c, false, err
	}
	mine, found, err := s.store.NextOffer(tx, w.ID, a.Principal)
	if err != nil {
		return c, false, err
	}
	t, ok, err := s.store.NextOffer(tx, w.ID, "")
	if err != nil {
		return c, false, err
	}
	if found && (!ok || mine.SortOrder < t.SortOrder) {
		t, ok = mine, true
	}
	if !ok {
		return c, false, nil
	}
	c, err = s.claim(tx, a, w, t, span)
	return c, err == nil, err
}

// ClaimTask takes one task, named: from the queue, blocked, done before, or the
// actor's own, which it then holds under a new fence.
func (s *Service) ClaimTask(tx event.Tx, a Actor, workspace, task id.ID, span time.Duration) (Claimed, error) {
	w, t, err := s.open(tx, a, workspace, task)
	if err != nil {
		return Claimed{}, err
	}
	if span, err = s.span(a, span); err != nil {
		return Claimed{}, err
	}
	if err := s.mayClaim(tx, w); err != nil {
		return Claimed{}, err
	}
	return s.claim(tx, a, w, t, span)
}

func (s *Service) mayClaim(tx event.Tx, w Workspace) error {
	if w.Archived() {
		return errArchived()
	}
	halted, err := s.store.Halted(tx, w.Scope())
	if err == nil && halted {
		err = fault.New(fault.Halted, "a stop is in force; tasks wait")
	}
	return err
}

// span returns how long the actor's lease is to be.
func (s *Service) span(a Actor, want time.Duration) (time.Duration, error) {
	switch {
	case a.person():
		return s.cfg.PersonLease, nil
	case want == 0:
		return s.cfg.Lease, nil
	case want < shortLease || want > s.cfg.LongLease:
		return 0, fault.New(fault.Invalid, "a lease is between %s and %s", shortLease, s.cfg.LongLease).On("lease")
	}
	return want, nil
}

func (s *Service) claim(tx event.Tx, a Actor, w Workspace, t Task, span time.Duration) (Claimed, error) {
	if !a.person() {
		switch {
		case t.Assignee != Agent:
			return Claimed{}, fault.New(fault.Conflict, "the task is a person's to do").On("task")
		case t.AssigneeRef != "" && t.AssigneeRef != a.Principal:
			return Claimed{}, fault.New(fault.Conflict, "the task is for %s", t.AssigneeRef).On("task")
		}
	}
	now, err := s.store.DBNow(tx)
	if err != nil {
		return Claimed{}, err
	}
	next, err := t.take(a.Principal, now, span)
	if err != nil {
		return Claimed{}, err
	}
	if next, err = s.turn(tx, a, t, next); err != nil {
		return Claimed{}, err
	}
	c := Claimed{Task: next}
	if !a.person() {
		c.Note = w.SelfLearningLoopNote
	}
	return c, nil
}

// RenewClaim moves the end of the actor's lease: it is still there. A renewal is
// a sign of life like a heartbeat of the engine, so no event tells of it.
func (s *Service) RenewClaim(tx event.Tx, a Actor, workspace, task id.ID) (Task, error) {
	_, before, err := s.open(tx, a, workspace, task)
	if err != nil {
		return before, err
	}
	now, err := s.store.DBNow(tx)
	if err != nil {
		return before, err
	}
	if err := before.holds(a.Principal, a.Fence, now); err != nil {
		return before, err
	}
	t := before.renew(now)
	return t, s.keep(tx, before, t)
}

// Move is a change of status that somebody wants.
type Move struct {
	Workspace id.ID
	Task      id.ID
	To        Status
	Seen      int64 // the revision that was shown; 0 moves it from wherever it stands
}

// MoveTask moves a task along the status graph. To move it to ongoing is to take
// it; to move it anywhere else ends the claim on it. A worker moves only what it
// holds, and its word is said in the thread as well. A person moves anything, and
// takes it out of the hands of whoever held it.
func (s *Service) MoveTask(tx event.Tx, a Actor, m Move) (Task, error) {
	w, t, err := s.open(tx, a, m.Workspace, m.Task)
	if err != nil {
		return t, err
	}
	if err := s.mayMove(tx, a, t, m.To); err != nil {
		return t, err
	}
	if m.Seen != 0 && t.Revisions["status"] > m.Seen {
		return t, fault.New(fault.Conflict, "status was changed meanwhile (at revision %d, you saw %d)", t.Revisions["status"], m.Seen).
			On("status").WithFix("look at it again")
	}
	if err := checkMove(t.Status, m.To); err != nil {
		return t, err
	}
	switch {
	case t.Status == m.To:
		return t, nil
	case m.To == Ongoing:
		span, err := s.span(a, 0)
		if err == nil {
			err = s.mayClaim(tx, w)
		}
		if err != nil {
			return t, err
		}
		c, err := s.claim(tx, a, w, t, span)
		if err != nil {
			return t, err
		}
		return s.sayStatus(tx, a, c.Task)
	}
	var next Task
	switch {
	case t.Status == Ongoing && t.Claim.Claimant != a.Principal:
		next = t.takeAway(m.To, CauseRevoked)
	case t.Status == Ongoing && m.To == NotStarted:
		next = t.letGo(m.To, CauseReleased)
	default:
		next = t.letGo(m.To, CauseMoved)
	}
	if a.person() {
		next.Claim.Losses = 0 // a person looked
	}
	if next, err = s.turn(tx, a, t, next); err != nil {
		return next, err
	}
	return s.sayStatus(tx, a, next)
}

// mayMove refuses a worker that does not hold the task. To say again what it said
// last is no error, and to take a task has its own checks.
func (s *Service) mayMove(tx event.Tx, a Actor, t Task, to Status) error {
	if !a.worker() && a.Fence == 0 {
		return nil
	}
	now, err := s.store.DBNow(tx)
	if err != nil {
		return err
	}
	if err := t.heard(a.Principal, a.Fence, now); err != nil {
		return err
	}
	if t.Status != Ongoing && to != Ongoing && to != t.Status {
		return fault.New(fault.Conflict, "nobody holds the task").On("status").WithFix("take it first: move it to ongoing")
	}
	return nil
}

// ReleaseClaim gives a task back to the queue.
func (s *Service) ReleaseClaim(tx event.Tx, a Actor, workspace, task id.ID) (Task, error) {
	return s.MoveTask(tx, a, Move{Workspace: workspace, Task: task, To: NotStarted})
}

// turn writes a change of status or of hands, says it, and tells what waits.
func (s *Service) turn(tx event.Tx, a Actor, before, t Task) (Task, error) {
	t.Revision++
	t.Revisions = maps.Clone(t.Revisions)
	t.Revisions["status"] = t.Revision
	t.StatusAt, t.UpdatedAt = tx.Now(), tx.Now()
	who := t.Claim.Claimant
	if who == "" {
		who = before.Claim.Claimant
	}
	if err := s.keep(tx, before, t); err != nil {
		return t, err
	}
	if _, err := s.emit(tx, a, t.ID, t.Key()+" is "+string(t.Status)+": "+t.Cause+".", event.StatusUpdated{TaskID: t.ID, WorkspaceID: t.WorkspaceID,
		Key: t.Key(), From: string(before.Status), To: string(t.Status), Cause: t.Cause, Claimant: who, Fence: t.Claim.Fence,
		Until: clock.Micros(t.Claim.Until), Revision: t.Revision, By: a.Principal}); err != nil {
		return t, err
	}
	switch {
	case t.Status == Completed && before.Status != Completed:
		return t, s.freed(tx, a, t, -1)
	case t.Status != Completed && before.Status == Completed:
		return t, s.freed(tx, a, t, 1)
	}
	return t, nil
}

// systemPrincipal is who acts when nobody does.
const systemPrincipal = "system"

// system acts when nobody does for an event: time, or a restore.
func system(ev event.Event) Actor {
	return Actor{Principal: systemPrincipal, Causes: []event.Ref{ev.Ref()}}
}

// OnTimer is the reaction to timer.fired: a lease that ran out is taken away, and
// the task is offered again. One that was renewed meanwhile goes on; handling an
// event twice changes nothing.
func (s *Service) OnTimer(tx event.Tx, ev event.Event) error {
	f, ok := ev.Payload.(event.TimerFired)
	if !ok || f.Kind != TimerLease {
		return nil
	}
	key, _ := id.Parse(f.Key)
	if key.IsZero() {
		return nil // no timer of ours has such a key
	}
	t, err := s.store.LockTask(tx, key)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || t.Status != Ongoing {
		return err
	}
	now, err := s.store.DBNow(tx)
	if err != nil {
		return err
	}
	next, lapsed := t.lapse(now, s.cfg.MostLosses)
	if !lapsed {
		return s.store.SetLease(tx, t.ID, t.Claim.Until)
	}
	_, err = s.turn(tx, system(ev), t, next)
	return err
}

// OnEpoch is the reaction to epoch.started: what was ongoing in the past that was
// restored waits for a person, because nobody knows what its worker did since.
func (s *Service) OnEpoch(tx event.Tx, ev event.Event) error {
	for {
		rows, err := s.store.OngoingTasks(tx, id.Nil, MaxPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			t, err := s.store.LockTask(tx, r.ID)
			if err != nil {
				return err
			}
			if t.Status != Ongoing {
				continue
			}
			if _, err := s.turn(tx, system(ev), t, t.takeAway(Blocked, CauseHeld)); err != nil {
				return err
			}
		}
	}
}
