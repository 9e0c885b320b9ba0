package harness_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/fakeworld"
)

// errand is one message and what became of it.
type errand struct {
	name    string // in the message, the calls and the answer
	id      string // of the message, once it was acknowledged
	thread  string
	answers []string
	state   string
}

// load keeps messages in flight, whoever serves the house: each slot sends the
// next one when the last is answered. What was not acknowledged is sent again
// under the same key.
type load struct {
	h     *house
	verb  string // do, one
	slots int
	tag   string // makes the names of this load its own
	// lenient: the world refuses acts, so an effect may be missing whose failure
	// the answer tells.
	lenient bool

	mu      sync.Mutex
	errands []*errand     // acknowledged ones; guarded by mu
	flying  int           // sent and not answered; guarded by mu
	settled int           // by the harness's person; guarded by mu
	enough  chan struct{} // closed by finish: no new messages
	err     error         // the first that is not passing; guarded by mu

	wg     sync.WaitGroup     // the slots
	person sync.WaitGroup     // who settles
	leave  context.CancelFunc // ends the person's shift
}

// begin starts the slots and the person who settles what nobody can tell.
func begin(ctx context.Context, h *house, verb, tag string, slots int) *load {
	l := &load{h: h, verb: verb, slots: slots, tag: tag, enough: make(chan struct{})}
	for i := range slots {
		l.wg.Go(func() { l.slot(ctx, i) })
	}
	ctx, l.leave = context.WithCancel(ctx)
	l.person.Go(func() {
		for ctx.Err() == nil {
			if err := l.settleUnknown(ctx); err != nil && ctx.Err() == nil && !passing(err) {
				l.fail(fmt.Errorf("settle: %w", err))
			}
			pause(ctx)
		}
	})
	return l
}

// patience is how long a slot waits for an answer before it goes on in another
// thread: on PostgreSQL what a dead node held is taken over after some seconds
// only, and the lives until then need work too. backlog bounds what waits.
const (
	patience = 1500 * time.Millisecond
	backlog  = 4 * slots
)

func (l *load) slot(ctx context.Context, i int) {
	thread := 0
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-l.enough:
			return
		default:
		}
		e := &errand{name: fmt.Sprintf("%s-%d-%d", l.tag, i, n), thread: fmt.Sprintf("%s-%d-%d", l.tag, i, thread)}
		l.fly(1)
		if !l.send(ctx, i, e) {
			l.fly(-1)
			return
		}
		l.mu.Lock()
		l.errands = append(l.errands, e)
		l.mu.Unlock()
		answered := make(chan struct{})
		l.wg.Go(func() {
			l.await(ctx, i, e)
			l.fly(-1)
			close(answered)
		})
		for waiting := true; waiting; {
			select {
			case <-answered:
				waiting = false
			case <-time.After(patience):
				if waiting = l.inFlight() > backlog; !waiting {
					thread++
				}
			}
		}
	}
}

func (l *load) fly(d int) { l.mu.Lock(); l.flying += d; l.mu.Unlock() }

// inFlight is how many messages are sent and not answered.
func (l *load) inFlight() int { l.mu.Lock(); defer l.mu.Unlock(); return l.flying }

// acknowledged is how many were.
func (l *load) acknowledged() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.errands) }

// fail remembers the first error that is not only that nobody serves.
func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = errors.Join(l.err, err)
}

// broken returns that error.
func (l *load) broken() error { l.mu.Lock(); defer l.mu.Unlock(); return l.err }

