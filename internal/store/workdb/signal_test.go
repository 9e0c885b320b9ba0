package workdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/work"
)

func (b *board) signal(t testing.TB, name string, change ...func(*work.NewSignal)) work.Signal {
	t.Helper()
	n := work.NewSignal{Name: name, Description: "about " + name, PayloadGuidelines: "Say what " + name + " is about"}
	for _, c := range change {
		c(&n)
	}
	return must[work.Signal](t)(do(b, func(tx event.Tx) (work.Signal, error) { return b.CreateSignal(tx, b.ada, n) }))
}

func (b *board) trigger(n work.NewTrigger) (work.Trigger, error) {
	if n.Title == "" {
		n.Title = "Follow up"
	}
	return do(b, func(tx event.Tx) (work.Trigger, error) { return b.CreateTrigger(tx, b.ada, n) })
}

func (b *board) publish(a work.Actor, p work.Publish) (work.Published, error) {
	return do(b, func(tx event.Tx) (work.Published, error) { return b.PublishSignal(tx, a, p) })
}

func (b *board) change(g work.Trigger, c work.TriggerChange) (work.Trigger, error) {
	return do(b, func(tx event.Tx) (work.Trigger, error) { return b.UpdateTrigger(tx, b.ada, id.Nil, g.ID, c) })
}

// alike compares what was written with what comes back.
func alike[T any](t testing.TB, want, have T) {
	t.Helper()
	if diff := cmp.Diff(want, have, cmp.Comparer(func(a, b event.Label) bool { return a.String() == b.String() }),
		cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Error(diff)
	}
}

func TestSignalsAndTriggersAreKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Billing")
		g := b.signal(t, "deploy_done", func(n *work.NewSignal) { n.FAQ = []event.QA{{Q: "Where?", A: "In prod."}} })
		alike(t, g, see(t, b, func(tx event.Tx) (work.Signal, error) { return b.GetSignal(tx, b.ada, g.ID) }))
		_, err := do(b, func(tx event.Tx) (work.Signal, error) {
			return b.CreateSignal(tx, b.ada, work.NewSignal{Name: "deploy_done"})
		})
		refused(t, "the same name", err, fault.Conflict, "name")
		text := "new words"
		g = must[work.Signal](t)(do(b, func(tx event.Tx) (work.Signal, error) {
			return b.UpdateSignal(tx, b.ada, g.ID, work.SignalChange{Seen: 1, Description: &text})
		}))
		_, err = do(b, func(tx event.Tx) (work.Signal, error) {
			other := "other words"
			return b.UpdateSignal(tx, b.ada, g.ID, work.SignalChange{Seen: 1, Description: &other})
		})
		refused(t, "on an old revision", err, fault.Conflict, "description")
		_, err = do(b, func(tx event.Tx) (work.Signal, error) {
			return b.UpdateSignal(tx, b.ada, g.ID, work.SignalChange{Seen: 1, FAQ: &[]event.QA{}})
		})
		if err != nil {
			t.Errorf("another field: %v", err)
		}
		made := must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID, Body: "Look: {{EVENT_PAYLOAD}}", AllowAllCommands: true}))
		alike(t, made, see(t, b, func(tx event.Tx) (work.Trigger, error) { return b.GetTrigger(tx, b.ada, g.ID, made.ID) }))
		title := "Later"
		made = must[work.Trigger](t)(b.change(made, work.TriggerChange{Title: &title}))
		if made.Title != "Later" || made.Body != "Look: {{EVENT_PAYLOAD}}" || !made.AllowAllCommands {
			t.Errorf("one field blanks another: %+v", made)
		}
		rows := see(t, b, func(tx event.Tx) ([]work.Trigger, error) { return b.ListTriggers(tx, b.ada, g.ID) })
		alike(t, []work.Trigger{made}, rows)

		agent := work.Actor{Principal: "agent:coordinator", Label: house()}
		_, err = do(b, func(tx event.Tx) (work.Trigger, error) {
			return b.UpdateTrigger(tx, agent, id.Nil, made.ID, work.TriggerChange{Body: &title})
		})
		refused(t, "a model rewrites what a person let run", err, fault.Denied, "allowAllCommands")
		for what, err := range map[string]error{
			"create": err2(do(b, func(tx event.Tx) (work.Signal, error) {
				return b.CreateSignal(tx, worker(w, 1), work.NewSignal{Name: "x"})
			})),
			"trigger": err2(do(b, func(tx event.Tx) (work.Trigger, error) {
				return b.CreateTrigger(tx, worker(w, 1), work.NewTrigger{Signal: g.ID, Workspace: w.ID, Title: "x"})
			})),
			"archive": err2(do(b, func(tx event.Tx) (work.Signal, error) { return b.ArchiveSignal(tx, worker(w, 1), g.ID) })),
		} {
			refused(t, "a worker: "+what, err, fault.Denied, "")
		}
		must[none](t)(do(b, func(tx event.Tx) (none, error) { return none{}, b.DeleteTrigger(tx, b.ada, g.ID, made.ID) }))
		_, err = b.change(made, work.TriggerChange{Title: &text})
		refused(t, "a trigger that is gone", err, fault.NotFound, "trigger")
	})
}

