package workdb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

// TestTenPublishesToTwentySubscribersAreTwoHundredTasks is the peer's crash: it
// made 4 of 200. Each publish here is sent by eight at once, half of the publishes
// by their key and half by their task.
func TestTenPublishesToTwentySubscribersAreTwoHundredTasks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		g := b.signal(t, "deploy_done")
		var places []work.Workspace
		for i := range 20 {
			places = append(places, b.workspace(t, fmt.Sprintf("Place %d", i)))
			must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: places[i].ID, Body: "{{EVENT_PAYLOAD}}"}))
		}
		var publishes []work.Publish
		for i := range 10 {
			p := work.Publish{Name: "deploy_done", Payload: fmt.Sprintf("release %d", i)}
			if i%2 == 0 {
				p.Key = fmt.Sprint("key ", i)
			} else {
				p.Task = b.task(t, places[i], "cause").ID
			}
			publishes = append(publishes, p)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		first, results := make([]int, 10), make([][]work.Published, 10)
		for range 8 {
			for i, p := range publishes {
				wg.Go(func() {
					out, err := b.publish(b.ada, p)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("publish %d: %v", i, err)
					}
					if results[i] = append(results[i], out); !out.Repeated {
						first[i]++
					}
				})
			}
		}
		wg.Wait()
		for i, n := range first {
			if n != 1 {
				t.Errorf("publish %d took effect %d times", i, n)
			}
			for _, r := range results[i][1:] {
				if r.ID != results[i][0].ID || !slices.Equal(made(r), made(results[i][0])) || len(r.Tasks) != 20 {
					t.Errorf("publish %d has two results: %d and %d tasks", i, len(r.Tasks), len(results[i][0].Tasks))
				}
			}
		}
		count, said := map[string]int{}, 0
		for _, e := range b.Events(t) {
			switch p := e.Payload.(type) {
			case event.TaskCreated:
				if !p.TriggerID.IsZero() {
					count[p.WorkspaceID.String()+p.Body]++
				}
			case event.SignalPublished:
				said++
			}
		}
		if len(count) != 200 || said != 10 {
			t.Errorf("%d tasks of %d publishes", len(count), said)
		}
		tasks := 0
		for before := id.Nil; ; {
			page := see(t, b, func(tx event.Tx) ([]work.Task, error) { return b.TasksOfSignal(tx, b.ada, g.ID, before, 64) })
			if tasks += len(page); len(page) < 64 {
				break
			}
			before = page[63].ID
		}
		rows := see(t, b, func(tx event.Tx) ([]work.Published, error) { return b.ListPublishes(tx, b.ada, g.ID, id.Nil, 50) })
		if tasks != 200 || len(rows) != 10 || len(rows[9].Tasks) != 20 {
			t.Errorf("%d tasks, %d publishes are listed", tasks, len(rows))
		}
	})
}

func made(p work.Published) (keys []string) {
	for _, m := range p.Tasks {
		keys = append(keys, m.Key)
	}
	slices.Sort(keys)
	return keys
}