// send posts until the message is acknowledged: 202.
func (l *load) send(ctx context.Context, i int, e *errand) bool {
	for ctx.Err() == nil {
		var acc struct {
			MessageID string `json:"messageId"`
			State     string `json:"state"`
			Reason    string `json:"reason"`
		}
		err := l.h.ask(ctx, l.h.token(i), "POST", "/api/v1/channels/bridge/messages",
			map[string]any{"text": "Please " + l.verb + " " + e.name, "thread": e.thread, "agent": "tortured"}, &acc, "Idempotency-Key", e.name)
		switch {
		case err == nil && acc.State == "waiting" || err == nil && acc.State == "answered":
			e.id = acc.MessageID
			return true
		case err == nil:
			l.fail(fmt.Errorf("%s: %s (%s)", e.name, acc.State, acc.Reason))
			return false
		case ctx.Err() == nil && !passing(err):
			l.fail(fmt.Errorf("send %s: %w", e.name, err))
			return false
		}
		pause(ctx)
	}
	return false
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

// look reads what became of a message.
func (l *load) look(ctx context.Context, i int, e *errand, wait int) error {
	var m struct {
		State   string `json:"state"`
		Reason  string `json:"reason"`
		Answers []struct {
			Text string `json:"text"`
		} `json:"answers"`
	}
	path := fmt.Sprintf("/api/v1/messages/%s", e.id)
	if wait > 0 {
		path += fmt.Sprintf("?wait=%d", wait)
	}
	if err := l.h.ask(ctx, l.h.token(i), "GET", path, nil, &m); err != nil {
		return err
	}
	e.state, e.answers = m.State, nil
	if m.Reason != "" {
		e.state += " (" + m.Reason + ")"
	}
	for _, a := range m.Answers {
		e.answers = append(e.answers, a.Text)
	}
	return nil
}

func (l *load) await(ctx context.Context, i int, e *errand) {
	for ctx.Err() == nil {
		err := l.look(ctx, i, e, 10)
		switch {
		case err == nil && e.state != "waiting":
			return
		case err != nil && ctx.Err() == nil && !passing(err):
			l.fail(fmt.Errorf("look at %s: %w", e.name, err))
			return
		case err != nil:
			pause(ctx)
		}
	}
}

// settleUnknown lets the harness's person settle every effect that waits for
// one: they look at the world, as a person would.
func (l *load) settleUnknown(ctx context.Context) error {
	var page struct {
		Items []struct {
			ID, Key, Class string
		} `json:"items"`
	}
	if err := l.h.ask(ctx, l.h.owner, "GET", "/api/v1/effects?state=unknown&limit=200", nil, &page); err != nil {
		return err
	}
	for _, e := range page.Items {
		word := "did_not"
		if l.h.world.World.Count(e.Key) > 0 {
			word = "happened"
		}
		err := l.h.ask(ctx, l.h.owner, "POST", "/api/v1/effects/"+e.ID+"/settle", map[string]string{"word": word}, nil)
		var no *refusal
		if errors.As(err, &no) && (no.status == http.StatusConflict || no.status == http.StatusPreconditionFailed) {
			continue // settled since: in the life before, whose answer was lost, or by the other load's person
		}
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.settled++
		l.mu.Unlock()
	}
	return nil
}

// finish sends no more and waits until every acknowledged message is answered.
// It needs a life that is long enough. It gives up when nothing was answered for
// so long: how long all of it takes is the machine's business.
func (l *load) finish(ctx context.Context, stuck time.Duration) error {
	close(l.enough)
	done := make(chan struct{})
	go func() { l.wg.Wait(); close(done) }() // ends with the slots, at the latest with the test
	var late error
	for left, since := l.inFlight(), time.Now(); late == nil; {
		select {
		case <-done:
			l.leave()
			l.person.Wait()
			return l.broken()
		case <-ctx.Done():
			late = context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
			if now := l.inFlight(); now < left {
				left, since = now, time.Now()
			} else if time.Since(since) > stuck {
				late = fmt.Errorf("%d messages are not answered, and none was for %v", left, stuck)
			}
		}
	}
	l.leave()
	l.person.Wait()
	return errors.Join(late, l.broken())
}

// judge compares what was acknowledged with what was answered and with what the
// world has seen. It reads the fate of every message again.
func (l *load) judge(ctx context.Context, t *testing.T) harness.Report {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	rep := harness.Report{Unknown: l.settled}
	count := map[fakeworld.Class]map[string]int{}
	for _, e := range l.h.world.World.Effects() {
		if count[e.Class] == nil {
			count[e.Class] = map[string]int{}
		}
		if strings.HasPrefix(e.Body, l.tag+"-") {
			count[e.Class][e.Body]++
		}
	}
	for i, e := range l.errands {
		if err := l.look(ctx, i, e, 0); err != nil {
			t.Fatal(err)
		}
		if len(e.answers) != 1 || !answers(e, l.lenient) || e.state != "answered" {
			t.Errorf("%s (message %s) is %s and has the answers %q", e.name, e.id, e.state, e.answers)
			if len(e.answers) > 1 {
				rep.Doubled++
			} else {
				rep.Lost++
			}
		}
		sure := []fakeworld.Class{fakeworld.Idempotent}
		if l.verb == "do" {
			sure = append(sure, fakeworld.Reconcilable)
		}
		for _, c := range sure {
			if count[c][e.name] == 0 && !(l.lenient && strings.Contains(strings.Join(e.answers, ""), "harness."+string(c))) {
				t.Errorf("%s: its %s effect never happened", e.name, c)
				rep.Lost++
			}
		}
	}
	for c, names := range count {
		for name, n := range names {
			if n > 1 {
				t.Errorf("%s: its %s effect happened %d times", name, c, n)
				rep.Doubled++
			}
		}
	}
	if keys := l.h.world.World.Doubled(); len(keys) > 0 && rep.Doubled == 0 {
		t.Errorf("the world was asked twice under the keys %q", keys)
		rep.Doubled += len(keys)
	}
	l.judgeOrder(ctx, t)
	return rep
}

// answers reports whether an errand was answered as the script does. What the
// person said did not happen is told at the end; if lenient, so is what failed.
func answers(e *errand, lenient bool) bool {
	rest, ok := strings.CutPrefix(e.answers[0], "did "+e.name+".")
	rest = strings.TrimSpace(rest)
	return ok && (rest == "" || rest == "Not done: harness.once failed (unknown)." || lenient && strings.HasPrefix(rest, "Not done: "))
}

// judgeOrder holds the journal against what was sent: one task for each message,
// and answers in the order of the messages, per thread.
func (l *load) judgeOrder(ctx context.Context, t *testing.T) {
	t.Helper()
	type seen struct {
		Type, Stream string
		Seq          int64
		Payload      struct {
			Text, MessageID string
		}
	}
	byStream := map[string]map[string][]string{} // stream, type, names in order
	for after := "0"; after != ""; {
		var page struct {
			Items []seen
			Next  string
		}
		if err := l.h.ask(ctx, l.h.owner, "GET", "/api/v1/events?limit=200&after="+after, nil, &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			name := ""
			for _, word := range strings.Fields(e.Payload.Text) {
				if strings.HasPrefix(word, l.tag+"-") {
					name = strings.TrimSuffix(word, ".")
				}
			}
			switch e.Type {
			case "inbound.message", "agent.task", "outbound.message":
				if byStream[e.Stream] == nil {
					byStream[e.Stream] = map[string][]string{}
				}
				byStream[e.Stream][e.Type] = append(byStream[e.Stream][e.Type], name)
			}
		}
		after = page.Next
	}
	for stream, types := range byStream {
		in, tasks, out := types["inbound.message"], types["agent.task"], types["outbound.message"]
		if len(in) > 0 && !strings.HasPrefix(in[0], l.tag+"-") {
			continue
		}
		if len(tasks) != len(in) {
			t.Errorf("thread %s has %d messages and %d tasks", stream, len(in), len(tasks))
		}
		if !slices.Equal(in, out) {
			t.Errorf("thread %s was asked %q and answered %q", stream, in, out)
		}
	}
}
