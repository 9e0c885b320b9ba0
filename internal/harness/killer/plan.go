package killer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/witan-run/witan/internal/kit/failpoint"
)

// Plan says when a life ends. The zero plan is of no use; see AtStep and After.
type Plan struct {
	step   string        // kill at this step,
	count  int           // at its Nth hit
	after  time.Duration // or this long
	origin origin        // after this
}

type origin int8

const (
	fromReady origin = iota
	fromStart
)

// AtStep ends the life at the Nth hit of a named step: exactly there, by the
// process itself.
func AtStep(name string, n int) Plan { return Plan{step: name, count: max(n, 1)} }

// AfterReady ends the life a while after it was ready.
func AfterReady(d time.Duration) Plan { return Plan{after: d} }

// AfterStart ends the life a while after its start, be it ready or not: so that
// recovery itself is killed too.
func AfterStart(d time.Duration) Plan { return Plan{after: d, origin: fromStart} }

// Random returns a plan that ends the life within a span after ready.
func Random(r *rand.Rand, span time.Duration) Plan {
	return AfterReady(time.Duration(r.Int64N(int64(max(span, 1)))))
}

// String says the plan in words.
func (p Plan) String() string {
	switch {
	case p.step != "":
		return fmt.Sprintf("at hit %d of %s", p.count, p.step)
	case p.origin == fromStart:
		return fmt.Sprintf("%v after start", p.after)
	}
	return fmt.Sprintf("%v after ready", p.after)
}

// Death is how a life ended.
type Death struct {
	Plan  Plan
	Step  string         // announced last before the end; "" if none ever was
	Ready time.Duration  // from start to ready; 0 if it never was
	Steps map[string]int // all announced steps of this life
	// Missed is set when the named step was not reached within the limit; the
	// process was then killed wherever it was.
	Missed bool
}

// Killer leads one life after another. It is not safe for concurrent use.
type Killer struct {
	Config Config
	// Limit is how long a life may last until its named step is reached;
	// 0 means 30 s.
	Limit time.Duration
	// Deaths counts the step at death, over all lives.
	Deaths Histogram
}

// ErrOwnDeath is returned by Live when the process ended by itself, other than
// by the planned SIGKILL: a bug of the program under test.
var ErrOwnDeath = errors.New("the process ended by itself")

// Live starts a life, calls atReady (which may be nil) once it is ready, and
// returns when the life has ended as planned. The caller's load usually runs
// beside it and meets refused connections between two lives.
func (k *Killer) Live(ctx context.Context, plan Plan, atReady func(*Process)) (Death, error) {
	d := Death{Plan: plan}
	var arms []failpoint.Arm
	if plan.step != "" {
		arms = append(arms, failpoint.Arm{Name: plan.step, Action: failpoint.Kill, Count: plan.count})
	}
	p, err := Start(k.Config, arms...)
	if err != nil {
		return d, err
	}
	err = k.lead(ctx, p, plan, &d, atReady)
	if _, e := p.Kill(); e != nil { // whatever happened, nobody survives Live
		return d, errors.Join(err, e)
	}
	d.Step, d.Steps = p.LastStep(), p.Steps()
	if err != nil {
		return d, err
	}
	if !killedBySignal(p.err) {
		return d, fmt.Errorf("%w: %w, planned %v, last step %q", ErrOwnDeath, p.exit(), plan, d.Step)
	}
	k.Deaths.Add(d.Step)
	return d, nil
}

// lead waits until the plan has come true.
func (k *Killer) lead(ctx context.Context, p *Process, plan Plan, d *Death, atReady func(*Process)) error {
	if plan.origin == fromStart {
		return wait(ctx, p, plan.after)
	}
	ready, err := p.WaitReady(ctx)
	switch {
	case errors.Is(err, ErrDied) && plan.step != "" && killedBySignal(p.err):
		return nil // the step lies before ready
	case err != nil:
		return err
	}
	d.Ready = ready
	if atReady != nil {
		atReady(p)
	}
	if plan.step == "" {
		return wait(ctx, p, plan.after)
	}
	limit := k.Limit
	if limit <= 0 {
		limit = 30 * time.Second
	}
	if err := wait(ctx, p, limit); err != nil {
		return err
	}
	select {
	case <-p.exited:
	default:
		d.Missed = true
	}
	return nil
}

// wait returns after a while, or as soon as the process is gone.
func wait(ctx context.Context, p *Process, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.exited:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
