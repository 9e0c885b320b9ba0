package skill

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// strayWait is how long an effect waits for a hanging call of its skill to go.
const strayWait = 30 * time.Second

// begin is the first commit of an attempt: it takes the lease, decides again,
// and makes dispatching durable before anything leaves.
func (s *Service) begin(ctx context.Context, d event.Delivery[event.SkillInvoke]) (*attempt, error) {
	var a *attempt
	err := s.c.Journal.Do(ctx, d.Event().Account, func(tx event.Tx) error {
		a = &attempt{}
		e, err := s.c.Store.FindByCause(tx, d.Event().ID)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.Denied, "event %s has no row in the ledger", d.Event().ID)
		}
		if err != nil {
			return err
		}
		if a.lease, err = s.c.Store.ClaimEffect(tx, e.ID); err != nil {
			return err
		}
		if !e.Workspace.IsZero() {
			if scope, halted, err := s.c.Store.Stopped(tx, "workspace:"+e.Workspace.String()); err != nil {
				return err
			} else if halted {
				return fault.New(fault.Halted, "%s is halted", scope)
			}
		}
		if a.now, err = s.c.Store.DBNow(tx); err != nil {
			return err
		}
		e.Fence, e.Node = a.lease.Fence, a.lease.Node
		a.effect = e
		if err := s.next(tx, a, d.Event()); err != nil {
			return err
		}
		failpoint.Hit("effect.dispatching.before_commit")
		return nil
	})
	return a, err
}

// next decides what a claimed effect needs.
func (s *Service) next(tx event.Tx, a *attempt, invoke event.Event) error {
	switch e := &a.effect; e.State {
	case Intended:
		return s.dispatch(tx, a, invoke)
	case Dispatching:
		return s.resume(tx, a, invoke)
	case Unknown:
		if e.Settling {
			c, err := s.reexamine(tx, e, invoke)
			if err != nil {
				return s.unsettled(tx, a, invoke, err)
			}
			a.call, a.plan = c, planSettle
			return nil
		}
	case Asked, Held, Confirmed, Failed, Denied, Refused:
	}
	return s.c.Store.FinishEffect(tx, a.lease) // nothing to do: the row of work was left over
}

// reexamine examines an effect's call with the arguments that were approved.
func (s *Service) reexamine(tx event.Tx, e *Effect, invoke event.Event) (*call, error) {
	if e.Edit.IsZero() {
		return s.examine(tx, invoke, nil)
	}
	edit, err := s.c.Store.GetEvent(tx, e.Edit)
	if err != nil {
		return nil, err
	}
	return s.examine(tx, invoke, &edit)
}

// dispatch lets an intended effect leave, or ends it.
func (s *Service) dispatch(tx event.Tx, a *attempt, invoke event.Event) error {
	e := &a.effect
	if s.acts.hanging(e.Skill) >= s.c.MaxStrays {
		return s.c.Store.ReleaseEffect(tx, a.lease, a.now.Add(strayWait))
	}
	from := e.State
	decision, err := s.permitted(tx, a, invoke)
	if f := refusedBy(err); f != nil {
		state := Refused
		if fault.Is(err, fault.Denied) && !decision.ID.IsZero() {
			state = Denied
		}
		var causes []event.Ref
		if !decision.ID.IsZero() {
			causes = append(causes, decision)
		}
		if err := s.end(tx, e, invoke, failed(state, f, nil), causes...); err != nil {
			return err
		}
		return s.c.Store.FinishEffect(tx, a.lease)
	}
	if err != nil {
		return err
	}
	a.plan, a.end = planAct, a.now.Add(a.call.entry.Manifest.Timeout())
	if e.Class == manifest.ClassRead {
		e.Attempt = a.lease.Attempt
		return nil
	}
	return s.leave(tx, a, from, decision)
}

// leave writes dispatching: after this commit, and not before, bytes may go out.
func (s *Service) leave(tx event.Tx, a *attempt, from State, causes ...event.Ref) error {
	e := &a.effect
	e.State, e.Attempt, e.Deadline, e.Reason = Dispatching, e.Attempt+1, a.end, ""
	ev, err := s.changed(tx, e, append([]event.Ref{a.call.cause}, causes...)...)
	if err != nil {
		return err
	}
	return s.move(tx, e, from, ev)
}

