package workdb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

func (b *board) block(task, by id.ID) error {
	_, err := do(b, func(tx event.Tx) (work.Task, error) { return b.AddBlocker(tx, b.ada, id.Nil, task, by) })
	return err
}

func (b *board) parent(task, parent id.ID) error {
	_, err := do(b, func(tx event.Tx) (work.Task, error) {
		return b.UpdateTask(tx, b.ada, id.Nil, task, work.TaskChange{ParentID: &parent})
	})
	return err
}

func TestNoCircleOfParentsOrOfWaiting(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w, v := b.workspace(t, "One"), b.workspace(t, "Two")
		a, c, d := b.task(t, w, "a"), b.task(t, v, "c"), b.task(t, w, "d")
		for _, step := range [][2]id.ID{{c.ID, a.ID}, {d.ID, c.ID}} {
			if err := b.block(step[0], step[1]); err != nil {
				t.Fatal(err)
			}
			if err := b.parent(step[0], step[1]); err != nil {
				t.Fatal(err)
			}
		}
		for _, task := range []id.ID{a.ID, c.ID, d.ID} {
			refused(t, "waits for the last", b.block(a.ID, task), fault.Conflict, "blockerId")
			refused(t, "below the last", b.parent(a.ID, task), fault.Conflict, "parentId")
		}
		refused(t, "what is not there", b.block(a.ID, b.IDs.New()), fault.NotFound, "blockerId")
		refused(t, "what is not there", b.parent(a.ID, b.IDs.New()), fault.NotFound, "parentId")
		template := b.task(t, w, "template", func(n *work.NewTask) { n.CronSchedule = "0 9 * * 1" })
		refused(t, "a template", b.block(a.ID, template.ID), fault.Conflict, "blockerId")
		if err := b.block(d.ID, c.ID); err != nil || b.get(t, d.ID).Waits != 1 {
			t.Errorf("twice is once: %v", err)
		}
		deep := a
		for range 30 {
			p := deep.ID
			deep = b.task(t, w, "deeper", func(n *work.NewTask) { n.ParentID = p })
		}
		p := deep.ID
		for range 3 {
			last, err := do(b, func(tx event.Tx) (work.Task, error) {
				return b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: "x", ParentID: p})
			})
			if err != nil {
				refused(t, "too deep", err, fault.Limited, "parentId")
				return
			}
			p = last.ID
		}
		t.Error("tasks nest without end")
	})
}

// TestTwoAtOnceCannotCloseACircle makes pairs of tasks wait for each other, both
// links at the same time: one of them is refused.
func TestTwoAtOnceCannotCloseACircle(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Pairs")
		for range 25 {
			x, y := b.task(t, w, "x"), b.task(t, w, "y")
			for what, link := range map[string]func(a, c id.ID) error{"waiting": b.block, "parents": b.parent} {
				errs := make([]error, 2)
				var wg sync.WaitGroup
				wg.Go(func() { errs[0] = link(x.ID, y.ID) })
				wg.Go(func() { errs[1] = link(y.ID, x.ID) })
				wg.Wait()
				if (errs[0] == nil) == (errs[1] == nil) {
					t.Fatalf("%s: %v and %v", what, errs[0], errs[1])
				}
			}
		}
	})
}