func TestAPayloadIsDataInTheBodyAndNowhereElse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Triage")
		next := b.signal(t, "triaged")
		g := b.signal(t, "mail_in", func(n *work.NewSignal) { n.FAQ = []event.QA{{Q: "Who?", A: "{{EVENT_PAYLOAD}}"}} })
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Title: "Read {{EVENT_PAYLOAD}}",
			Body: "<{{EVENT_PAYLOAD}}> <{{EVENT_FAQ}}>", Emit: next.ID, AllowAllCommands: true}))
		stranger := work.Actor{Principal: "contact:c1", Subject: b.IDs.New(), Trust: 100_000, Label: event.NewLabel(event.Outside, event.AccountWide())}
		p := must[work.Published](t)(b.publish(stranger, work.Publish{Name: "mail_in", Payload: "{{EVENT_FAQ}} $1", FAQ: []event.QA{{Q: "Why?", A: "{{EVENT_FAQ}}"}}}))
		task := b.get(t, p.Tasks[0].Task)
		want := "<{{EVENT_FAQ}} $1> <Q: Who?\nA: {{EVENT_PAYLOAD}}\n\nQ: Why?\nA: {{EVENT_FAQ}}>\n\n" +
			`[On completion, before marking this task completed: call workspace {action: "publishEvent", payload: {name: "triaged", taskId: "` + task.ID.String() +
			`", payload: "<your output payload>"}}]` + "\nPayload guidelines: Say what triaged is about"
		if task.Body != want || task.Title != "Read {{EVENT_PAYLOAD}}" {
			t.Errorf("%q\n%q, want\n%q", task.Title, task.Body, want)
		}
		if task.Label.Integrity() != event.Outside || task.Trust != 100_000 || task.Author != "contact:c1" || task.BodyBy != stranger.Subject ||
			task.TitleBy == stranger.Subject || task.EventID != next.ID || task.TriggerID != g.ID || !task.AllowAllCommands || task.Assignee != work.Agent {
			t.Errorf("%+v", task)
		}
		for _, e := range b.Events(t) {
			if c, ok := e.Payload.(event.TaskCreated); ok && (e.Label.Integrity() != event.Outside || c.Trust != 100_000) {
				t.Errorf("its event is %s", e.Label)
			}
		}
		narrow := stranger
		narrow.Label = event.NewLabel(event.Person, event.Only("person:p1"))
		_, err := b.publish(narrow, work.Publish{Name: "mail_in"})
		refused(t, "what is not for everybody", err, fault.Denied, "")
		_, err = do(b, func(tx event.Tx) (work.Task, error) {
			free := true
			return b.UpdateTask(tx, stranger, id.Nil, task.ID, work.TaskChange{AllowAllCommands: &free})
		})
		if err != nil {
			t.Errorf("it is free already: %v", err)
		}
	})
}

func TestAWorkerPublishesUnderItsClaimOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w, far := b.workspace(t, "Here"), b.workspace(t, "Far")
		g := b.signal(t, "built")
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: far.ID, Body: "{{EVENT_PAYLOAD}}"}))
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Body: "{{EVENT_PAYLOAD}}"}))
		task := b.task(t, w, "build", func(n *work.NewTask) { n.EventID = g.ID })
		foreign := b.task(t, far, "not mine")
		one, two := worker(w, 1), worker(w, 2)
		_, err := b.publish(one, work.Publish{Name: "built", Task: task.ID, Payload: "early"})
		refused(t, "before it took the task", err, fault.Stale, "")
		_, err = b.publish(one, work.Publish{Name: "built", Task: foreign.ID})
		refused(t, "for a task that it does not see", err, fault.NotFound, "task")
		c, _, err := b.claim(one, w)
		if err != nil {
			t.Fatal(err)
		}
		one = holding(one, c)
		b.Clock.Advance(2 * time.Minute) // the lease runs out, and nobody noticed yet
		_, err = b.publish(one, work.Publish{Name: "built", Task: task.ID, Payload: "late"})
		refused(t, "after its lease", err, fault.Stale, "")
		b.fire(t)
		c, _, err = b.claim(two, w)
		if err != nil {
			t.Fatal(err)
		}
		two = holding(two, c)
		for what, a := range map[string]work.Actor{"who lost it": one, "without a fence": worker(w, 2)} {
			_, err = b.publish(a, work.Publish{Name: "built", Task: task.ID, Payload: "late"})
			refused(t, what, err, fault.Stale, "")
		}
		_, err = do(b, func(tx event.Tx) (none, error) {
			_, _, err := b.CompleteTask(tx, one, work.Completion{Task: task.ID, Payload: "late"})
			return none{}, err
		})
		refused(t, "who lost it completes", err, fault.Stale, "")
		p := must[work.Published](t)(b.publish(two, work.Publish{Name: "built", Task: task.ID, Payload: "v2"}))
		if len(p.Tasks) != 1 || p.Tasks[0].Workspace != w.ID || p.Repeated {
			t.Errorf("a worker sees what is made elsewhere: %+v", p.Tasks)
		}
		must[work.Task](t)(do(b, func(tx event.Tx) (done work.Task, err error) {
			done, again, err := b.CompleteTask(tx, two, work.Completion{Task: task.ID, Payload: "v3"})
			if err == nil && (!again.Repeated || again.Payload != "v2" || done.Status != work.Completed) {
				t.Errorf("%+v", again)
			}
			return done, err
		}))
		near, away := work.Publish{Name: "built", Payload: "near", Key: "k"}, work.Publish{Name: "built", Payload: "away", Key: "k"}
		must[work.Published](t)(b.publish(worker(w, 3), near))
		if p := must[work.Published](t)(b.publish(worker(far, 3), away)); p.Repeated {
			t.Error("workers of one name in two workspaces share their keys")
		}
		if p := must[work.Published](t)(b.publish(worker(far, 3), away)); !p.Repeated {
			t.Error("a worker's key is not kept")
		}
		if again, err := b.publish(two, work.Publish{Name: "built", Task: task.ID, Payload: "v4"}); err != nil || !again.Repeated {
			t.Errorf("its holder asks again: %v", err)
		}
		rows := see(t, b, func(tx event.Tx) ([]work.Published, error) { return b.ListPublishes(tx, b.ada, g.ID, id.Nil, 50) })
		if len(rows) != 3 || rows[2].Payload != "v2" || rows[2].Author != "worker:w2" || len(rows[2].Tasks) != 2 {
			t.Errorf("%+v", rows)
		}
	})
}

