package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// The bounds of one batch (architecture §4).
const (
	batchMembers = 64
	batchTime    = 5 * time.Millisecond
)

// job is a closure that waits for its turn in the lane.
type job struct {
	ctx     context.Context //nolint:containedctx // travels to the lane with the closure. The caller's: looked at before the turn, never inside
	account id.ID
	f       func(event.Tx) error
	skip    map[voidKey]bool // reactions left to the router on the next run
	alone   bool             // shares its transaction with nobody: it changes keys or epochs
	done    chan error       // buffered; the lane sends once
}

// lane is SQLite's one writer. Waiting closures run back to back in one
// transaction; interactive before bulk, round robin over accounts.
//
// It knows no savepoints: an error that makes SQLite roll the whole transaction
// back would leave the members after it to commit alone (experiment F1). So any
// error but a refusal before the first write voids the batch, nothing is
// acknowledged, and its members run again one per transaction.
type lane struct {
	db  *DB
	eng *sqliteEngine

	mu     sync.Mutex
	queues [2]fair // interactive, bulk; guarded by mu
	closed bool    // guarded by mu
	turns  int     // interactive jobs taken since the last bulk one; guarded by mu
	put    *job    // taken from a queue, but not for this batch; only the lane's goroutine
	wake   chan struct{}

	heads  map[id.ID]*head // tips as committed; only the lane's goroutine
	hasher *event.Hasher
}

func newLane(db *DB, eng *sqliteEngine) *lane {
	return &lane{db: db, eng: eng, wake: make(chan struct{}, 1), heads: map[id.ID]*head{}, hasher: event.NewHasher()}
}

func (l *lane) do(ctx context.Context, account id.ID, f func(event.Tx) error, bulk bool) error {
	return l.queue(&job{ctx: ctx, account: account, f: f, done: make(chan error, 1)}, bulk)
}

func (l *lane) queue(j *job, bulk bool) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fault.New(fault.Unavailable, "the store is closing")
	}
	k := 0
	if bulk {
		k = 1
	}
	l.queues[k].push(j)
	l.mu.Unlock()
	l.nudge()
	return <-j.done // the lane always answers; a cancelled caller is answered at its turn
}

func (l *lane) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// patience is how many interactive jobs may pass a waiting bulk one: erasures
// and the router must come to an end also under a load that never does.
const patience = 4 * batchMembers

func (l *lane) next() *job {
	if j := l.put; j != nil {
		l.put = nil
		return j
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first, second := &l.queues[0], &l.queues[1]
	if l.turns >= patience {
		first, second = second, first
	}
	j := first.pop()
	if j == nil {
		first, j = second, second.pop()
	}
	if first == &l.queues[1] {
		l.turns = 0
	} else {
		l.turns++
	}
	return j
}

// run is the lane's goroutine.
func (l *lane) run(ctx context.Context) {
	for {
		j := l.next()
		if j == nil {
			select {
			case <-ctx.Done():
				l.drain()
				return
			case <-l.wake:
				if l.eng.scrub.Load() {
					l.eng.boundWAL()
				}
			}
			continue
		}
		l.batch(j)
		l.eng.boundWAL()
	}
}

func (l *lane) drain() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for j := l.next(); j != nil; j = l.next() {
		j.done <- fault.New(fault.Unavailable, "the store is closing")
	}
}

// member is a job that ran inside the open transaction.
type member struct {
	job *job
	tx  *tx
	err error // a refusal before the first write: nothing of it is in the transaction
}

