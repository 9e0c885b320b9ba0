package agentdb_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm/script"
	"github.com/witan-run/witan/internal/store/agentdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

const (
	mira = "person:mira"
	code = "test code 1"
)

// world is an engine with the agent service in it, and stand-ins at its ports
// that write the same events as the real ones.
type world struct {
	t      testing.TB
	db     *storetest.DB
	svc    *agent.Service
	models *models
	skills *skills
	thread id.ID

	dispatch event.Origin
	executor event.Origin
}

// models fills agent.Models with a script: no network, events as llm writes them.
type models struct {
	origin event.Origin

	mu     sync.Mutex
	script *script.Model             // guarded by mu; nil means that no model is set
	calls  []id.ID                   // guarded by mu; every Ask
	fail   func(n int) error         // guarded by mu; what the nth Ask fails with
	met    func() *event.BudgetMet   // guarded by mu
	during func(ctx context.Context) // guarded by mu; runs inside Ask
	begun  map[id.ID]int             // guarded by mu
	refuse error                     // guarded by mu; what Begin fails with
	twist  bool                      // guarded by mu; End records another reply than was given
}

func (m *models) Route(role string) (agent.Target, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return agent.Target{Provider: "script", Model: "script-1"}, m.script != nil
}

func digest(domain string, v any) (json.RawMessage, string) {
	raw, err := canon.JSON(v)
	if err != nil {
		panic(err)
	}
	sum := canon.Digest(domain, raw)
	return raw, hex.EncodeToString(sum[:])
}

func (m *models) Begin(tx event.Tx, c agent.Call) (event.Event, *event.BudgetMet, error) {
	m.mu.Lock()
	met, refuse := m.met, m.refuse
	m.begun[c.ID]++
	m.mu.Unlock()
	if refuse != nil {
		return event.Event{}, nil, refuse
	}
	if met != nil {
		if b := met(); b != nil {
			return event.Event{}, b, nil
		}
	}
	d := c.Draft
	p := event.LLMRequest{CallID: c.ID, RunID: c.RunID, Step: c.Step, Role: c.Role, Provider: c.Target.Provider, Model: c.Target.Model,
		Prompt: c.Prompt, MaxTokens: int(c.Request.MaxTokens), Reserved: 100}
	p.Request, p.Rendered = digest("witan/llm-request/1", c.Request)
	d.Payload = p
	e, err := tx.Emit(m.origin.As(c.Agent), d)
	return e, nil, err
}

func (m *models) Ask(ctx context.Context, c agent.Call, onText func(string)) (r agent.Reply) {
	m.mu.Lock()
	m.calls = append(m.calls, c.ID)
	n, play, fail, during := len(m.calls), m.script, m.fail, m.during
	m.mu.Unlock()
	if during != nil {
		during(ctx)
	}
	if r.Err = ctx.Err(); r.Err != nil {
		return r
	}
	if fail != nil {
		if r.Err = fail(n); r.Err != nil {
			return r
		}
	}
	r.Attempts, r.Cost, r.Known = 1, 7, true
	parts := r.Response.Parts
	for e, err := range play.Stream(ctx, c.Request) {
		switch {
		case err != nil:
			r.Err = err
			return r
		case e.End != nil:
			r.Response.Stop, r.Response.Usage, r.Response.Model = e.End.Stop, e.End.Usage, e.End.Model
		default:
			parts = slices.Grow(parts, 1)[:len(parts)+1]
			parts[len(parts)-1].Text, parts[len(parts)-1].Call = e.Text, e.Call
			if onText != nil && e.Text != "" {
				onText(e.Text)
			}
		}
	}
	r.Response.Parts = parts
	return r
}

func (m *models) End(tx event.Tx, c agent.Call, request event.Ref, r agent.Reply) (event.Event, error) {
	d := c.Draft
	p := event.LLMResponse{CallID: c.ID, RunID: c.RunID, Step: c.Step, Cost: r.Cost, CostKnown: r.Known, Attempts: r.Attempts}
	if r.Err != nil {
		p.ErrorKind, p.Error = fault.KindOf(r.Err).String(), r.Err.Error()
	} else {
		p.Stop, p.TokensIn, p.TokensOut = string(r.Response.Stop), r.Response.Usage.Input, r.Response.Usage.Output
		p.Response, p.Digest = digest("witan/llm-response/1", r.Response)
	}
	m.mu.Lock()
	if m.twist {
		p.ErrorKind = "twisted"
	}
	m.mu.Unlock()
	d.Payload, d.Causes, d.Label, d.Raise = p, []event.Ref{request}, event.Label{}, event.Raise{}
	return tx.Emit(m.origin.As(c.Agent), d)
}