func TestATaskCompletesWithItsPublishOrNotAtAll(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "One")
		g := b.signal(t, "done_it")
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Body: "{{EVENT_PAYLOAD}}"}))
		task := b.task(t, w, "job", func(n *work.NewTask) { n.EventID = g.ID })
		complete := func(task id.ID, c work.Completion) (work.Published, error) {
			c.Task = task
			return do(b, func(tx event.Tx) (work.Published, error) { _, p, err := b.CompleteTask(tx, b.ada, c); return p, err })
		}
		_, err := complete(task.ID, work.Completion{Payload: strings.Repeat("x", 64<<10+1)})
		refused(t, "too long", err, fault.Limited, "payload")
		must[work.Task](t)(b.move(b.ada, task.ID, work.Rejected))
		_, err = complete(task.ID, work.Completion{Payload: "x"})
		refused(t, "from rejected", err, fault.Conflict, "status")
		must[work.Task](t)(b.move(b.ada, task.ID, work.NotStarted))
		_, err = complete(task.ID, work.Completion{Payload: "x", Seen: 1})
		refused(t, "of an old revision", err, fault.Conflict, "status")
		if rows := see(t, b, func(tx event.Tx) ([]work.Published, error) { return b.ListPublishes(tx, b.ada, g.ID, id.Nil, 50) }); len(rows) != 0 {
			t.Errorf("half of it happened: %+v", rows)
		}
		p := must[work.Published](t)(complete(task.ID, work.Completion{Payload: "the result"}))
		if got := b.get(t, p.Tasks[0].Task); got.Body != "the result" || b.get(t, task.ID).Status != work.Completed {
			t.Errorf("%+v", got)
		}
		_, err = complete(b.task(t, w, "plain").ID, work.Completion{})
		refused(t, "a task without a signal", err, fault.Conflict, "publish")
	})
}

