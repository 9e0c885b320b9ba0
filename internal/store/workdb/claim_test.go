package workdb_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

func TestAVanishedWorkerLosesItsTaskAndItsLateWordsAreRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Claims")
		task := b.task(t, w, "task")
		for round := 1; round <= 3; round++ {
			c, ok, err := b.claim(worker(w, round), w)
			if err != nil || !ok || c.Task.ID != task.ID {
				t.Fatalf("round %d: %t %v", round, ok, err)
			}
			gone := holding(worker(w, round), c)
			b.Clock.Advance(30 * time.Second)
			must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) { return b.RenewClaim(tx, gone, w.ID, task.ID) }))
			b.Clock.Advance(45 * time.Second)
			if b.fire(t) != 0 || b.get(t, task.ID).Status != work.Ongoing {
				t.Fatal("a renewed lease ran out")
			}
			b.Clock.Advance(15 * time.Second)
			_, err = b.say(gone, task.ID, "late, and nobody noticed yet")
			refused(t, "late words", err, fault.Stale, "fence")
			if b.fire(t) != 1 {
				t.Fatal("the lease did not run out")
			}
			got := b.get(t, task.ID)
			reason := see(t, b, func(tx event.Tx) (work.Reason, error) { return b.Why(tx, got) })
			want, status := work.AfterLoss, work.NotStarted
			if round == 3 {
				want, status = work.LostTooOften, work.Blocked
			}
			if got.Status != status || reason != want {
				t.Fatalf("round %d: %s because %s", round, got.Status, reason)
			}
			for what, f := range map[string]func(tx event.Tx) (work.Task, error){
				"complete": func(tx event.Tx) (work.Task, error) {
					return b.MoveTask(tx, gone, work.Move{Task: task.ID, To: work.Completed})
				},
				"renew": func(tx event.Tx) (work.Task, error) { return b.RenewClaim(tx, gone, w.ID, task.ID) },
				"reply": func(tx event.Tx) (work.Task, error) {
					_, err := b.AddMessage(tx, gone, work.NewMessage{Task: task.ID, Text: "x"})
					return work.Task{}, err
				},
				"update": func(tx event.Tx) (work.Task, error) {
					return b.UpdateTask(tx, gone, id.Nil, task.ID, work.TaskChange{Body: new(string)})
				},
			} {
				_, err := do(b, f)
				refused(t, what, err, fault.Stale, "fence")
			}
		}
		// A person lets it go on, and it has all its lives again.
		if got := must[work.Task](t)(b.move(b.ada, task.ID, work.NotStarted)); got.Claim.Losses != 0 {
			t.Errorf("%d losses", got.Claim.Losses)
		}
		if _, ok, err := b.claim(worker(w, 9), w); !ok || err != nil {
			t.Errorf("%t %v", ok, err)
		}
	})
}

func TestAWorkerThatComesBackShutsItsFormerSelfOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Twins")
		task := b.task(t, w, "task")
		c, _, err := b.claim(worker(w, 1), w)
		if err != nil {
			t.Fatal(err)
		}
		old := holding(worker(w, 1), c)
		again := must[work.Claimed](t)(do(b, func(tx event.Tx) (work.Claimed, error) { return b.ClaimTask(tx, worker(w, 1), w.ID, task.ID, 0) }))
		_, err = b.say(old, task.ID, "from before")
		refused(t, "the former self", err, fault.Stale, "fence")
		must[work.Message](t)(b.say(holding(worker(w, 1), again), task.ID, "from now"))
		_, err = b.say(worker(w, 1), task.ID, "without a fence")
		refused(t, "no fence", err, fault.Stale, "fence")
	})
}

func TestAPersonTakesATaskOutOfAWorkersHands(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Hands")
		for what, take := range map[string]func(task id.ID) (work.Task, error){
			"moved": func(task id.ID) (work.Task, error) { return b.move(b.ada, task, work.Rejected) },
			"reassigned": func(task id.ID) (work.Task, error) {
				human := work.Human
				return do(b, func(tx event.Tx) (work.Task, error) {
					return b.UpdateTask(tx, b.ada, id.Nil, task, work.TaskChange{Assignee: &human})
				})
			},
		} {
			task := b.task(t, w, what)
			c, _, err := b.claim(worker(w, 1), w)
			if err != nil || c.Task.ID != task.ID {
				t.Fatal(err)
			}
			got := must[work.Task](t)(take(task.ID))
			if got.Claim.Claimant != "" || got.Status == work.Ongoing {
				t.Errorf("%s: %+v", what, got)
			}
			_, err = b.move(holding(worker(w, 1), c), task.ID, work.Completed)
			refused(t, what, err, fault.Stale, "fence")
		}
		if due, next, _, err := b.DueTimers(context.Background(), 10); err != nil || len(due) != 0 || !next.IsZero() {
			t.Errorf("timers are left: %v %v %v", due, next, err)
		}
		// What a person takes is theirs for long, but not for ever.
		task := b.task(t, w, "mine")
		must[work.Task](t)(b.move(b.ada, task.ID, work.Ongoing))
		b.Clock.Advance(6 * 24 * time.Hour)
		must[work.Message](t)(b.say(b.ada, task.ID, "still at it"))
		b.Clock.Advance(6 * 24 * time.Hour)
		if b.fire(t); b.get(t, task.ID).Status != work.Ongoing {
			t.Error("who writes is not gone")
		}
		b.Clock.Advance(8 * 24 * time.Hour)
		if b.fire(t); b.get(t, task.ID).Status != work.NotStarted {
			t.Error("it is ongoing for ever")
		}
	})
}

