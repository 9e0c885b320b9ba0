package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
)

// The attack tests of the gate run a whole Witan: real services, real rows, a
// model that says what an attacker would have it say, and a fake world that
// remembers what was done to it.

// canary is a text that stands for a secret: it may appear nowhere.
func canary(of string) string { return "canary-" + of + "-7f3a91c0d55e42" }

// skewed is a clock that goes, and that a test can put forward.
type skewed struct{ off atomic.Int64 }

func (s *skewed) Now() time.Time          { return clock.System{}.Now().Add(time.Duration(s.off.Load())) }
func (s *skewed) forward(d time.Duration) { s.off.Add(int64(d)) }

// lockedBuffer collects a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// scene is what a model of a test sees.
type scene struct {
	user    string // the newest block of text
	step    int    // replies of the model since then
	results []llm.ToolResult
	tools   []string
	request llm.Request
}

// mind is a model whose replies a test writes in Go.
type mind func(scene) []llm.Part

// Stream implements llm.Model.
func (m mind) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		s := scene{user: r.LastUserText(), request: r}
		for _, x := range r.Messages {
			switch {
			case x.Role == llm.RoleAssistant:
				s.step++
			case strings.TrimSpace(x.Text()) != "":
				s.step, s.results = 0, nil
			}
			s.results = append(s.results, x.Results()...)
		}
		for _, t := range r.Tools {
			s.tools = append(s.tools, t.Name)
		}
		stop := llm.StopEnd
		for _, p := range m(s) {
			if p.Call != nil {
				stop = llm.StopToolUse
			}
			if !yield(llm.Event{Text: p.Text, Call: p.Call}, nil) {
				return
			}
		}
		yield(llm.Event{End: &llm.End{Stop: stop, Usage: llm.Usage{Input: 10, Output: 10, Reported: true}, Model: "one"}}, nil)
	}
}

func says(text string) []llm.Part { return []llm.Part{{Text: text}} }

func calls(list ...string) (out []llm.Part) {
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, llm.Part{Call: &llm.ToolCall{ID: "c" + strconv.Itoa(i), Name: list[i], Args: list[i+1]}})
	}
	return out
}

// once calls tools in the first step and then says what came of it.
func once(list ...string) mind {
	return func(s scene) []llm.Part {
		if s.step == 0 {
			return calls(list...)
		}
		return says("It is over.")
	}
}

// deed is a skill of a test: it notes what it was told to do.
type deed struct {
	name, risk, access, class, label, more, output string
	act                                            func(context.Context, skill.Call) (skill.Output, error)

	mu   sync.Mutex
	done []skill.Call
}

// Act implements skill.Executable.
func (d *deed) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	d.mu.Lock()
	d.done = append(d.done, c)
	d.mu.Unlock()
	if d.act != nil {
		return d.act(ctx, c)
	}
	return skill.Output{Value: map[string]string{"said": "done"}}, nil
}

// did returns the arguments of everything that was done.
func (d *deed) did() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.done {
		out = append(out, string(c.Arguments))
	}
	return out
}

func (d *deed) registration(t testing.TB) skill.Registration {
	t.Helper()
	m, err := manifest.Parse([]byte(`
name: ` + d.name + `
version: 1.0.0
kind: builtin
description: Does ` + d.name + `.
title: Do ` + d.name + ` to {to}
input:
  type: object
  additionalProperties: false
  required: [to]
  properties:
    to: {type: string, maxLength: 200}
    text: {type: string, maxLength: 2000}
    count: {type: integer}
    list: {type: array, items: {type: string}}
    deep: {type: object, properties: {flag: {type: boolean}, note: {type: string}}}
output: ` + cmp.Or(d.output, "{type: object, additionalProperties: false, required: [said], properties: {said: {type: string}}}") + `
action_risk: ` + d.risk + `
access: ` + d.access + `
target: [/to]
effect_class: ` + d.class + `
timeout_ms: 5000
output_label: ` + d.label + "\n" + d.more))
	if err != nil {
		t.Fatal(err)
	}
	return skill.Registration{Manifest: m, Exec: d}
}

func write(name, risk string) *deed {
	return &deed{name: name, risk: risk, access: "write", class: "idempotent", label: "house"}
}

// setup says what the Witan of a test is made of.
type setup struct {
	deeds    []*deed
	mind     mind
	agents   string // further skills of the coordinator, comma-separated
	autonomy string // of the coordinator's definition; "" is 75
	more     []string
	channels map[string]HTTPChannel
	database string
	race     bool // a test of things that happen at once: the race detector watches it
	data     string
	fetch    bool
}

// trial is one Witan under attack.
type trial struct {
	t     *testing.T
	setup setup
	app   *App
	p     *parts
	me    identity.Principal
	clock *skewed
	log   *lockedBuffer
	data  string
	key   int
	think atomic.Pointer[mind] // what the model says, from now on

	stop func()
}

