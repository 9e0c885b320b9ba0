package skill

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// OnApproval is the reaction to approval.answered. An approval that belongs to
// no effect, or to one that no longer waits, changes nothing.
func (s *Service) OnApproval(tx event.Tx, ev event.Event) error {
	a, ok := ev.Payload.(event.ApprovalAnswered)
	if !ok {
		return nil
	}
	e, found, err := s.asked(tx, a.ApprovalID)
	if err != nil || !found || e.State != Asked {
		return err
	}
	invoke, err := s.c.Store.GetEvent(tx, e.Cause)
	if err != nil {
		return err
	}
	switch a.Answer {
	case "deny":
		msg := "a person said no"
		if a.Reason != "" {
			msg += ": " + a.Reason
		}
		return s.end(tx, &e, invoke, failed(Denied, fault.New(fault.Denied, "%s", msg), nil), ev.Ref())
	case "allow":
		return s.allowed(tx, e, invoke, ev, a)
	}
	return nil // an edit leaves the approval open, about the new call
}

// allowed lets an effect go, with the arguments that the person saw last.
func (s *Service) allowed(tx event.Tx, e Effect, invoke, ev event.Event, a event.ApprovalAnswered) error {
	var edit *event.Event
	e.Edit = id.Nil
	if len(a.Arguments) > 0 {
		edit, e.Edit = &ev, ev.ID
	}
	if _, err := s.examine(tx, invoke, edit); err != nil {
		f := refusedBy(err)
		if f == nil {
			return err
		}
		return s.end(tx, &e, invoke, failed(Refused, f, nil), ev.Ref())
	}
	// What the answer is about is compared at execution: policy computes the
	// digest again, over the arguments that would then be used.
	from := e.State
	e.State, e.Call, e.Reason = Intended, a.Call, ""
	step, err := s.changed(tx, &e, invoke.Ref(), ev.Ref())
	if err != nil {
		return err
	}
	if err := s.move(tx, &e, from, step); err != nil {
		return err
	}
	due := clock.FromMicros(a.EffectiveAt)
	now, err := s.c.Store.DBNow(tx)
	if err != nil {
		return err
	}
	if due.Before(now) {
		due = now
	}
	return s.c.Store.EnqueueEffect(tx, e.ID, e.Actor, due)
}

// OnWithdrawn is the reaction to approval.withdrawn: an effect that has not
// begun waits for the person again.
func (s *Service) OnWithdrawn(tx event.Tx, ev event.Event) error {
	w, ok := ev.Payload.(event.ApprovalWithdrawn)
	if !ok {
		return nil
	}
	e, found, err := s.asked(tx, w.ApprovalID)
	if err != nil || !found || e.State != Intended || e.Attempt > 0 {
		return err
	}
	invoke, err := s.c.Store.GetEvent(tx, e.Cause)
	if err != nil {
		return err
	}
	from := e.State
	e.State, e.Reason, e.Edit = Asked, "withdrawn", id.Nil
	step, err := s.changed(tx, &e, invoke.Ref(), ev.Ref())
	if err != nil {
		return err
	}
	if err := s.move(tx, &e, from, step); err != nil {
		return err
	}
	return s.c.Store.DropEffect(tx, e.ID)
}

// OnApprovalClosed is the reaction to approval.closed: nobody answered, or the
// question is moot.
func (s *Service) OnApprovalClosed(tx event.Tx, ev event.Event) error {
	closed, ok := ev.Payload.(event.ApprovalClosed)
	if !ok {
		return nil
	}
	e, found, err := s.asked(tx, closed.ApprovalID)
	if err != nil || !found {
		return err
	}
	kind, msg := fault.Cancelled, "the question was withdrawn"
	switch closed.How {
	case "expired":
		kind, msg = fault.Timeout, "nobody answered in time"
	case "superseded":
		msg = "another question took its place"
	}
	return s.callOff(tx, e, ev, fault.New(kind, "%s", msg))
}

// OnRunCancelled is the reaction to run.cancelled: effects of the run that have
// not begun never will. One that is under way runs to its end.
func (s *Service) OnRunCancelled(tx event.Tx, ev event.Event) error {
	c, ok := ev.Payload.(event.RunCancelled)
	if !ok {
		return nil
	}
	for _, state := range []State{Asked, Intended} {
		for {
			list, err := s.c.Store.ListEffects(tx, Filter{Run: c.RunID, State: state, Limit: 200})
			if err != nil {
				return err
			}
			for _, e := range list {
				if err := s.callOff(tx, e, ev, fault.New(fault.Cancelled, "the run was cancelled")); err != nil {
					return err
				}
			}
			if len(list) < 200 {
				break
			}
		}
	}
	return nil
}

// callOff ends an effect of which nothing has left.
func (s *Service) callOff(tx event.Tx, e Effect, why event.Event, f *fault.Error) error {
	if e.State != Asked && e.State != Intended {
		return nil
	}
	invoke, err := s.c.Store.GetEvent(tx, e.Cause)
	if err != nil {
		return err
	}
	if e.State == Intended {
		if err := s.c.Store.DropEffect(tx, e.ID); err != nil {
			return err
		}
	}
	return s.end(tx, &e, invoke, failed(Denied, f, nil), why.Ref())
}

// asked returns the effect that an approval belongs to.
func (s *Service) asked(tx event.Tx, approval id.ID) (Effect, bool, error) {
	e, err := s.c.Store.FindByApproval(tx, approval)
	if fault.Is(err, fault.NotFound) {
		return Effect{}, false, nil
	}
	return e, err == nil, err
}
