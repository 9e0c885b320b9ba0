package workdb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

// board is the work on a real engine.
type board struct {
	*storetest.DB
	*work.Service
	rows   *workdb.Store
	system event.Origin
	ada    work.Actor
}

func openBoard(t testing.TB, db *storetest.DB) *board {
	t.Helper()
	b := &board{DB: db, rows: workdb.New(), system: storetest.Origin(t, event.LayerSystem, event.ClassSystem, "timers", "timer.fired", "epoch.started")}
	o := storetest.Origin(t, event.LayerDispatch, event.ClassWork, "work", work.EventTypes()...)
	var err error
	if b.Service, err = work.New(b.rows, o, work.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	b.ada = b.person()
	db.React(storetest.Reactions{
		{Name: "work.lease", On: []event.Type{"timer.fired"}, Run: b.OnTimer},
		{Name: "work.epoch", On: []event.Type{"epoch.started"}, Run: b.OnEpoch},
	})
	return b
}

func (b *board) person() work.Actor {
	p := b.IDs.New()
	return work.Actor{Principal: "person:" + p.String(), Subject: p, Trust: 1_000_000, Label: event.NewLabel(event.Person, event.AccountWide())}
}

func worker(w work.Workspace, n int) work.Actor {
	return work.Actor{Principal: fmt.Sprintf("worker:w%d", n), Workspace: w.ID, Trust: 500_000, Label: event.NewLabel(event.Known, event.AccountWide())}
}

// do runs f in a transaction and returns what it gives.
func do[T any](b *board, f func(tx event.Tx) (T, error)) (out T, err error) {
	err = b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) (err error) { out, err = f(tx); return err })
	return out, err
}

func see[T any](t testing.TB, b *board, f func(tx event.Tx) (T, error)) (out T) {
	t.Helper()
	b.See(t, func(tx event.Tx) (err error) { out, err = f(tx); return err })
	return out
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (b *board) workspace(t testing.TB, name string) work.Workspace {
	t.Helper()
	return must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) {
		return b.CreateWorkspace(tx, b.ada, work.NewWorkspace{Name: name, SelfLearningLoopNote: "Write what you learn."})
	}))
}

func (b *board) task(t testing.TB, w work.Workspace, title string, change ...func(*work.NewTask)) work.Task {
	t.Helper()
	n := work.NewTask{Workspace: w.ID, Title: title, Body: "the body of " + title, Assignee: work.Agent}
	for _, c := range change {
		c(&n)
	}
	return must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) { return b.CreateTask(tx, b.ada, n) }))
}

func (b *board) get(t testing.TB, task id.ID) work.Task {
	t.Helper()
	return see(t, b, func(tx event.Tx) (work.Task, error) { return b.GetTask(tx, b.ada, id.Nil, task) })
}

func (b *board) claim(a work.Actor, w work.Workspace) (c work.Claimed, ok bool, err error) {
	err = b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) (err error) {
		c, ok, err = b.ClaimNext(tx, a, w.ID, time.Minute)
		return err
	})
	return c, ok, err
}

func (b *board) move(a work.Actor, task id.ID, to work.Status) (work.Task, error) {
	return do(b, func(tx event.Tx) (work.Task, error) { return b.MoveTask(tx, a, work.Move{Task: task, To: to}) })
}

func (b *board) say(a work.Actor, task id.ID, text string) (work.Message, error) {
	return do(b, func(tx event.Tx) (work.Message, error) {
		return b.AddMessage(tx, a, work.NewMessage{Task: task, Text: text})
	})
}