// batch runs first and whoever waits behind it in one transaction.
func (l *lane) batch(first *job) {
	if first.alone {
		l.single(first, nil)
		return
	}
	watch := clock.StartStopwatch()
	ex, err := l.eng.begin()
	if err != nil {
		l.eng.discard()
		l.single(first, err)
		return
	}
	var ms []*member
	ahead := map[voidKey]bool{} // streams are the account's own: ids never repeat across accounts
	for j := first; j != nil; {
		if err := j.ctx.Err(); err != nil {
			j.done <- err
		} else {
			m := l.turn(j, ex, ahead)
			ms = append(ms, m)
			for _, d := range m.tx.deferred {
				ahead[voidKey{d.subscriber, m.tx.Events()[d.index].Stream}] = true
			}
			if m.tx.wrote && m.err != nil || m.tx.fatal != nil || isReaction(m.err) {
				l.void(ms, m)
				return
			}
		}
		if len(ms) >= batchMembers || watch.Elapsed() > batchTime {
			break
		}
		if j = l.next(); j != nil && j.alone {
			l.put, j = j, nil
		}
	}
	if !anyWrite(ms) { // refusals and looks only: nothing to make durable
		if err := l.eng.rollback(); err != nil {
			l.eng.discard()
		}
		for _, m := range ms {
			if m.err == nil {
				l.db.durable(m.tx)
			}
			m.job.done <- m.err
		}
		return
	}
	heads, err := l.appendAll(ms)
	if err == nil {
		err = l.eng.commit()
		if err != nil && l.landed(heads) {
			err = nil // the commit failed in its last step, yet the bytes are there
		}
	}
	if err != nil {
		l.void(ms, nil)
		return
	}
	l.acknowledge(ms, heads)
}

func anyWrite(ms []*member) bool {
	for _, m := range ms {
		if m.tx.wrote || m.err == nil && len(m.tx.Events()) > 0 {
			return true
		}
	}
	return false
}

// turn runs one closure inside the open transaction.
func (l *lane) turn(j *job, ex executor, ahead map[voidKey]bool) *member {
	x := l.db.newTx(context.Background(), j.account, ex, true)
	x.tries, x.ahead = j.skip, ahead
	m := &member{job: j, tx: x}
	m.err = l.db.runMember(x, j.f)
	if m.err == nil && x.fatal != nil {
		m.err = l.db.classify(x.fatal, "transaction")
	}
	return m
}

