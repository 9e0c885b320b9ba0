package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

// Work carries a run on until it waits for results, for a model, or is over. It
// is the body of a lease holder: call it for each run that is ready, on any node,
// as often as you like. Stale and Halted mean that there is nothing to do now.
func (s *Service) Work(ctx context.Context, account, runID id.ID) error {
	const rounds = 3 // a log that moved while it was read is read again
	var err error
	for range rounds {
		if err = s.work(ctx, account, runID); !errors.Is(err, errMoved) {
			break
		}
	}
	return err
}

func (s *Service) work(ctx context.Context, account, runID id.ID) error {
	f, err := s.load(ctx, account, runID)
	if err != nil {
		if fault.Is(err, fault.NotFound) && f != nil && !f.run.ID.IsZero() {
			return s.abandon(ctx, account, f.run, err)
		}
		return err
	}
	if f.run.State == Finished {
		return s.drop(ctx, account, runID)
	}
	if f.rest {
		return s.restForModel(ctx, f)
	}
	var asked *llm.Call
	var request event.Ref
	var reply *llm.Reply
	for {
		p, err := f.plan(asked, reply)
		if err != nil {
			return err
		}
		if p.call != nil {
			ok, err := s.route(f, p)
			if err != nil {
				return err
			}
			if !ok {
				p.call = nil // what came back is recorded, then the run rests
			}
		}
		out, err := s.commit(ctx, f, p, asked, request, reply)
		if err != nil {
			return err
		}
		if out.ask == nil {
			if out.run.State == Waiting {
				s.warmth.keep(runID, f.in, out.records, s.Clock.Now())
			}
			return nil
		}
		f.run, f.records, f.lease, f.held, f.started = out.run, out.records, out.lease, true, true
		asked, request = out.ask, out.request
		failpoint.Hit("run.requested")
		r := s.ask(ctx, account, *asked)
		failpoint.Hit("run.answered")
		if err := ctx.Err(); err != nil {
			return s.giveBack(ctx, f, err)
		}
		if due, again := s.again(f.run, r); again {
			return s.delay(ctx, f, due, r.Err)
		}
		reply = &r
	}
}

// route fills in who is asked; false when no model answers the role.
func (s *Service) route(f *flight, p plan) (bool, error) {
	last := p.moves[len(p.moves)-1]
	if last.Ask.Asked {
		t, err := recordedTarget(f.records[len(f.records)-1].Event)
		if err != nil {
			return false, err
		}
		return true, aim(p.call, t)
	}
	t, ok := s.Models.Route(p.call.Role)
	if !ok {
		return false, nil
	}
	return true, aim(p.call, t)
}

// ask calls the model outside of any transaction.
func (s *Service) ask(ctx context.Context, account id.ID, c llm.Call) llm.Reply {
	ctx, done := s.fly(ctx, c.RunID)
	defer done()
	var onText func(string)
	if s.OnText != nil {
		onText = func(text string) { s.OnText(account, c.RunID, text) }
	}
	return s.Models.Ask(ctx, c, onText)
}

// Waits before a model is tried again.
const (
	maxDelays  = 8
	firstDelay = 5 * time.Second
	maxDelay   = 5 * time.Minute
)

// again says whether a failed call is worth another try, and when.
func (s *Service) again(run Run, r llm.Reply) (time.Duration, bool) {
	if r.Err == nil || run.Delays >= maxDelays || llm.ReasonOf(r.Err) == llm.OverBudget {
		return 0, false
	}
	switch fault.KindOf(r.Err) {
	case fault.Unavailable, fault.Limited, fault.Timeout:
	default:
		return 0, false
	}
	d := min(firstDelay<<run.Delays, maxDelay)
	var f *llm.Failure
	if errors.As(r.Err, &f) && f.RetryAfter > d {
		d = min(f.RetryAfter, time.Hour)
	}
	// Up to a quarter more, from the run's id: many runs do not come back at once.
	spread := int64(run.ID[15])<<8 | int64(run.ID[14])
	return d + time.Duration(int64(d/4)*spread/65536), true
}