// fire lets every lease that is due run out, as the timers of a node would.
func (b *board) fire(t testing.TB) (fired int) {
	t.Helper()
	due, _, _, err := b.DueTimers(context.Background(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range due {
		if ok, err := b.Fire(context.Background(), d, b.system); err != nil {
			t.Fatal(err)
		} else if ok {
			fired++
		}
	}
	return fired
}

func holding(a work.Actor, c work.Claimed) work.Actor { a.Fence = c.Task.Claim.Fence; return a }

// refused checks that an error is of a kind and names a field.
func refused(t testing.TB, what string, err error, kind fault.Kind, field string) {
	t.Helper()
	if _, on, _ := fault.Public(err); !fault.Is(err, kind) || field != "" && on != field {
		t.Errorf("%s: %v (%s on %q), want %s on %q", what, err, fault.KindOf(err), on, kind, field)
	}
}

func TestATasksLifeIsInItsRowsAndItsHistory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Billing")
		first, second := b.task(t, w, "First"), b.task(t, w, "Second")
		if first.Key() != "BIL-1" || second.Key() != "BIL-2" || first.CreatedBy != work.Human || first.Trust != 1_000_000 {
			t.Fatalf("%s %s %+v", first.Key(), second.Key(), first)
		}
		if by := see(t, b, func(tx event.Tx) (work.Task, error) { return b.TaskByKey(tx, b.ada, "BIL-2") }); by.ID != second.ID {
			t.Errorf("BIL-2 is %s", by.Title)
		}
		w1 := worker(w, 1)
		c, ok, err := b.claim(w1, w)
		if err != nil || !ok || c.Task.ID != first.ID || c.Note != "Write what you learn." || strings.Contains(c.Task.Body, c.Note) {
			t.Fatalf("%+v %t %v", c, ok, err)
		}
		w1 = holding(w1, c)
		must[work.Message](t)(b.say(w1, first.ID, "half of it is done"))
		done := must[work.Task](t)(b.move(w1, first.ID, work.Completed))
		must[work.Message](t)(b.say(w1, first.ID, "a word more"))
		must[work.Message](t)(b.say(b.ada, first.ID, "thank you"))
		if done.Status != work.Completed || done.Claim.Claimant != "" {
			t.Fatalf("%+v", done)
		}
		back := b.get(t, first.ID)
		if back.Messages != 4 || back.Label.String() != "p:a" || back.Title != "First" || back.Body != "the body of First" {
			t.Errorf("%+v", back)
		}
		page := see(t, b, func(tx event.Tx) ([]work.Message, error) {
			return b.ListMessages(tx, b.ada, work.MessagePage{Task: first.ID})
		})
		var said []string
		for _, m := range page {
			said = append(said, m.Sender+": "+m.Text)
		}
		if got := strings.Join(said, "|"); got != "agent: half of it is done|agent: Status updated to: completed|agent: a word more|human: thank you" {
			t.Error(got)
		}
		if page[0].Label.String() != "k:a" || page[3].Label.String() != "p:a" {
			t.Errorf("labels %s %s", page[0].Label, page[3].Label)
		}
		history := see(t, b, func(tx event.Tx) ([]event.Event, error) { return b.History(tx, b.ada, id.Nil, first.ID, 0, 100) })
		var types []string
		for _, e := range history {
			types = append(types, string(e.Type))
		}
		if got := strings.Join(types, " "); got != "task.created status.updated message.created status.updated message.created message.created message.created" {
			t.Error(got)
		}
		if counts := see(t, b, func(tx event.Tx) (map[work.Status]int64, error) { return b.CountTasks(tx, b.ada, w.ID) }); counts[work.Completed] != 1 || counts[work.NotStarted] != 1 {
			t.Error(counts)
		}
	})
}

