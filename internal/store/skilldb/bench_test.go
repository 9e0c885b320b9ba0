package skilldb_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/skilldb"
	"github.com/witan-run/witan/internal/store/storetest"
)

// bench is a service over a real engine with a policy desk and a fake outside
// world beside it.
type bench struct {
	*storetest.DB
	s      *skill.Service
	store  *skilldb.Store
	desk   *desk
	world  *world
	config skill.Config
	agent  event.Origin
	held   map[string][]string
	head   manifest.Snapshot
	run    id.ID
	viewer id.ID // a person who may only look
	calls  int
	regs   []skill.Registration
	vault  vault
	more   []manifest.Manifest // of kinds for which nothing is registered
}

const actor = "agent:coordinator"

// base returns a manifest that each test varies.
func base(name string, class manifest.Class) manifest.Manifest {
	m := manifest.Manifest{
		Name: name, Version: "1", Kind: manifest.Builtin, Description: "Does a thing.", Risk: manifest.RiskLow, Access: manifest.Write,
		Class: class, TimeoutMS: 20_000, OutputLabel: "house", Title: "Do {what}",
		Input:  json.RawMessage(`{"additionalProperties":false,"properties":{"what":{"type":"string"},"to":{"type":"array","items":{"type":"string"}}},"required":["what"],"type":"object"}`),
		Target: []string{"/what"},
	}
	switch class {
	case manifest.ClassRead:
		m.Access = manifest.Read
	case manifest.ClassReconcilable:
		m.ReadBack = manifest.Exact
	case manifest.ClassIdempotent, manifest.ClassOnce:
	}
	return m
}

// option changes a bench before it is built.
type option func(*bench)

func configured(f func(*skill.Config)) option { return func(b *bench) { f(&b.config) } }

// May implements skill.People: everybody may but who only looks.
func (b *bench) May(_ event.Tx, by, act string) error {
	if by == "person:"+b.viewer.String() {
		return fault.New(fault.Denied, "the role viewer may not do %s", act)
	}
	return nil
}

func setup(t *testing.T, db *storetest.DB, opts ...option) *bench {
	t.Helper()
	b := &bench{DB: db, store: skilldb.New(), world: newWorld(), held: map[string][]string{}, run: db.IDs.New(), viewer: db.IDs.New(), vault: vault{}}
	b.desk = &desk{bench: b, answers: map[string]skill.Answer{}, approvals: map[id.ID]*approval{},
		origin: storetest.Origin(t, event.LayerDispatch, event.ClassPolicy, "policy", "policy.decision", "approval.requested", "approval.answered", "approval.withdrawn", "approval.closed")}
	b.agent = storetest.Origin(t, event.LayerAgent, event.ClassAgent, "agent", "skill.invoke", "run.cancelled").As("coordinator")
	b.config = skill.Config{
		Journal: db.Journal, Store: b.store, Decider: b.desk, Asker: b.desk, Holdings: b, People: b, Deliveries: b, Vault: b.vault,
		Permissions: manifest.Permissions(), Clock: db.Clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Origin: storetest.Origin(t, event.LayerExecution, event.ClassSkill, "skill", "skill.result", "effect.changed", "effect.settled", "catalogue.changed"),
		Grace:  20 * time.Millisecond,
	}
	for _, o := range opts {
		o(b)
	}
	r, err := skill.NewRegistry(b.regs...)
	if err != nil {
		t.Fatal(err)
	}
	if b.config.Executables == nil {
		b.config.Executables = map[manifest.Kind]skill.Executables{manifest.Builtin: r}
	}
	for _, g := range b.regs {
		b.held[actor] = append(b.held[actor], g.Manifest.Name)
	}
	if b.s, err = skill.New(b.config); err != nil {
		t.Fatal(err)
	}
	db.React(storetest.Reactions{
		{Name: "skill.invoke", On: []event.Type{"skill.invoke"}, Run: b.s.OnInvoke},
		{Name: "skill.approval", On: []event.Type{"approval.answered"}, Run: b.s.OnApproval},
		{Name: "skill.withdrawn", On: []event.Type{"approval.withdrawn"}, Run: b.s.OnWithdrawn},
		{Name: "skill.closed", On: []event.Type{"approval.closed"}, Run: b.s.OnApprovalClosed},
		{Name: "skill.cancelled", On: []event.Type{"run.cancelled"}, Run: b.s.OnRunCancelled},
		{Name: "skill.epoch", On: []event.Type{"epoch.started"}, Run: b.s.OnEpoch},
		{Name: "skill.held", On: []event.Type{"work.held"}, Run: b.s.OnHeld},
	})
	entries := r.Entries()
	for _, m := range b.more {
		entries = append(entries, manifest.Entry{Manifest: m, Label: storetest.House()})
		b.held[actor] = append(b.held[actor], m.Name)
	}
	if b.head, err = b.s.Seed(context.Background(), db.Account, entries); err != nil {
		t.Fatal(err)
	}
	return b
}

