package bus

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// The bounds of tails.
const (
	tailBuffer = 256 // marks per reader; more and the reader reads for itself
	tailPage   = 512
)

// Tails serves live readers: SSE, console, CLI. Per account with readers one
// goroutine takes new marks from the commits, or reads the journal once where
// some are missing, and hands them to all.
type Tails struct {
	engine Engine
	log    *slog.Logger
	reads  atomic.Int64

	mu    sync.Mutex
	feeds map[id.ID]*feed // guarded by mu
}

// NewTails returns the service.
func NewTails(e Engine, log *slog.Logger) *Tails {
	return &Tails{engine: e, log: log, feeds: map[id.ID]*feed{}}
}

// Reads is how often the journal was read for tails.
func (t *Tails) Reads() int64 { return t.reads.Load() }

// feed is the shared read of one account.
type feed struct {
	cancel  context.CancelFunc
	readers map[*reader]bool
	tip     Tip
}

type reader struct {
	c    chan []Mark
	lost bool // it was too slow: it must read the gap itself
}

// Batch is what a tail receives. Reset says that the reader's position belongs
// to an epoch that is over: whatever it holds must be read anew.
type Batch struct {
	Epoch int64
	Marks []Mark
	Reset bool
}

// Follow sends every mark after the position to f, in order and each once, until
// ctx ends or f returns an error. A position of another epoch begins with a reset.
func (t *Tails) Follow(ctx context.Context, account id.ID, after Tip, f func(Batch) error) error {
	r := &reader{c: make(chan []Mark, tailBuffer)}
	fd, tip, err := t.join(ctx, account, r)
	if err != nil {
		return err
	}
	defer t.leave(account, fd, r)
	if after.Epoch == tip.Epoch && after.Seq > tip.Seq {
		// The shared read may be behind what this reader has seen already: only
		// the journal knows whether its position is one that never was.
		if tip, err = t.head(ctx, account); err != nil {
			return err
		}
	}
	if after.Epoch != tip.Epoch || after.Seq > tip.Seq {
		if after.Epoch != 0 {
			if err := f(Batch{Epoch: tip.Epoch, Reset: true}); err != nil {
				return err
			}
		}
		after = Tip{tip.Epoch, tip.Seq}
	}
	at := after.Seq
	if at, err = t.catchUp(ctx, account, tip.Epoch, at, f); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ms, ok := <-r.c:
			if !ok {
				return nil // the store closed, or a new epoch began
			}
			if t.wasLost(r) || ms[0].Seq > at+1 { // slow, or behind: read the gap
				if at, err = t.catchUp(ctx, account, tip.Epoch, at, f); err != nil {
					return err
				}
				continue
			}
			for len(ms) > 0 && ms[0].Seq <= at {
				ms = ms[1:]
			}
			if len(ms) == 0 {
				continue
			}
			if err := f(Batch{Epoch: tip.Epoch, Marks: ms}); err != nil {
				return err
			}
			at = ms[len(ms)-1].Seq
		}
	}
}

// catchUp reads the journal from at to its end.
func (t *Tails) catchUp(ctx context.Context, account id.ID, epoch, at int64, f func(Batch) error) (int64, error) {
	for {
		ms, err := t.read(ctx, account, at)
		if err != nil || len(ms) == 0 {
			return at, err
		}
		if err := f(Batch{Epoch: epoch, Marks: ms}); err != nil {
			return at, err
		}
		at = ms[len(ms)-1].Seq
	}
}

func (t *Tails) read(ctx context.Context, account id.ID, after int64) (ms []Mark, err error) {
	t.reads.Add(1)
	err = t.engine.View(ctx, account, func(tx event.Tx) (err error) {
		ms, err = t.engine.MarksAfter(tx, after, tailPage)
		return err
	})
	return ms, err
}

func (t *Tails) head(ctx context.Context, account id.ID) (tip Tip, err error) {
	err = t.engine.View(ctx, account, func(tx event.Tx) (err error) {
		tip, _, err = t.engine.HeadOf(tx)
		return err
	})
	return tip, err
}

