package agentdb_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/agentdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, agentdb.Q)
}

const noteScript = `
- when: {tool: file.write, error: false}
  say: 'It is written [r1].'
- when: {tool: file.write, error: true}
  say: 'Done, all is well.'
- when: {user: '(?m)^write (.+)$'}
  say: 'I will write it.'
  call: [{tool: file.write, args: {path: notes.md, text: '${user.1}'}}]
- when: {user: '(?m)^hello'}
  say: 'Hello.'
`

func TestARoundTripIsGatedRecordedAndReplays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", confirmed(`{"path":"notes.md"}`))
		first := w.post("hello")
		w.drain()
		run := w.post("write the code is 12")
		w.drain()

		if got := w.said(run); got != "It is written." {
			t.Errorf("said %q", got)
		}
		calls := of[event.SkillInvoke](w)
		if len(calls) != 1 || calls[0].Skill != "file.write" || calls[0].Manifest != "hash-of-file.write" || calls[0].Catalogue != 3 ||
			string(calls[0].Arguments) != `{"path":"notes.md","text":"the code is 12"}` || calls[0].Actor != "agent:coordinator" || calls[0].Requester != mira {
			t.Errorf("calls %+v", calls)
		}
		answers := of[event.AgentResponse](w)
		last := answers[len(answers)-1]
		if len(last.Bindings) != 1 || last.Text[last.Bindings[0].From:last.Bindings[0].To] != "It is written" || last.IsError {
			t.Errorf("answer %+v", last)
		}
		r := w.run(run)
		if r.State != agent.Finished || r.Outcome != agent.Answered || r.Steps != 2 || r.Cost != 14 || !r.CostKnown || r.Digest == "" {
			t.Errorf("run %+v", r)
		}
		start := of[event.RunStarted](w)[1]
		if start.Catalogue != 3 || start.Prompt != "coordinator@4" || start.Policy != 5 || start.Code != code || start.AgentVersion != 1 ||
			len(start.Turns) != 3 || start.Given.Turns == 0 || start.Given.Instructions == 0 || start.Given.Tools == 0 {
			t.Errorf("start %+v", start)
		}
		// The second request holds the first exchange and stands under our prompt only.
		var req struct {
			System   string `json:"system"`
			Messages []struct{ Role string }
		}
		if err := json.Unmarshal(of[event.LLMRequest](w)[1].Request, &req); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(req.System, "hello") || !strings.HasPrefix(req.System, "You are the coordinator") || len(req.Messages) != 4 {
			t.Errorf("request %+v", req)
		}
		w.exact(first)
		w.exact(run)

		w.see(func(s agent.Store, tx event.Tx) error {
			turns, err := s.ListTurns(tx, w.thread, 1<<30, 10)
			if err != nil || len(turns) != 4 || turns[0].Role != agent.TurnAssistant || turns[0].Text != "It is written." || turns[0].Label.String() != "p:a" {
				t.Errorf("turns %+v %v", turns, err)
			}
			th, err := s.GetThread(tx, w.thread)
			if !th.Active.IsZero() || th.Runs != 2 {
				t.Errorf("thread %+v %v", th, err)
			}
			return nil
		})
	})
}

func (w *world) see(f func(agent.Store, event.Tx) error) {
	w.t.Helper()
	w.db.See(w.t, func(tx event.Tx) error { return f(agentdb.New(), tx) })
}

func TestARoundTripCostsFourCommitsOfTheAgent(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	w := newWorld(t, db, noteScript)
	w.skills.on("file.write", later)
	run := w.post("write it")
	counted := &counting{Journal: db.Journal}
	w.svc.Journal = counted
	w.drain()
	w.answer(0, event.SkillResult{State: "confirmed", Output: json.RawMessage(`{}`)}, event.Label{})
	w.drain()
	want(t, w.said(run), "It is written")
	if counted.n != 4 {
		t.Errorf("%d commits, want 4: start and request, reply and call, request, reply and answer", counted.n)
	}
}

type counting struct {
	event.Journal
	n int
}

func (c *counting) Do(ctx context.Context, a id.ID, f func(event.Tx) error) error {
	err := c.Journal.Do(ctx, a, f)
	if err == nil {
		c.n++
	}
	return err
}