func (m *models) heal() { m.mu.Lock(); defer m.mu.Unlock(); m.refuse, m.twist = nil, false }

func (m *models) asked() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.calls) }

// skills stands for the execution layer: it answers a call at once, or leaves it
// open for the test to answer.
type skills struct {
	mu     sync.Mutex
	answer map[string]func(v event.SkillInvoke) *event.SkillResult // guarded by mu; nil result leaves the call open
	open   []event.Event                                           // guarded by mu
	done   map[string]int                                          // guarded by mu; calls by run/callId
}

func (s *skills) on(name string, f func(v event.SkillInvoke) *event.SkillResult) {
	s.mu.Lock()
	s.answer[name] = f
	s.mu.Unlock()
}

func confirmed(output string) func(event.SkillInvoke) *event.SkillResult {
	return func(event.SkillInvoke) *event.SkillResult {
		return &event.SkillResult{State: "confirmed", Output: json.RawMessage(output)}
	}
}

func later(event.SkillInvoke) *event.SkillResult { return nil }

type catalogue struct{ entries map[string]agent.Entry }

func (c *catalogue) Head(event.Tx) (agent.Snapshot, error) { return agent.Snapshot{Number: 3}, nil }

func (c *catalogue) Offered(_ event.Tx, number int, held []string, _ id.ID) (out []agent.Entry, err error) {
	if number != 3 {
		return nil, fault.New(fault.NotFound, "no catalogue %d", number)
	}
	held = slices.Sorted(slices.Values(held))
	for _, n := range held {
		if e, ok := c.entries[n]; ok {
			out = append(out, e)
		}
	}
	return out, nil
}

type prompts struct{ byName map[string]agent.Instruction }

func (p prompts) Instruction(_ event.Tx, name string, _ int) (agent.Instruction, int, error) {
	i, ok := p.byName[name]
	if !ok {
		return i, 0, fault.New(fault.NotFound, "no prompt %s", name)
	}
	return i, 4, nil
}

type rules struct{}

func (rules) Version(event.Tx) (int, error) { return 5, nil }

// roles lets everybody do everything but the one who may only look.
type roles struct{}

const viewer = "person:viewer"

func (roles) May(_ event.Tx, by, act string) error {
	if by == viewer {
		return fault.New(fault.Denied, "the role viewer may not do %s", act)
	}
	return nil
}

func testPorts(t testing.TB) (*catalogue, prompts) {
	t.Helper()
	c := &catalogue{entries: map[string]agent.Entry{}}
	for _, n := range []string{"time.now", "file.write", "http.fetch", "message.send", "memory.remember", "memory.recall", "pano.read", "pano.write"} {
		var e agent.Entry
		e.Manifest.Name, e.Manifest.Kind, e.Manifest.Description = n, "builtin", "Does "+n+"."
		e.Manifest.Input = json.RawMessage(`{"type":"object"}`)
		e.Manifest.Output = json.RawMessage(`{"properties":{"path":{"format":"path"}}}`)
		e.Hash, e.Label = "hash-of-"+n, storetest.House()
		c.entries[n] = e
	}
	p := prompts{byName: map[string]agent.Instruction{}}
	shipped, err := agent.ShippedPrompts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shipped {
		p.byName[s.Name] = s.Instruction()
	}
	return c, p
}

