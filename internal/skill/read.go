package skill

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Head returns the newest snapshot of the catalogue; number 0 before the first start.
func (s *Service) Head(tx event.Tx) (manifest.Snapshot, error) { return s.c.Store.GetHead(tx) }

// Snapshot returns one number of the catalogue, however old. NotFound if there
// is none.
func (s *Service) Snapshot(tx event.Tx, number int) (manifest.Snapshot, error) {
	return s.c.Store.GetSnapshot(tx, number)
}

// Entry returns a manifest by its hash, with the text of an instruction.
func (s *Service) Entry(tx event.Tx, hash string) (manifest.Entry, error) {
	p, err := s.prepare(tx, hash)
	if err != nil {
		return manifest.Entry{}, err
	}
	return p.entry, nil
}

// Offered returns what an agent may be offered: of the skills it holds, those
// that a number of the catalogue has and that are switched on in the workspace,
// sorted by name. Names it holds and the catalogue lacks are left out.
func (s *Service) Offered(tx event.Tx, number int, held []string, workspace id.ID) ([]manifest.Entry, error) {
	snap, err := s.c.Store.GetSnapshot(tx, number)
	if err != nil {
		return nil, err
	}
	var out []manifest.Entry
	for _, it := range snap.Items {
		if !slices.Contains(held, it.Name) || !it.OnIn(workspace) {
			continue
		}
		e, err := s.Entry(tx, it.Hash)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// CheckArguments returns fault.Invalid, with the argument as its field, if
// arguments do not fit a skill of the catalogue; Stale or NotFound if that
// manifest is not there. Policy uses it before it shows a person's edit.
func (s *Service) CheckArguments(tx event.Tx, hash string, arguments []byte) error {
	p, err := s.prepare(tx, hash)
	if err != nil {
		return err
	}
	return p.contract.CheckInput(arguments)
}

// Requestion returns the question about a call that was made before, with other
// arguments if they are given: what policy decides about when a person edits a
// call. A call that is no longer acceptable is the fault that says why.
func (s *Service) Requestion(tx event.Tx, invoke id.ID, arguments []byte) (Question, error) {
	ev, err := s.c.Store.GetEvent(tx, invoke)
	if err != nil {
		return Question{}, err
	}
	p, ok := ev.Payload.(event.SkillInvoke)
	if !ok {
		return Question{}, fault.New(fault.NotFound, "event %s is no call, or was erased", invoke)
	}
	original := p.Arguments
	if len(arguments) > 0 {
		p.Arguments = arguments
		ev.Payload = p
	}
	c, err := s.examine(tx, ev, nil)
	if err != nil {
		if f := refusedBy(err); f != nil {
			return Question{}, f
		}
		return Question{}, err
	}
	e, err := s.c.Store.FindByCause(tx, invoke)
	if err != nil {
		return Question{}, err
	}
	q := c.question(e.ID, e.Approval)
	if len(arguments) > 0 {
		q.Original = original
	}
	return q, nil
}

// Effects returns a page of the ledger, newest first.
func (s *Service) Effects(tx event.Tx, f Filter) ([]Effect, error) {
	if f.Limit < 0 || f.Limit > 200 {
		return nil, fault.New(fault.Invalid, "a page has 1 to 200 effects").On("limit")
	}
	if f.Limit == 0 {
		f.Limit = 50
	}
	if f.State != "" && !slices.Contains(States(), f.State) {
		return nil, fault.New(fault.Invalid, "%q is no state of an effect", f.State).On("state")
	}
	return s.c.Store.ListEffects(tx, f)
}

// Effect returns one effect and its history, oldest step first.
func (s *Service) Effect(tx event.Tx, effect id.ID) (Effect, []Step, error) {
	e, err := s.c.Store.GetEffect(tx, effect)
	if err != nil {
		return e, nil, err
	}
	steps, err := s.c.Store.ListSteps(tx, effect)
	return e, steps, err
}