func TestWhatWaitsGoesOnWhenAllIsDone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Waits")
		a, c := b.task(t, w, "a"), b.task(t, w, "c")
		d := b.task(t, w, "d", func(n *work.NewTask) { n.Blockers = []id.ID{a.ID, c.ID} })
		waits := func(want int, why work.Reason) {
			t.Helper()
			got := b.get(t, d.ID)
			if reason := see(t, b, func(tx event.Tx) (work.Reason, error) { return b.Why(tx, got) }); got.Waits != want || reason != why {
				t.Errorf("waits for %d because %s", got.Waits, reason)
			}
		}
		waits(2, work.AwaitsTasks)
		refused(t, "a claim", func() error { _, err := b.move(b.ada, d.ID, work.Ongoing); return err }(), fault.Conflict, "task")
		must[work.Task](t)(b.move(b.ada, a.ID, work.Completed))
		waits(1, work.AwaitsTasks)
		must[work.Task](t)(b.move(b.ada, a.ID, work.Ongoing)) // opened again
		waits(2, work.AwaitsTasks)
		must[work.Task](t)(b.move(b.ada, c.ID, work.Rejected)) // not done is not done
		waits(2, work.AwaitsTasks)
		must[work.Task](t)(b.move(b.ada, a.ID, work.Completed))
		b.Do(t, func(tx event.Tx) error { return b.DeleteTask(tx, b.ada, id.Nil, c.ID) })
		waits(0, work.AwaitsAnyWorker)
		if rest := see(t, b, func(tx event.Tx) ([]work.Task, error) { return b.Blockers(tx, b.ada, id.Nil, d.ID) }); len(rest) != 1 || rest[0].ID != a.ID {
			t.Errorf("%d blockers", len(rest))
		}
		must[work.Task](t)(b.move(b.ada, a.ID, work.NotStarted))
		waits(1, work.AwaitsTasks)
		for range 2 {
			must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) { return b.DropBlocker(tx, b.ada, id.Nil, d.ID, a.ID) }))
		}
		waits(0, work.AwaitsAnyWorker)
	})
}

// TestCompletingAndLinkingAtOnceAgree races the completion of tasks against links
// to them: nobody waits for what is done, and nobody forgets to wait.
func TestCompletingAndLinkingAtOnceAgree(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Races")
		for range 40 {
			blocker, task := b.task(t, w, "blocker"), b.task(t, w, "task")
			var wg sync.WaitGroup
			errs := make([]error, 2)
			wg.Go(func() { errs[0] = b.block(task.ID, blocker.ID) })
			wg.Go(func() { _, errs[1] = b.move(b.ada, blocker.ID, work.Completed) })
			wg.Wait()
			if got := b.get(t, task.ID); errs[0] != nil || errs[1] != nil || got.Waits != 0 {
				t.Fatalf("waits for %d: %v", got.Waits, errs)
			}
		}
	})
}

func TestADeletedTaskLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Gone")
		parent := b.task(t, w, "parent")
		child := b.task(t, w, "child", func(n *work.NewTask) { n.ParentID = parent.ID })
		must[work.Message](t)(b.say(b.ada, parent.ID, "x"))
		must[work.Task](t)(b.move(b.ada, parent.ID, work.Ongoing))
		c, _, err := b.claim(worker(w, 1), w)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, "a worker", b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
			return b.DeleteTask(tx, holding(worker(w, 1), c), w.ID, parent.ID)
		}), fault.Denied, "")
		b.Do(t, func(tx event.Tx) error { return b.DeleteTask(tx, b.ada, id.Nil, parent.ID) })
		if !b.get(t, child.ID).ParentID.IsZero() {
			t.Error("a child of nobody")
		}
		if rows := see(t, b, func(tx event.Tx) ([]work.Message, error) {
			return b.rows.ListMessages(tx, parent.ID, 0, 100, false, 10)
		}); len(rows) != 0 {
			t.Error("its thread is left")
		}
		if past := see(t, b, func(tx event.Tx) ([]event.Event, error) { return b.rows.History(tx, parent.ID, 0, 10) }); len(past) == 0 {
			t.Error("its history is gone")
		}
		if _, next, _, err := b.DueTimers(context.Background(), 10); err != nil || next.IsZero() {
			t.Errorf("the child's lease went with it: %v", err)
		}
	})
}

func (b *board) order(t testing.TB, w work.Workspace) string {
	t.Helper()
	var out []string
	last := id.Nil
	for {
		page := see(t, b, func(tx event.Tx) ([]work.Task, error) {
			return b.ListTasks(tx, b.ada, work.TaskQuery{Workspace: w.ID, Statuses: []work.Status{work.NotStarted}, Board: true, Limit: 3}, last)
		})
		for _, r := range page {
			out = append(out, r.Title)
			last = r.ID
		}
		if len(page) < 3 {
			return strings.Join(out, "")
		}
	}
}