// Held implements skill.Holdings.
func (b *bench) Held(_ event.Tx, who string) ([]string, error) {
	h, ok := b.held[who]
	if !ok {
		return nil, fault.New(fault.NotFound, "no agent %s", who)
	}
	return h, nil
}

// SkillInvoke implements skill.Deliveries, as the bus does: from bytes read back.
func (b *bench) SkillInvoke(ctx context.Context, account, ev id.ID) (d event.Delivery[event.SkillInvoke], err error) {
	err = b.Journal.View(ctx, account, func(tx event.Tx) error {
		e, err := store.GetEvent(tx, ev)
		if err != nil {
			return err
		}
		d, err = event.NewDelivery[event.SkillInvoke](e)
		return err
	})
	return d, err
}

// invocation returns a call of a skill in today's catalogue.
func (b *bench) invocation(name, args string) event.SkillInvoke {
	it, _ := b.head.Find(name)
	b.calls++
	return event.SkillInvoke{RunID: b.run, Step: b.calls, CallID: fmt.Sprintf("c%d", b.calls), Actor: actor, Requester: "person:p1",
		Skill: name, Manifest: it.Hash, Catalogue: b.head.Number, Arguments: json.RawMessage(args), Trust: 900_000, Channel: "console", Reason: "because"}
}

var outside = event.NewLabel(event.Known, event.AccountWide()) //nolint:gochecknoglobals // a constant

// emit says skill.invoke and returns the event and the effect, if there is one.
func (b *bench) emit(t *testing.T, p event.SkillInvoke) (event.Event, skill.Effect) {
	t.Helper()
	var ev event.Event
	b.Do(t, func(tx event.Tx) (err error) {
		ev, err = tx.Emit(b.agent, event.Draft{Payload: p, Stream: b.run, Label: outside, Summary: "An agent wants to act."})
		return err
	})
	return ev, b.byCause(t, ev.ID)
}

func (b *bench) call(t *testing.T, name, args string) skill.Effect {
	t.Helper()
	_, e := b.emit(t, b.invocation(name, args))
	if e.ID.IsZero() {
		t.Fatalf("no effect row; results: %+v", b.results(t))
	}
	return e
}

func (b *bench) byCause(t *testing.T, ev id.ID) (e skill.Effect) {
	t.Helper()
	b.See(t, func(tx event.Tx) (err error) {
		e, err = b.store.FindByCause(tx, ev)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		return err
	})
	return e
}

func (b *bench) effect(t *testing.T, e id.ID) (out skill.Effect) {
	t.Helper()
	b.See(t, func(tx event.Tx) (err error) { out, err = b.store.GetEffect(tx, e); return err })
	return out
}

func (b *bench) work(e id.ID) error { return b.s.Work(context.Background(), b.Account, e) }

// mustWork works on an effect and expects it to end in a state.
func (b *bench) mustWork(t *testing.T, e id.ID, want skill.State) skill.Effect {
	t.Helper()
	if err := b.work(e); err != nil {
		t.Fatalf("work: %v", err)
	}
	return b.want(t, e, want)
}

func (b *bench) want(t *testing.T, e id.ID, want skill.State) skill.Effect {
	t.Helper()
	got := b.effect(t, e)
	if got.State != want {
		t.Fatalf("effect is %s (%s), want %s", got.State, got.Reason, want)
	}
	return got
}

// later moves the clock past every retry and every dead node's lease.
func (b *bench) later() { b.Clock.Advance(2 * time.Minute) }

func (b *bench) results(t *testing.T) (out []event.SkillResult) {
	t.Helper()
	for _, e := range b.Events(t) {
		if r, ok := e.Payload.(event.SkillResult); ok {
			out = append(out, r)
		}
	}
	return out
}

