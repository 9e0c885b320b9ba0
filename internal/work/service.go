package work

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// TimerLease is the kind of the timers that end leases of tasks.
const TimerLease = "task.lease"

// Config is what can be set of the work.
type Config struct {
	Lease       time.Duration // of a worker that names none
	LongLease   time.Duration // the longest that a worker may name
	PersonLease time.Duration // of a person who takes a task
	MostLosses  int           // leases that may run out before a person must look
}

// DefaultConfig returns the standard settings.
func DefaultConfig() Config {
	return Config{Lease: 10 * time.Minute, LongLease: 4 * time.Hour, PersonLease: 7 * 24 * time.Hour, MostLosses: 3}
}

const shortLease = 10 * time.Second

// Service keeps workspaces, their tasks and their threads. Every method runs in
// its caller's transaction; a refusal comes before the first write. It is safe
// for concurrent use.
type Service struct {
	store  Store
	origin event.Origin
	cfg    Config
}

// EventTypes lists what the service's origin must be allowed to say.
func EventTypes() []event.Type {
	return []event.Type{"workspace.created", "workspace.updated", "workspace.merged", "task.created", "task.updated", "status.updated", "task.linked",
		"task.deleted", "message.created", "message.updated", "signal.created", "signal.updated", "signal.deleted", "signal.published",
		"signal.stopped", "trigger.created", "trigger.updated", "trigger.deleted"}
}

// New returns the service; origin may say EventTypes.
func New(s Store, origin event.Origin, cfg Config) (*Service, error) {
	switch {
	case s == nil || origin.Source() == "":
		return nil, fault.New(fault.Internal, "work: a store and an origin are required")
	case cfg.Lease < shortLease || cfg.LongLease < cfg.Lease || cfg.PersonLease < shortLease || cfg.MostLosses < 1:
		return nil, fault.New(fault.Invalid, "work: a lease has at least %s, and at least one may run out", shortLease)
	}
	return &Service{store: s, origin: origin, cfg: cfg}, nil
}

func (s *Service) emit(tx event.Tx, a Actor, stream id.ID, summary string, p event.Payload) (event.Event, error) {
	return tx.Emit(s.origin, event.Draft{Payload: p, Summary: summary, Stream: stream, Subject: a.subject(tx), Causes: a.Causes, Label: a.Label})
}

// words refuses to write down what not everybody of the account may read: a
// board is for all of them.
func words(a Actor) error {
	labels := make([]event.Label, 0, len(a.Causes)+1)
	for _, c := range a.Causes {
		labels = append(labels, c.Label)
	}
	if !a.Label.IsZero() {
		labels = append(labels, a.Label)
	}
	if !event.Join(labels...).Audience().Includes(event.AccountWide()) {
		return fault.New(fault.Denied, "what it says is not for everybody who reads the workspace")
	}
	return nil
}

// seeWorkspace returns a workspace that the actor may see.
func (s *Service) seeWorkspace(tx event.Tx, a Actor, workspace id.ID, get func(event.Tx, id.ID) (Workspace, error)) (Workspace, error) {
	if err := a.check(); err != nil {
		return Workspace{}, err
	}
	if a.worker() && a.Workspace != workspace || workspace.IsZero() {
		return Workspace{}, noWorkspace()
	}
	w, err := get(tx, workspace)
	if fault.Is(err, fault.NotFound) {
		err = noWorkspace()
	}
	return w, err
}

// seeTask returns a task that the actor may see; workspace, if it is given, is
// where it must be. What is not there, not the actor's or in another place gets
// one answer.
func (s *Service) seeTask(tx event.Tx, a Actor, workspace, task id.ID, get func(event.Tx, id.ID) (Task, error)) (Task, error) {
	if err := a.check(); err != nil {
		return Task{}, err
	}
	if task.IsZero() {
		return Task{}, noTask()
	}
	t, err := get(tx, task)
	if fault.Is(err, fault.NotFound) || err == nil && (!workspace.IsZero() && t.WorkspaceID != workspace || a.worker() && t.WorkspaceID != a.Workspace) {
		return Task{}, noTask()
	}
	return t, err
}

// open locks a task for a write, in a workspace that is not archived. The
// workspace comes first, as everywhere, so that no two wait for each other.
func (s *Service) open(tx event.Tx, a Actor, workspace, task id.ID) (w Workspace, t Task, err error) {
	if !task.IsZero() {
		if w, err = s.store.ShareWorkspaceOf(tx, task); err != nil && !fault.Is(err, fault.NotFound) {
			return w, t, err
		}
	}
	if t, err = s.seeTask(tx, a, workspace, task, s.store.LockTask); err != nil {
		return w, t, err
	}
	if w.Archived() {
		err = errArchived()
	}
	return w, t, err
}

// mayFree refuses to lift the gate of a task's or a workspace's commands on the
// word of anything but a person: no worker and no model sets its own authority.
// What a template or a signal makes takes it over from what a person set.
func mayFree(a Actor, free bool) error {
	if !free || a.person() || a.Principal == systemPrincipal {
		return nil
	}
	return fault.New(fault.Denied, "only a person lets all commands run").On("allowAllCommands")
}

// heard refuses a worker that lost the task, and moves the end of the lease for
// whoever holds it: who writes is not gone. It writes nothing itself.
func (s *Service) heard(tx event.Tx, a Actor, t Task) (Task, error) {
	if !a.worker() && a.Fence == 0 && t.Claim.Claimant != a.Principal {
		return t, nil
	}
	now, err := s.store.DBNow(tx)
	if err != nil {
		return t, err
	}
	if a.worker() || a.Fence != 0 {
		if err := t.heard(a.Principal, a.Fence, now); err != nil {
			return t, err
		}
	}
	if t.Status == Ongoing && t.Claim.Claimant == a.Principal {
		t = t.renew(now)
	}
	return t, nil
}

// keep writes a task as it is now, but for its words, and moves the timer of its
// lease with it.
func (s *Service) keep(tx event.Tx, before, t Task) (err error) {
	switch {
	case t.Status == Ongoing && !t.Claim.Until.Equal(before.Claim.Until):
		err = s.store.SetLease(tx, t.ID, t.Claim.Until)
	case t.Status != Ongoing && before.Status == Ongoing:
		err = s.store.DropLease(tx, t.ID)
	}
	if err != nil {
		return err
	}
	return s.store.SaveTask(tx, t)
}

func value(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
