package skill

import (
	"context"
	"fmt"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Word is what a person says of an effect that waits for one.
type Word string

// The words. Run and DidNot are also the answers to an effect that is held.
const (
	ItHappened Word = "happened"  // unknown, or held while it was dispatching: it is done
	DidNot     Word = "did_not"   // it did not happen, and is not to happen any more
	ReadItBack Word = "read_back" // ask the target; class reconcilable only
	Run        Word = "run"       // held before anything left: carry it out after all
)

// Settlement is a person's word on one effect.
type Settlement struct {
	Person id.ID
	Effect id.ID
	Word   Word
	Note   string // optional, at most 2,000 bytes
}

// Settle ends the doubt about an effect. Only now its skill.result is said:
// confirmed for happened, failed for did_not, what the target says for
// read_back. It returns fault.Denied without a person who may, Conflict when the effect
// does not wait for this word.
func (s *Service) Settle(ctx context.Context, account id.ID, w Settlement) (Effect, error) {
	if w.Person.IsZero() {
		return Effect{}, fault.New(fault.Denied, "only a person settles an effect")
	}
	if len(w.Note) > 2000 {
		return Effect{}, fault.New(fault.Limited, "a note has at most 2000 bytes").On("note")
	}
	var e Effect
	err := s.c.Journal.Do(ctx, account, func(tx event.Tx) (err error) {
		e, err = s.settle(tx, w)
		return err
	})
	return e, err
}

func (s *Service) settle(tx event.Tx, w Settlement) (Effect, error) {
	if err := s.c.People.May(tx, By{Person: w.Person}.principal(), actSettle); err != nil {
		return Effect{}, err
	}
	e, err := s.c.Store.GetEffect(tx, w.Effect)
	if err != nil {
		return e, err
	}
	if err := s.maySettle(tx, &e, w.Word); err != nil {
		return e, err
	}
	invoke, err := s.c.Store.GetEvent(tx, e.Cause)
	if err != nil {
		return e, err
	}
	if invoke.Payload == nil {
		invoke.Subject = id.Nil // erased; what is said now is about the account
	}
	said, err := tx.Emit(s.c.Origin, event.Draft{
		Payload: event.EffectSettled{EffectID: e.ID, PersonID: w.Person, Outcome: string(w.Word), Note: w.Note},
		Summary: fmt.Sprintf("A person settled %s: %s.", e.Skill, w.Word), Stream: e.Stream, Subject: invoke.Subject,
		Causes: []event.Ref{invoke.Ref()}, Evidence: []event.Reference{{Kind: event.RefEffect, ID: e.ID}},
	})
	if err != nil {
		return e, err
	}
	from := e.State
	switch w.Word {
	case ItHappened, DidNot: // a worker that still holds it is stale now
		if err := s.c.Store.DropEffect(tx, e.ID); err != nil {
			return e, err
		}
	case ReadItBack, Run:
	}
	switch w.Word {
	case ItHappened:
		p, err := s.prepare(tx, e.Manifest)
		if err != nil {
			return e, err
		}
		end := ending{state: Confirmed, message: "a person said that it happened; what it gave is not known", spent: p.entry.Manifest.Resources.MoneyMicros}
		return e, s.end(tx, &e, invoke, end, said.Ref())
	case DidNot:
		return e, s.end(tx, &e, invoke, failed(Failed, fault.New(fault.Unknown, "a person said that it did not happen; it was not tried again"), nil), said.Ref())
	case ReadItBack:
		e.State, e.Settling, e.Reason = Unknown, true, "read_back"
		if from != Unknown {
			e.Before = from
		}
	case Run:
		e.State, e.Reason = Intended, ""
	}
	ev, err := s.changed(tx, &e, invoke.Ref(), said.Ref())
	if err != nil {
		return e, err
	}
	if err := s.move(tx, &e, from, ev); err != nil {
		return e, err
	}
	now, err := s.c.Store.DBNow(tx)
	if err != nil {
		return e, err
	}
	return e, s.c.Store.WakeEffect(tx, e.ID, now)
}

// maySettle refuses a word that the effect does not wait for.
func (s *Service) maySettle(tx event.Tx, e *Effect, w Word) error {
	fresh := e.State == Held && e.Before == Intended // nothing ever left
	ok := false
	switch w {
	case ItHappened:
		ok = e.State == Unknown || e.State == Held && !fresh
	case DidNot:
		ok = e.State == Unknown || e.State == Held
	case Run:
		ok = fresh
	case ReadItBack:
		if e.State == Unknown && !e.Settling || e.State == Held && !fresh {
			p, err := s.prepare(tx, e.Manifest)
			if err != nil {
				return err
			}
			if p.entry.Manifest.Class != manifest.ClassReconcilable {
				return fault.New(fault.Conflict, "%s cannot be read back", e.Skill).WithFix("look at the target and say happened or did_not")
			}
			ok = true
		}
	default:
		return fault.New(fault.Invalid, "%q is no word of happened, did_not, read_back, run", w).On("outcome")
	}
	if !ok {
		return fault.New(fault.Conflict, "%s is %s: it does not wait for %s", e.Skill, e.State, w)
	}
	return nil
}

// OnHeld is the reaction to work.held: an effect from before a restore is not
// carried out unasked.
func (s *Service) OnHeld(tx event.Tx, ev event.Event) error {
	h, ok := ev.Payload.(event.WorkHeld)
	if !ok || h.Kind != string(event.WorkEffect) {
		return nil
	}
	e, err := s.c.Store.GetEffect(tx, h.WorkID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || e.State != Intended && e.State != Dispatching {
		return err
	}
	return s.hold(tx, e, h.Reason, ev)
}

// OnEpoch is the reaction to epoch.started: after a restore, nothing of the
// past is carried out unasked. Effects that wait for a person go on waiting.
func (s *Service) OnEpoch(tx event.Tx, ev event.Event) error {
	for _, state := range []State{Intended, Dispatching} {
		for {
			list, err := s.c.Store.ListEffects(tx, Filter{State: state, Limit: 200})
			if err != nil {
				return err
			}
			for _, e := range list {
				if err := s.hold(tx, e, "restore", ev); err != nil {
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

func (s *Service) hold(tx event.Tx, e Effect, reason string, cause event.Event) error {
	from := e.State
	e.Before, e.State, e.Reason = from, Held, reason
	step, err := s.changed(tx, &e, cause.Ref())
	if err != nil {
		return err
	}
	return s.move(tx, &e, from, step)
}
