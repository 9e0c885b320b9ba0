package workdb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

func TestAThreadPagesByItsNumbers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Threads")
		task := b.task(t, w, "task")
		var wg sync.WaitGroup
		for k := range 8 { // eight at once: numbers stay dense
			wg.Go(func() {
				for range 5 {
					if _, err := b.say(b.ada, task.ID, fmt.Sprint("by ", k)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		page := func(p work.MessagePage) (out []int64) {
			p.Task = task.ID
			for _, m := range see(t, b, func(tx event.Tx) ([]work.Message, error) { return b.ListMessages(tx, b.ada, p) }) {
				out = append(out, m.Number)
			}
			return out
		}
		var all []int64
		for last := int64(0); ; {
			part := page(work.MessagePage{After: last, Limit: 7})
			if len(part) == 0 {
				break
			}
			all = append(all, part...)
			last = part[len(part)-1]
		}
		if len(all) != 40 || !slices.IsSorted(all) || all[0] != 1 || all[39] != 40 {
			t.Errorf("%v", all)
		}
		if got := page(work.MessagePage{Newest: true, Limit: 3}); !slices.Equal(got, []int64{40, 39, 38}) {
			t.Errorf("newest %v", got)
		}
		if got := page(work.MessagePage{Newest: true, Before: 38, Limit: 2}); !slices.Equal(got, []int64{37, 36}) {
			t.Errorf("before 38: %v", got)
		}
	})
}

func TestAQuestionIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Questions")
		task := b.task(t, w, "task")
		c, _, err := b.claim(worker(w, 1), w)
		if err != nil {
			t.Fatal(err)
		}
		w1 := holding(worker(w, 1), c)
		meta := event.MessageMetadata{Type: "permission_request", RequestID: "abcde", ToolName: "Bash", Status: work.Pending, Details: []byte(`{"command":"git status"}`)}
		ask := func(m event.MessageMetadata) (work.Message, error) {
			return do(b, func(tx event.Tx) (work.Message, error) {
				return b.AddMessage(tx, w1, work.NewMessage{Task: task.ID, Metadata: m})
			})
		}
		answer := func(a work.Actor, status string) (work.Message, error) {
			return do(b, func(tx event.Tx) (work.Message, error) {
				return b.AnswerMessage(tx, a, id.Nil, task.ID, "abcde", status)
			})
		}
		must[work.Message](t)(ask(meta))
		_, err = ask(meta)
		refused(t, "asked twice", err, fault.Conflict, "metadata.request_id")
		if got := b.get(t, task.ID); got.Pending != 1 || see(t, b, func(tx event.Tx) (work.Reason, error) { return b.Why(tx, got) }) != work.AwaitsAnswer {
			t.Errorf("%d wait", got.Pending)
		}
		mine := see(t, b, func(tx event.Tx) ([]work.Task, error) {
			return b.ListTasks(tx, b.ada, work.TaskQuery{Pending: true, Workspace: w.ID}, id.Nil)
		})
		if len(mine) != 1 {
			t.Errorf("%d wait for a person", len(mine))
		}
		_, err = answer(w1, "allow")
		refused(t, "a worker", err, fault.Denied, "status")
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = answer(b.ada, []string{"allow", "deny"}[i%2]) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				refused(t, "answered before", err, fault.Conflict, "requestId")
			}
		}
		page := see(t, b, func(tx event.Tx) ([]work.Message, error) {
			return b.ListMessages(tx, b.ada, work.MessagePage{Task: task.ID})
		})
		if won != 1 || b.get(t, task.ID).Pending != 0 || page[0].Metadata.Status == work.Pending || string(page[0].Metadata.Details) != `{"command":"git status"}` {
			t.Errorf("%d answers, %+v", won, page[0].Metadata)
		}
		meta.RequestID = "other"
		must[work.Message](t)(ask(meta))
		got := must[work.Message](t)(do(b, func(tx event.Tx) (work.Message, error) {
			return b.AnswerMessage(tx, w1, id.Nil, task.ID, "other", "cancel")
		}))
		if got.Metadata.Status != "cancel" {
			t.Error("a worker cannot take its own question back")
		}
		_, err = do(b, func(tx event.Tx) (work.Message, error) {
			return b.AnswerMessage(tx, b.ada, id.Nil, task.ID, "none", "allow")
		})
		refused(t, "no such request", err, fault.NotFound, "requestId")
	})
}

