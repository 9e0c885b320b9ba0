package work

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// seeSignal returns a signal. To a worker there are none: it publishes by name.
func (s *Service) seeSignal(tx event.Tx, a Actor, signal id.ID, get func(event.Tx, id.ID) (Signal, error)) (Signal, error) {
	if err := a.check(); err != nil {
		return Signal{}, err
	}
	if a.worker() || signal.IsZero() {
		return Signal{}, noSignal()
	}
	g, err := get(tx, signal)
	if fault.Is(err, fault.NotFound) {
		err = noSignal()
	}
	return g, err
}

// mayWire refuses a worker: it fires what others wire.
func mayWire(a Actor) error {
	if err := a.check(); err != nil {
		return err
	}
	if a.worker() {
		return fault.New(fault.Denied, "a worker wires no signals; it publishes them")
	}
	return words(a)
}

// CreateSignal makes a signal.
func (s *Service) CreateSignal(tx event.Tx, a Actor, n NewSignal) (Signal, error) {
	if err := mayWire(a); err != nil {
		return Signal{}, err
	}
	if err := n.check(); err != nil {
		return Signal{}, err
	}
	// The account's lock, so that two at once do not take one name.
	if err := s.store.LockGraph(tx); err != nil {
		return Signal{}, err
	}
	switch _, err := s.store.SignalByName(tx, n.Name); {
	case err == nil:
		return Signal{}, fault.New(fault.Conflict, "there is a signal %s already", n.Name).On("name")
	case !fault.Is(err, fault.NotFound):
		return Signal{}, err
	}
	count, err := s.store.CountSignals(tx)
	if err != nil {
		return Signal{}, err
	}
	if count >= maxSignals {
		return Signal{}, fault.New(fault.Limited, "an account has at most %d signals", maxSignals).On("signal")
	}
	g := Signal{ID: tx.NewID(), Name: n.Name, Description: n.Description, PayloadGuidelines: n.PayloadGuidelines, FAQ: n.FAQ, CreatedBy: a.Principal,
		Trust: a.Trust, CreatedAt: tx.Now(), UpdatedAt: tx.Now(), Revision: 1, Revisions: Revisions{}}
	a.Subject = id.Nil // what describes a signal is the account's
	ev, err := s.emit(tx, a, g.ID, "The signal "+g.Name+" begins.", event.SignalCreated{SignalID: g.ID, Name: g.Name, Description: g.Description,
		PayloadGuidelines: g.PayloadGuidelines, FAQ: g.FAQ, By: a.Principal})
	if err != nil {
		return g, err
	}
	g.Label = ev.Label
	return g, s.store.AddSignal(tx, g)
}

// GetSignal returns a signal, archived or not.
func (s *Service) GetSignal(tx event.Tx, a Actor, signal id.ID) (Signal, error) {
	return s.seeSignal(tx, a, signal, s.store.GetSignal)
}

// ListSignals returns signals in the order in which they were made, after one;
// archived ones only if asked for.
func (s *Service) ListSignals(tx event.Tx, a Actor, archived bool, after id.ID, limit int) ([]Signal, error) {
	if err := a.check(); err != nil || a.worker() {
		return nil, err
	}
	return s.store.ListSignals(tx, archived, after, pages(limit))
}

// UpdateSignal changes fields of a signal; its name is fixed, because tasks and
// workers know it by that. Two writers on two fields both win.
func (s *Service) UpdateSignal(tx event.Tx, a Actor, signal id.ID, c SignalChange) (Signal, error) {
	g, err := s.lockSignal(tx, a, signal)
	if err != nil {
		return g, err
	}
	if g.Archived() {
		return g, errSignalArchived()
	}
	next, e := g.apply(c)
	if e.err != nil || len(e.changes) == 0 {
		return g, e.err
	}
	next.Trust = min(g.Trust, a.Trust)
	return s.saveSignal(tx, a, next, e)
}

func (s *Service) lockSignal(tx event.Tx, a Actor, signal id.ID) (Signal, error) {
	if err := mayWire(a); err != nil {
		return Signal{}, err
	}
	return s.seeSignal(tx, a, signal, s.store.LockSignal)
}