// newWorld puts the service on an engine, with a script (or none if it is "").
func newWorld(t testing.TB, db *storetest.DB, lines string) *world {
	t.Helper()
	w := &world{t: t, db: db, thread: db.IDs.New()}
	w.dispatch = storetest.Origin(t, event.LayerDispatch, event.ClassDispatch, "dispatch", "agent.task", "outbound.message")
	w.executor = storetest.Origin(t, event.LayerExecution, event.ClassSkill, "skill", "skill.result")
	w.models = &models{origin: storetest.Origin(t, event.LayerAgent, event.ClassModel, "model", "llm.request", "llm.response"), begun: map[id.ID]int{}}
	w.skills = &skills{answer: map[string]func(event.SkillInvoke) *event.SkillResult{}, done: map[string]int{}}
	w.play(lines)
	w.svc = w.service(db)
	db.React(w.reactions())
	w.define(coordinatorYAML)
	return w
}

const coordinatorYAML = `name: coordinator
description: Answers people.
plain_commands: true
skills: [time.now, file.write, http.fetch, message.send, memory.remember, memory.recall, pano.read, pano.write]
budgets: {steps: 6, context: 2000}
`

func (w *world) play(lines string) {
	w.t.Helper()
	var m *script.Model
	if lines != "" {
		s, err := script.Parse([]byte("name: script-1\nlines:\n" + lines))
		if err != nil {
			w.t.Fatal(err)
		}
		m = script.New(s, nil)
	}
	w.models.mu.Lock()
	w.models.script = m
	w.models.mu.Unlock()
}