// permitted checks the call again and lets policy confirm it.
// The decision is returned also with a *refusal that rests on it.
func (s *Service) permitted(tx event.Tx, a *attempt, invoke event.Event) (decision event.Ref, err error) {
	e := &a.effect
	if a.call, err = s.reexamine(tx, e, invoke); err != nil {
		return decision, err
	}
	v, err := s.c.Decider.Confirm(tx, a.call.question(e.ID, e.Approval), a.call.cause)
	if err != nil {
		return decision, err
	}
	decision = v.Event
	e.Decision = v.Event.ID
	switch {
	case v.Event.ID.IsZero():
		return decision, fault.New(fault.Internal, "policy confirmed %s without an event", e.Skill)
	case v.Answer == Deny:
		return decision, refuse(fault.Denied, "%s", denial(v))
	case v.Answer == Ask:
		return decision, refuse(fault.Denied, "policy became stricter: %s", denial(v))
	case v.Answer != Allow:
		return decision, fault.New(fault.Internal, "policy answered %q about %s", v.Answer, e.Skill)
	case v.Call != e.Call:
		return decision, refuse(fault.Stale, "the call is not the one that was decided about")
	}
	if micros := a.call.entry.Manifest.Resources.MoneyMicros; micros > 0 {
		if err := s.c.Purse.Reserve(tx, e.RunID, e.ID, e.Actor, micros); err != nil {
			return decision, asRefusal(err)
		}
	}
	return decision, nil
}

// asRefusal makes a no of a port a refusal; a failure of it stays an error.
func asRefusal(err error) error {
	switch fault.KindOf(err) {
	case fault.Denied, fault.Stale, fault.Conflict, fault.NotFound, fault.Limited, fault.Invalid:
		return &refusal{asFault(err)}
	default:
	}
	return err
}

// resume takes up an effect whose last attempt nobody saw end.
func (s *Service) resume(tx event.Tx, a *attempt, invoke event.Event) error {
	e := &a.effect
	giveUp := func(reason string) error {
		if err := s.doubt(tx, e, invoke, reason); err != nil {
			return err
		}
		return s.c.Store.WaitEffect(tx, a.lease)
	}
	switch e.Class {
	case manifest.ClassIdempotent:
		if e.Attempt >= s.c.MaxAttempts {
			return giveUp("attempts")
		}
		return s.again(tx, a, invoke, false)
	case manifest.ClassReconcilable:
		c, err := s.reexamine(tx, e, invoke)
		if refusedBy(err) != nil {
			return giveUp(fault.KindOf(err).String())
		}
		if err != nil {
			return err
		}
		a.call, a.plan = c, planReadBack
		return nil
	case manifest.ClassRead, manifest.ClassOnce:
	}
	return giveUp("cut_off")
}

// again makes the next attempt. A call that is no longer permitted is not
// repeated: its outcome stays in doubt, unless it is proven that the attempts
// before did nothing.
func (s *Service) again(tx event.Tx, a *attempt, invoke event.Event, proven bool) error {
	e := &a.effect
	a.plan = planNothing
	if s.acts.hanging(e.Skill) >= s.c.MaxStrays {
		return s.c.Store.ReleaseEffect(tx, a.lease, a.now.Add(strayWait))
	}
	decision, err := s.permitted(tx, a, invoke)
	if f := refusedBy(err); f != nil {
		if !proven {
			if err := s.doubt(tx, e, invoke, f.Kind.String()); err != nil {
				return err
			}
			return s.c.Store.WaitEffect(tx, a.lease)
		}
		if err := s.end(tx, e, invoke, failed(Failed, f, nil)); err != nil {
			return err
		}
		return s.c.Store.FinishEffect(tx, a.lease)
	}
	if err != nil {
		return err
	}
	a.plan, a.end, a.doubtful = planAct, a.now.Add(a.call.entry.Manifest.Timeout()), !proven
	return s.leave(tx, a, Dispatching, decision)
}

// doubt says that nobody can tell what became of an effect. No result is given:
// the run waits for the person who settles it, and the work sleeps.
func (s *Service) doubt(tx event.Tx, e *Effect, invoke event.Event, reason string) error {
	from := e.State
	if from != Unknown {
		e.Before = from
	}
	e.State, e.Reason, e.Settling = Unknown, reason, false
	ev, err := s.changed(tx, e, invoke.Ref())
	if err != nil {
		return err
	}
	return s.move(tx, e, from, ev)
}
