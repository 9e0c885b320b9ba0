package work

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// PublishSignal publishes a signal: in this one transaction it is recorded, and
// each of its enabled triggers makes its task. The same publish again, by its task
// or by its key, gives the first result and makes nothing. A worker that names a
// task must hold it; whoever lost it publishes nothing.
func (s *Service) PublishSignal(tx event.Tx, a Actor, p Publish) (Published, error) {
	out, err := s.publish(tx, a, p)
	return out.forWorker(a), err
}

func (s *Service) publish(tx event.Tx, a Actor, p Publish) (Published, error) {
	if err := a.check(); err != nil {
		return Published{}, err
	}
	if err := p.check(); err != nil {
		return Published{}, err
	}
	if err := words(a); err != nil {
		return Published{}, err
	}
	if a.worker() && p.Key != "" { // workers of one name in two workspaces are two authors
		p.Key += "\x00" + a.Workspace.String()
	}
	if err := s.checkTeller(tx, a, p); err != nil {
		return Published{}, err
	}
	sig, err := s.findSignal(tx, p)
	if err != nil {
		return Published{}, err
	}
	if out, found, err := s.before(tx, a, p, sig); err != nil || found {
		return out, err
	}
	if sig.Archived() {
		return Published{}, errSignalArchived()
	}
	w := publishing{signal: sig, p: Published{ID: tx.NewID(), SignalID: sig.ID, Name: sig.Name, TaskID: p.Task, Author: a.Principal, Subject: a.subject(tx),
		Trust: a.Trust, Label: a.label(), Payload: p.Payload, FAQ: p.FAQ, At: tx.Now()}}
	if err := s.chain(tx, &w); err != nil {
		return w.p, err
	}
	if w.p.Stopped == "" {
		if err := s.gather(tx, &w); err != nil {
			return w.p, err
		}
	}
	// From here on it writes. Who comes second with the same publish waits here for
	// the first, and finds what it made.
	first, err := s.store.AddPublish(tx, w.p, p.Key)
	if err != nil {
		return w.p, err
	}
	if !first {
		out, found, err := s.before(tx, a, p, sig)
		if err == nil && !found {
			err = fault.New(fault.Unavailable, "the same publish is on its way; try again")
		}
		return out, err
	}
	return w.p, s.spawn(tx, a, &w)
}

func (a Actor) label() event.Label {
	labels := make([]event.Label, 0, len(a.Causes)+1)
	for _, c := range a.Causes {
		labels = append(labels, c.Label)
	}
	if !a.Label.IsZero() {
		labels = append(labels, a.Label)
	}
	return event.Join(labels...)
}

// checkTeller refuses who may not speak for the task that a publish names.
func (s *Service) checkTeller(tx event.Tx, a Actor, p Publish) error {
	if p.Task.IsZero() {
		return nil
	}
	_, t, err := s.open(tx, a, p.Workspace, p.Task)
	if err != nil || !a.worker() && a.Fence == 0 {
		return err
	}
	if t.Status == Completed && a.Fence != 0 && a.Fence == t.Claim.Fence {
		return nil // it completed the task itself, a moment ago
	}
	now, err := s.store.DBNow(tx)
	if err != nil {
		return err
	}
	return t.holds(a.Principal, a.Fence, now)
}

func (s *Service) findSignal(tx event.Tx, p Publish) (Signal, error) {
	target := p.Signal
	if target.IsZero() {
		named, err := s.store.SignalByName(tx, p.Name)
		if fault.Is(err, fault.NotFound) {
			return Signal{}, noSignal()
		}
		if err != nil {
			return Signal{}, err
		}
		target = named.ID
	}
	sig, err := s.store.ShareSignal(tx, target)
	if fault.Is(err, fault.NotFound) {
		err = noSignal()
	}
	return sig, err
}

// before returns the first result of the same publish, if there was one.
func (s *Service) before(tx event.Tx, a Actor, p Publish, sig Signal) (out Published, found bool, err error) {
	switch {
	case !p.Task.IsZero():
		out, err = s.store.PublishOfTask(tx, p.Task, sig.ID)
	case p.Key != "":
		out, err = s.store.PublishOfKey(tx, a.Principal, p.Key)
	default:
		return out, false, nil
	}
	if fault.Is(err, fault.NotFound) {
		return Published{}, false, nil
	}
	if err != nil {
		return out, false, err
	}
	if p.Task.IsZero() && (out.SignalID != sig.ID || out.Payload != p.Payload && out.Payload != "" || !slices.Equal(out.FAQ, p.FAQ) && len(out.FAQ) > 0) {
		return Published{}, false, fault.New(fault.Conflict, "the key was used for another publish").On("Idempotency-Key").WithFix("use a key of its own for each publish")
	}
	out.Name, out.Repeated = sig.Name, true
	return out, true, nil
}

