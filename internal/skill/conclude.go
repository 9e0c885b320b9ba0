package skill

import (
	"context"
	"errors"
	"log/slog"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// conclude records what an attempt ended in.
func (s *Service) conclude(ctx context.Context, a *attempt, r reply, tookUS int64) error {
	e := &a.effect
	if r.err != nil {
		s.c.Log.InfoContext(ctx, "skill call ended", slog.String("skill", e.Skill), slog.String("effect", e.ID.String()),
			slog.String("kind", fault.KindOf(r.err).String()), slog.Int("attempt", e.Attempt))
	}
	switch what := outcomeOf(r.err); {
	case what == happened:
		return s.confirm(ctx, a, r.out, tookUS)
	case what == rejected && a.doubtful:
		return s.lose(ctx, a, fault.KindOf(r.err).String())
	case what == rejected:
		return s.fail(ctx, a, r.err, tookUS)
	case what == unsent && !a.doubtful:
		if e.Attempt >= s.c.MaxAttempts {
			return s.fail(ctx, a, fault.New(fault.Unavailable, "the target cannot be reached: %w", r.err), tookUS)
		}
		return s.putOff(ctx, a, Intended, "not_sent")
	}
	kind := fault.KindOf(r.err).String()
	switch {
	case e.Class == manifest.ClassRead && ctx.Err() != nil: // we stopped it; nobody is to blame
		return s.putOff(ctx, a, Intended, "stopping")
	case e.Class == manifest.ClassRead:
		return s.fail(ctx, a, r.err, tookUS)
	case e.Class == manifest.ClassOnce || e.Attempt >= s.c.MaxAttempts && e.Class == manifest.ClassIdempotent:
		return s.lose(ctx, a, kind)
	}
	return s.putOff(ctx, a, Dispatching, kind)
}

// notRecorded voids the confirming transaction of an output or a Commit that is
// no good; nothing of it happened.
type notRecorded struct{ err error }

func (e *notRecorded) Error() string { return e.err.Error() }
func (e *notRecorded) Unwrap() error { return e.err }

// confirm records that the act happened, together with its Commit if it has one.
func (s *Service) confirm(ctx context.Context, a *attempt, out Output, tookUS int64) error {
	var end ending
	var outputErr error
	if out.Commit == nil { // what does not need the transaction is done before it
		end, outputErr = s.outputOf(a, out)
		if outputErr != nil && a.effect.Class == manifest.ClassRead {
			return s.fail(ctx, a, outputErr, tookUS)
		}
	}
	tries := 0
	err := s.keep(ctx, a.lease.Account, func(tx event.Tx) error {
		e := a.effect
		if err := s.c.Store.GuardEffect(tx, a.lease); err != nil {
			return err
		}
		if out.Commit != nil {
			if err := out.Commit(tx); err != nil {
				if tries++; transient(err) && tries < maxCommits {
					return err
				}
				return &notRecorded{err}
			}
			var err error
			if end, err = s.outputOf(a, out); err != nil {
				return &notRecorded{err}
			}
		} else if outputErr != nil {
			// It did happen; only what it gave cannot be used.
			end = failed(Confirmed, outputErr, a.secrets.masker())
		}
		end.state, end.tookUS, end.spent = Confirmed, tookUS, out.SpentMicros
		if err := s.end(tx, &e, a.call.invoke, end, a.further()...); err != nil {
			return err
		}
		if err := s.c.Store.FinishEffect(tx, a.lease); err != nil {
			return err
		}
		failpoint.Hit("effect.confirmed.before_commit")
		return nil
	})
	var no *notRecorded
	if errors.As(err, &no) {
		return s.fail(ctx, a, no.err, tookUS)
	}
	return err
}

// maxCommits bounds how often a Commit that fails for want of the database is
// run again before the call fails.
const maxCommits = 8

// further are the causes of a result besides the call itself.
func (a *attempt) further() []event.Ref {
	if a.call.edit.ID.IsZero() {
		return nil
	}
	return []event.Ref{a.call.edit}
}

// outputOf checks, masks, caps and labels an output.
func (s *Service) outputOf(a *attempt, out Output) (ending, error) {
	m := a.call.entry.Manifest
	raw, err := marshal(out.Value)
	if err != nil {
		return ending{}, err
	}
	if raw == nil {
		raw = []byte("null")
	}
	if err := a.call.contract.CheckOutput(raw); err != nil {
		return ending{}, fault.Wrap(fault.Invalid, err, "the output does not match the manifest")
	}
	var end ending
	if end.output, end.truncated, err = record(raw, m.Resources.OutputBytes, a.secrets.masker()); err != nil {
		return ending{}, err
	}
	if string(end.output) == "null" {
		end.output = nil
	}
	end.label = labelOf(a.call, out)
	return end, nil
}

// labelOf is what an output carries besides the call's own label: the trust the
// manifest gives it, and whatever the executable says of its parts. A sensitive
// output is for the requester and the actor only.
func labelOf(c *call, out Output) event.Label {
	m := c.entry.Manifest
	audience := event.Public() // the neutral element: the call's own audience holds
	if m.Sensitive {
		who := []string{c.payload.Actor}
		if c.payload.Requester != "" {
			who = append(who, c.payload.Requester)
		}
		audience = event.Only(who...)
	}
	l := event.NewLabel(m.Integrity(), audience)
	if !out.Label.IsZero() {
		l = event.Join(l, out.Label)
	}
	return l
}

// fail records that the act did not happen and will not.
func (s *Service) fail(ctx context.Context, a *attempt, cause error, tookUS int64) error {
	return s.keep(ctx, a.lease.Account, func(tx event.Tx) error {
		e := a.effect
		if err := s.c.Store.GuardEffect(tx, a.lease); err != nil {
			return err
		}
		end := failed(Failed, cause, a.secrets.masker())
		// What a target says in an error is no more trusted than what it gives.
		end.tookUS, end.label = tookUS, labelOf(a.call, Output{})
		if err := s.end(tx, &e, a.call.invoke, end, a.further()...); err != nil {
			return err
		}
		return s.c.Store.FinishEffect(tx, a.lease)
	})
}

// lose records that the outcome is unknown.
func (s *Service) lose(ctx context.Context, a *attempt, reason string) error {
	return s.keep(ctx, a.lease.Account, func(tx event.Tx) error {
		e := a.effect
		if err := s.c.Store.GuardEffect(tx, a.lease); err != nil {
			return err
		}
		if err := s.doubt(tx, &e, a.call.invoke, reason); err != nil {
			return err
		}
		return s.c.Store.WaitEffect(tx, a.lease)
	})
}

// putOff gives the work back for a later attempt: as intended when nothing
// left, as dispatching when something may have.
func (s *Service) putOff(ctx context.Context, a *attempt, to State, reason string) error {
	return s.keep(ctx, a.lease.Account, func(tx event.Tx) error {
		e := a.effect
		if err := s.c.Store.GuardEffect(tx, a.lease); err != nil {
			return err
		}
		if e.Class != manifest.ClassRead {
			from := e.State
			e.State, e.Reason = to, reason
			ev, err := s.changed(tx, &e, a.call.cause)
			if err != nil {
				return err
			}
			if err := s.move(tx, &e, from, ev); err != nil {
				return err
			}
		}
		now, err := s.c.Store.DBNow(tx)
		if err != nil {
			return err
		}
		return s.c.Store.ReleaseEffect(tx, a.lease, now.Add(s.backoff(e.Attempt, e.Key)))
	})
}