// appendAll is the append phase: one for the whole batch.
func (l *lane) appendAll(ms []*member) (map[id.ID]*head, error) {
	heads := map[id.ID]*head{}
	var last = map[id.ID]*tx{}
	for _, m := range ms {
		if m.err != nil || len(m.tx.Events()) == 0 {
			continue
		}
		h := heads[m.job.account]
		if h == nil {
			var err error
			if h, err = l.head(m.tx); err != nil {
				return nil, err
			}
			heads[m.job.account] = h
		}
		if err := m.tx.finish(h, l.hasher); err != nil {
			return nil, err
		}
		for i := range m.tx.Events() {
			if _, err := appendSQL.Exec(m.tx, "add_event", eventArgs(&m.tx.Events()[i])...); err != nil {
				return nil, err
			}
		}
		if err := m.tx.insertDeferred(); err != nil {
			return nil, err
		}
		last[m.job.account] = m.tx
	}
	for a, h := range heads {
		if _, err := appendSQL.Exec(last[a], "set_head", h.seq, h.hash[:], h.recorded.UnixMicro(), a); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// head returns a copy of the account's tip, reading it the first time.
func (l *lane) head(x *tx) (*head, error) {
	if h := l.heads[x.Account()]; h != nil && !x.rehead {
		c := *h
		return &c, nil
	}
	h, _, err := x.readHead("head")
	if fault.Is(err, fault.NotFound) {
		if _, err := appendSQL.Exec(x, "new_head", x.Account(), make([]byte, 32)); err != nil {
			return nil, err
		}
		return &head{epoch: 1, keyEpoch: 1}, nil
	}
	return &h, err
}

// landed reports whether the tips of a failed commit are durable after all.
// Without it a commit that failed after its bytes were written would be done twice.
func (l *lane) landed(heads map[id.ID]*head) bool {
	l.eng.discard()
	for a, want := range heads {
		var got head
		err := l.db.View(context.Background(), a, func(t event.Tx) (err error) {
			got, _, err = mustTx(t).readHead("read_head")
			return err
		})
		if err != nil || got.seq != want.seq || got.hash != want.hash {
			return false
		}
	}
	return len(heads) > 0
}

func (l *lane) acknowledge(ms []*member, heads map[id.ID]*head) {
	for a, h := range heads {
		l.heads[a] = h
	}
	l.db.commits.Add(1)
	for _, m := range ms {
		if m.err == nil {
			l.eng.noteDeferred(m.tx)
			l.db.keepKeys(m.tx)
		}
	}
	for _, m := range ms {
		if m.err == nil {
			l.db.durable(m.tx) // before the answer: whoever gets it sees what the hooks did
		}
		m.job.done <- m.err
	}
	for a, h := range heads {
		var appended []*tx
		for _, m := range ms {
			if m.err == nil && m.job.account == a {
				appended = append(appended, m.tx)
			}
		}
		l.db.hub.publish(a, h.epoch, h.seq, l.db.hub.marks(a, appended...))
	}
}

// void rolls the batch back, acknowledges nothing and runs its members again,
// one per transaction. culprit, if known, has just failed.
func (l *lane) void(ms []*member, culprit *member) {
	engineFailed := culprit == nil || culprit.tx.fatal != nil
	if err := l.eng.rollback(); err != nil || engineFailed {
		l.eng.discard()
	}
	l.forgetKeys(ms)
	for _, m := range ms {
		var re *reactionError
		if m == culprit && errors.As(m.err, &re) {
			m.job.leave(l.db, re.key)
		}
		l.single(m.job, nil)
	}
}

func isReaction(err error) bool { var re *reactionError; return errors.As(err, &re) }

func (l *lane) forgetKeys(ms []*member) {
	for _, m := range ms {
		clear(m.tx.newKeys)
	}
}

// leave makes the next run of the job leave a reaction to the router.
func (j *job) leave(db *DB, k voidKey) {
	db.voids.add(k)
	if j.skip == nil {
		j.skip = map[voidKey]bool{}
	}
	j.skip[k] = true
}

// maxAttempts bounds how often one closure is re-run alone: once for an engine
// error, and once for each of its reactions that fails.
const maxAttempts = 12

// single runs one job in a transaction of its own until it is settled.
func (l *lane) single(j *job, err error) {
	for attempt := 0; attempt < maxAttempts; attempt++ {
		if cerr := j.ctx.Err(); cerr != nil {
			j.done <- cerr
			return
		}
		var m *member
		var heads map[id.ID]*head
		ex, berr := l.eng.begin()
		if berr != nil {
			l.eng.discard()
			err = berr
			if attempt >= 1 {
				break // locked by somebody else, and the engine has waited for it twice
			}
			continue
		}
		m = l.turn(j, ex, nil)
		err = m.err
		if err == nil {
			if heads, err = l.appendAll([]*member{m}); err == nil {
				if err = l.eng.commit(); err != nil && l.landed(heads) {
					err = nil
				}
			}
		}
		if err == nil {
			l.acknowledge([]*member{m}, heads)
			return
		}
		if rerr := l.eng.rollback(); rerr != nil || m.tx.fatal != nil {
			l.eng.discard()
		}
		clear(m.tx.newKeys)
		var re *reactionError
		if errors.As(err, &re) {
			j.leave(l.db, re.key)
			continue
		}
		if m.err != nil && m.tx.fatal == nil || attempt >= 1 {
			break // the closure's own refusal, or the engine failed twice
		}
	}
	j.done <- l.db.classify(err, "commit")
}

// fair is a queue that serves accounts in turn.
type fair struct {
	ring   []id.ID
	at     int
	byAcct map[id.ID][]*job
}

func (q *fair) push(j *job) {
	if q.byAcct == nil {
		q.byAcct = map[id.ID][]*job{}
	}
	if len(q.byAcct[j.account]) == 0 {
		q.ring = append(q.ring, j.account)
	}
	q.byAcct[j.account] = append(q.byAcct[j.account], j)
}

func (q *fair) pop() *job {
	if len(q.ring) == 0 {
		return nil
	}
	q.at %= len(q.ring)
	a := q.ring[q.at]
	jobs := q.byAcct[a]
	j := jobs[0]
	if len(jobs) == 1 {
		delete(q.byAcct, a)
		q.ring = append(q.ring[:q.at], q.ring[q.at+1:]...)
	} else {
		q.byAcct[a] = jobs[1:]
		q.at++
	}
	return j
}

// keysChanged drops the cached tip of an account whose key epoch or epoch was
// changed by a member. It runs on the lane's goroutine, from an after-commit hook.
func (l *lane) keysChanged(account id.ID) { delete(l.heads, account) }
