package skill

import (
	"context"
	"log/slog"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// plan is what a claimed effect needs next.
type plan uint8

const (
	planNothing  plan = iota // it was ended or put off inside the first commit
	planAct                  // carry it out
	planReadBack             // an earlier attempt was cut off: ask what became of it
	planSettle               // a person asked to read the outcome back
)

// attempt is one worker's hold on one effect.
type attempt struct {
	plan   plan
	effect Effect
	lease  event.Lease
	call   *call
	now    time.Time // database clock
	end    time.Time // deadline of the attempt
	// doubtful says that an earlier attempt may have happened: whatever this one
	// ends in but success says nothing about that one.
	doubtful bool
	secrets  *openSecrets
}

// Work carries one effect on, as far as it goes now. The worker pool calls it
// for a row of leased work; it takes the lease itself, inside its first commit.
// fault.Stale means that another worker has it or that nothing is due, Halted
// that a stop is in force: the pool goes on. Any other error means that nothing
// was decided, and that the work is still there.
func (s *Service) Work(ctx context.Context, account, effect id.ID) error {
	var e Effect
	if err := s.c.Journal.View(ctx, account, func(tx event.Tx) (err error) {
		e, err = s.c.Store.GetEffect(tx, effect)
		return err
	}); err != nil {
		return err
	}
	d, err := s.c.Deliveries.SkillInvoke(ctx, account, e.Cause)
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound:
		if err != nil { // the call was erased with its subject
			return s.abandon(ctx, account, effect)
		}
	default:
	}
	if err != nil {
		return err
	}
	return s.Invoke(ctx, d)
}

// Invoke is the only door to effects. It takes a committed skill.invoke, which
// only the bus can hand out, and refuses (fault.Denied) one without a row in
// the ledger. See Work for its errors.
func (s *Service) Invoke(ctx context.Context, d event.Delivery[event.SkillInvoke]) error {
	if d.IsZero() {
		return fault.New(fault.Denied, "an effect needs a delivered skill.invoke")
	}
	// One goroutine at a time, by the event: it names the effect one to one.
	if !s.take(d.Event().ID) {
		return fault.New(fault.Stale, "the effect of event %s is being carried out here", d.Event().ID)
	}
	defer s.land(d.Event().ID)
	failpoint.Hit("effect.intended")
	a, err := s.begin(ctx, d)
	if err != nil {
		return err
	}
	err = s.carry(ctx, a)
	if err == nil || fault.Is(err, fault.Stale) {
		return err
	}
	// The outcome could not be recorded. The work is given back, so that the
	// ledger's state and the effect class decide what happens next.
	if again := s.c.Journal.Do(context.WithoutCancel(ctx), a.lease.Account, func(tx event.Tx) error {
		now, err := s.c.Store.DBNow(tx)
		if err != nil {
			return err
		}
		return s.c.Store.ReleaseEffect(tx, a.lease, now.Add(s.backoff(a.lease.Attempt, a.effect.Key)))
	}); again != nil {
		s.c.Log.WarnContext(ctx, "give an effect back", slog.String("effect", a.effect.ID.String()), slog.Any("error", again))
	}
	return err
}

// carry does what a claimed effect needs until nothing is left to do now.
func (s *Service) carry(ctx context.Context, a *attempt) error {
	for {
		switch a.plan {
		case planAct:
			failpoint.Hit("effect.dispatching")
			start := clock.Micros(s.c.Clock.Now())
			r := s.act(ctx, a)
			failpoint.Hit("effect.replied")
			err := s.conclude(ctx, a, r, s.since(start))
			failpoint.Hit("effect.confirmed")
			return err
		case planReadBack, planSettle:
			if err := s.reconcile(ctx, a); err != nil {
				return err
			}
		case planNothing:
			return nil
		}
	}
}

// act runs the executable once. Only a read is cut short when the process
// stops: cutting a write would leave an outcome that nobody knows.
func (s *Service) act(ctx context.Context, a *attempt) reply {
	if a.effect.Class != manifest.ClassRead {
		ctx = context.WithoutCancel(ctx)
	}
	c := s.callOf(a)
	return s.acts.do(ctx, a.effect.Skill, a.call.entry.Manifest.Timeout(), func(ctx context.Context) reply {
		out, err := a.call.exec.Act(ctx, c)
		return reply{out: out, err: err}
	})
}

// callOf is the attempt as the executable sees it.
func (s *Service) callOf(a *attempt) Call {
	p, m := a.call.payload, a.call.entry.Manifest
	if len(m.Secrets) > 0 {
		a.secrets = &openSecrets{vault: s.c.Vault, declared: m.Secrets}
	}
	return Call{
		Account: a.lease.Account, Effect: a.effect.ID, Run: p.RunID, Workspace: p.Workspace, Step: p.Step,
		Attempt: a.effect.Attempt, Fence: a.lease.Fence, Key: a.effect.Key, Skill: m.Name, Manifest: a.call.entry.Hash,
		Arguments: a.call.arguments, Actor: p.Actor, Requester: p.Requester, Channel: p.Channel, Recipient: p.Recipient,
		Label: a.call.label, What: p.What, Cause: a.call.cause, Stream: a.call.invoke.Stream, Subject: a.call.invoke.Subject,
		Now: a.now, Deadline: a.end, permitted: m.Permissions, secrets: a.secrets,
	}
}

// abandon ends an effect whose call can no longer be read. What may have left
// is unknown; what has not left never will.
func (s *Service) abandon(ctx context.Context, account, effect id.ID) error {
	return s.c.Journal.Do(ctx, account, func(tx event.Tx) error {
		e, err := s.c.Store.GetEffect(tx, effect)
		if err != nil {
			return err
		}
		lease, err := s.c.Store.ClaimEffect(tx, effect)
		if err != nil {
			return err
		}
		invoke, err := s.c.Store.GetEvent(tx, e.Cause)
		if err != nil {
			return err
		}
		e.Fence, e.Node = lease.Fence, lease.Node
		invoke.Subject = id.Nil // its key is gone; what is said now is about the account
		switch e.State {
		case Intended:
			err = s.end(tx, &e, invoke, failed(Refused, fault.New(fault.NotFound, "the call was erased"), nil))
		case Dispatching, Unknown:
			if err := s.doubt(tx, &e, invoke, "erased"); err != nil {
				return err
			}
			return s.c.Store.WaitEffect(tx, lease)
		default:
		}
		if err != nil {
			return err
		}
		return s.c.Store.FinishEffect(tx, lease)
	})
}

// keep commits what is known about an act that is over. The knowledge exists
// only here, so it is tried until it is recorded, somebody else took the work,
// or the process stops; then the effect class decides what happens next.
func (s *Service) keep(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := s.c.Journal.Do(context.WithoutCancel(ctx), account, f)
		if err == nil || !transient(err) {
			return err
		}
		s.c.Log.WarnContext(ctx, "record an effect", slog.Any("error", err))
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return err
		case <-t.C:
		}
	}
}

// transient reports whether trying the same commit again may help.
func transient(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Cancelled, fault.Limited:
		return true
	default:
	}
	return false
}