func TestATaskIsPlacedBehindAnother(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Board")
		at := map[string]id.ID{"": id.Nil}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			at[name] = b.task(t, w, name).ID
		}
		place := func(task, behind string) {
			t.Helper()
			must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) { return b.PlaceTask(tx, b.ada, id.Nil, at[task], at[behind]) }))
		}
		for _, c := range [][3]string{{"e", "", "eabcd"}, {"e", "b", "abecd"}, {"d", "a", "adbec"}, {"a", "c", "dbeca"}, {"a", "c", "dbeca"}} {
			place(c[0], c[1])
			if got := b.order(t, w); got != c[2] {
				t.Fatalf("%s behind %q: %s, want %s", c[0], c[1], got, c[2])
			}
		}
		_, err := do(b, func(tx event.Tx) (work.Task, error) { return b.PlaceTask(tx, b.ada, id.Nil, at["c"], at["c"]) })
		refused(t, "behind itself", err, fault.Conflict, "behind")
		want := []string{"d", "b", "e", "c", "a"}
		for i := range 60 { // far more than one can halve
			name := want[2+i%3]
			place(name, "d")
			k := slices.Index(want, name)
			want = slices.Insert(slices.Delete(want, k, k+1), 1, name)
			if got := b.order(t, w); got != strings.Join(want, "") {
				t.Fatalf("round %d: %s, want %s", i, got, strings.Join(want, ""))
			}
		}
		must[work.Task](t)(b.move(b.ada, at["b"], work.Rejected))
		_, err = do(b, func(tx event.Tx) (work.Task, error) { return b.PlaceTask(tx, b.ada, id.Nil, at["a"], at["b"]) })
		refused(t, "another column", err, fault.Conflict, "behind")
	})
}

func TestListsPageInTheirOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w, v := b.workspace(t, "Lists"), b.workspace(t, "Others")
		for i := range 9 {
			task := b.task(t, w, fmt.Sprint(i))
			b.task(t, v, "other")
			if i%3 == 0 {
				must[work.Task](t)(b.move(b.ada, task.ID, work.Rejected))
			}
			if i%3 == 1 {
				must[work.Task](t)(b.move(b.ada, task.ID, work.Blocked))
			}
		}
		for _, c := range []struct {
			q    work.TaskQuery
			want string
		}{
			{work.TaskQuery{Workspace: w.ID}, "876543210"},
			{work.TaskQuery{Workspace: w.ID, Statuses: []work.Status{work.Rejected, work.Blocked, work.Rejected}}, "764310"},
			{work.TaskQuery{Statuses: []work.Status{work.Rejected, work.Blocked}}, "764310"},
		} {
			got, last := "", id.Nil
			for range 10 {
				c.q.Limit = 2
				page := see(t, b, func(tx event.Tx) ([]work.Task, error) { return b.ListTasks(tx, b.ada, c.q, last) })
				for _, r := range page {
					got, last = got+r.Title, r.ID
				}
			}
			if got != c.want {
				t.Errorf("%v: %s, want %s", c.q.Statuses, got, c.want)
			}
		}
	})
}

// TestNothingIsWrittenBehindAnArchiving archives a workspace under eight writers:
// whatever they wrote stands before the archiving, and what comes after is refused.
func TestNothingIsWrittenBehindAnArchiving(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		for range 5 {
			w := b.workspace(t, "Frozen")
			task := b.task(t, w, "task")
			var wg sync.WaitGroup
			started := make(chan struct{}, 64)
			for k := range 8 {
				wg.Go(func() {
					for {
						var err error
						if k%2 == 0 {
							_, err = b.say(b.ada, task.ID, "x")
						} else {
							_, err = do(b, func(tx event.Tx) (work.Task, error) {
								return b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: "x"})
							})
						}
						if err != nil {
							refused(t, "a write", err, fault.Conflict, "workspace")
							return
						}
						select {
						case started <- struct{}{}:
						default:
						}
					}
				})
			}
			for range 16 {
				<-started
			}
			must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.ArchiveWorkspace(tx, b.ada, w.ID) }))
			wg.Wait()
			archived := false
			for _, e := range b.Events(t) {
				var here id.ID
				switch p := e.Payload.(type) {
				case event.WorkspaceUpdated:
					archived = archived || p.WorkspaceID == w.ID
				case event.TaskCreated:
					here = p.WorkspaceID
				case event.MessageCreated:
					here = p.WorkspaceID
				}
				if archived && here == w.ID {
					t.Fatalf("%s stands behind the archiving", e.Type)
				}
			}
		}
	})
}