func TestAnArchivedWorkspaceRefusesEveryWrite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Old things")
		held, other, third := b.task(t, w, "held"), b.task(t, w, "other"), b.task(t, w, "third")
		c, _, err := b.claim(worker(w, 1), w)
		if err != nil {
			t.Fatal(err)
		}
		w1 := holding(worker(w, 1), c)
		do(b, func(tx event.Tx) (work.Task, error) { return b.AddBlocker(tx, b.ada, id.Nil, third.ID, other.ID) })
		for range 2 { // twice is once
			must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.ArchiveWorkspace(tx, b.ada, w.ID) }))
		}
		title := "x"
		_, token, err := work.MintToken(strings.NewReader(strings.Repeat("x", 40)))
		if err != nil {
			t.Fatal(err)
		}
		for what, f := range map[string]func(tx event.Tx) (work.Task, error){
			"create": func(tx event.Tx) (work.Task, error) {
				return b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: "x"})
			},
			"create by worker": func(tx event.Tx) (work.Task, error) {
				return b.CreateTask(tx, w1, work.NewTask{Workspace: w.ID, Title: "x"})
			},
			"update": func(tx event.Tx) (work.Task, error) {
				return b.UpdateTask(tx, b.ada, id.Nil, other.ID, work.TaskChange{Title: &title})
			},
			"move": func(tx event.Tx) (work.Task, error) {
				return b.MoveTask(tx, b.ada, work.Move{Task: other.ID, To: work.Rejected})
			},
			"complete": func(tx event.Tx) (work.Task, error) {
				return b.MoveTask(tx, w1, work.Move{Task: held.ID, To: work.Completed})
			},
			"renew":   func(tx event.Tx) (work.Task, error) { return b.RenewClaim(tx, w1, w.ID, held.ID) },
			"release": func(tx event.Tx) (work.Task, error) { return b.ReleaseClaim(tx, w1, w.ID, held.ID) },
			"place":   func(tx event.Tx) (work.Task, error) { return b.PlaceTask(tx, b.ada, id.Nil, other.ID, id.Nil) },
			"block":   func(tx event.Tx) (work.Task, error) { return b.AddBlocker(tx, b.ada, id.Nil, other.ID, held.ID) },
			"unblock": func(tx event.Tx) (work.Task, error) { return b.DropBlocker(tx, b.ada, id.Nil, third.ID, other.ID) },
			"delete":  func(tx event.Tx) (work.Task, error) { return work.Task{}, b.DeleteTask(tx, b.ada, id.Nil, other.ID) },
			"reply": func(tx event.Tx) (work.Task, error) {
				_, err := b.AddMessage(tx, w1, work.NewMessage{Task: held.ID, Text: "x"})
				return work.Task{}, err
			},
			"answer": func(tx event.Tx) (work.Task, error) {
				_, err := b.AnswerMessage(tx, b.ada, id.Nil, held.ID, "r", "allow")
				return work.Task{}, err
			},
			"claim next": func(tx event.Tx) (work.Task, error) { c, _, err := b.ClaimNext(tx, w1, w.ID, 0); return c.Task, err },
			"claim one": func(tx event.Tx) (work.Task, error) {
				c, err := b.ClaimTask(tx, w1, w.ID, other.ID, 0)
				return c.Task, err
			},
			"edit": func(tx event.Tx) (work.Task, error) {
				_, err := b.UpdateWorkspace(tx, b.ada, w.ID, work.WorkspaceChange{Name: &title})
				return work.Task{}, err
			},
			"rotate token": func(tx event.Tx) (work.Task, error) {
				_, err := b.RotateToken(tx, b.ada, w.ID, token)
				return work.Task{}, err
			},
		} {
			_, err := do(b, f)
			refused(t, what, err, fault.Conflict, "workspace")
			if err == nil || !strings.Contains(err.Error(), "archived") {
				t.Errorf("%s: %v", what, err)
			}
		}
		must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.UnarchiveWorkspace(tx, b.ada, w.ID) }))
		// Nobody held anything in the archive; the queue is as it was.
		_, err = b.move(w1, held.ID, work.Completed)
		refused(t, "a claim from before", err, fault.Stale, "fence")
		if c, ok, err := b.claim(worker(w, 2), w); err != nil || !ok || c.Task.ID != held.ID || c.Task.Claim.Losses != 0 {
			t.Errorf("%t %v %+v", ok, err, c.Task.Claim)
		}
	})
}

