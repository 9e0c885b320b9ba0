package workdb_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

func (b *board) fork(t testing.TB, w work.Workspace) work.Workspace {
	t.Helper()
	return must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.ForkWorkspace(tx, b.ada, w.ID) }))
}

func (b *board) merge(f work.Workspace) error {
	_, err := do(b, func(tx event.Tx) (work.Workspace, error) { return b.MergeFork(tx, b.ada, f.ID) })
	return err
}

func TestAForkFollowsItsParentAndIsMergedBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Coding")
		b.task(t, w, "of the parent")
		f := b.fork(t, w)
		if f.Name != "Coding fork 1" || f.SelfLearningLoopNote != w.SelfLearningLoopNote || f.ForkOf != w.ID || f.ContentID() != w.ID || w.ContentID() != w.ID {
			t.Fatalf("%+v", f)
		}
		edit := func(of work.Workspace, c work.WorkspaceChange) error {
			_, err := do(b, func(tx event.Tx) (work.Workspace, error) { return b.UpdateWorkspace(tx, b.ada, of.ID, c) })
			return err
		}
		brief, name := "a new brief", "Coding, the other way"
		refused(t, "settings of a fork", edit(f, work.WorkspaceChange{Description: &brief}), fault.Conflict, "workspace")
		if err := edit(f, work.WorkspaceChange{Name: &name}); err != nil {
			t.Error(err)
		}
		if err := edit(w, work.WorkspaceChange{Description: &brief}); err != nil {
			t.Fatal(err)
		}
		if got := see(t, b, func(tx event.Tx) (work.Workspace, error) { return b.GetWorkspace(tx, b.ada, f.ID) }); got.Description != brief || got.Name != name {
			t.Errorf("%+v", got)
		}
		for what, of := range map[string]work.Workspace{"a fork": f, "a parent with a fork": w} {
			_, err := do(b, func(tx event.Tx) (work.Workspace, error) { return b.ArchiveWorkspace(tx, b.ada, of.ID) })
			refused(t, what, err, fault.Conflict, "workspace")
		}
		_, err := do(b, func(tx event.Tx) (work.Workspace, error) { return b.ForkWorkspace(tx, b.ada, f.ID) })
		refused(t, "a fork of a fork", err, fault.Conflict, "workspace")
		refused(t, "no fork", b.merge(w), fault.Conflict, "workspace")

		done, open := b.task(t, f, "done"), b.task(t, f, "open")
		must[work.Task](t)(b.move(b.ada, done.ID, work.Completed))
		refused(t, "unfinished tasks", b.merge(f), fault.Conflict, "workspace")
		must[work.Task](t)(b.move(b.ada, open.ID, work.Rejected))
		if err := b.merge(f); err != nil {
			t.Fatal(err)
		}
		refused(t, "merged twice", b.merge(f), fault.Conflict, "workspace")
		_, err = do(b, func(tx event.Tx) (work.Workspace, error) { return b.UnarchiveWorkspace(tx, b.ada, f.ID) })
		refused(t, "unarchived", err, fault.Conflict, "workspace")
		_, err = do(b, func(tx event.Tx) (work.Task, error) {
			return b.CreateTask(tx, b.ada, work.NewTask{Workspace: f.ID, Title: "x"})
		})
		refused(t, "a task in what is merged", err, fault.Conflict, "workspace")

		list := see(t, b, func(tx event.Tx) ([]work.Task, error) {
			return b.ListTasks(tx, b.ada, work.TaskQuery{Workspace: w.ID}, id.Nil)
		})
		if len(list) != 3 || list[0].ID != open.ID || list[1].Key() != done.Key() {
			t.Errorf("%d tasks", len(list))
		}
		if by := see(t, b, func(tx event.Tx) (work.Task, error) { return b.TaskByKey(tx, b.ada, done.Key()) }); by.WorkspaceID != w.ID {
			t.Errorf("%s is in %s", done.Key(), by.WorkspaceID)
		}
		must[work.Message](t)(b.say(b.ada, done.ID, "a word after the merge"))
		must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.ArchiveWorkspace(tx, b.ada, w.ID) }))
	})
}

// TestAMergeAndANewTaskAtOnceAgree races merges against new tasks: a task is
// either seen by the merge, which is refused, or refused itself.
func TestAMergeAndANewTaskAtOnceAgree(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Merges")
		for i := range 30 {
			f := b.fork(t, w)
			var task work.Task
			errs := make([]error, 2)
			var wg sync.WaitGroup
			wg.Go(func() {
				task, errs[0] = do(b, func(tx event.Tx) (work.Task, error) {
					return b.CreateTask(tx, b.ada, work.NewTask{Workspace: f.ID, Title: fmt.Sprint(i)})
				})
			})
			wg.Go(func() { errs[1] = b.merge(f) })
			wg.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Fatalf("round %d: %v and %v", i, errs[0], errs[1])
			}
			if errs[0] == nil {
				must[work.Task](t)(b.move(b.ada, task.ID, work.Rejected))
				if err := b.merge(f); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