// TestAStatusChangeCostsTheSameInALongThread compares a thread of ten messages
// with one of ten thousand: what is written and what is told does not grow, and
// neither does the time. The bound is loose; a change that rewrote the thread
// would miss it by far.
func TestAStatusChangeCostsTheSameInALongThread(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Long")
		change := func(messages int) (time.Duration, int) {
			task := b.task(t, w, "task")
			for done := 0; done < messages; done += 100 {
				b.Do(t, func(tx event.Tx) error {
					for range min(100, messages) {
						if _, err := b.AddMessage(tx, b.ada, work.NewMessage{Task: task.ID, Text: strings.Repeat("words ", 20)}); err != nil {
							return err
						}
					}
					return nil
				})
			}
			var took []time.Duration
			for i := range 31 {
				to := work.Ongoing
				if i%2 == 1 {
					to = work.Completed
				}
				watch := clock.StartStopwatch()
				must[work.Task](t)(b.move(b.ada, task.ID, to))
				took = append(took, watch.Elapsed())
			}
			slices.Sort(took)
			size := 0
			for _, e := range see(t, b, func(tx event.Tx) ([]event.Event, error) { return b.rows.History(tx, task.ID, 0, 100_000) }) {
				if e.Type == "status.updated" {
					size = max(size, len(e.Sealed))
				}
			}
			return took[len(took)/2], size
		}
		short, small := change(10)
		long, large := change(10_000)
		if large > small+32 || large > 2048 {
			t.Errorf("an event of %d bytes, %d in a short thread", large, small)
		}
		if long > 5*short+5*time.Millisecond {
			t.Errorf("%s in a long thread, %s in a short one", long, short)
		}
	})
}

func TestFieldsOfAWorkspaceDoNotBlankEachOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Blank")
		brief, name := "what it is for", "Renamed"
		update := func(c work.WorkspaceChange) (work.Workspace, error) {
			return do(b, func(tx event.Tx) (work.Workspace, error) { return b.UpdateWorkspace(tx, b.ada, w.ID, c) })
		}
		must[work.Workspace](t)(update(work.WorkspaceChange{Seen: 1, Description: &brief}))
		got := must[work.Workspace](t)(update(work.WorkspaceChange{Seen: 1, Name: &name}))
		if got.Description != brief || got.Name != name || got.SelfLearningLoopNote != "Write what you learn." || got.Prefix != "BLA" {
			t.Errorf("%+v", got)
		}
		other := "other"
		_, err := update(work.WorkspaceChange{Seen: 1, Name: &other})
		refused(t, "the same field", err, fault.Conflict, "name")
		if back := see(t, b, func(tx event.Tx) (work.Workspace, error) { return b.GetWorkspace(tx, b.ada, w.ID) }); back.Name != name || back.Revision != 3 {
			t.Errorf("%+v", back)
		}
	})
}

func TestPrefixesAreUniqueAlsoWhenManyAsk(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		var mu sync.Mutex
		prefixes := map[string]bool{}
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				w, err := do(b, func(tx event.Tx) (work.Workspace, error) {
					return b.CreateWorkspace(tx, b.ada, work.NewWorkspace{Name: "Billing"})
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				prefixes[w.Prefix] = true
			})
		}
		wg.Wait()
		if len(prefixes) != 12 || !prefixes["BIL"] {
			t.Errorf("%v", prefixes)
		}
		_, err := do(b, func(tx event.Tx) (work.Workspace, error) {
			return b.CreateWorkspace(tx, b.ada, work.NewWorkspace{Name: "x", Prefix: "BIL"})
		})
		refused(t, "a prefix that is taken", err, fault.Conflict, "prefix")
	})
}
