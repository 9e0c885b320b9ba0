package skill

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// reconcile asks the target what became of an effect, and leaves in a.plan what
// follows from it.
func (s *Service) reconcile(ctx context.Context, a *attempt) error {
	settle := a.plan == planSettle
	a.plan = planNothing
	c := s.callOf(a)
	start := clock.Micros(s.c.Clock.Now())
	r := s.acts.do(ctx, a.effect.Skill, a.call.entry.Manifest.Timeout(), func(ctx context.Context) reply {
		out, found, err := a.call.exec.(Reconciler).ReadBack(ctx, c)
		return reply{out: out, found: found, err: err}
	})
	exact := a.call.entry.Manifest.ReadBack == manifest.Exact
	switch {
	case r.err != nil && a.lease.Attempt < s.c.MaxAttempts:
		return s.keep(ctx, a.lease.Account, func(tx event.Tx) error {
			now, err := s.c.Store.DBNow(tx)
			if err != nil {
				return err
			}
			return s.c.Store.ReleaseEffect(tx, a.lease, now.Add(s.backoff(a.lease.Attempt, a.effect.Key)))
		})
	case r.err != nil:
		return s.lose(ctx, a, "read_back_"+fault.KindOf(r.err).String())
	case r.found:
		return s.confirm(ctx, a, r.out, s.since(start))
	case !exact:
		return s.lose(ctx, a, "not_found")
	case settle:
		return s.fail(ctx, a, fault.New(fault.NotFound, "it was read back: it did not happen"), s.since(start))
	case a.effect.Attempt >= s.c.MaxAttempts:
		return s.fail(ctx, a, fault.New(fault.Unavailable, "it did not happen in %d attempts", a.effect.Attempt), s.since(start))
	}
	return s.redispatch(ctx, a)
}

// redispatch repeats an attempt that is proven not to have happened.
func (s *Service) redispatch(ctx context.Context, a *attempt) error {
	held := *a
	return s.keep(ctx, a.lease.Account, func(tx event.Tx) error {
		*a = held // the closure may run again
		if err := s.c.Store.GuardEffect(tx, a.lease); err != nil {
			return err
		}
		now, err := s.c.Store.DBNow(tx)
		if err != nil {
			return err
		}
		a.now = now
		return s.again(tx, a, a.call.invoke, true)
	})
}

// unsettled ends a wish to read an outcome back that cannot be carried out. The
// effect stays unknown.
func (s *Service) unsettled(tx event.Tx, a *attempt, invoke event.Event, err error) error {
	f := refusedBy(err)
	if f == nil {
		return err
	}
	if err := s.doubt(tx, &a.effect, invoke, "read_back_"+f.Kind.String()); err != nil {
		return err
	}
	return s.c.Store.WaitEffect(tx, a.lease)
}