func TestWhatIsNotThereAndWhatIsForeignLookAlike(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w, other := b.workspace(t, "Here"), b.workspace(t, "There")
		there := b.task(t, other, "there")
		stranger := db.NewAccount(t)
		w1 := worker(w, 1)
		answers := map[string]bool{}
		for _, c := range []struct {
			account, workspace, task id.ID
			a                        work.Actor
		}{
			{b.Account, id.Nil, b.IDs.New(), b.ada}, {b.Account, w.ID, there.ID, b.ada}, {b.Account, id.Nil, there.ID, w1}, {b.Account, id.Nil, id.Nil, b.ada},
			{stranger, id.Nil, there.ID, b.ada},
		} {
			for what, f := range map[string]func(tx event.Tx) error{
				"get": func(tx event.Tx) error { _, err := b.GetTask(tx, c.a, c.workspace, c.task); return err },
				"update": func(tx event.Tx) error {
					_, err := b.UpdateTask(tx, c.a, c.workspace, c.task, work.TaskChange{})
					return err
				},
				"move": func(tx event.Tx) error {
					_, err := b.MoveTask(tx, c.a, work.Move{Workspace: c.workspace, Task: c.task, To: work.Rejected})
					return err
				},
				"claim": func(tx event.Tx) error { _, err := b.ClaimTask(tx, c.a, c.workspace, c.task, 0); return err },
				"renew": func(tx event.Tx) error { _, err := b.RenewClaim(tx, c.a, c.workspace, c.task); return err },
				"reply": func(tx event.Tx) error {
					_, err := b.AddMessage(tx, c.a, work.NewMessage{Workspace: c.workspace, Task: c.task, Text: "x"})
					return err
				},
				"answer": func(tx event.Tx) error {
					_, err := b.AnswerMessage(tx, c.a, c.workspace, c.task, "r", "allow")
					return err
				},
				"thread": func(tx event.Tx) error {
					_, err := b.ListMessages(tx, c.a, work.MessagePage{Workspace: c.workspace, Task: c.task})
					return err
				},
				"history": func(tx event.Tx) error { _, err := b.History(tx, c.a, c.workspace, c.task, 0, 10); return err },
				"block":   func(tx event.Tx) error { _, err := b.AddBlocker(tx, c.a, c.workspace, c.task, there.ID); return err },
				"unblock": func(tx event.Tx) error { _, err := b.DropBlocker(tx, c.a, c.workspace, c.task, there.ID); return err },
				"delete":  func(tx event.Tx) error { return b.DeleteTask(tx, c.a, c.workspace, c.task) },
			} {
				err := b.Journal.Do(context.Background(), c.account, f)
				refused(t, what, err, fault.NotFound, "task")
				answers[err.Error()] = true
			}
		}
		for what, f := range map[string]func(tx event.Tx) error{
			"get": func(tx event.Tx) error { _, err := b.GetWorkspace(tx, w1, other.ID); return err },
			"edit": func(tx event.Tx) error {
				_, err := b.UpdateWorkspace(tx, b.ada, b.IDs.New(), work.WorkspaceChange{})
				return err
			},
			"list": func(tx event.Tx) error {
				_, err := b.ListTasks(tx, w1, work.TaskQuery{Workspace: other.ID}, id.Nil)
				return err
			},
			"count": func(tx event.Tx) error { _, err := b.CountTasks(tx, w1, other.ID); return err },
			"claim": func(tx event.Tx) error { _, _, err := b.ClaimNext(tx, w1, other.ID, 0); return err },
			"create": func(tx event.Tx) error {
				_, err := b.CreateTask(tx, w1, work.NewTask{Workspace: other.ID, Title: "x"})
				return err
			},
		} {
			refused(t, what, b.Journal.Do(context.Background(), b.Account, f), fault.NotFound, "workspace")
		}
		if len(answers) != 1 {
			t.Errorf("the answers differ: %v", answers)
		}
		if len(see(t, b, func(tx event.Tx) ([]work.Task, error) { return b.ListTasks(tx, w1, work.TaskQuery{}, id.Nil) })) != 0 {
			t.Error("a worker lists another workspace's tasks")
		}
	})
}

func TestATokenOpensItsWorkspaceUntilItIsRotated(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Doors")
		var before string
		for _, seed := range []string{"a", "b"} {
			secretText, token, err := work.MintToken(strings.NewReader(strings.Repeat(seed, 40)))
			if err != nil {
				t.Fatal(err)
			}
			got := must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.RotateToken(tx, b.ada, w.ID, token) }))
			if text := secretText.Reveal(); text[len(text)-4:] != got.Token.LastFour || text == before {
				t.Errorf("%q ends in %q", text, got.Token.LastFour)
			}
			opened := see(t, b, func(tx event.Tx) (work.Workspace, error) { return b.WorkspaceByToken(tx, secretText) })
			if opened.ID != w.ID {
				t.Error("it opens another")
			}
			if before = secretText.Reveal(); seed == "a" {
				t.Cleanup(func() {
					for _, e := range b.Events(t) {
						if u, ok := e.Payload.(event.WorkspaceUpdated); ok && strings.Contains(fmt.Sprint(u), before) {
							t.Error("an event holds a token")
						}
					}
				})
				continue
			}
			old, _, _ := work.MintToken(strings.NewReader(strings.Repeat("a", 40)))
			err = b.Journal.View(context.Background(), b.Account, func(tx event.Tx) error { _, err := b.WorkspaceByToken(tx, old); return err })
			refused(t, "the old token", err, fault.Unauthorized, "")
		}
	})
}

func TestErasureTakesTheWordsOfATaskAndLeavesTheTask(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Words")
		task := b.task(t, w, "mine")
		bob := b.person()
		title := "bob's title"
		must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) {
			return b.UpdateTask(tx, bob, id.Nil, task.ID, work.TaskChange{Title: &title})
		}))
		must[work.Message](t)(b.say(b.ada, task.ID, "ada's word"))
		must[work.Message](t)(b.say(bob, task.ID, "bob's word"))
		audit := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "subject.erased")
		if err := db.Erase(context.Background(), db.Account, b.ada.Subject, "person:owner", audit); err != nil {
			t.Fatal(err)
		}
		got := b.get(t, task.ID)
		if got.Body != "" || got.Title != "bob's title" || got.Key() != task.Key() {
			t.Errorf("%+v", got)
		}
		page := see(t, b, func(tx event.Tx) ([]work.Message, error) {
			return b.ListMessages(tx, bob, work.MessagePage{Task: task.ID})
		})
		if len(page) != 2 || page[0].Text != "" || page[1].Text != "bob's word" {
			t.Errorf("%+v", page)
		}
		for _, e := range b.Events(t) {
			if e.Type == "task.created" && !e.Erased {
				t.Error("the event still has the words")
			}
		}
	})
}