func TestWhatCannotBeOfferedHidesNothingBehindIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Queue")
		first := b.task(t, w, "blocker", func(n *work.NewTask) { n.Assignee = work.Human })
		b.task(t, w, "waits", func(n *work.NewTask) { n.Blockers = []id.ID{first.ID} })
		b.task(t, w, "for another", func(n *work.NewTask) { n.AssigneeRef = "worker:w7" })
		b.task(t, w, "for a resident", func(n *work.NewTask) { n.AssigneeRef = "agent:triage" })
		b.task(t, w, "a template", func(n *work.NewTask) { n.CronSchedule = "0 9 * * 1" })
		for range 250 { // more than the peer's window of a hundred
			b.task(t, w, "a person's", func(n *work.NewTask) { n.Assignee = work.Human })
		}
		free := b.task(t, w, "free")
		c, ok, err := b.claim(worker(w, 1), w)
		if err != nil || !ok || c.Task.ID != free.ID {
			t.Fatalf("%q %t %v", c.Task.Title, ok, err)
		}
		if _, ok, err := b.claim(worker(w, 1), w); ok || err != nil {
			t.Fatalf("%t %v", ok, err)
		}
		if c, ok, err := b.claim(worker(w, 7), w); err != nil || !ok || c.Task.Title != "for another" {
			t.Errorf("%q %t %v", c.Task.Title, ok, err)
		}
		must[work.Task](t)(b.move(b.ada, first.ID, work.Completed))
		if c, ok, err := b.claim(worker(w, 1), w); err != nil || !ok || c.Task.Title != "waits" {
			t.Errorf("%q %t %v", c.Task.Title, ok, err)
		}
	})
}

func TestAHaltStopsClaimsAndARestoreHoldsThem(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Stops")
		one, two := b.task(t, w, "one"), b.task(t, w, "two")
		if _, _, err := b.claim(worker(w, 1), w); err != nil {
			t.Fatal(err)
		}
		scope := "workspace:" + w.ID.String()
		b.Do(t, func(tx event.Tx) error { return store.Stop(tx, scope) })
		_, _, err := b.claim(worker(w, 2), w)
		refused(t, "claim", err, fault.Halted, "")
		_, err = b.move(b.ada, two.ID, work.Ongoing)
		refused(t, "take", err, fault.Halted, "")
		if got := see(t, b, func(tx event.Tx) (work.Reason, error) { return b.Why(tx, two) }); got != work.OfHalt {
			t.Error(got)
		}
		b.Do(t, func(tx event.Tx) error { return store.Unstop(tx, scope) })
		b.Do(t, func(tx event.Tx) error {
			_, err := tx.Emit(b.system, event.Draft{Payload: event.EpochStarted{Epoch: 2}, Label: storetest.House()})
			return err
		})
		got := b.get(t, one.ID)
		if why := see(t, b, func(tx event.Tx) (work.Reason, error) { return b.Why(tx, got) }); got.Status != work.Blocked || why != work.OfRestore {
			t.Errorf("%s because %s", got.Status, why)
		}
		if b.get(t, two.ID).Status != work.NotStarted {
			t.Error("what nobody held is held")
		}
	})
}

// agents runs n workers that take, work and complete until nothing is left, and
// counts the executions of each task.
func agents(t *testing.T, b *board, w work.Workspace, n int) map[id.ID]int {
	t.Helper()
	var mu sync.Mutex
	done := map[id.ID]int{}
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			for {
				c, ok, err := b.claim(worker(w, k), w)
				if err != nil {
					t.Error(err)
					return
				}
				if !ok {
					return
				}
				a := holding(worker(w, k), c)
				if _, err := b.say(a, c.Task.ID, "done"); err != nil {
					t.Error(err)
				}
				if _, err := b.move(a, c.Task.ID, work.Completed); err != nil {
					t.Error(err)
				}
				mu.Lock()
				done[c.Task.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return done
}

func TestSixteenAgentsDoTwoHundredTasksOnceEach(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Many hands")
		b.Do(t, func(tx event.Tx) error {
			for i := range 200 {
				if _, err := b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: fmt.Sprint(i), Assignee: work.Agent}); err != nil {
					return err
				}
			}
			return nil
		})
		done := agents(t, b, w, 16)
		executions := 0
		for n := range maps.Values(done) {
			executions += n
		}
		counts := see(t, b, func(tx event.Tx) (map[work.Status]int64, error) { return b.CountTasks(tx, b.ada, w.ID) })
		if len(done) != 200 || executions != 200 || counts[work.Completed] != 200 {
			t.Fatalf("%d tasks by %d executions, %v", len(done), executions, counts)
		}
	})
}