func TestADenialIsSaidWhateverTheModelSays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", func(event.SkillInvoke) *event.SkillResult {
			return &event.SkillResult{State: "denied", ErrorKind: "denied", Error: "denied by rule 4"}
		})
		run := w.post("write it")
		w.drain() // the denial comes in the very transaction of the call
		if got := w.said(run); got != "Done, all is well.\n\nNot done: file.write, denied (denied by rule 4)." {
			t.Errorf("said %q", got)
		}
		w.exact(run)
		// Who stands outside is told that, and no names.
		out := w.postTo("coordinator", "write it", event.NewLabel(event.Known, event.AccountWide()))
		w.drain()
		if got := w.said(out); got != "Done, all is well.\n\nPart of this was not done." {
			t.Errorf("said %q", got)
		}
		w.exact(out)
	})
}

func TestParallelCallsWakeTheRunOnceAllAreAnswered(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, `
- when: {tool: time.now}
  say: 'Both: ${result:/output/n}.'
- when: {user: '(?m)^both$'}
  call: [{tool: file.write, args: {path: a}}, {tool: http.fetch, args: {url: b}}, {tool: time.now, args: {}}]
`)
		for _, s := range []string{"file.write", "http.fetch", "time.now"} {
			w.skills.on(s, later)
		}
		run := w.post("both")
		w.drain()
		for _, i := range []int{2, 0} {
			w.answer(i, event.SkillResult{State: "confirmed", Output: json.RawMessage(`{"n":` + string('0'+rune(i)) + `}`)}, event.Label{})
			w.drain()
			if w.run(run).State != agent.Waiting || w.models.asked() != 1 {
				t.Fatalf("it went on before all were answered: %+v", w.run(run))
			}
		}
		// A second word on the same call changes nothing.
		w.answer(0, event.SkillResult{State: "failed"}, event.Label{})
		w.answer(1, event.SkillResult{State: "failed", ErrorKind: "timeout"}, event.NewLabel(event.Outside, event.AccountWide()))
		w.drain()
		if got := w.said(run); got != "Both: 2.\n\nNot done: http.fetch failed (timeout)." {
			t.Errorf("said %q", got)
		}
		evs := w.db.Events(t)
		if l := evs[len(evs)-1].Label.String(); l != "o:a" {
			t.Errorf("an outside result left the answer at %s", l)
		}
		w.exact(run)
	})
}

func TestRunsOfAThreadGoOneByOneInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", later)
		var runs []id.ID
		for range 3 {
			runs = append(runs, w.post("write it"))
		}
		w.drain()
		for i, want := range []agent.State{agent.Waiting, agent.Queued, agent.Queued} {
			if got := w.run(runs[i]).State; got != want {
				t.Fatalf("run %d is %s, want %s", i, got, want)
			}
		}
		// A queued run can be cancelled; the thread's own goes on.
		if err := w.svc.Cancel(context.Background(), db.Account, mira, runs[1]); err != nil {
			t.Fatal(err)
		}
		w.answer(0, event.SkillResult{State: "confirmed"}, event.Label{})
		w.drain()
		if w.run(runs[0]).State != agent.Finished || w.run(runs[2]).State != agent.Waiting {
			t.Fatalf("%+v %+v", w.run(runs[0]), w.run(runs[2]))
		}
		w.answer(1, event.SkillResult{State: "confirmed"}, event.Label{})
		w.drain()
		want(t, w.said(runs[2]), "It is written")
		for _, r := range runs {
			w.exact(r)
		}
	})
}

