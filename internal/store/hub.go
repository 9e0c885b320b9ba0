package store

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/kit/id"
)

// hub tells tails that an account has new events. It carries marks for whoever
// is quick enough; a tail that finds a gap in them reads the journal, so what a
// slow reader missed is never lost.
type hub struct {
	mu     sync.Mutex
	tips   map[id.ID]Tip             // guarded by mu
	subs   map[id.ID]map[*watch]bool // guarded by mu
	closed bool                      // guarded by mu
	timers chan struct{}
}

// Tip is the last event of an account.
type Tip = bus.Tip

// watch is woken whenever its account has new events; it implements bus.Watch.
type watch struct {
	c    chan struct{} // one pending wake-up at the most; closed by the hub
	hub  *hub
	acct id.ID

	marks []bus.Mark // since the last Take; guarded by hub.mu
	gap   bool       // some were not kept; guarded by hub.mu
}

// keptMarks bounds what a watch keeps between two Takes.
const keptMarks = 2048

func newHub() *hub {
	return &hub{tips: map[id.ID]Tip{}, subs: map[id.ID]map[*watch]bool{}, timers: make(chan struct{}, 1)}
}

// publish tells of a commit that made seq the tip. marks are its events, or none
// where they are not known.
func (h *hub) publish(account id.ID, epoch, seq int64, marks []bus.Mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tips[account]; epoch < t.Epoch || epoch == t.Epoch && seq <= t.Seq {
		return
	}
	h.tips[account] = Tip{Epoch: epoch, Seq: seq}
	for w := range h.subs[account] {
		if w.gap = w.gap || len(marks) == 0 || len(w.marks)+len(marks) > keptMarks; w.gap {
			w.marks = nil
		} else {
			w.marks = append(w.marks, marks...)
		}
		select {
		case w.c <- struct{}{}:
		default:
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, ws := range h.subs {
		for w := range ws {
			close(w.c)
		}
	}
	clear(h.subs)
}

// Watch subscribes to an account's commits. Stop it when done.
func (db *DB) Watch(account id.ID) bus.Watch {
	w := &watch{c: make(chan struct{}, 1), hub: db.hub, acct: account}
	db.hub.mu.Lock()
	defer db.hub.mu.Unlock()
	if db.hub.closed {
		close(w.c)
		return w
	}
	if db.hub.subs[account] == nil {
		db.hub.subs[account] = map[*watch]bool{}
	}
	db.hub.subs[account][w] = true
	return w
}

// Wake implements bus.Watch.
func (w *watch) Wake() <-chan struct{} { return w.c }

// Take implements bus.Watch.
func (w *watch) Take() (tip Tip, marks []bus.Mark, whole bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	tip, marks, whole = w.hub.tips[w.acct], w.marks, !w.gap
	w.marks, w.gap = nil, false
	return tip, marks, whole
}

// marks are those of the events that a commit appended to an account, if
// somebody watches it.
func (h *hub) marks(account id.ID, appended ...*tx) (out []bus.Mark) {
	h.mu.Lock()
	watched := len(h.subs[account]) > 0
	h.mu.Unlock()
	if !watched {
		return nil
	}
	for _, x := range appended {
		for _, e := range x.Events() {
			out = append(out, bus.Mark{Seq: e.Seq, ID: e.ID, Type: e.Type, Stream: cmp.Or(e.Stream, e.Account), Correlation: cmp.Or(e.Correlation, e.ID)})
		}
	}
	return out
}

// Stop ends the subscription.
func (w *watch) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.subs[w.acct], w)
	if len(w.hub.subs[w.acct]) == 0 {
		delete(w.hub.subs, w.acct)
	}
}

const notifyChannel = "witan_commits"

// listen sends our commits to other nodes and hears of theirs. NOTIFY goes out
// coalesced on a connection of its own after the commit: inside a write
// transaction it would serialise every account of the server (experiment F11).
func (p *pgEngine) listen(ctx context.Context, db *DB) {
	db.wg.Go(func() { p.send(ctx, db) })
	for ctx.Err() == nil {
		if err := p.hear(ctx, db); err != nil && ctx.Err() == nil {
			db.log.WarnContext(ctx, "listening for commits stopped; the poll goes on", slog.Any("error", err))
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (p *pgEngine) hear(ctx context.Context, db *DB) error {
	c, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if _, err := c.Exec(ctx, "LISTEN "+notifyChannel); err != nil {
		return err
	}
	self := db.node.String()
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if n.Payload != self { // our own commits are known already
			db.pollHeads(ctx)
		}
	}
}

func (p *pgEngine) send(ctx context.Context, db *DB) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.notify:
		}
		p.mu.Lock()
		clear(p.dirty)
		p.mu.Unlock()
		if _, err := p.pool.Exec(ctx, "SELECT pg_notify('"+notifyChannel+"', $1)", db.node.String()); err != nil && ctx.Err() == nil {
			db.log.WarnContext(ctx, "notify other nodes", slog.Any("error", err))
		}
		select { // at most one every 2 ms
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// pollHeads reads the tips of the accounts that somebody here watches.
func (db *DB) pollHeads(ctx context.Context) {
	db.hub.mu.Lock()
	watched := make([][]byte, 0, len(db.hub.subs))
	for a := range db.hub.subs {
		watched = append(watched, append([]byte(nil), a[:]...))
	}
	db.hub.mu.Unlock()
	if len(watched) == 0 {
		return
	}
	r, err := db.pg.pool.Query(ctx, "SELECT account_id, epoch, seq FROM journal_heads WHERE account_id = ANY($1)", watched)
	if err != nil {
		return
	}
	defer r.Close()
	for r.Next() {
		var a id.ID
		var t Tip
		if r.Scan(&a, &t.Epoch, &t.Seq) == nil {
			db.hub.publish(a, t.Epoch, t.Seq, nil)
		}
	}
}