type none struct{}

func err2[T any](_ T, err error) error { return err }

// TestForeignIdsAnswerLikeWhatIsNotThere makes a signal, a workspace and a trigger
// in another account: each is refused in the words of what is nowhere.
func TestForeignIdsAnswerLikeWhatIsNotThere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		other := *b
		copied := *db
		copied.Account = db.NewAccount(t)
		other.DB = &copied
		w, g := b.workspace(t, "Ours"), b.signal(t, "ours")
		theirW, theirG := other.workspace(t, "Theirs"), other.signal(t, "theirs")
		theirT := must[work.Trigger](t)(other.trigger(work.NewTrigger{Signal: theirG.ID, Workspace: theirW.ID}))
		theirTask := other.task(t, theirW, "theirs")
		nowhere := b.IDs.New()
		made := must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: g.ID, Workspace: w.ID}))
		text := "x"
		for what, try := range map[string]struct {
			theirs id.ID
			do     func(tx event.Tx, i id.ID) error
		}{
			"signal of a trigger": {theirG.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.CreateTrigger(tx, b.ada, work.NewTrigger{Signal: i, Workspace: w.ID, Title: "x"}))
			}},
			"workspace of a trigger": {theirW.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.CreateTrigger(tx, b.ada, work.NewTrigger{Signal: g.ID, Workspace: i, Title: "x"}))
			}},
			"emitted signal of a trigger": {theirG.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.CreateTrigger(tx, b.ada, work.NewTrigger{Signal: g.ID, Workspace: w.ID, Title: "x", Emit: i}))
			}},
			"new workspace of a trigger": {theirW.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.UpdateTrigger(tx, b.ada, id.Nil, made.ID, work.TriggerChange{Workspace: &i}))
			}},
			"new emitted signal": {theirG.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.UpdateTrigger(tx, b.ada, id.Nil, made.ID, work.TriggerChange{Emit: &i}))
			}},
			"signal of a task": {theirG.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.CreateTask(tx, b.ada, work.NewTask{Workspace: w.ID, Title: "x", EventID: i}))
			}},
			"task of a publish": {theirTask.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.PublishSignal(tx, b.ada, work.Publish{Name: "ours", Task: i}))
			}},
			"publish": {theirG.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.PublishSignal(tx, b.ada, work.Publish{Signal: i}))
			}},
			"get": {theirG.ID, func(tx event.Tx, i id.ID) error { return err2(b.GetSignal(tx, b.ada, i)) }},
			"update": {theirG.ID, func(tx event.Tx, i id.ID) error {
				return err2(b.UpdateSignal(tx, b.ada, i, work.SignalChange{Description: &text}))
			}},
			"archive":   {theirG.ID, func(tx event.Tx, i id.ID) error { return err2(b.ArchiveSignal(tx, b.ada, i)) }},
			"delete":    {theirG.ID, func(tx event.Tx, i id.ID) error { return b.DeleteSignal(tx, b.ada, i) }},
			"triggers":  {theirG.ID, func(tx event.Tx, i id.ID) error { return err2(b.ListTriggers(tx, b.ada, i)) }},
			"tasks":     {theirG.ID, func(tx event.Tx, i id.ID) error { return err2(b.TasksOfSignal(tx, b.ada, i, id.Nil, 5)) }},
			"publishes": {theirG.ID, func(tx event.Tx, i id.ID) error { return err2(b.ListPublishes(tx, b.ada, i, id.Nil, 5)) }},
			"a trigger": {theirT.ID, func(tx event.Tx, i id.ID) error { return err2(b.GetTrigger(tx, b.ada, id.Nil, i)) }},
			"a trigger's end": {theirT.ID, func(tx event.Tx, i id.ID) error {
				return b.DeleteTrigger(tx, b.ada, id.Nil, i)
			}},
		} {
			var words []string
			for _, i := range []id.ID{try.theirs, nowhere} {
				err := err2(do(b, func(tx event.Tx) (none, error) { return none{}, try.do(tx, i) }))
				if !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: %v", what, err)
				}
				words = append(words, fmt.Sprint(err))
			}
			if words[0] != words[1] {
				t.Errorf("%s: %q and %q", what, words[0], words[1])
			}
		}
		_, err := b.publish(b.ada, work.Publish{Name: "theirs"})
		refused(t, "their name", err, fault.NotFound, "signal")
	})
}

