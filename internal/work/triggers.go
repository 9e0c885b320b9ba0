package work

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// CreateTrigger makes a trigger. Its signal, its workspace and the signal that it
// emits must be the account's; what is not gets one answer with what is not there.
func (s *Service) CreateTrigger(tx event.Tx, a Actor, n NewTrigger) (Trigger, error) {
	if err := mayWire(a); err != nil {
		return Trigger{}, err
	}
	if err := mayFree(a, n.AllowAllCommands); err != nil {
		return Trigger{}, err
	}
	// The account's lock, so that two at once do not close a circle together.
	if err := s.store.LockGraph(tx); err != nil {
		return Trigger{}, err
	}
	sig, err := s.seeSignal(tx, a, n.Signal, s.store.ShareSignal)
	if err != nil {
		return Trigger{}, err
	}
	if sig.Archived() {
		return Trigger{}, errSignalArchived()
	}
	g := Trigger{ID: tx.NewID(), SignalID: sig.ID, WorkspaceID: n.Workspace, Title: n.Title, Body: n.Body, Assignee: n.Assignee, AssigneeRef: n.AssigneeRef,
		AllowAllCommands: n.AllowAllCommands, EmitID: n.Emit, Enabled: !n.Disabled, CreatedBy: a.Principal, Trust: a.Trust, CreatedAt: tx.Now(),
		UpdatedAt: tx.Now(), Revision: 1, Revisions: Revisions{}}
	if g.Assignee == "" {
		g.Assignee = Agent
	}
	if err := g.check(); err != nil {
		return g, err
	}
	if err := s.checkPlace(tx, a, g.WorkspaceID); err != nil {
		return g, err
	}
	if err := s.checkCount(tx, sig.ID); err != nil {
		return g, err
	}
	if err := s.checkEmit(tx, g); err != nil {
		return g, err
	}
	a.Subject = id.Nil
	ev, err := s.emit(tx, a, sig.ID, "The signal "+sig.Name+" has a new trigger.", event.TriggerCreated{TriggerID: g.ID, SignalID: g.SignalID,
		WorkspaceID: g.WorkspaceID, Title: g.Title, Body: g.Body, Assignee: string(g.Assignee), AssigneeRef: g.AssigneeRef,
		AllowAllCommands: g.AllowAllCommands, EmitSignalID: g.EmitID, Enabled: g.Enabled, By: a.Principal})
	if err != nil {
		return g, err
	}
	g.Label = ev.Label
	return g, s.store.AddTrigger(tx, g)
}

// checkPlace refuses a workspace that takes no tasks.
func (s *Service) checkPlace(tx event.Tx, a Actor, workspace id.ID) error {
	w, err := s.seeWorkspace(tx, a, workspace, s.store.ShareWorkspace)
	if err == nil && w.Archived() {
		err = errArchived()
	}
	return err
}

func (s *Service) checkCount(tx event.Tx, signal id.ID) error {
	own, err := s.store.TriggersOf(tx, signal)
	if err != nil {
		return err
	}
	if len(own) >= maxFanOut {
		return fault.New(fault.Limited, "a signal has at most %d triggers", maxFanOut).On("trigger")
	}
	all, err := s.store.CountTriggers(tx)
	if err == nil && all >= maxTriggers {
		err = fault.New(fault.Limited, "an account has at most %d triggers", maxTriggers).On("trigger")
	}
	return err
}

// checkEmit refuses a chain that is no chain; the graph must be locked. A trigger
// counts whether it is enabled or not: enabling one closes no circle.
func (s *Service) checkEmit(tx event.Tx, g Trigger) error {
	if g.EmitID.IsZero() {
		return nil
	}
	if err := s.checkEmits(tx, g.EmitID, "emitEventId"); err != nil {
		return err
	}
	edges, err := s.store.Chains(tx, g.ID)
	if err != nil {
		return err
	}
	return checkChain(edges, Edge{g.SignalID, g.EmitID}, maxChain)
}

// GetTrigger returns a trigger; signal, if it is given, is whose it must be.
func (s *Service) GetTrigger(tx event.Tx, a Actor, signal, trigger id.ID) (Trigger, error) {
	return s.seeTrigger(tx, a, signal, trigger, s.store.GetTrigger)
}