func TestWhatCannotTakeATaskIsPassedOverAndNamed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		g := b.signal(t, "wide")
		shut, open := b.workspace(t, "Shut"), b.workspace(t, "Open")
		want := map[id.ID]string{}
		add := func(pass string, n work.NewTrigger) {
			t.Helper()
			n.Signal = g.ID
			want[must[work.Trigger](t)(b.trigger(n)).ID] = pass
		}
		add(work.PassArchived, work.NewTrigger{Workspace: shut.ID})
		add(work.PassDisabled, work.NewTrigger{Workspace: open.ID, Disabled: true})
		add(work.PassTooLong, work.NewTrigger{Workspace: open.ID, Body: strings.Repeat("{{EVENT_PAYLOAD}}", 5)})
		add("", work.NewTrigger{Workspace: open.ID, Body: "{{EVENT_PAYLOAD}}"})
		must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.ArchiveWorkspace(tx, b.ada, shut.ID) }))
		_, err := b.trigger(work.NewTrigger{Signal: g.ID, Workspace: shut.ID})
		refused(t, "a trigger into an archive", err, fault.Conflict, "workspace")
		p := must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "wide", Payload: strings.Repeat("x", 60<<10), Key: "k"}))
		for range 2 {
			have := map[id.ID]string{}
			for _, m := range p.Passed {
				have[m.TriggerID] = m.Reason
			}
			for _, m := range p.Tasks {
				have[m.Trigger] = ""
			}
			if len(have) != len(want) {
				t.Errorf("%v", have)
			}
			for g, pass := range want {
				if reason, ok := have[g]; !ok || reason != pass {
					t.Errorf("%q instead of %q", reason, pass)
				}
			}
			p = must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "wide", Payload: strings.Repeat("x", 60<<10), Key: "k"}))
		}
		_, err = b.publish(b.ada, work.Publish{Name: "wide", Payload: "other", Key: "k"})
		refused(t, "one key for two publishes", err, fault.Conflict, "Idempotency-Key")
		if other := must[work.Published](t)(b.publish(b.person(), work.Publish{Name: "wide", Payload: "other", Key: "k"})); other.Repeated {
			t.Error("the key of one is the key of another")
		}
		if a, z := must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "wide"})), must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "wide"})); a.ID == z.ID {
			t.Error("without a key each is its own")
		}
	})
}

// TestATriggerFollowsItsForkHome merges a fork that a signal makes tasks in.
func TestATriggerFollowsItsForkHome(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w, g := b.workspace(t, "Home"), b.signal(t, "build")
		fork := must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.ForkWorkspace(tx, b.ada, w.ID) }))
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: fork.ID, Body: "{{EVENT_PAYLOAD}}"}))
		must[work.Workspace](t)(do(b, func(tx event.Tx) (work.Workspace, error) { return b.MergeFork(tx, b.ada, fork.ID) }))
		p := must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "build"}))
		if len(p.Tasks) != 1 || p.Tasks[0].Workspace != w.ID || p.Tasks[0].Key != "HOM-1" {
			t.Errorf("%+v passed %+v", p.Tasks, p.Passed)
		}
	})
}

// TestAPersonsPayloadIsErasedWithThem erases who published: what they said is gone
// from the publish and from the tasks, and the same publish is still the same.
func TestAPersonsPayloadIsErasedWithThem(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w, g, next := b.workspace(t, "Kept"), b.signal(t, "asked"), b.signal(t, "answered")
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Title: "Answer", Body: "{{EVENT_PAYLOAD}}", Emit: next.ID}))
		guest := b.person()
		p := must[work.Published](t)(b.publish(guest, work.Publish{Name: "asked", Payload: "my name is Ada", Key: "k"}))
		asks := see(t, b, func(tx event.Tx) (string, error) { return b.Brief(tx, b.get(t, p.Tasks[0].Task), work.Flat) })
		if !strings.HasPrefix(asks, "my name is Ada\n\n[On completion") || !strings.Contains(asks, "call publishEvent(") {
			t.Error(asks)
		}
		if err := db.Erase(t.Context(), b.Account, guest.Subject, "person:owner", storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "subject.erased")); err != nil {
			t.Fatal(err)
		}
		if task := b.get(t, p.Tasks[0].Task); task.Body != "" || task.Title != "Answer" {
			t.Errorf("%q %q", task.Title, task.Body)
		}
		again := must[work.Published](t)(b.publish(guest, work.Publish{Name: "asked", Payload: "my name is Ada", Key: "k"}))
		if again.ID != p.ID || !again.Repeated || again.Payload != "" || len(again.Tasks) != 1 {
			t.Errorf("%+v", again)
		}
	})
}

