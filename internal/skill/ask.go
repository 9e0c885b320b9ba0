package skill

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// OnInvoke is the reaction to skill.invoke: it checks the call, asks policy and
// writes the effect row. A call that is refused or denied is answered at once;
// one that is allowed is left to Work; one that is asked about waits for the
// person. Handling an event twice changes nothing.
func (s *Service) OnInvoke(tx event.Tx, ev event.Event) error {
	p, ok := ev.Payload.(event.SkillInvoke)
	if !ok {
		return nil // erased before the reaction ran: nobody is left to answer
	}
	switch _, err := s.c.Store.FindByCause(tx, ev.ID); {
	case err == nil:
		return nil
	case !fault.Is(err, fault.NotFound):
		return err
	}
	c, err := s.examine(tx, ev, nil)
	if f := refusedBy(err); f != nil {
		return s.turnAway(tx, ev, p, f)
	}
	if err != nil {
		return err
	}
	switch prior, err := s.c.Store.FindByKey(tx, Key(p.RunID, p.Step, p.CallID)); {
	case err == nil:
		return s.repeated(tx, c, prior)
	case !fault.Is(err, fault.NotFound):
		return err
	}
	e := newEffect(tx, c)
	q := c.question(e.ID, id.Nil)
	v, err := s.c.Decider.Decide(tx, q, ev.Ref())
	if err != nil {
		return err
	}
	e.Call, e.Decision = v.Call, v.Event.ID
	if v.Call == "" || v.Event.ID.IsZero() {
		return fault.New(fault.Internal, "policy decided about %s without a digest or an event", e.Skill)
	}
	return s.enter(tx, c, &e, q, v)
}

// enter writes the new row as policy said.
func (s *Service) enter(tx event.Tx, c *call, e *Effect, q Question, v Verdict) error {
	step := v.Event.ID
	switch v.Answer {
	case Allow:
		e.State = Intended
		ev, err := s.changed(tx, e, c.invoke.Ref(), v.Event)
		if err != nil {
			return err
		}
		if e.Class != manifest.ClassRead {
			step = ev
		}
	case Ask:
		no, err := s.ask(tx, e, q, v)
		if err == nil && no != nil {
			step, err = s.closeNew(tx, c, e, failed(Denied, no, nil), v.Event)
		}
		if err != nil {
			return err
		}
	case Deny:
		var err error
		if step, err = s.closeNew(tx, c, e, ending{state: Denied, kind: fault.Denied.String(), message: denial(v)}, v.Event); err != nil {
			return err
		}
	default:
		return fault.New(fault.Internal, "policy answered %q about %s", v.Answer, e.Skill)
	}
	added, err := s.c.Store.AddEffect(tx, *e, e.step(step))
	if err != nil {
		return err
	}
	if !added { // another transaction was first: run again and find its row
		return fault.New(fault.Conflict, "the call was entered by another transaction")
	}
	if e.State == Intended {
		if err := s.enqueue(tx, e); err != nil {
			return err
		}
	}
	failpoint.Hit("effect.intended.before_commit")
	return nil
}

// ask puts a new effect to a person. no is why nobody was asked: a person said
// no to it before, or the same call waits for an answer already.
func (s *Service) ask(tx event.Tx, e *Effect, q Question, v Verdict) (no *fault.Error, err error) {
	approval, err := s.c.Asker.Ask(tx, q, v)
	switch {
	case fault.Is(err, fault.Denied):
		return asFault(err), nil
	case err != nil:
		return nil, err
	case approval.IsZero():
		return nil, fault.New(fault.Internal, "nobody was asked about %s", e.Skill)
	}
	switch _, err := s.c.Store.FindByApproval(tx, approval); {
	case err == nil: // one answer lets one effect go
		return fault.New(fault.Conflict, "this very call waits for a person already; one answer serves one call"), nil
	case !fault.Is(err, fault.NotFound):
		return nil, err
	}
	e.State, e.Approval = Asked, approval
	return nil, nil
}

// closeNew ends an effect that has no row yet.
func (s *Service) closeNew(tx event.Tx, c *call, e *Effect, end ending, causes ...event.Ref) (id.ID, error) {
	e.State, e.Reason = end.state, end.kind
	r, err := s.result(tx, c.invoke, e.answers(), end, causes...)
	e.Result = r
	return r, err
}

// denial is the sentence an agent reads about a DENY.
func denial(v Verdict) string {
	if v.Reason != "" {
		return Prefix(v.Reason, maxMessage)
	}
	return "policy does not allow it"
}

// enqueue makes the effect ready now.
func (s *Service) enqueue(tx event.Tx, e *Effect) error {
	now, err := s.c.Store.DBNow(tx)
	if err != nil {
		return err
	}
	return s.c.Store.EnqueueEffect(tx, e.ID, e.Actor, now)
}

// turnAway answers a call that is not acceptable. It gets a row when the
// catalogue knows the skill; a name that a model made up stays in the sealed
// event only.
func (s *Service) turnAway(tx event.Tx, ev event.Event, p event.SkillInvoke, f *fault.Error) error {
	end := failed(Refused, f, nil)
	head, err := s.c.Store.GetHead(tx)
	if err != nil {
		return err
	}
	item, known := head.Find(p.Skill)
	ofEffect := resultOf{run: p.RunID, step: p.Step, call: p.CallID, skill: p.Skill}
	if !known || p.RunID.IsZero() || p.CallID == "" || len(p.CallID) > 128 || p.Step < 0 {
		_, err := s.result(tx, ev, ofEffect, end)
		return err
	}
	ready, err := s.prepare(tx, item.Hash)
	if err != nil {
		return err
	}
	e := newEffect(tx, &call{invoke: ev, payload: p, entry: ready.entry, label: ev.Label})
	e.State, e.Reason = Refused, end.kind
	// A refused call does not take the key of a good one.
	e.Key = "refused:" + e.ID.String()
	r, err := s.result(tx, ev, e.answers(), end)
	if err != nil {
		return err
	}
	e.Result = r
	added, err := s.c.Store.AddEffect(tx, e, e.step(r))
	if err == nil && !added {
		return fault.New(fault.Conflict, "the call was entered by another transaction")
	}
	return err
}

// repeated answers a second skill.invoke with the key of a first one. The same
// call gets the first one's result, now or when it comes; another call under
// the same key is refused. Nothing is carried out twice.
func (s *Service) repeated(tx event.Tx, c *call, prior Effect) error {
	first, err := s.c.Store.GetEvent(tx, prior.Cause)
	if err != nil {
		return err
	}
	was, ok := first.Payload.(event.SkillInvoke)
	if !ok || was.Skill != c.payload.Skill || was.Manifest != c.payload.Manifest || string(was.Arguments) != string(c.payload.Arguments) {
		_, err := s.result(tx, c.invoke, resultOf{run: prior.RunID, step: prior.Step, call: prior.CallID, skill: c.payload.Skill},
			failed(Refused, fault.New(fault.Conflict, "this step already made another call under the same id"), nil))
		return err
	}
	if !prior.State.Final() {
		return nil // its result will answer
	}
	told, err := s.c.Store.GetEvent(tx, prior.Result)
	if err != nil {
		return err
	}
	r, ok := told.Payload.(event.SkillResult)
	if !ok {
		return nil
	}
	_, err = tx.Emit(s.c.Origin, event.Draft{Payload: r, Summary: told.Summary, Stream: c.invoke.Stream, Subject: c.invoke.Subject,
		Causes: []event.Ref{c.invoke.Ref(), told.Ref()}, Evidence: told.Evidence})
	return err
}