// Bug report 48: a conversation that is idle but refuses to run. Whatever flaps,
// the next message starts a run or stands in the queue where it can be seen.
func TestAMessageDuringARunAlwaysRunsOrQueues(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", later)
		runs := []id.ID{w.post("write it")}
		w.drain()
		for flap := range 50 {
			runs = append(runs, w.post("hello"))
			// The connection goes: a worker dies in the middle of a request, the
			// model is gone, or a result comes and the next run's worker dies.
			ctx, drop := context.WithCancel(context.Background())
			w.models.mu.Lock()
			w.models.during = func(context.Context) { drop() }
			w.models.mu.Unlock()
			if flap%10 == 9 {
				w.answer(len(w.skills.open)-1, event.SkillResult{State: "confirmed"}, event.Label{})
			}
			for _, r := range runs {
				if err := w.svc.Work(ctx, db.Account, r); err == nil {
					continue // it landed, waits, or is over
				}
			}
			drop()
			active, last := 0, agent.State("")
			w.see(func(s agent.Store, tx event.Tx) error {
				list, err := s.ListUnfinished(tx, 100)
				for _, r := range list {
					if r.State != agent.Queued {
						active++
					}
					if r.ID == runs[len(runs)-1] {
						last = r.State
					}
				}
				return err
			})
			if active > 1 || active == 0 && last != "" {
				t.Fatalf("flap %d: %d runs go at once, the last is %s", flap, active, last)
			}
		}
		w.models.mu.Lock()
		w.models.during = nil
		w.models.mu.Unlock()
		for i := 0; i < len(w.skills.open); i++ {
			w.answer(i, event.SkillResult{State: "confirmed"}, event.Label{})
			w.drain()
		}
		w.drain()
		answers := map[id.ID]int{}
		for _, r := range of[event.AgentResponse](w) {
			answers[r.RunID]++
		}
		for i, r := range runs {
			if w.run(r).State != agent.Finished || answers[r] != 1 {
				t.Fatalf("run %d of %d is %s with %d answers", i, len(runs), w.run(r).State, answers[r])
			}
			w.exact(r)
		}
	})
}

func TestCancelEndsARunWhateverItDoes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", later)
		waiting := w.post("write it")
		w.drain()
		ctx := context.Background()
		if err := w.svc.Cancel(ctx, db.Account, viewer, waiting); !fault.Is(err, fault.Denied) {
			t.Errorf("by a viewer: %v", err)
		}
		if err := w.svc.Cancel(ctx, db.Account, "person:owner", waiting); err != nil {
			t.Fatal(err)
		}
		if err := w.svc.Cancel(ctx, db.Account, mira, waiting); !fault.Is(err, fault.Conflict) {
			t.Errorf("a second time: %v", err)
		}
		w.answer(0, event.SkillResult{State: "confirmed"}, event.Label{}) // it comes too late
		w.drain()
		want(t, w.said(waiting), "cancelled by a person")
		c := of[event.RunCancelled](w)[0]
		if c.By != "person:owner" || c.Steps != 1 || len(c.Open) != 1 {
			t.Errorf("%+v", c)
		}
		// In the middle of a request: the call is dropped, its cost is settled.
		flying := w.post("hello")
		w.models.mu.Lock()
		w.models.during = func(ctx context.Context) {
			if err := w.svc.Cancel(context.Background(), db.Account, mira, flying); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
		}
		w.models.mu.Unlock()
		w.drain()
		if r := w.run(flying); r.State != agent.Finished || r.Outcome != agent.Cancelled || w.said(flying) != "" {
			t.Errorf("%+v %q", r, w.said(flying))
		}
		if last := of[event.LLMResponse](w); last[len(last)-1].ErrorKind != "cancelled" {
			t.Errorf("the call was not settled: %+v", last)
		}
		list, err := db.Ready(ctx, 10)
		if err != nil || len(list) != 0 {
			t.Errorf("work is left: %v %v", list, err)
		}
		w.exact(waiting)
		w.exact(flying)
	})
}

func TestHaltLetsNothingOutAndLosesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", confirmed(`{}`))
		run := w.post("write it")
		w.models.mu.Lock()
		w.models.during = func(context.Context) {
			db.Do(t, func(tx event.Tx) error { return store.Stop(tx, "agent:coordinator") })
		}
		w.models.mu.Unlock()
		w.drain()
		if len(of[event.SkillInvoke](w)) != 0 || len(of[event.LLMResponse](w)) != 1 || w.run(run).State != agent.Ready {
			t.Fatalf("under a halt: %d calls, run %+v", len(of[event.SkillInvoke](w)), w.run(run))
		}
		w.models.mu.Lock()
		w.models.during = nil
		w.models.mu.Unlock()
		db.Do(t, func(tx event.Tx) error { return store.Unstop(tx, "agent:coordinator") })
		w.drain()
		want(t, w.said(run), "It is written")
		if w.models.asked() != 2 {
			t.Errorf("%d requests, want 2: the reply of before the halt was asked for again", w.models.asked())
		}
		w.exact(run)
	})
}

