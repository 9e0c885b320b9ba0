package skill

import (
	"errors"
	"fmt"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// move changes an effect and appends its step. from and version are those of
// the row as it was read; ev is the event that says so.
func (s *Service) move(tx event.Tx, e *Effect, from State, ev id.ID) error {
	if !from.moves(e.State) {
		return fault.New(fault.Internal, "effect %s may not go from %s to %s", e.ID, from, e.State)
	}
	e.ChangedAt = tx.Now()
	err := s.c.Store.SaveEffect(tx, *e, Step{State: e.State, Attempt: e.Attempt, Fence: e.Fence, Node: e.Node,
		EventID: ev, Reason: e.Reason, At: e.ChangedAt}, from, e.Version)
	e.Version++
	return err
}

// changed says that an effect moved. Effects of class read move silently: their
// decision and their result say it all.
func (s *Service) changed(tx event.Tx, e *Effect, causes ...event.Ref) (id.ID, error) {
	if e.Class == manifest.ClassRead && e.State != Unknown && e.State != Held {
		return causes[0].ID, nil
	}
	ev, err := tx.Emit(s.c.Origin, event.Draft{
		Payload: event.EffectChanged{EffectID: e.ID, Skill: e.Skill, Class: string(e.Class), State: string(e.State),
			Attempt: e.Attempt, Key: e.Key, Reason: e.Reason},
		Summary: fmt.Sprintf("%s is %s.", e.Skill, e.State), Stream: e.Stream, Causes: causes,
		Evidence: []event.Reference{{Kind: event.RefEffect, ID: e.ID}},
	})
	return ev.ID, err
}

// ending is what a call ends in, before it is written.
type ending struct {
	state     State
	kind      string // error kind; "" when it went well
	message   string
	output    []byte
	truncated bool
	label     event.Label // of the output; zero for a result without one
	tookUS    int64
	spent     int64 // micro-units of money
}

// failed makes an ending from an error that may be shown.
func failed(state State, err error, mask func(string) string) ending {
	msg, field, _ := fault.Public(err)
	if errors.Is(err, errPanicked) {
		msg = "the skill panicked"
	}
	if field != "" {
		msg = field + ": " + msg
	}
	if mask != nil {
		msg = mask(msg)
	}
	return ending{state: state, kind: fault.KindOf(err).String(), message: Prefix(text(msg, func(t string) string { return t }), maxMessage)}
}

const maxMessage = 500

// result says what became of a call. subject and stream are the call's.
func (s *Service) result(tx event.Tx, invoke event.Event, p resultOf, end ending, causes ...event.Ref) (id.ID, error) {
	summary := fmt.Sprintf("%s: %s.", p.skill, end.state)
	if end.kind != "" {
		summary = fmt.Sprintf("%s: %s (%s).", p.skill, end.state, end.kind)
	}
	d := event.Draft{
		Payload: event.SkillResult{EffectID: p.effect, RunID: p.run, Step: p.step, CallID: p.call, Skill: p.skill,
			State: string(end.state), Output: end.output, Truncated: end.truncated, ErrorKind: end.kind, Error: end.message, TookUS: end.tookUS},
		Summary: Prefix(summary, 400), Stream: invoke.Stream, Subject: invoke.Subject,
		Causes: append([]event.Ref{invoke.Ref()}, causes...), Label: end.label,
	}
	if !p.effect.IsZero() {
		d.Evidence = []event.Reference{{Kind: event.RefEffect, ID: p.effect}}
	}
	ev, err := tx.Emit(s.c.Origin, d)
	return ev.ID, err
}

// resultOf names the call that a result answers.
type resultOf struct {
	effect, run id.ID
	step        int
	call, skill string
}

func (e *Effect) answers() resultOf {
	return resultOf{effect: e.ID, run: e.RunID, step: e.Step, call: e.CallID, skill: e.Skill}
}

// end finishes an effect: state, result, step. The caller ends the work.
func (s *Service) end(tx event.Tx, e *Effect, invoke event.Event, end ending, causes ...event.Ref) error {
	from := e.State
	e.State, e.Reason, e.Settling = end.state, end.kind, false
	ev := id.Nil
	if from != Asked && from != Intended || end.state == Confirmed || end.state == Failed {
		var err error
		if ev, err = s.changed(tx, e, append([]event.Ref{invoke.Ref()}, causes...)...); err != nil {
			return err
		}
	}
	r, err := s.result(tx, invoke, e.answers(), end, causes...)
	if err != nil {
		return err
	}
	e.Result = r
	if ev.IsZero() || e.Class == manifest.ClassRead {
		ev = r
	}
	if err := s.settleMoney(tx, e, end.spent); err != nil {
		return err
	}
	return s.move(tx, e, from, ev)
}

// settleMoney ends the reservation of an effect that costs money. Settling what
// was never reserved changes nothing.
func (s *Service) settleMoney(tx event.Tx, e *Effect, spent int64) error {
	if s.c.Purse == nil {
		return nil
	}
	p, err := s.prepare(tx, e.Manifest)
	if err != nil || p.entry.Manifest.Resources.MoneyMicros == 0 {
		return err
	}
	return s.c.Purse.Settle(tx, e.RunID, e.ID, spent)
}

// newEffect is the row of a call.
func newEffect(tx event.Tx, c *call) Effect {
	p, m := c.payload, c.entry.Manifest
	return Effect{
		ID: tx.NewID(), Cause: c.invoke.ID, RunID: p.RunID, Step: p.Step, CallID: p.CallID, Actor: p.Actor, Requester: p.Requester,
		Workspace: p.Workspace, Skill: m.Name, Manifest: c.entry.Hash, Catalogue: p.Catalogue, Class: m.Class,
		Key: Key(p.RunID, p.Step, p.CallID), Label: c.label, Stream: c.invoke.Stream, CreatedAt: tx.Now(), ChangedAt: tx.Now(), Version: 1,
	}
}

func (e *Effect) step(ev id.ID) Step {
	return Step{Number: 1, State: e.State, EventID: ev, Reason: e.Reason, At: e.CreatedAt}
}

// since returns the microseconds since start, never less than zero.
func (s *Service) since(start int64) int64 { return max(clock.Micros(s.c.Clock.Now())-start, 0) }