func TestCirclesAreRefusedWhenTheyAreSaved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Chain")
		var chain []work.Signal
		for i := range 33 {
			chain = append(chain, b.signal(t, fmt.Sprintf("s%d", i)))
		}
		link := func(from, to int) (work.Trigger, error) {
			return b.trigger(work.NewTrigger{Signal: chain[from].ID, Workspace: w.ID, Emit: chain[to].ID})
		}
		_, err := link(0, 0)
		refused(t, "onto itself", err, fault.Conflict, "emitEventId")
		for i := range 31 {
			must[work.Trigger](t)(link(i, i+1))
		}
		_, err = link(31, 32)
		refused(t, "33 signals", err, fault.Limited, "emitEventId")
		for _, back := range []int{0, 7, 30} {
			_, err = link(31, back)
			refused(t, "back", err, fault.Conflict, "emitEventId")
		}
		loose := must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: chain[5].ID, Workspace: w.ID, Disabled: true}))
		_, err = b.change(loose, work.TriggerChange{Emit: &chain[2].ID})
		refused(t, "a change that closes it", err, fault.Conflict, "emitEventId")
		// Two at once, each fine alone.
		a, z := b.signal(t, "left"), b.signal(t, "right")
		errs := make(chan error, 2)
		for _, e := range [][2]id.ID{{a.ID, z.ID}, {z.ID, a.ID}} {
			go func() { _, err := b.trigger(work.NewTrigger{Signal: e[0], Workspace: w.ID, Emit: e[1]}); errs <- err }()
		}
		if one, two := <-errs, <-errs; (one == nil) == (two == nil) {
			t.Errorf("%v and %v", one, two)
		}
	})
}

func TestArchivedAndDeletedSignals(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := openBoard(t, db)
		w := b.workspace(t, "Rest")
		first, second := b.signal(t, "first"), b.signal(t, "second")
		made := must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: first.ID, Workspace: w.ID, Emit: second.ID}))
		must[work.Trigger](t)(b.trigger(work.NewTrigger{Signal: second.ID, Workspace: w.ID}))
		rest := func(on bool, g work.Signal) {
			t.Helper()
			must[work.Signal](t)(do(b, func(tx event.Tx) (work.Signal, error) {
				if on {
					return b.ArchiveSignal(tx, b.ada, g.ID)
				}
				return b.UnarchiveSignal(tx, b.ada, g.ID)
			}))
		}
		rest(true, second)
		rest(true, second)
		_, err := b.publish(b.ada, work.Publish{Name: "second"})
		refused(t, "publish", err, fault.Conflict, "signal")
		_, err = b.trigger(work.NewTrigger{Signal: second.ID, Workspace: w.ID})
		refused(t, "trigger", err, fault.Conflict, "signal")
		p := must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "first"}))
		if task := b.get(t, p.Tasks[0].Task); !task.EventID.IsZero() || strings.Contains(task.Body, "publishEvent") {
			t.Errorf("it is asked to publish what is archived: %q", task.Body)
		}
		if rows := see(t, b, func(tx event.Tx) ([]work.Signal, error) { return b.ListSignals(tx, b.ada, false, id.Nil, 10) }); len(rows) != 1 {
			t.Errorf("%d signals are listed", len(rows))
		}
		rest(false, second)
		p = must[work.Published](t)(b.publish(b.ada, work.Publish{Name: "first"}))
		asked := b.get(t, p.Tasks[0].Task)
		if asked.EventID != second.ID {
			t.Error("it is not asked again")
		}
		must[none](t)(do(b, func(tx event.Tx) (none, error) { return none{}, b.DeleteSignal(tx, b.ada, second.ID) }))
		if g := see(t, b, func(tx event.Tx) (work.Trigger, error) { return b.GetTrigger(tx, b.ada, id.Nil, made.ID) }); !g.EmitID.IsZero() || g.Revision != 2 {
			t.Errorf("a trigger leads to nothing: %+v", g)
		}
		_, err = b.publish(b.ada, work.Publish{Name: "second", Task: asked.ID})
		refused(t, "publish what is gone", err, fault.NotFound, "signal")
		b.signal(t, "second")
		must[none](t)(do(b, func(tx event.Tx) (none, error) { return none{}, b.DeleteSignal(tx, b.ada, first.ID) }))
		if b.get(t, asked.ID).TriggerID != first.ID {
			t.Error("a task forgot what caused it")
		}
		var types []string
		for _, e := range b.Events(t) {
			if strings.HasSuffix(string(e.Type), ".deleted") {
				types = append(types, string(e.Type))
			}
		}
		if want := []string{"trigger.deleted", "signal.deleted", "trigger.deleted", "signal.deleted"}; !slices.Equal(types, want) {
			t.Errorf("%v", types)
		}
	})
}