func (s *Service) seeTrigger(tx event.Tx, a Actor, signal, trigger id.ID, get func(event.Tx, id.ID) (Trigger, error)) (Trigger, error) {
	if err := a.check(); err != nil {
		return Trigger{}, err
	}
	if a.worker() || trigger.IsZero() {
		return Trigger{}, noTrigger()
	}
	g, err := get(tx, trigger)
	if fault.Is(err, fault.NotFound) || err == nil && !signal.IsZero() && g.SignalID != signal {
		return Trigger{}, noTrigger()
	}
	return g, err
}

// ListTriggers returns all triggers of a signal.
func (s *Service) ListTriggers(tx event.Tx, a Actor, signal id.ID) ([]Trigger, error) {
	g, err := s.seeSignal(tx, a, signal, s.store.GetSignal)
	if err != nil {
		return nil, err
	}
	return s.store.TriggersOf(tx, g.ID)
}

// UpdateTrigger changes fields of a trigger, for publishes to come. Two writers on
// two fields both win; of two on one, the one that saw less is told which.
func (s *Service) UpdateTrigger(tx event.Tx, a Actor, signal, trigger id.ID, c TriggerChange) (Trigger, error) {
	g, err := s.lockTrigger(tx, a, signal, trigger)
	if err != nil {
		return g, err
	}
	sig, err := s.store.GetSignal(tx, g.SignalID)
	if err != nil {
		return g, err
	}
	if sig.Archived() {
		return g, errSignalArchived()
	}
	next, e := g.apply(c)
	if e.err != nil || len(e.changes) == 0 {
		return g, e.err
	}
	if e.changed("workspaceId") {
		if err := s.checkPlace(tx, a, next.WorkspaceID); err != nil {
			return g, err
		}
	}
	// What lets all commands run stays a person's word: a template that somebody
	// else rewrites is not what the person let run.
	if err := mayFree(a, next.AllowAllCommands); err != nil {
		return g, err
	}
	if e.changed("emitEventId") {
		if err := s.checkEmit(tx, next); err != nil {
			return g, err
		}
	}
	next.Trust = min(g.Trust, a.Trust)
	return s.saveTrigger(tx, a, next, e)
}

func (s *Service) lockTrigger(tx event.Tx, a Actor, signal, trigger id.ID) (Trigger, error) {
	if err := mayWire(a); err != nil {
		return Trigger{}, err
	}
	if err := s.store.LockGraph(tx); err != nil {
		return Trigger{}, err
	}
	return s.seeTrigger(tx, a, signal, trigger, s.store.LockTrigger)
}

func (s *Service) saveTrigger(tx event.Tx, a Actor, g Trigger, e *edit) (Trigger, error) {
	g.Revision, g.Revisions, g.UpdatedAt = e.next, e.revs, tx.Now()
	a.Subject = id.Nil
	ev, err := s.emit(tx, a, g.SignalID, "A trigger has changed: "+e.fields()+".",
		event.TriggerUpdated{TriggerID: g.ID, SignalID: g.SignalID, Changes: e.changes, Revision: g.Revision, By: a.Principal})
	if err != nil {
		return g, err
	}
	g.Label = event.Join(g.Label, ev.Label)
	return g, s.store.SaveTrigger(tx, g)
}

// moveTriggers gives the triggers of a workspace another one; the graph must be
// locked.
func (s *Service) moveTriggers(tx event.Tx, a Actor, from, to id.ID) error {
	rows, err := s.store.TriggersInto(tx, from)
	if err != nil {
		return err
	}
	for _, g := range rows {
		next, e := g.apply(TriggerChange{Workspace: &to})
		if e.err != nil {
			return e.err
		}
		if _, err := s.saveTrigger(tx, a, next, e); err != nil {
			return err
		}
	}
	return nil
}

// DeleteTrigger removes a trigger; its signal and the tasks that it made stay.
func (s *Service) DeleteTrigger(tx event.Tx, a Actor, signal, trigger id.ID) error {
	g, err := s.lockTrigger(tx, a, signal, trigger)
	if err != nil {
		return err
	}
	return s.dropTrigger(tx, a, g)
}

func (s *Service) dropTrigger(tx event.Tx, a Actor, g Trigger) error {
	a.Subject = id.Nil
	if _, err := s.emit(tx, a, g.SignalID, "A trigger is gone.", event.TriggerDeleted{TriggerID: g.ID, SignalID: g.SignalID, By: a.Principal}); err != nil {
		return err
	}
	return s.store.DropTrigger(tx, g.ID)
}