// chain says where in a chain the publish stands, and whether that is too far.
func (s *Service) chain(tx event.Tx, w *publishing) error {
	var chain []id.ID
	if !w.p.TaskID.IsZero() {
		var err error
		if chain, err = s.store.ChainOf(tx, w.p.TaskID); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	w.p.Stopped = stopped(chain, w.signal.ID)
	w.p.Chain = append(slices.Clone(chain), w.signal.ID)
	return nil
}

// gather looks at all that the publish needs and decides what it makes. The
// workspaces stay as they are until the end: an archiving waits.
func (s *Service) gather(tx event.Tx, w *publishing) error {
	triggers, err := s.store.TriggersOf(tx, w.signal.ID)
	if err != nil {
		return err
	}
	w.places, w.emits = map[id.ID]Workspace{}, map[id.ID]Signal{}
	var places []id.ID
	for _, g := range triggers {
		places = append(places, g.WorkspaceID)
		if _, known := w.emits[g.EmitID]; known || g.EmitID.IsZero() {
			continue
		}
		if w.emits[g.EmitID], err = s.store.GetSignal(tx, g.EmitID); err != nil {
			return err
		}
	}
	slices.SortFunc(places, func(a, b id.ID) int { return slices.Compare(a[:], b[:]) })
	for _, at := range slices.Compact(places) {
		if w.places[at], err = s.store.ShareWorkspace(tx, at); err != nil {
			return err
		}
	}
	return w.plan(triggers, tx.Now(), tx.NewID)
}

// spawn says that the signal was published and makes the tasks.
func (s *Service) spawn(tx event.Tx, a Actor, w *publishing) error {
	depth, of := len(w.p.Chain), "The signal "+w.signal.Name
	if w.p.Stopped != "" {
		_, err := s.emit(tx, a, w.signal.ID, of+" was published and stopped: "+w.p.Stopped+".", event.SignalStopped{PublishID: w.p.ID, SignalID: w.signal.ID,
			Name: w.signal.Name, TaskID: w.p.TaskID, Author: w.p.Author, Payload: w.p.Payload, Reason: w.p.Stopped, Depth: depth})
		return err
	}
	said := event.SignalPublished{PublishID: w.p.ID, SignalID: w.signal.ID, Name: w.signal.Name, TaskID: w.p.TaskID, Author: w.p.Author, Trust: w.p.Trust,
		Payload: w.p.Payload, FAQ: w.p.FAQ, Depth: depth, Tasks: []event.SignalTask{}, Passed: w.p.Passed}
	for i, t := range w.tasks {
		said.Tasks = append(said.Tasks, event.SignalTask{TriggerID: w.triggers[i].ID, WorkspaceID: t.WorkspaceID, TaskID: t.ID})
	}
	ev, err := s.emit(tx, a, w.signal.ID, of+" was published.", said)
	if err != nil {
		return err
	}
	for i, t := range w.tasks {
		t.TitleBy = tx.Account()
		// The event of the task is caused by the publish, and no higher than any of its words.
		by := Actor{Principal: a.Principal, Subject: w.p.Subject, Causes: []event.Ref{ev.Ref()}, Label: t.Label}
		if t, err = s.addTask(tx, by, t); err != nil {
			return err
		}
		m := Made{Trigger: w.triggers[i].ID, Workspace: t.WorkspaceID, Task: t.ID, Key: t.Key()}
		if err := s.store.AddSpawn(tx, w.p.ID, m); err != nil {
			return err
		}
		w.p.Tasks = append(w.p.Tasks, m)
	}
	return nil
}

// Completion is a task's end with what its signal is to tell.
type Completion struct {
	Workspace id.ID
	Task      id.ID
	Seen      int64 // the revision that was shown; 0 moves it from wherever it stands
	Payload   string
	FAQ       []event.QA
}

// CompleteTask publishes the signal that a task is to publish and completes the
// task, both or neither. A task that published already is only completed.
func (s *Service) CompleteTask(tx event.Tx, a Actor, c Completion) (Task, Published, error) {
	t, err := s.seeTask(tx, a, c.Workspace, c.Task, s.store.GetTask)
	if err != nil {
		return t, Published{}, err
	}
	if t.EventID.IsZero() {
		return t, Published{}, fault.New(fault.Conflict, "the task is to publish no signal").On("publish")
	}
	if err := checkMove(t.Status, Completed); err != nil {
		return t, Published{}, err
	}
	p, err := s.PublishSignal(tx, a, Publish{Signal: t.EventID, Payload: c.Payload, FAQ: c.FAQ, Workspace: c.Workspace, Task: c.Task})
	if err != nil {
		return t, p, err
	}
	t, err = s.MoveTask(tx, a, Move{Workspace: c.Workspace, Task: c.Task, To: Completed, Seen: c.Seen})
	return t, p, err
}

// ListPublishes returns publishes of a signal with what they made, newest first,
// before one.
func (s *Service) ListPublishes(tx event.Tx, a Actor, signal, before id.ID, limit int) ([]Published, error) {
	g, err := s.seeSignal(tx, a, signal, s.store.GetSignal)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListPublishes(tx, g.ID, before, pages(limit))
	for i := range rows {
		rows[i].Name = g.Name
	}
	return rows, err
}