func TestNarrowWordsDoNotReachABoard(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Open")
		task := b.task(t, w, "task")
		quiet := b.ada
		quiet.Label = event.NewLabel(event.Person, event.Only(b.ada.Principal))
		_, err := do(b, func(tx event.Tx) (work.Task, error) {
			return b.CreateTask(tx, quiet, work.NewTask{Workspace: w.ID, Title: "x"})
		})
		refused(t, "a task", err, fault.Denied, "")
		_, err = b.say(quiet, task.ID, "x")
		refused(t, "a message", err, fault.Denied, "")
		title := "x"
		_, err = do(b, func(tx event.Tx) (work.Task, error) {
			return b.UpdateTask(tx, quiet, id.Nil, task.ID, work.TaskChange{Title: &title})
		})
		refused(t, "a title", err, fault.Denied, "")
		// Somebody with less trust rewrites the body: the task is worth no more than that.
		low := worker(w, 1)
		low.Label = event.NewLabel(event.Outside, event.AccountWide())
		got := must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) {
			return b.UpdateTask(tx, low, id.Nil, task.ID, work.TaskChange{Body: &title})
		}))
		if got = b.get(t, got.ID); got.Label.String() != "o:a" || got.Trust != 500_000 {
			t.Errorf("label %s, trust %d", got.Label, got.Trust)
		}
	})
}

var errUndone = errors.New("undone")

func TestNumbersAreDenseAlsoWhenOneIsTakenBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Dense")
		for i := range 6 {
			err := b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
				if _, err := b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: "t"}); err != nil || i%2 == 0 {
					return err
				}
				return errUndone
			})
			if err != nil && !errors.Is(err, errUndone) {
				t.Fatal(err)
			}
		}
		list := see(t, b, func(tx event.Tx) ([]work.Task, error) {
			return b.ListTasks(tx, b.ada, work.TaskQuery{Workspace: w.ID}, id.Nil)
		})
		if len(list) != 3 || list[0].Key() != "DEN-3" || list[2].Key() != "DEN-1" {
			t.Errorf("%d, first %s", len(list), list[0].Key())
		}
	})
}

// TestNobodyFreesItself: no worker and no model lifts the gate of commands.
func TestNobodyFreesItself(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Gate")
		task := b.task(t, w, "task")
		c, _, err := b.claim(worker(w, 1), w)
		if err != nil {
			t.Fatal(err)
		}
		free := true
		resident := work.Actor{Principal: "agent:coordinator", Label: storetest.House()}
		for name, a := range map[string]work.Actor{"a worker": holding(worker(w, 1), c), "an agent": resident} {
			_, err := do(b, func(tx event.Tx) (work.Task, error) {
				return b.UpdateTask(tx, a, id.Nil, task.ID, work.TaskChange{AllowAllCommands: &free})
			})
			refused(t, name, err, fault.Denied, "allowAllCommands")
			_, err = do(b, func(tx event.Tx) (work.Task, error) {
				return b.CreateTask(tx, a, work.NewTask{Workspace: w.ID, Title: "x", AllowAllCommands: true})
			})
			refused(t, name, err, fault.Denied, "allowAllCommands")
		}
		_, err = do(b, func(tx event.Tx) (work.Workspace, error) {
			return b.UpdateWorkspace(tx, resident, w.ID, work.WorkspaceChange{AllowAllCommands: &free})
		})
		refused(t, "a workspace", err, fault.Denied, "allowAllCommands")
		if got := must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) {
			return b.UpdateTask(tx, b.ada, id.Nil, task.ID, work.TaskChange{AllowAllCommands: &free})
		})); !got.AllowAllCommands {
			t.Error("a person cannot")
		}
		free = false // to close it is anybody's
		must[work.Task](t)(do(b, func(tx event.Tx) (work.Task, error) {
			return b.UpdateTask(tx, holding(worker(w, 1), c), id.Nil, task.ID, work.TaskChange{AllowAllCommands: &free})
		}))
	})
}