func (t *Tails) join(ctx context.Context, account id.ID, r *reader) (*feed, Tip, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fd := t.feeds[account]
	if fd == nil {
		w := t.engine.Watch(account) // before the tip is read, so that no wake-up is missed
		tip, err := t.head(ctx, account)
		if err != nil {
			w.Stop()
			return nil, Tip{}, err
		}
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		fd = &feed{cancel: cancel, readers: map[*reader]bool{}, tip: tip}
		t.feeds[account] = fd
		go t.pump(run, account, fd, w) // ends with its last reader, see leave
	}
	fd.readers[r] = true
	return fd, fd.tip, nil
}

func (t *Tails) leave(account id.ID, fd *feed, r *reader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(fd.readers, r)
	if len(fd.readers) == 0 && t.feeds[account] == fd {
		delete(t.feeds, account)
		fd.cancel()
	}
}

// retryRead is how long a failed read for the tails waits: the wake-up that
// asked for it does not come again.
const retryRead = 250 * time.Millisecond

// pump reads once per wake-up and hands the marks to all readers.
func (t *Tails) pump(ctx context.Context, account id.ID, fd *feed, w Watch) {
	defer w.Stop()
	at := fd.tip.Seq
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case _, ok := <-w.Wake():
			if !ok {
				t.closeReaders(account, fd)
				return
			}
		}
		retry = nil
		if ms, ok := fresh(w, fd.tip.Epoch, at); ok {
			if len(ms) > 0 {
				at = ms[len(ms)-1].Seq
				t.hand(fd, at, ms)
			}
			continue
		}
		for {
			tip, ms, err := t.readOn(ctx, account, at)
			if err != nil {
				if ctx.Err() == nil {
					t.log.WarnContext(ctx, "read for tails", slog.Any("error", err))
				}
				retry = time.After(retryRead)
				break
			}
			if tip.Epoch != fd.tip.Epoch {
				t.closeReaders(account, fd) // they come again, and begin with a reset
				return
			}
			if len(ms) == 0 {
				break
			}
			at = ms[len(ms)-1].Seq
			t.hand(fd, at, ms)
			if at >= tip.Seq {
				break // a later commit rings again
			}
		}
	}
}

// fresh takes the marks that follow at from the watch. False when they do not
// join without a gap up to the tip: then the journal is read.
func fresh(w Watch, epoch, at int64) ([]Mark, bool) {
	tip, ms, whole := w.Take()
	if !whole || tip.Epoch != epoch {
		return nil, false
	}
	for len(ms) > 0 && ms[0].Seq <= at {
		ms = ms[1:]
	}
	for i, m := range ms {
		if m.Seq != at+int64(i)+1 {
			return nil, false
		}
	}
	return ms, tip.Seq == at+int64(len(ms)) || tip.Seq < at
}

// readOn reads the marks after a seq together with the tip that they belong to.
func (t *Tails) readOn(ctx context.Context, account id.ID, after int64) (tip Tip, ms []Mark, err error) {
	t.reads.Add(1)
	err = t.engine.View(ctx, account, func(tx event.Tx) (err error) {
		if tip, _, err = t.engine.HeadOf(tx); err != nil || tip.Seq <= after {
			return err
		}
		ms, err = t.engine.MarksAfter(tx, after, tailPage)
		return err
	})
	return tip, ms, err
}

func (t *Tails) hand(fd *feed, at int64, ms []Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fd.tip.Seq = at
	for r := range fd.readers {
		select {
		case r.c <- ms:
		default:
			r.lost = true // Follow sees it once it has worked off its buffer
		}
	}
}

// wasLost reports, once, that the reader missed marks and has nothing buffered.
func (t *Tails) wasLost(r *reader) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !r.lost || len(r.c) > 0 {
		return false
	}
	r.lost = false
	return true
}

func (t *Tails) closeReaders(account id.ID, fd *feed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.feeds[account] == fd {
		delete(t.feeds, account)
	}
	for r := range fd.readers {
		close(r.c)
	}
	clear(fd.readers)
}
