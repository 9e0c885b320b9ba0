package bus

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Worker does one kind of leased work. Work claims the lease inside its first
// commit and settles it before it returns. What it returns is logged, and counted
// if it is no passing error: see MaxFailures.
type Worker struct {
	Kind  event.WorkKind
	Limit int // at once in this process
	Work  func(ctx context.Context, account, item id.ID) error
	// GiveUp ends work that failed time after time, with a word to whoever waits
	// for it. Without one, or when it fails too, the work is held for a person.
	GiveUp func(ctx context.Context, account, item id.ID, cause error) error
}

type item struct {
	kind        event.WorkKind
	account, id id.ID
}

// Pool hands leased work to workers: what this process just committed at once,
// everything else (due later, left by a crash, given up by another node) by a
// scan. A row is in the hands of one worker at a time.
type Pool struct {
	engine  Engine
	origin  event.Origin // may say work.held
	workers map[event.WorkKind]*lineup
	every   time.Duration
	log     *slog.Logger
	nudge   chan struct{}
}

// lineup is the queue of one kind.
type lineup struct {
	Worker
	mu     sync.Mutex
	queue  []item
	queued map[item]bool // waiting in queue
	busy   map[item]bool // being worked on
	again  map[item]bool // offered while busy
	wake   chan struct{}
}

// NewPool returns a pool that scans every period.
func NewPool(e Engine, o event.Origin, every time.Duration, log *slog.Logger, workers ...Worker) *Pool {
	p := &Pool{engine: e, origin: o, every: every, log: log, workers: map[event.WorkKind]*lineup{}, nudge: make(chan struct{}, 1)}
	for _, w := range workers {
		p.workers[w.Kind] = &lineup{Worker: w, queued: map[item]bool{}, busy: map[item]bool{}, again: map[item]bool{}, wake: make(chan struct{}, 1)}
	}
	return p
}

// maxQueued bounds the hand-over queue of a kind; the scan finds the rest.
const maxQueued = 4096

// offer queues an item unless it is queued already. One that is being worked on
// is looked at again afterwards if the offer is news; a scan that finds it
// leased by this very process is none.
func (l *lineup) offer(it item, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.busy[it]:
		if news {
			l.again[it] = true
		}
		return
	case l.queued[it] || len(l.queue) >= maxQueued:
		return
	}
	l.queued[it] = true
	l.queue = append(l.queue, it)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lineup) take() (item, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return item{}, false
	}
	it := l.queue[0]
	l.queue = l.queue[1:]
	delete(l.queued, it)
	l.busy[it] = true
	return it, true
}

func (l *lineup) done(it item) {
	l.mu.Lock()
	delete(l.busy, it)
	again := l.again[it]
	delete(l.again, it)
	l.mu.Unlock()
	if again {
		l.offer(it, true)
	}
}

// Run works until ctx ends and every worker has returned.
func (p *Pool) Run(ctx context.Context) error {
	p.engine.OnWork(func(ls []event.Lease) { p.offer(ls, true) })
	var wg sync.WaitGroup
	for _, l := range p.workers {
		wg.Go(func() { p.serve(ctx, l) })
	}
	t := time.NewTicker(p.every)
	defer t.Stop()
	for {
		if ls, err := p.engine.Ready(ctx, 1000); err == nil {
			p.offer(ls, false)
		} else if ctx.Err() == nil {
			p.log.WarnContext(ctx, "scan for work", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			wg.Wait()
			return nil
		case <-p.nudge:
		case <-t.C:
		}
	}
}

// Scan looks for work at once instead of at the next tick.
func (p *Pool) Scan() {
	select {
	case p.nudge <- struct{}{}:
	default:
	}
}

func (p *Pool) offer(ls []event.Lease, news bool) {
	for _, l := range ls {
		if w := p.workers[l.Kind]; w != nil {
			w.offer(item{l.Kind, l.Account, l.ID}, news)
		}
	}
}

// serve starts up to Limit workers of a kind and waits for them.
func (p *Pool) serve(ctx context.Context, l *lineup) {
	slots := make(chan struct{}, l.Limit)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		it, ok := l.take()
		if !ok {
			<-slots
			select {
			case <-ctx.Done():
				return
			case <-l.wake:
			}
			continue
		}
		wg.Go(func() {
			defer func() { l.done(it); <-slots }()
			p.work(ctx, l, it)
		})
	}
}

func (p *Pool) work(ctx context.Context, l *lineup, it item) {
	log := p.log.With(slog.String("kind", string(it.kind)), slog.String("id", it.id.String()))
	err := l.try(ctx, it, log)
	switch {
	case err == nil, ctx.Err() != nil:
	case fault.Is(err, fault.Stale), fault.Is(err, fault.Halted):
		log.DebugContext(ctx, "work not taken", slog.Any("error", err))
	default:
		log.WarnContext(ctx, "work failed", slog.Any("error", err))
		if !passing(err) {
			p.fail(ctx, l, it, log, err)
		}
	}
}

// try works once; a panic is an error like any.
func (l *lineup) try(ctx context.Context, it item, log *slog.Logger) (err error) {
	defer func() {
		if r := recover(); r != nil {
			log.ErrorContext(ctx, "a worker panicked", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
			err = fault.New(fault.Internal, "a worker panicked: %v", r)
		}
	}()
	return l.Work(ctx, it.account, it.id)
}
