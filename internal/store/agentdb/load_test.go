package agentdb_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
)

// task says something in any thread, from any goroutine.
func (w *world) task(thread id.ID, text string) (run id.ID, err error) {
	err = w.db.Journal.Do(context.Background(), w.db.Account, func(tx event.Tx) error {
		run = tx.NewID()
		_, err := tx.Emit(w.dispatch, event.Draft{Stream: thread, Label: event.NewLabel(event.Person, event.AccountWide()), Payload: event.AgentTask{
			TaskID: tx.NewID(), Agent: "coordinator", RunID: run, ThreadID: thread, MessageID: tx.NewID(), Channel: "console", Requester: mira, Text: text}})
		return err
	})
	return run, err
}

func TestManyWritersAndWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", confirmed(`{}`))
		const threads, each, workers = 3, 6, 4
		var runs sync.Map
		var writers, readers sync.WaitGroup
		var left atomic.Int64
		left.Store(threads * each)
		for n := range threads * each {
			writers.Go(func() {
				thread := id.Derive(storetest.Start, []byte{byte(n % threads)})
				run, err := w.task(thread, "write it")
				if err != nil {
					t.Error(err)
				}
				runs.Store(run, thread)
			})
		}
		for range workers {
			readers.Go(func() {
				for range 2000 {
					list, err := db.Ready(context.Background(), 20)
					if err != nil {
						t.Error(err)
						return
					}
					for _, l := range list {
						err := w.svc.Work(context.Background(), l.Account, l.ID)
						if err != nil && !fault.Is(err, fault.Stale) && !fault.Is(err, fault.Conflict) {
							t.Errorf("work: %v", err)
							return
						}
					}
					if left.Load() == 0 {
						return
					}
					n := int64(0)
					runs.Range(func(any, any) bool { n++; return true })
					if n == threads*each && len(of[event.RunFinished](w)) == threads*each {
						left.Store(0)
					}
				}
			})
		}
		writers.Wait()
		readers.Wait()
		w.drain()
		answers := map[id.ID]int{}
		order := map[id.ID]int{}
		for _, e := range db.Events(t) {
			if r, ok := e.Payload.(event.AgentResponse); ok {
				answers[r.RunID]++
				if ord := w.run(r.RunID).Ord; ord != order[r.ThreadID]+1 {
					t.Errorf("run %d of a thread was answered after run %d", ord, order[r.ThreadID])
				}
				order[r.ThreadID]++
			}
		}
		runs.Range(func(k, _ any) bool {
			if run := k.(id.ID); answers[run] != 1 {
				t.Errorf("run %s was answered %d times, it is %s", run, answers[run], w.run(run).State)
			}
			return true
		})
		w.exact(onlyKey(&runs))
	})
}

func onlyKey(m *sync.Map) (out id.ID) {
	m.Range(func(k, _ any) bool { out = k.(id.ID); return false })
	return out
}

func TestAnswersOfParallelCallsAtOneMoment(t *testing.T) {
	t.Parallel()
	db := storetest.OpenPostgres(t)
	w := newWorld(t, db, `
- when: {tool: time.now}
  say: 'All in.'
- {call: [{tool: file.write, args: {}}, {tool: http.fetch, args: {}}, {tool: message.send, args: {}}, {tool: time.now, args: {}}]}
`)
	for round := range 5 {
		run := w.post(fmt.Sprintf("round %d", round))
		w.drain()
		var wg sync.WaitGroup
		for _, e := range w.skills.open {
			wg.Go(func() {
				if err := db.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
					return w.result(tx, e, event.SkillResult{State: "confirmed"}, event.Label{})
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.skills.open = nil
		w.drain()
		if got := w.said(run); got != "All in." {
			t.Fatalf("round %d: said %q, run is %s", round, got, w.run(run).State)
		}
		w.exact(run)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	db := storetest.OpenSQLite(b)
	w := newWorld(b, db, noteScript)
	w.skills.on("file.write", confirmed(`{"path":"notes.md"}`))
	thread := db.IDs.New()
	for b.Loop() {
		run, err := w.task(thread, "write it")
		if err != nil {
			b.Fatal(err)
		}
		for range 2 {
			if err := w.svc.Work(context.Background(), db.Account, run); err != nil {
				b.Fatal(err)
			}
		}
		if r := w.run(run); r.State != agent.Finished {
			b.Fatal(r.State)
		}
	}
}