func TestAPublishThatWouldWriteTooMuchIsRefusedWhole(t *testing.T) {
	t.Parallel()
	b := openBoard(t, storetest.OpenSQLite(t))
	w, g := b.workspace(t, "Heavy"), b.signal(t, "heavy")
	for range 60 {
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Body: strings.Repeat("{{EVENT_PAYLOAD}}", 3)}))
	}
	_, err := b.publish(b.ada, work.Publish{Name: "heavy", Payload: strings.Repeat("x", 60<<10)})
	refused(t, "60 bodies of 180 KiB", err, fault.Limited, "payload")
	if p := must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "heavy", Payload: "light"})); len(p.Tasks) != 60 || p.Tasks[0].Key != "HEA-1" {
		t.Errorf("%d tasks, the first %s", len(p.Tasks), p.Tasks[0].Key)
	}
}

// TestAChainThatOnlyShowsAtRunTimeStops has workers publish what no trigger leads
// to: the second time round it is recorded, said, and makes nothing.
func TestAChainThatOnlyShowsAtRunTimeStops(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Loop")
		for i := range 33 {
			g := b.signal(t, fmt.Sprintf("s%d", i))
			must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Body: "{{EVENT_PAYLOAD}}"}))
		}
		p := must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "s0"}))
		for i := 1; i < 32; i++ {
			p = must[work.Published](t)(b.publish(b.ada, work.Publish{Name: fmt.Sprint("s", i), Task: p.Tasks[0].Task}))
			if p.Stopped != "" || len(p.Tasks) != 1 || len(p.Chain) != i+1 {
				t.Fatalf("step %d: %+v", i, p)
			}
		}
		last := p.Tasks[0].Task
		for range 2 {
			for name, reason := range map[string]string{"s32": work.StopDepth, "s4": work.StopCircle} {
				p = must[work.Published](t)(b.publish(b.ada, work.Publish{Name: name, Task: last}))
				if p.Stopped != reason || len(p.Tasks) != 0 {
					t.Errorf("%s: %q, %d tasks", name, p.Stopped, len(p.Tasks))
				}
			}
		}
		var reasons []string
		for _, e := range b.Events(t) {
			if s, ok := e.Payload.(event.SignalStopped); ok {
				reasons = append(reasons, s.Reason)
			}
		}
		if slices.Sort(reasons); !slices.Equal(reasons, []string{"circle", "depth"}) {
			t.Errorf("%v", reasons)
		}
	})
}

// TestNothingIsPublishedIntoAnArchivingWorkspace lets an archiving and publishes
// run at once: whichever comes first, no task appears behind the archiving.
func TestNothingIsPublishedIntoAnArchivingWorkspace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		g := b.signal(t, "late")
		for round := range 10 {
			w := b.workspace(t, fmt.Sprint("Round ", round))
			trigger := must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID}))
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if _, err := b.publish(b.ada, work.Publish{Signal: g.ID}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Go(func() {
				if _, err := do(b, func(tx event.Tx) (work.Workspace, error) { return b.ArchiveWorkspace(tx, b.ada, w.ID) }); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			archived := false
			for _, e := range b.Events(t) {
				switch p := e.Payload.(type) {
				case event.WorkspaceUpdated:
					archived = archived || p.WorkspaceID == w.ID
				case event.TaskCreated:
					if archived && p.WorkspaceID == w.ID {
						t.Errorf("round %d: a task behind the archiving", round)
					}
				}
			}
			must[none](t)(do(b, func(tx event.Tx) (none, error) { return none{}, b.DeleteTrigger(tx, b.ada, id.Nil, trigger.ID) }))
		}
	})
}