func TestTwoWritersOnTwoFieldsLoseNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Fields")
		task := b.task(t, w, "task")
		lost, conflicts := 0, 0
		for i := range 200 {
			seen := b.get(t, task.ID)
			order, to := int64(i+1)*1000, work.Completed
			if seen.Status == work.Completed {
				to = work.NotStarted
			}
			var wg sync.WaitGroup
			errs := make([]error, 3)
			wg.Go(func() {
				_, errs[0] = do(b, func(tx event.Tx) (work.Task, error) {
					return b.UpdateTask(tx, b.ada, id.Nil, task.ID, work.TaskChange{Seen: seen.Revision, SortOrder: &order})
				})
			})
			wg.Go(func() {
				_, errs[1] = do(b, func(tx event.Tx) (work.Task, error) {
					return b.MoveTask(tx, b.ada, work.Move{Task: task.ID, To: to, Seen: seen.Revision})
				})
			})
			wg.Go(func() { _, errs[2] = b.say(b.ada, task.ID, "beside") })
			wg.Wait()
			got := b.get(t, task.ID)
			for _, err := range errs {
				if err != nil {
					t.Fatalf("round %d: %v", i, err)
				}
			}
			if got.SortOrder != order || got.Status != to || got.Messages != int64(i+1) {
				lost++
			}
			// The same field from the same sight: the later one is told, by name.
			other := order + 1
			_, err := do(b, func(tx event.Tx) (work.Task, error) {
				return b.UpdateTask(tx, b.ada, id.Nil, task.ID, work.TaskChange{Seen: seen.Revision, SortOrder: &other})
			})
			if _, field, _ := fault.Public(err); fault.Is(err, fault.Conflict) && field == "sortOrder" {
				conflicts++
			}
		}
		if lost != 0 || conflicts != 200 {
			t.Fatalf("%d of 200 lost, %d of 200 told", lost, conflicts)
		}
	})
}

// TestAThousandInterleavingsHaveNoDoubleEffect lets workers take, vanish, come
// back and write late while time passes, in a thousand random orders, on the real
// rows: each task is completed at most once, by the worker that held it, and what
// was not completed is offered again.
func TestAThousandInterleavingsHaveNoDoubleEffect(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Orders")
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 1000 {
			task := b.task(t, w, fmt.Sprint(n))
			held := map[int]work.Actor{}
			var completed []int
			for range 10 {
				k := r.IntN(3)
				a, known := held[k]
				switch r.IntN(5) {
				case 0, 1:
					c, err := do(b, func(tx event.Tx) (work.Claimed, error) {
						if got, err := b.GetTask(tx, worker(w, k), id.Nil, task.ID); err != nil || got.Status == work.Completed {
							return work.Claimed{}, fault.New(fault.Conflict, "done")
						}
						return b.ClaimTask(tx, worker(w, k), w.ID, task.ID, time.Minute)
					})
					if err == nil {
						held[k] = holding(worker(w, k), c)
					} else if !fault.Is(err, fault.Conflict) {
						t.Fatal(err)
					}
				case 2:
					if !known {
						continue
					}
					if _, err := b.move(a, task.ID, work.Completed); err == nil {
						completed = append(completed, k)
					} else if !fault.Is(err, fault.Stale) && !fault.Is(err, fault.Conflict) {
						t.Fatal(err)
					}
				case 3:
					b.Clock.Advance(time.Duration(r.IntN(80)) * time.Second)
				case 4:
					b.fire(t)
				}
			}
			ends := 0
			for _, e := range see(t, b, func(tx event.Tx) ([]event.Event, error) { return b.History(tx, b.ada, id.Nil, task.ID, 0, 200) }) {
				if s, ok := e.Payload.(event.StatusUpdated); ok && s.To == "completed" && s.From != "completed" {
					ends++
				}
			}
			if got := b.get(t, task.ID); len(slices.Compact(completed)) > 1 || ends > 1 || ends == 1 && got.Status != work.Completed {
				t.Fatalf("order %d: completed %v, %d ends, %s", n, completed, ends, got.Status)
			}
			if got := b.get(t, task.ID); got.Status == work.Ongoing {
				b.Clock.Advance(2 * time.Minute)
				if b.fire(t); b.get(t, task.ID).Status == work.Ongoing {
					t.Fatalf("order %d: it is ongoing for ever", n)
				}
			}
		}
	})
}