// result returns the one result of an effect.
func (b *bench) result(t *testing.T, e id.ID) (event.SkillResult, event.Event) {
	t.Helper()
	var got []event.Event
	for _, ev := range b.Events(t) {
		if r, ok := ev.Payload.(event.SkillResult); ok && r.EffectID == e {
			got = append(got, ev)
		}
	}
	if len(got) != 1 {
		t.Fatalf("%d results for one effect, want 1", len(got))
	}
	return got[0].Payload.(event.SkillResult), got[0]
}

func (b *bench) noResult(t *testing.T, e id.ID) {
	t.Helper()
	for _, r := range b.results(t) {
		if r.EffectID == e {
			t.Fatalf("there is a result already: %+v", r)
		}
	}
}

// walk returns the states that an effect went through.
func (b *bench) walk(t *testing.T, e id.ID) string {
	t.Helper()
	var out []string
	b.See(t, func(tx event.Tx) error {
		out = nil
		steps, err := b.store.ListSteps(tx, e)
		for _, s := range steps {
			out = append(out, string(s.State))
		}
		return err
	})
	return strings.Join(out, " ")
}

// desk is a policy: it decides as it was told, and binds every answer to the
// digest of the exact call. Its state is outside the transaction, which is good
// enough here: no test voids one that asked.
type desk struct {
	*bench
	origin event.Origin

	mu        sync.Mutex
	answers   map[string]skill.Answer // by skill; allow if absent
	confirm   map[string]skill.Answer // at execution, if it differs
	approvals map[id.ID]*approval
	asked     []skill.Question
	confirmed []skill.Question
	denied    map[string]bool // skills that a person said no to
	shared    id.ID           // handed out to everybody, if set
	broken    error
}

type approval struct {
	call      string
	original  string
	state     string
	use       id.ID
	expires   time.Time
	effective time.Time
}

// digest is the desk's own: everything that makes it this call.
func digest(q skill.Question) string {
	q.EffectID, q.Approval, q.Title, q.Reason, q.Original = id.Nil, id.Nil, "", "", nil
	label := q.Label.String()
	q.Label = event.Label{}
	raw, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	d := canon.Digest("test", raw, []byte(label))
	return hex.EncodeToString(d[:])
}

func (d *desk) say(tx event.Tx, q skill.Question, a skill.Answer, execution bool, cause event.Ref) (skill.Verdict, error) {
	v := skill.Verdict{Answer: a, Call: digest(q), Rule: "rule 1", Reason: "rule 1 says " + string(a)}
	ev, err := tx.Emit(d.origin, event.Draft{Payload: event.PolicyDecision{InvokeID: q.InvokeID, RunID: q.RunID, Skill: q.Skill,
		Effect: string(a), Rule: v.Rule, Digest: v.Call, Execution: execution, ApprovalID: q.Approval},
		Causes: []event.Ref{cause}, Stream: q.Stream, Summary: "Policy decided."})
	v.Event = ev.Ref()
	return v, err
}

// Decide implements skill.Decider.
func (d *desk) Decide(tx event.Tx, q skill.Question, cause event.Ref) (skill.Verdict, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return skill.Verdict{}, d.broken
	}
	d.asked = append(d.asked, q)
	a := d.answers[q.Skill]
	if a == "" {
		a = skill.Allow
	}
	return d.say(tx, q, a, false, cause)
}

// Confirm implements skill.Decider.
func (d *desk) Confirm(tx event.Tx, q skill.Question, cause event.Ref) (skill.Verdict, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return skill.Verdict{}, d.broken
	}
	d.confirmed = append(d.confirmed, q)
	a := d.answers[q.Skill]
	if c, ok := d.confirm[q.Skill]; ok {
		a = c
	}
	if a == "" {
		a = skill.Allow
	}
	if a == skill.Ask && !q.Approval.IsZero() {
		a = skill.Allow
		p := d.approvals[q.Approval]
		now, err := store.DBNow(tx)
		if err != nil {
			return skill.Verdict{}, err
		}
		if p == nil || p.state != "allowed" || p.call != digest(q) || !p.use.IsZero() && p.use != q.EffectID || now.After(p.expires) || now.Before(p.effective) {
			a = skill.Deny
		} else {
			p.use = q.EffectID
		}
	}
	return d.say(tx, q, a, true, cause)
}

