package app

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store"

	"github.com/witan-run/witan/internal/event"
)

// BenchmarkRoundTrip is one message in, one idempotent call that writes a file,
// the answer out: 64 in flight, each in a thread of its own.
func BenchmarkRoundTrip(b *testing.B) {
	a, _ := start(b)
	me := owner(b, a)
	p := a.parts
	ctx := context.Background()
	doc := policy.Standard()
	doc.Rules = append(doc.Rules, policy.Rule{ID: 900, Effect: policy.Allow, Skill: []string{"notes.add"}})
	if _, err := p.policy.Save(ctx, p.account, me.PersonID, 1, doc, "bench"); err != nil {
		b.Fatal(err)
	}
	if err := p.policy.SetAutonomy(ctx, p.account, me.PersonID, "account", 100); err != nil {
		b.Log(err)
	}
	done := newAnswers(ctx, a)
	slots := make(chan struct{}, 64)
	var wg sync.WaitGroup
	before := a.Commits()
	b.ResetTimer()
	for i := range b.N {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			got, err := p.intake.Accept(ctx, speakers()["cli"](api.Said{Account: p.account, PersonID: me.PersonID, Name: "Owner", Text: fmt.Sprint("Please add milk ", i), Agent: "scribe"}))
			if err != nil {
				b.Error(err)
				return
			}
			done.wait(b, got.ThreadID)
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trips/s")
	b.ReportMetric(float64(a.Commits()-before)/float64(b.N), "commits/trip")
}

// answers wakes whoever waits for the answer in a thread.
type answers struct {
	mu  sync.Mutex
	c   map[id.ID]chan struct{}
	has map[id.ID]bool
}

func newAnswers(ctx context.Context, a *App) *answers {
	w := &answers{c: map[id.ID]chan struct{}{}, has: map[id.ID]bool{}}
	var tip bus.Tip
	_ = a.parts.db.View(ctx, a.parts.account, func(tx event.Tx) (err error) {
		tip, _, err = store.HeadOf(tx)
		return err
	})
	go func() {
		_ = a.parts.tails.Follow(ctx, a.parts.account, tip, func(batch bus.Batch) error {
			for _, m := range batch.Marks {
				if m.Type != "outbound.message" {
					continue
				}
				w.mu.Lock()
				w.has[m.Stream] = true
				if c := w.c[m.Stream]; c != nil {
					close(c)
					delete(w.c, m.Stream)
				}
				w.mu.Unlock()
			}
			return nil
		})
	}()
	return w
}

func (w *answers) wait(t testing.TB, thread id.ID) {
	w.mu.Lock()
	if w.has[thread] {
		w.mu.Unlock()
		return
	}
	c := make(chan struct{})
	w.c[thread] = c
	w.mu.Unlock()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Errorf("no answer in thread %s", thread)
	}
}