func coordinator(s setup) string {
	names := []string{}
	for _, d := range s.deeds {
		names = append(names, d.name)
	}
	if s.agents != "" {
		names = append(names, s.agents)
	}
	if s.autonomy == "" {
		s.autonomy = "75"
	}
	return `
name: coordinator
description: Does things.
model_role: respond
prompt: coordinator
skills: [` + strings.Join(names, ", ") + `]
memory: {scopes: [account]}
budgets: {tokens: 1000000, steps: 8, context: 8000, answer: 1000}
autonomy: ` + s.autonomy + "\n"
}

// try starts a Witan that has an owner.
func try(t *testing.T, s setup) *trial {
	t.Helper()
	if testing.Short() && !s.race {
		t.Skip("make check watches what happens at once; make test runs everything")
	}
	w := &trial{t: t, setup: s, clock: &skewed{}, log: &lockedBuffer{}, data: s.data}
	if w.data == "" {
		w.data = filepath.Join(t.TempDir(), "data")
	}
	w.setupMind(s.mind)
	w.begin()
	t.Cleanup(func() { w.stop() })
	w.me = owner(t, w.app)
	return w
}

// setupMind changes what the model says.
func (w *trial) setupMind(m mind) { w.think.Store(&m) }

// begin opens and runs the Witan; after stop, it is a restart.
func (w *trial) begin() {
	w.t.Helper()
	s := w.setup
	c := Default()
	c.Data, c.Listen, c.PublicURL = w.data, "127.0.0.1:0", "http://localhost:0"
	c.Models.Providers = map[string]Provider{"mind": {Kind: "openai", Key: PlainSecret(canary("model"))}}
	c.Models.Roles = map[string][]string{"default": {"mind/one"}}
	c.Channels.HTTP = s.channels
	c.Fetch.Loopback = s.fetch
	c.Limits = Limits{Person: maxPerMinute, People: maxPerMinute, Sender: maxPerMinute, Outsiders: maxPerMinute}
	if s.database != "" {
		c.Database = PlainSecret(s.database)
	}
	d := Deps{Clock: w.clock, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Models: map[string]llm.Model{"mind": mind(func(s scene) []llm.Part { return (*w.think.Load())(s) })}}
	for _, text := range append([]string{coordinator(s)}, s.more...) {
		src, err := agent.ReadSource("agent.yaml", []byte(text))
		if err != nil {
			w.t.Fatal(err)
		}
		d.Agents = append(d.Agents, src)
	}
	for _, x := range s.deeds {
		d.Skills = append(d.Skills, x.registration(w.t))
	}
	var err error
	if w.app, err = New(context.Background(), c, d); err != nil {
		w.t.Fatal(err)
	}
	w.p = w.app.parts
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func(a *App) { done <- a.Run(ctx) }(w.app)
	eventually(w.t, "the server", func() (bool, bool) {
		res, err := http.Get("http://" + w.app.Addr() + "/healthz")
		if err != nil {
			return false, false
		}
		_ = res.Body.Close()
		return true, res.StatusCode == http.StatusOK
	})
	w.stop = sync.OnceFunc(func() {
		if w.t.Failed() && os.Getenv("WITAN_TEST_LOG") != "" {
			w.trail()
			w.t.Log(w.log.String())
		}
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
}

func (w *trial) trail() {
	for _, e := range w.events("") {
		b, _ := json.Marshal(e.Payload)
		w.t.Logf("%d %s %s [%s] %.170s", e.Seq, e.Type, e.Source, e.Label, b)
	}
}

func (w *trial) do(f func(tx event.Tx) error) error {
	return w.p.db.Do(context.Background(), w.p.account, f)
}

func (w *trial) see(f func(tx event.Tx) error) {
	w.t.Helper()
	if err := w.p.db.View(context.Background(), w.p.account, f); err != nil {
		w.t.Fatal(err)
	}
}

// events returns what the journal has of one type; "" is everything.
func (w *trial) events(typ event.Type) (out []event.Event) {
	w.t.Helper()
	w.see(func(tx event.Tx) error {
		all, err := store.EventsAfter(tx, 0, 100_000)
		out = nil
		for _, e := range all {
			if typ == "" || e.Type == typ {
				out = append(out, e)
			}
		}
		return err
	})
	return out
}

// last returns the newest payload of a type.
func last[P event.Payload](w *trial) P {
	w.t.Helper()
	var zero P
	all := w.events(zero.EventType())
	if len(all) == 0 {
		w.t.Fatalf("the journal has no %s", zero.EventType())
	}
	return all[len(all)-1].Payload.(P)
}

// tell says something to the coordinator as the owner, on the command line.
func (w *trial) tell(words string) channel.Accepted {
	w.t.Helper()
	return w.tellAs(w.me, words, "")
}

func (w *trial) tellAs(who identity.Principal, words, to string) channel.Accepted {
	w.t.Helper()
	got, err := w.p.intake.Accept(context.Background(), speakers()["cli"](api.Said{Account: w.p.account, PersonID: who.PersonID, Name: "P", Text: words, Agent: to}))
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// stranger says something on an HTTP channel as an address that nothing proves.
func (w *trial) stranger(channelName, address, words string) channel.Accepted {
	w.t.Helper()
	w.key++
	got, err := w.p.http[channelName].Receive(context.Background(), w.p.intake,
		httpin.Caller{Account: w.p.account, PersonID: w.me.PersonID, Name: "P", TokenID: id.ID{7}}, "k"+strconv.Itoa(w.key), httpin.Request{Text: words, Sender: address, SenderName: "Mallory"})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// said waits for the answer to a message.
func (w *trial) said(channelName string, m channel.Accepted) event.OutboundMessage {
	w.t.Helper()
	return eventually(w.t, "an answer", func() (event.OutboundMessage, bool) {
		_, _, said, err := w.p.dispatch.Answer(context.Background(), w.p.account, channelName, m.MessageID)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(said) == 0 {
			return event.OutboundMessage{}, false
		}
		return said[0], true
	})
}

// open waits until so many approvals are open, and returns them, oldest first.
func (w *trial) open(n int) []policy.Approval {
	w.t.Helper()
	return eventually(w.t, "an open approval", func() ([]policy.Approval, bool) {
		var list []policy.Approval
		w.see(func(tx event.Tx) (err error) {
			list, err = w.p.policy.ListApprovals(tx, policy.ApprovalFilter{State: policy.StateOpen})
			return err
		})
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
		return list, len(list) == n
	})
}

func (w *trial) approval(approval id.ID) (a policy.Approval) {
	w.t.Helper()
	w.see(func(tx event.Tx) (err error) { a, err = w.p.policy.GetApproval(tx, approval); return err })
	return a
}

func (w *trial) answer(a policy.Approval, r policy.AnswerRequest) (policy.Approval, error) {
	r.Approval = a.ID
	if r.Digest == "" {
		r.Digest = a.Digest
	}
	if r.Via == "" {
		r.Via = policy.ViaAPI
	}
	return w.p.policy.Answer(context.Background(), w.p.account, w.me.PersonID, r)
}

func (w *trial) allow(a policy.Approval) policy.Approval {
	w.t.Helper()
	out, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// rule makes the next version of the policy.
func (w *trial) rule(change func(d *policy.Document)) {
	w.t.Helper()
	var d policy.Document
	base := 0
	w.see(func(tx event.Tx) error {
		t, err := w.p.policy.Current(tx)
		if err == nil {
			d, base = t.Document(), t.Version()
		}
		return err
	})
	d.Rules, d.Guardrails = append([]policy.Rule(nil), d.Rules...), append([]policy.Rule(nil), d.Guardrails...)
	change(&d)
	if _, err := w.p.policy.Save(context.Background(), w.p.account, w.me.PersonID, base, d, "a test"); err != nil {
		w.t.Fatal(err)
	}
}

// permit lets skills go without a question, as far as rules can.
func (w *trial) permit(skills ...string) {
	w.t.Helper()
	w.rule(func(d *policy.Document) {
		d.Rules = append(d.Rules, policy.Rule{ID: 900 + len(d.Rules), Effect: policy.Allow, Skill: skills})
	})
}

// effect returns the ledger's row of a call.
func (w *trial) effect(invoke id.ID) (out skill.Effect) {
	w.t.Helper()
	w.see(func(tx event.Tx) error {
		list, err := w.p.skills.Effects(tx, skill.Filter{Limit: 200})
		for _, e := range list {
			if e.Cause == invoke {
				out = e
			}
		}
		return err
	})
	return out
}

func (w *trial) replay(run id.ID) (r agent.Report, err error) {
	w.t.Helper()
	verr := w.p.db.View(context.Background(), w.p.account, func(tx event.Tx) error {
		r, err = w.p.replay(tx, run)
		return nil
	})
	if verr != nil {
		w.t.Fatal(verr)
	}
	return r, err
}

// exact fails unless the run replays to the byte and the chain verifies.
func (w *trial) exact(run id.ID) {
	w.t.Helper()
	r, err := w.replay(run)
	if err != nil || r.Verdict != agent.Exact {
		b, _ := json.Marshal(r)
		w.t.Errorf("replay: %v %s", err, b)
	}
	if _, err := store.VerifyChain(context.Background(), w.p.db, w.p.account, nil); err != nil {
		w.t.Error(err)
	}
}

// refused fails unless err is of one of the kinds.
func refused(t testing.TB, what string, err error, kinds ...fault.Kind) {
	t.Helper()
	for _, k := range kinds {
		if err != nil && fault.Is(err, k) {
			return
		}
	}
	t.Errorf("%s: %v (%s), want %v", what, err, fault.KindOf(err), kinds)
}

// person adds somebody with a role.
func (w *trial) person(name string, role identity.Role) identity.Principal {
	w.t.Helper()
	p, _, err := w.p.identity.CreatePerson(context.Background(), w.p.account, w.me, identity.NewPerson{Name: name, SignIn: name, Role: role})
	if err != nil {
		w.t.Fatal(err)
	}
	return identity.Principal{Account: w.p.account, PersonID: p.ID, Name: name, SignIn: name, Role: role, Via: identity.ViaToken}
}