// Ask implements skill.Asker.
func (d *desk) Ask(tx event.Tx, q skill.Question, v skill.Verdict) (id.ID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.denied[q.Skill] {
		return id.Nil, fault.New(fault.Denied, "AP-1 denied this call already")
	}
	if !d.shared.IsZero() {
		return d.shared, nil
	}
	for i, p := range d.approvals { // the same call is asked about once
		if p.call == v.Call && p.state == "open" {
			return i, nil
		}
	}
	a := tx.NewID()
	d.approvals[a] = &approval{call: v.Call, original: v.Call, state: "open", expires: d.Clock.Now().Add(24 * time.Hour)}
	_, err := tx.Emit(d.origin, event.Draft{Payload: event.ApprovalRequested{ApprovalID: a, Key: "AP-1", Skill: q.Skill, Arguments: q.Arguments, Call: v.Call, Digest: v.Call, Asks: []string{"rule"}},
		Causes: []event.Ref{v.Event}, Summary: q.Title})
	return a, err
}

// answer says what a person answered; args is set after an edit.
func (b *bench) answer(t *testing.T, a id.ID, answer string, args string, due time.Time) {
	t.Helper()
	b.desk.mu.Lock()
	p := b.desk.approvals[a]
	b.desk.mu.Unlock()
	ans := event.ApprovalAnswered{ApprovalID: a, PersonID: b.IDs.New(), Answer: answer, Scope: "once", Digest: p.call, Call: p.call, EffectiveAt: clock.Micros(due), Via: "console"}
	if args != "" {
		var e skill.Effect
		b.See(t, func(tx event.Tx) (err error) { e, err = b.store.FindByApproval(tx, a); return err })
		b.See(t, func(tx event.Tx) error {
			q, err := b.s.Requestion(tx, e.Cause, json.RawMessage(args))
			if err == nil {
				ans.Call = digest(q)
			}
			return nil
		})
		ans.Arguments = json.RawMessage(args)
	}
	p.call, p.effective = ans.Call, due
	p.state = map[string]string{"allow": "allowed", "deny": "denied"}[answer]
	b.Do(t, func(tx event.Tx) error {
		_, err := tx.Emit(b.desk.origin, event.Draft{Payload: ans, Summary: "A person answered.", Label: event.NewLabel(event.Person, event.AccountWide())})
		return err
	})
}

// world is the outside: it counts what was done to it by key.
type world struct {
	mu   sync.Mutex
	done map[string]int
	seen []skill.Call
}

func newWorld() *world { return &world{done: map[string]int{}} }

func (w *world) do(c skill.Call) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[c.Key]++
	w.seen = append(w.seen, c)
	return w.done[c.Key]
}

func (w *world) count(key string) int { w.mu.Lock(); defer w.mu.Unlock(); return w.done[key] }

func (w *world) calls() []skill.Call { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(w.seen) }

// exec is an executable made of a function.
type exec func(ctx context.Context, c skill.Call) (skill.Output, error)

// Act implements skill.Executable.
func (f exec) Act(ctx context.Context, c skill.Call) (skill.Output, error) { return f(ctx, c) }

// double is a reconciler made of two functions.
type double struct {
	exec
	back func(ctx context.Context, c skill.Call) (skill.Output, bool, error)
}

// ReadBack implements skill.Reconciler.
func (d double) ReadBack(ctx context.Context, c skill.Call) (skill.Output, bool, error) {
	return d.back(ctx, c)
}

// vault holds secrets by name.
type vault map[string]string

// Secret implements skill.Vault.
func (v vault) Secret(_ context.Context, _ id.ID, name string) (secret.String, error) {
	s, ok := v[name]
	if !ok {
		return secret.String{}, fault.New(fault.NotFound, "no secret %s", name)
	}
	return secret.New(s), nil
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// change makes the next number of the catalogue.
func (b *bench) change(t *testing.T, by skill.By, c skill.Change) {
	t.Helper()
	s, err := b.s.ChangeCatalogue(context.Background(), b.Account, by, c)
	b.head = must(t, s, err)
}

// entries are the manifests of the registered skills.
func (b *bench) entries() []manifest.Entry {
	r, err := skill.NewRegistry(b.regs...)
	if err != nil {
		panic(err)
	}
	return r.Entries()
}
