package console

import (
	"context"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/kit/fault"
)

// chain is what is known about the record: the last verification, and the one
// that runs. It lives in memory; a verification is cheap and nothing leans on it.
type chain struct {
	mu      sync.Mutex
	end     context.CancelCauseFunc // guarded by mu; of the one that runs
	done    chan struct{}           // guarded by mu; closed when it has ended
	running bool                    // guarded by mu
	read    int64                   // guarded by mu; events of the one that runs
	checked bool                    // guarded by mu
	found   Verified                // guarded by mu
	bad     int64                   // guarded by mu; seq, 0 for none
	failed  bool                    // guarded by mu; it could not be read to the end
	at      time.Time               // guarded by mu
}

func newChain() *chain { return &chain{} }

// start begins a verification unless one runs, and returns what is closed at its
// end. It goes on when the person who asked leaves.
func (h *chain) start(c *Console) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running {
		return h.done
	}
	ctx, end := context.WithCancelCause(context.Background())
	h.end, h.done, h.running, h.read = end, make(chan struct{}), true, 0
	go h.run(ctx, c, h.done) // close waits for done
	return h.done
}

func (h *chain) run(ctx context.Context, c *Console, done chan struct{}) {
	defer close(done)
	found, err := c.Verify(ctx, func(n int64) {
		h.mu.Lock()
		h.read = n
		h.mu.Unlock()
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = false
	if ctx.Err() != nil {
		return
	}
	h.at = c.Clock.Now()
	h.failed, h.bad = false, 0
	switch {
	case err != nil:
		h.failed = true
		c.Log.ErrorContext(ctx, "the chain could not be verified", "error", err)
	default:
		h.checked, h.found, h.bad = true, found, found.Bad
	}
}

// close ends a verification that runs and waits for it, until ctx ends.
func (h *chain) close(ctx context.Context) error {
	h.mu.Lock()
	end, done := h.end, h.done
	h.mu.Unlock()
	if end == nil {
		return nil
	}
	end(fault.New(fault.Cancelled, "Witan is stopping"))
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func seqRef(seq int64) ui.Ref {
	if seq <= 0 {
		return ui.Ref{}
	}
	return ui.Ref{Seq: grouped(seq), Href: "/journal/" + strconv.FormatInt(seq, 10)}
}

// foot is the line of the sidebar; only after a verification.
func (h *chain) foot(r *reader) (ui.FootFact, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.checked:
		return ui.FootFact{}, false
	case h.bad > 0:
		return ui.FootFact{Icon: "triangle-alert", Fact: ui.Fact{Text: "Chain broken at #" + grouped(h.bad), Ref: seqRef(h.bad)}}, true
	}
	return ui.FootFact{Icon: "link-2", Fact: ui.Fact{Text: "Chain whole, checked " + r.at(h.at, r.now), Ref: seqRef(h.found.Head)}}, true
}

// view is the line under the stream.
func (h *chain) view(r *reader) ui.Chain {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := ui.Chain{State: ui.ChainUnchecked, Total: int(r.tip.Seq)}
	if h.checked {
		out.State, out.Checked, out.At = ui.ChainWhole, true, "At "+r.at(h.at, r.now)+"."
		out.Events, out.Ref = int(h.found.Events), seqRef(h.found.Head)
		if hash := hex.EncodeToString(h.found.Hash[:]); h.found.Head > 0 {
			out.Head = "#" + grouped(h.found.Head) + " " + short(hash)
		}
		if h.bad > 0 {
			out.State, out.Bad, out.Events = ui.ChainBroken, seqRef(h.bad), int(h.bad)
		}
	}
	if h.running {
		out.State, out.Checked, out.Events = ui.ChainChecking, false, int(h.read)
	}
	out.Failed = h.failed && !h.running
	return out
}