// delay gives the run back until due; the wait is an event that people can see.
func (s *Service) delay(ctx context.Context, f *flight, after time.Duration, cause error) error {
	return s.park(ctx, f, func(w *writer) error {
		now, err := s.Store.Now(w.tx)
		if err != nil {
			return err
		}
		due := now.Add(after)
		msg, _, _ := fault.Public(cause)
		w.run.Delays++
		w.run.Due = due
		if err := w.delayed(fault.KindOf(cause).String(), clock.Micros(due), clipText(msg, 300)); err != nil {
			return err
		}
		return w.rest(Ready, func() error { return s.Store.Release(w.tx, w.lease, due) })
	})
}

// restForModel lets the run sleep until a model is configured (WakeResting).
func (s *Service) restForModel(ctx context.Context, f *flight) error {
	return s.park(ctx, f, func(w *writer) error {
		if err := w.delayed("no_model", 0, ""); err != nil {
			return err
		}
		return w.rest(Resting, func() error { return s.Store.Sleep(w.tx, w.lease) })
	})
}

func (w *writer) delayed(reason string, due int64, msg string) error {
	causes := []event.Ref{w.f.in.TaskEvent.Ref()}
	if len(w.records) > 0 {
		causes = w.frontier()
	}
	_, err := w.tx.Emit(w.s.as(w.run.Agent), event.Draft{
		Payload: event.RunDelayed{RunID: w.run.ID, Reason: reason, Attempt: w.run.Delays, Due: due, Error: msg},
		Summary: "Run waits for a model.", Stream: w.run.Thread, Subject: w.run.Subject, Causes: causes})
	return err
}

// park runs f in a transaction that holds the run's lease.
func (s *Service) park(ctx context.Context, f *flight, do func(*writer) error) error {
	return s.Journal.Do(ctx, f.account, func(tx event.Tx) error {
		w := &writer{s: s, tx: tx, f: f, records: f.records, lease: f.lease}
		var err error
		if w.run, err = s.Store.LockRun(tx, f.run.ID); err != nil {
			return err
		}
		if f.held {
			err = s.Store.Guard(tx, w.lease)
		} else {
			w.lease, err = s.Store.ClaimRun(tx, f.run.ID)
		}
		switch {
		case err != nil:
			return err
		case w.run.State == Finished:
			return s.Store.Finish(tx, w.lease)
		case w.run.Records != len(w.records):
			return errMoved
		}
		return do(w)
	})
}

// giveBack releases the lease of a node that shuts down, so that another takes
// the run over at once. It is a courtesy: the lease would run out by itself.
func (s *Service) giveBack(ctx context.Context, f *flight, cause error) error {
	bounded, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), 2*time.Second, fault.New(fault.Timeout, "give a run back"))
	defer cancel()
	err := s.park(bounded, f, func(w *writer) error {
		return w.rest(Ready, func() error { return s.Store.Release(w.tx, w.lease, w.tx.Now()) })
	})
	if err != nil && !fault.Is(err, fault.Stale) {
		s.Log.WarnContext(ctx, "run not given back", slog.String("run_id", f.run.ID.String()), slog.Any("error", err))
	}
	return cause
}

// drop ends the leased work of a run that is over.
func (s *Service) drop(ctx context.Context, account, runID id.ID) error {
	return s.Journal.Do(ctx, account, func(tx event.Tx) error {
		l, err := s.Store.ClaimRun(tx, runID)
		if err != nil {
			return err
		}
		return s.Store.Finish(tx, l)
	})
}

// WakeResting lets the runs go on that wait for a model. Call it when one was
// configured: at start, and after a change. It returns how many there were.
func (s *Service) WakeResting(ctx context.Context, account id.ID) (n int, err error) {
	const most = 500 // per transaction; the rest follows
	for {
		woken := 0
		err := s.Journal.Do(ctx, account, func(tx event.Tx) error {
			woken = 0
			list, err := s.Store.ListResting(tx, most)
			if err != nil {
				return err
			}
			for _, r := range list {
				r.State = Ready
				if err := s.Store.SaveRun(tx, r); err != nil {
					return err
				}
				if err := s.Store.WakeRun(tx, r.ID); err != nil {
					return err
				}
			}
			woken = len(list)
			return nil
		})
		n += woken
		if err != nil || woken < most {
			return n, err
		}
	}
}