func (s *Service) saveSignal(tx event.Tx, a Actor, g Signal, e *edit) (Signal, error) {
	g.Revision, g.Revisions, g.UpdatedAt = e.next, e.revs, tx.Now()
	a.Subject = id.Nil
	ev, err := s.emit(tx, a, g.ID, "The signal "+g.Name+" has changed: "+e.fields()+".",
		event.SignalUpdated{SignalID: g.ID, Changes: e.changes, Revision: g.Revision, By: a.Principal})
	if err != nil {
		return g, err
	}
	g.Label = event.Join(g.Label, ev.Label)
	return g, s.store.SaveSignal(tx, g)
}

// ArchiveSignal lets a signal rest: it is published no more, its triggers take no
// changes, and tasks of chains that lead to it are not asked to publish it. Doing
// it twice changes nothing.
func (s *Service) ArchiveSignal(tx event.Tx, a Actor, signal id.ID) (Signal, error) {
	return s.restSignal(tx, a, signal, true)
}

// UnarchiveSignal lets an archived signal go on.
func (s *Service) UnarchiveSignal(tx event.Tx, a Actor, signal id.ID) (Signal, error) {
	return s.restSignal(tx, a, signal, false)
}

func (s *Service) restSignal(tx event.Tx, a Actor, signal id.ID, archived bool) (Signal, error) {
	g, err := s.lockSignal(tx, a, signal)
	if err != nil || g.Archived() == archived {
		return g, err
	}
	e := begin(0, g.Revision, g.Revisions)
	g.ArchivedAt = clock.FromMicros(0)
	if archived {
		g.ArchivedAt = tx.Now()
	}
	e.note("archivedAt", value(clock.Micros(g.ArchivedAt)))
	return s.saveSignal(tx, a, g, e)
}

// DeleteSignal removes a signal with its triggers and the list of its publishes;
// events and tasks stay. Triggers of other signals that led to it end their chain.
func (s *Service) DeleteSignal(tx event.Tx, a Actor, signal id.ID) error {
	if err := mayWire(a); err != nil {
		return err
	}
	if err := s.store.LockGraph(tx); err != nil {
		return err
	}
	g, err := s.lockSignal(tx, a, signal)
	if err != nil {
		return err
	}
	own, err := s.store.TriggersOf(tx, g.ID)
	if err != nil {
		return err
	}
	leading, err := s.store.TriggersEmitting(tx, g.ID)
	if err != nil {
		return err
	}
	for _, t := range own {
		if err := s.dropTrigger(tx, a, t); err != nil {
			return err
		}
	}
	for _, t := range leading {
		next, e := t.apply(TriggerChange{Emit: &id.ID{}})
		if e.err != nil {
			return e.err
		}
		if _, err := s.saveTrigger(tx, a, next, e); err != nil {
			return err
		}
	}
	a.Subject = id.Nil
	if _, err := s.emit(tx, a, g.ID, "The signal "+g.Name+" is gone.", event.SignalDeleted{SignalID: g.ID, Name: g.Name, By: a.Principal}); err != nil {
		return err
	}
	return s.store.DropSignal(tx, g.ID)
}

// TasksOfSignal returns the tasks that publishes of a signal made, newest first,
// before one.
func (s *Service) TasksOfSignal(tx event.Tx, a Actor, signal, before id.ID, limit int) ([]Task, error) {
	g, err := s.seeSignal(tx, a, signal, s.store.GetSignal)
	if err != nil {
		return nil, err
	}
	return s.store.TasksOfSignal(tx, g.ID, before, pages(limit))
}

// Brief returns the body of a task as a worker is to read it: one that is to
// publish a signal asks for it, in the form in which the worker's session calls
// its tools. A signal that rests or is gone is not asked for.
func (s *Service) Brief(tx event.Tx, t Task, f Form) (string, error) {
	if t.EventID.IsZero() {
		return t.Body, nil
	}
	g, err := s.store.GetSignal(tx, t.EventID)
	if fault.Is(err, fault.NotFound) || err == nil && g.Archived() {
		return t.Body, nil
	}
	return t.Brief(f, g), err
}

// checkEmits refuses a signal that a task is to publish and that is not there.
func (s *Service) checkEmits(tx event.Tx, signal id.ID, field string) error {
	if signal.IsZero() {
		return nil
	}
	_, err := s.store.GetSignal(tx, signal)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "there is no such signal").On(field)
	}
	return err
}
