package api

import (
	"context"
	"sync"

	"github.com/witan-run/witan/internal/kit/fault"
)

// readers counts who is reading live, and bounds it.
type readers struct {
	limits Limits
	mu     sync.Mutex
	all    int            // guarded by mu
	each   map[string]int // guarded by mu; by principal
}

func newReaders(l Limits) *readers { return &readers{limits: l, each: map[string]int{}} }

func (r *readers) count() int { r.mu.Lock(); defer r.mu.Unlock(); return r.all }

// enter admits one more reader of a principal, or says which bound was met.
func (r *readers) enter(who string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.all >= r.limits.Streams:
		return nil, fault.New(fault.Limited, "%d readers are connected, which is the most", r.all).WithFix("try again later")
	case r.each[who] >= r.limits.StreamsPerPrincipal:
		return nil, fault.New(fault.Limited, "you have %d streams open, which is the most", r.each[who]).WithFix("close one")
	}
	r.all++
	r.each[who]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all--
		if r.each[who]--; r.each[who] <= 0 {
			delete(r.each, who)
		}
	}, nil
}

// stay ties a long request to the API's life: its context ends with either.
func (a *API) stay(ctx context.Context) (context.Context, func(), error) {
	a.closing.RLock()
	defer a.closing.RUnlock()
	if err := context.Cause(a.life); err != nil {
		return nil, nil, err
	}
	a.open.Add(1) // never while Close waits
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.life, func() { cancel(context.Cause(a.life)) })
	return ctx, func() { stop(); cancel(nil); a.open.Done() }, nil
}