// service makes another service on an engine: another node.
func (w *world) service(db *storetest.DB) *agent.Service {
	w.t.Helper()
	cat, pr := testPorts(w.t)
	s, err := agent.New(agent.Deps{
		Journal: db.Journal, Store: agentdb.New(), Clock: db.Clock, Log: slog.New(slog.DiscardHandler),
		Models: w.models, Prompts: pr, Catalogue: cat, Policy: rules{}, People: roles{}, Code: code,
		Origins: agent.Origins{Agent: storetest.Origin(w.t, event.LayerAgent, event.ClassAgent, "agent", "agent.response", "agent.defined",
			"run.started", "run.delayed", "run.finished", "run.cancelled", "thread.summarised", "skill.invoke", "budget.met")},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) define(yaml string) {
	w.t.Helper()
	src, err := agent.ReadSource("test.yaml", []byte(yaml))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.svc.Define(context.Background(), w.db.Account, []agent.Source{src}, mira); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reactions() storetest.Reactions {
	return storetest.Reactions{
		{Name: "agent.task", On: []event.Type{"agent.task"}, Run: func(tx event.Tx, e event.Event) error { return w.svc.OnTask(tx, e) }},
		{Name: "skill.invoke", On: []event.Type{"skill.invoke"}, Run: w.invoked},
		{Name: "agent.result", On: []event.Type{"skill.result"}, Run: func(tx event.Tx, e event.Event) error { return w.svc.OnResult(tx, e) }},
		{Name: "dispatch.response", On: []event.Type{"agent.response"}, Run: w.responded},
		{Name: "agent.outbound", On: []event.Type{"outbound.message"}, Run: func(tx event.Tx, e event.Event) error { return w.svc.OnOutbound(tx, e) }},
	}
}

func (w *world) invoked(tx event.Tx, e event.Event) error {
	v := e.Payload.(event.SkillInvoke)
	w.skills.mu.Lock()
	f := w.skills.answer[v.Skill]
	w.skills.done[v.RunID.String()+"/"+v.CallID]++
	w.skills.mu.Unlock()
	var r *event.SkillResult
	if f != nil {
		r = f(v)
	}
	if r == nil {
		w.skills.mu.Lock()
		w.skills.open = append(w.skills.open, e)
		w.skills.mu.Unlock()
		return nil
	}
	return w.result(tx, e, *r, event.Label{})
}

func (w *world) result(tx event.Tx, e event.Event, r event.SkillResult, label event.Label) error {
	v := e.Payload.(event.SkillInvoke)
	r.RunID, r.Step, r.CallID, r.Skill = v.RunID, v.Step, v.CallID, v.Skill
	_, err := tx.Emit(w.executor, event.Draft{Payload: r, Stream: e.Stream, Subject: e.Subject, Causes: []event.Ref{e.Ref()}, Label: label})
	return err
}

// answer gives the nth open call (from 0) its result, in a transaction of its own.
func (w *world) answer(n int, r event.SkillResult, label event.Label) {
	w.t.Helper()
	w.skills.mu.Lock()
	e := w.skills.open[n]
	w.skills.mu.Unlock()
	w.db.Do(w.t, func(tx event.Tx) error { return w.result(tx, e, r, label) })
}

func (w *world) responded(tx event.Tx, e event.Event) error {
	r := e.Payload.(event.AgentResponse)
	_, err := tx.Emit(w.dispatch, event.Draft{Stream: r.ThreadID, Subject: e.Subject, Causes: []event.Ref{e.Ref()}, Payload: event.OutboundMessage{
		Channel: "console", ThreadID: r.ThreadID, MessageID: r.MessageID, DeliveryID: tx.NewID(), Address: "mira", Text: r.Text,
		InReplyTo: r.InReplyTo, RunID: r.RunID, Agent: r.Agent, IsError: r.IsError, Parts: 1}})
	return err
}

// post says something in the world's thread; it returns the run.
func (w *world) post(text string) id.ID {
	return w.postTo("coordinator", text, event.NewLabel(event.Person, event.AccountWide()))
}

func (w *world) postTo(name, text string, label event.Label) id.ID {
	w.t.Helper()
	return w.postFor(name, text, label, id.Nil)
}

// postFor says something that is a subject's data.
func (w *world) postFor(name, text string, label event.Label, subject id.ID) id.ID {
	w.t.Helper()
	var run id.ID
	w.db.Do(w.t, func(tx event.Tx) error {
		run = tx.NewID()
		_, err := tx.Emit(w.dispatch, event.Draft{Stream: w.thread, Label: label, Subject: subject, Payload: event.AgentTask{
			TaskID: tx.NewID(), Agent: name, RunID: run, ThreadID: w.thread, MessageID: tx.NewID(), Channel: "console",
			Requester: mira, Trust: 1_000_000, Text: text, Sender: "mira@home.example"}})
		return err
	})
	return run
}

// drain works until nothing is ready; stale and halted work is left alone.
func (w *world) drain() {
	w.t.Helper()
	for range 400 {
		list, err := w.db.Ready(context.Background(), 100)
		if err != nil {
			w.t.Fatal(err)
		}
		worked := false
		for _, l := range list {
			if l.Kind != event.WorkRun {
				continue
			}
			err := w.svc.Work(context.Background(), l.Account, l.ID)
			switch {
			case err == nil:
				worked = true
			case fault.Is(err, fault.Stale), fault.Is(err, fault.Halted):
			default:
				w.t.Fatalf("work: %v", err)
			}
		}
		if !worked {
			return
		}
	}
	w.t.Fatal("it never comes to rest")
}

func (w *world) run(run id.ID) (r agent.Run) {
	w.t.Helper()
	w.db.See(w.t, func(tx event.Tx) (err error) { r, err = agentdb.New().GetRun(tx, run); return err })
	return r
}

// said returns the answer to a run, "" if there is none, and fails on two.
func (w *world) said(run id.ID) (text string) {
	w.t.Helper()
	n := 0
	for _, e := range w.db.Events(w.t) {
		if r, ok := e.Payload.(event.AgentResponse); ok && r.RunID == run {
			text = r.Text
			n++
		}
	}
	if n > 1 {
		w.t.Fatalf("run %s was answered %d times", run, n)
	}
	return text
}

func of[P event.Payload](w *world) (out []P) {
	w.t.Helper()
	for _, e := range w.db.Events(w.t) {
		if p, ok := e.Payload.(P); ok {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) replay(run id.ID) (rep agent.Report) {
	w.t.Helper()
	cat, pr := testPorts(w.t)
	r := agent.Replayer{Store: agentdb.New(), Prompts: pr, Catalogue: cat, Code: code}
	w.db.See(w.t, func(tx event.Tx) (err error) { rep, err = r.Replay(tx, run); return err })
	return rep
}

// exact fails unless a run was answered once and replays to the byte.
func (w *world) exact(run id.ID) {
	w.t.Helper()
	if rep := w.replay(run); rep.Verdict != agent.Exact || rep.First != nil {
		w.t.Fatalf("replay of %s: %s: %v", run, rep.Verdict, rep.First)
	}
}

func want(t testing.TB, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Fatalf("got %q, want it to hold %q", got, part)
	}
}

var errBoom = errors.New("boom")
