package skill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// acts owns the goroutines in which executables run. Go cannot stop a goroutine
// that does not listen, so one that hangs past its timeout is counted as a
// stray until it returns, and its skill takes no further calls past a limit.
type acts struct {
	grace time.Duration
	log   *slog.Logger

	mu      sync.Mutex
	running map[string]int // by skill; guarded by mu
	strays  map[string]int // of those, past their timeout; guarded by mu
	empty   chan struct{}  // closed when nothing runs; guarded by mu, nil if nobody waits
}

func newActs(grace time.Duration, log *slog.Logger) *acts {
	return &acts{grace: grace, log: log, running: map[string]int{}, strays: map[string]int{}}
}

// errPanicked is the cause of the error of a call that panicked.
var errPanicked = errors.New("the skill panicked")

// reply is what an executable gave.
type reply struct {
	out   Output
	found bool // of a read-back
	err   error
}

// do runs f under a timeout. A panic is fault.Internal, a hang fault.Timeout.
func (a *acts) do(ctx context.Context, skill string, timeout time.Duration, f func(context.Context) reply) reply {
	late := fault.New(fault.Timeout, "%s took longer than %s", skill, timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	done := make(chan reply, 1) // buffered: a stray must be able to end
	one := a.enter(skill)
	go func() {
		r := reply{err: fault.New(fault.Internal, "%s ended its goroutine", skill)}
		defer func() {
			if p := recover(); p != nil {
				a.log.ErrorContext(ctx, "skill panicked", slog.String("skill", skill), slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
				r = reply{err: fault.New(fault.Internal, "%s: %w", skill, errPanicked)}
			}
			done <- r
			a.leave(one)
		}()
		r = f(ctx)
	}()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	t := time.NewTimer(a.grace)
	defer t.Stop()
	select {
	case r := <-done:
		return r
	case <-t.C:
	}
	a.give(one)
	a.log.ErrorContext(ctx, "skill hangs past its timeout", slog.String("skill", skill), slog.Duration("timeout", timeout))
	return reply{err: late}
}

// act is one running goroutine; its fields are guarded by acts.mu.
type act struct {
	skill       string
	over, stray bool
}

func (a *acts) enter(skill string) *act {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[skill]++
	return &act{skill: skill}
}

// give counts an act as stray, unless it ended in this very moment.
func (a *acts) give(one *act) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !one.over {
		one.stray = true
		a.strays[one.skill]++
	}
}

func (a *acts) leave(one *act) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.over = true
	if one.stray {
		drop(a.strays, one.skill)
	}
	drop(a.running, one.skill)
	if len(a.running) == 0 && a.empty != nil {
		close(a.empty)
		a.empty = nil
	}
}

func drop(m map[string]int, k string) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}

func (a *acts) hanging(skill string) int { a.mu.Lock(); defer a.mu.Unlock(); return a.strays[skill] }

// all returns the strays by skill.
func (a *acts) all() map[string]int { a.mu.Lock(); defer a.mu.Unlock(); return maps.Clone(a.strays) }

// wait returns when nothing runs, or names what still does when ctx ends.
func (a *acts) wait(ctx context.Context) error {
	a.mu.Lock()
	if len(a.running) == 0 {
		a.mu.Unlock()
		return nil
	}
	if a.empty == nil {
		a.empty = make(chan struct{})
	}
	empty := a.empty
	a.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		return fault.New(fault.Timeout, "still running: %s", strings.Join(slices.Sorted(maps.Keys(a.running)), ", "))
	}
}