func TestDefineGivesOneNextVersion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		src, err := agent.ReadSource("c.yaml", []byte(coordinatorYAML))
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if v, err := w.svc.Define(ctx, db.Account, []agent.Source{src}, mira); err != nil || len(v) != 0 {
			t.Errorf("the same text: %v %v", v, err)
		}
		// Many nodes read the changed file at once: one version.
		src, err = agent.ReadSource("c.yaml", []byte(strings.Replace(coordinatorYAML, "Answers people.", "Answers.", 1)+"autonomy: 80\nmemory: {scopes: [account, agent]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.svc.Define(ctx, db.Account, []agent.Source{src}, viewer); !fault.Is(err, fault.Denied) {
			t.Errorf("by a viewer: %v", err)
		}
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() {
				_, err := w.service(db).Define(ctx, db.Account, []agent.Source{src}, mira)
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := len(of[event.AgentDefined](w)); n != 2 {
			t.Errorf("%d versions, want 2", n)
		}
		w.db.See(t, func(tx event.Tx) error {
			d, n, err := w.svc.Definition(tx, "coordinator")
			if err != nil || n != 2 || d.Description != "Answers." {
				t.Errorf("%+v %d %v", d, n, err)
			}
			held, err := w.svc.Held(tx, "agent:coordinator")
			none, err2 := w.svc.Held(tx, "worker:coordinator")
			if err != nil || err2 != nil || len(held) != 8 || len(none) != 0 {
				t.Errorf("%v %v %v %v", held, err, none, err2)
			}
			a, ok, err := w.svc.Autonomy(tx, "agent:coordinator")
			s, err2 := w.svc.Scopes(tx, "agent:coordinator")
			if a != 80 || !ok || err != nil || err2 != nil || strings.Join(s, " ") != "account agent:coordinator" {
				t.Errorf("%d %v %v %v %v", a, ok, err, s, err2)
			}
			old, err := agentdb.New().GetVersion(tx, "coordinator", 1)
			if err != nil || old.YAML != coordinatorYAML {
				t.Errorf("the old version: %v %v", old, err)
			}
			return nil
		})
	})
}

func TestAnotherAccountSeesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		run := w.post("hello")
		w.drain()
		other := db.NewAccount(t)
		err := db.Journal.View(context.Background(), other, func(tx event.Tx) error {
			s := agentdb.New()
			if _, err := s.GetRun(tx, run); !fault.Is(err, fault.NotFound) {
				t.Errorf("run: %v", err)
			}
			if _, err := s.GetThread(tx, w.thread); !fault.Is(err, fault.NotFound) {
				t.Errorf("thread: %v", err)
			}
			if _, err := s.CurrentVersion(tx, "coordinator"); !fault.Is(err, fault.NotFound) {
				t.Errorf("definition: %v", err)
			}
			turns, err := s.ListTurns(tx, w.thread, 1<<30, 10)
			if err != nil || len(turns) != 0 {
				t.Errorf("turns: %v %v", turns, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.svc.Work(context.Background(), other, run); !fault.Is(err, fault.NotFound) {
			t.Errorf("work: %v", err)
		}
		if err := w.svc.Cancel(context.Background(), other, mira, run); !fault.Is(err, fault.NotFound) {
			t.Errorf("cancel: %v", err)
		}
	})
}

func TestFactsAreWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		w.skills.on("file.write", later)
		run := w.post("write it")
		w.drain()
		facts := func() (f agent.Facts) {
			w.db.See(t, func(tx event.Tx) (err error) { f, err = w.svc.Facts(tx, run); return err })
			return f
		}
		if f := facts(); len(f.Calls) != 1 || f.Calls[0].Result != nil || f.Answer != nil || f.Start.Given.Turns == 0 || f.Run.State != agent.Waiting {
			t.Errorf("%+v", f)
		}
		w.answer(0, event.SkillResult{State: "confirmed", Output: json.RawMessage(`{}`)}, event.NewLabel(event.Known, event.AccountWide()))
		w.drain()
		f := facts()
		if len(f.Says) != 1 || f.Says[0].EventID != f.Calls[0].ResultEvent || f.Calls[0].Result.State != "confirmed" || f.Why.String() != "k:a" || f.Replies != 2 {
			t.Errorf("%+v", f)
		}
	})
}
