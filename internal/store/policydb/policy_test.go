package policydb_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store/policydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestPolicyIsSavedInVersions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		b.start(db.Account) // a second time changes nothing
		d := policy.Standard()
		d.Rules = append(d.Rules, policy.Rule{ID: 7, Effect: policy.Deny, Skill: []string{"shell.*"}})
		guarded := d
		guarded.Guardrails = []policy.Rule{{ID: 1, Effect: policy.Deny, Skill: []string{"payments.*"}}}
		save := func(person id.ID, base int, d policy.Document) error {
			_, err := b.svc.Save(ctx, db.Account, person, base, d, "why")
			return err
		}
		wantKind(t, save(id.Nil, 1, d), fault.Denied, "nobody")
		wantKind(t, save(b.viewer, 1, d), fault.Denied, "a viewer")
		wantKind(t, save(b.operator, 1, guarded), fault.Denied, "an operator's guardrail")
		wantKind(t, save(b.owner, 0, d), fault.Conflict, "an old base")
		wantKind(t, save(b.owner, 2, d), fault.Conflict, "a base that never was")
		broken := d
		broken.Rules = []policy.Rule{{ID: 1, Effect: policy.Ask, Skill: []string{"a**"}}}
		wantKind(t, save(b.owner, 1, broken), fault.Invalid, "a broken rule")
		for i, step := range []struct {
			person id.ID
			doc    policy.Document
		}{{b.operator, d}, {b.owner, guarded}} {
			if err := save(step.person, i+1, step.doc); err != nil {
				t.Fatal(err)
			}
		}
		unguarded := guarded
		unguarded.Guardrails = nil
		wantKind(t, save(b.operator, 3, unguarded), fault.Denied, "an operator who lifts a guardrail")
		if v, err := b.svc.Save(ctx, db.Account, b.operator, 3, guarded, ""); err != nil || v != 3 {
			t.Errorf("the same again: %d, %v", v, err)
		}
		if got := b.decide(b.write(func(r *policy.Request) { r.Skill = "payments.pay" })); got.Effect != policy.Deny || got.Rule != "guardrail 1" || got.Version != 3 {
			t.Errorf("%+v", got)
		}
		b.See(t, func(tx event.Tx) error {
			list, err := b.svc.Versions(tx)
			if err != nil {
				return err
			}
			if len(list) != 3 || list[0].Number != 3 || list[2].Person != id.Nil || list[1].Person != b.operator {
				t.Errorf("%+v", list)
			}
			for _, v := range list {
				var back policy.Document
				if err := json.Unmarshal(v.Document, &back); err != nil || string(canonical(t, back)) != string(v.Document) {
					t.Errorf("version %d: %v", v.Number, err)
				}
			}
			return nil
		})
		var saved []event.PolicySaved
		for _, e := range b.Events(t) {
			if p, ok := e.Payload.(event.PolicySaved); ok {
				saved = append(saved, p)
			}
		}
		if len(saved) != 3 || saved[0].Old != nil || string(saved[2].Old) != string(saved[1].New) || saved[2].Comment != "why" {
			t.Errorf("%+v", saved)
		}
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() {
				x := guarded
				x.Rules = append([]policy.Rule{{ID: 50 + i, Effect: policy.Ask}}, x.Rules...)
				errs[i] = save(b.owner, 3, x)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				wantKind(t, err, fault.Conflict, "a save at the same moment")
			}
		}
		if won != 1 {
			t.Errorf("%d saves of one base won", won)
		}
	})
}

func TestAutonomyIsCappedByTheAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		dial := func(actor string) (n int) {
			b.See(t, func(tx event.Tx) (err error) { n, err = b.svc.Autonomy(tx, actor); return err })
			return n
		}
		set := func(person id.ID, scope string, v int) error {
			return b.svc.SetAutonomy(ctx, db.Account, person, scope, v)
		}
		if dial("account") != 75 || dial("agent:scribe") != 75 {
			t.Error("the dial does not start at 75")
		}
		for _, s := range []struct {
			scope       string
			value       int
			scribe, all int
		}{{"agent:scribe", 85, 75, 75}, {"account", 95, 85, 95}, {"agent:scribe", 60, 60, 95}, {"account", 40, 40, 40}} {
			if err := set(b.operator, s.scope, s.value); err != nil {
				t.Fatal(err)
			}
			if a, o := dial("agent:scribe"), dial("agent:other"); a != s.scribe || o != s.all {
				t.Errorf("after %s=%d: %d and %d", s.scope, s.value, a, o)
			}
		}
		wantKind(t, set(b.viewer, "account", 90), fault.Denied, "a viewer")
		wantKind(t, set(id.Nil, "account", 90), fault.Denied, "nobody")
		wantKind(t, set(b.owner, "account", 101), fault.Invalid, "too much")
		wantKind(t, set(b.owner, "person:x", 50), fault.Invalid, "a person's dial")
		b.See(t, func(tx event.Tx) error {
			h, err := b.svc.AutonomyHistory(tx, "agent:scribe")
			if err == nil && (len(h) != 2 || h[0].Value != 60 || h[1].Value != 85 || h[0].Person != b.operator) {
				t.Errorf("%+v", h)
			}
			return err
		})
		memory := func(r *policy.Request) { r.Skill, r.Risk = "memory.remember", policy.Known(policy.RiskLow) }
		if d := b.decide(b.write(memory)); d.Effect != policy.Ask || !d.Asked(policy.AskAutonomy) {
			t.Errorf("%v %v", d.Effect, d.Asks)
		}
		if err := set(b.owner, "account", 75); err != nil {
			t.Fatal(err)
		}
		if d := b.decide(b.write(memory)); d.Effect != policy.Allow {
			t.Errorf("%v", d.Sentences())
		}
		for v, want := range map[int]policy.Effect{59: policy.Ask, 100: policy.Allow} { // a caller lowers, never raises
			d := b.decide(b.write(memory, func(r *policy.Request) { r.Autonomy = policy.Known(v) }))
			if d.Effect != want {
				t.Errorf("a definition's own dial at %d: %v", v, d.Effect)
			}
		}
		if d := b.decide(b.write(func(r *policy.Request) {
			r.Skill, r.Risk, r.Autonomy = "memory.forget", policy.Known(policy.RiskCritical), policy.Known(100)
		})); !d.Asked(policy.AskAutonomy) {
			t.Errorf("a caller raised the dial: %v", d.Sentences())
		}
	})
}

func TestGrantIsUsedUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		spec := policy.GrantSpec{Skill: "file.write", Targets: []string{"*.md"}, Arguments: map[string]string{"/path": "*.md", "/content": "**"},
			Access: []policy.Access{policy.AccessWrite}, MaxRisk: policy.RiskMedium, Uses: 3}
		a := b.allow(b.ask(b.write()), func(r *policy.AnswerRequest) { r.Scope, r.Grant = policy.ScopeGrant, &spec })
		if a.Grant.IsZero() || a.Scope != policy.ScopeGrant {
			t.Fatalf("%+v", a)
		}
		r := b.write(args(`{"content":"more; of it","path":"b.md"}`))
		if d := b.decide(r); d.Effect != policy.Allow || d.Grant != a.Grant {
			t.Fatalf("%v: %v", d.Effect, d.Sentences())
		}
		if d := b.decide(b.write(args(`{"content":"x","path":"b.sh"}`))); d.Effect != policy.Ask {
			t.Error("it covers another target")
		}
		if d := b.decide(b.write(func(r *policy.Request) { r.Actor = "agent:other" })); d.Effect != policy.Ask {
			t.Error("it covers another actor")
		}
		if d := b.decide(b.write(outside)); d.Effect != policy.Ask || !d.Asked(policy.AskLabel) {
			t.Error("it answers the labels")
		}
		last := db.IDs.New()
		for range 2 { // its second attempt is the same use
			if d := b.confirm(r, id.Nil, last); d.Effect != policy.Allow {
				t.Fatal(d.Sentences())
			}
		}
		var wg sync.WaitGroup
		won := make([]bool, 6)
		for i := range won {
			wg.Go(func() { won[i] = b.confirm(r, id.Nil, db.IDs.New()).Effect == policy.Allow })
		}
		wg.Wait()
		n := 0
		for _, w := range won {
			if w {
				n++
			}
		}
		if n != 2 {
			t.Errorf("3 uses, one gone, %d more went", n)
		}
		if d := b.confirm(r, id.Nil, last); d.Effect != policy.Allow {
			t.Errorf("an attempt of a use that was counted: %v", d.Sentences())
		}
		if d := b.decide(r); d.Effect != policy.Ask {
			t.Error("a grant without uses answers")
		}
		b.See(t, func(tx event.Tx) error {
			all, err := b.svc.ListGrants(tx, true)
			if err != nil {
				return err
			}
			if len(all) != 1 || all[0].Used != 3 || all[0].Ended != "used" || all[0].Approval != a.ID || all[0].Person != b.owner || all[0].InForce(storetest.Start) {
				t.Errorf("%+v", all)
			}
			live, err := b.svc.ListGrants(tx, false)
			if len(live) != 0 {
				t.Errorf("%d in force", len(live))
			}
			return err
		})
		if b.count("grant.made") != 1 || b.count("grant.ended") != 1 {
			t.Error("events")
		}
	})
}

func TestGrantScopes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		scope := func(s policy.Scope) func(*policy.AnswerRequest) { return func(r *policy.AnswerRequest) { r.Scope = s } }
		a := b.allow(b.ask(b.write()), scope(policy.ScopeSession))
		if d := b.decide(b.write()); d.Effect != policy.Allow || d.Grant != a.Grant {
			t.Errorf("in the session: %v", d.Sentences())
		}
		run := b.run
		b.run = db.IDs.New()
		if d := b.decide(b.write()); d.Effect != policy.Ask {
			t.Error("a session grant in another run")
		}
		b.run = run
		db.Clock.Advance(day)
		if d := b.decide(b.write()); d.Effect != policy.Ask {
			t.Error("a session grant has no end")
		}
		wider := policy.GrantSpec{Skill: "file.write", Targets: []string{"b.md"}, Access: []policy.Access{policy.AccessWrite}, MaxRisk: policy.RiskMedium}
		x := b.ask(b.write(args(`{"content":"1","path":"a.md"}`)))
		for name, s := range map[string]policy.GrantSpec{
			"one that misses the call": wider,
			"one that is over": func() policy.GrantSpec {
				s, err := policy.NarrowestGrant(x.Request)
				if err != nil {
					t.Fatal(err)
				}
				s.ExpiresAt = clock.Micros(db.Clock.Now())
				return s
			}(),
			"one for ever": func() policy.GrantSpec {
				s, _ := policy.NarrowestGrant(x.Request)
				s.ExpiresAt = clock.Micros(db.Clock.Now().Add(400 * day))
				return s
			}(),
		} {
			_, err := b.answer(x, policy.AnswerAllow, scope(policy.ScopeGrant), func(r *policy.AnswerRequest) { r.Grant = &s })
			wantKind(t, err, fault.Invalid, name)
		}
		b.save(func(d *policy.Document) {
			d.Guardrails = []policy.Rule{{ID: 5, Effect: policy.Ask, Skill: []string{"file.*"}, Target: []string{"g*"}}}
			d.Rules = append(d.Rules, policy.Rule{ID: 40, Effect: policy.Allow, Who: []string{"agent:scribe"}, Skill: []string{"file.write"}})
		})
		guarded := b.ask(b.write(args(`{"content":"1","path":"g.md"}`)))
		labelled := b.ask(b.write(outside))
		for name, p := range map[string]policy.Approval{"a guardrail": guarded, "the labels": labelled} {
			_, err := b.answer(p, policy.AnswerAllow, scope(policy.ScopeGrant))
			wantKind(t, err, fault.Invalid, "a grant for "+name)
		}
		if d := b.confirm(b.write(args(`{"content":"1","path":"g.md"}`)), b.allow(guarded).ID, db.IDs.New()); d.Effect != policy.Allow {
			t.Errorf("a person's word on a guardrail's ask: %v", d.Sentences())
		}
		direct := policy.GrantSpec{Skill: "**", Targets: []string{"**"}, Access: []policy.Access{policy.AccessWrite}, MaxRisk: policy.RiskCritical,
			Arguments: map[string]string{"/content": "**", "/path": "**"}, ExpiresAt: clock.Micros(db.Clock.Now().Add(time.Hour))}
		_, err := b.svc.MakeGrant(ctx, db.Account, b.viewer, "agent:scribe", direct)
		wantKind(t, err, fault.Denied, "a viewer's grant")
		_, err = b.svc.MakeGrant(ctx, db.Account, id.Nil, "agent:scribe", direct)
		wantKind(t, err, fault.Denied, "nobody's grant")
		g, err := b.svc.MakeGrant(ctx, db.Account, b.owner, "agent:scribe", direct)
		if err != nil {
			t.Fatal(err)
		}
		if d := b.decide(b.write(args(`{"content":"2","path":"g.md"}`))); d.Effect != policy.Ask || !d.Asked(policy.AskGuardrail) {
			t.Errorf("a grant answered a guardrail: %v", d.Sentences())
		}
		if err := b.svc.RevokeGrant(ctx, db.Account, b.operator, g.ID); err != nil {
			t.Fatal(err)
		}
		wantKind(t, b.svc.RevokeGrant(ctx, db.Account, b.operator, g.ID), fault.Conflict, "twice")
		wantKind(t, b.svc.RevokeGrant(ctx, db.NewAccount(t), b.owner, g.ID), fault.NotFound, "from another account")
	})
}

// TestGuardrailStopsWhatWasAllowed: a guardrail that comes between the answer
// and the effect stops it, whatever was given before (INV-16).
func TestGuardrailStopsWhatWasAllowed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		a := b.allow(b.ask(b.write(outside)), func(r *policy.AnswerRequest) { r.Scope = policy.ScopeGrant })
		b.save(func(d *policy.Document) {
			d.Guardrails = []policy.Rule{{ID: 1, Effect: policy.Ask, Skill: []string{"file.write"}}}
		})
		if d := b.confirm(b.write(outside), a.ID, db.IDs.New()); d.Effect != policy.Ask {
			t.Errorf("a new guardrail's ask was not put to anybody: %v", d.Sentences())
		}
		b.save(func(d *policy.Document) { d.Guardrails[0].Effect = policy.Deny })
		if d := b.confirm(b.write(outside), a.ID, db.IDs.New()); d.Effect != policy.Deny || d.Rule != "guardrail 1" {
			t.Errorf("%v: %v", d.Effect, d.Sentences())
		}
		if s := b.get(a.ID).State; s != policy.StateAllowed {
			t.Errorf("the approval is %s", s)
		}
		b.save(func(d *policy.Document) { d.Guardrails = nil })
		if d := b.confirm(b.write(outside), a.ID, db.IDs.New()); d.Effect != policy.Allow {
			t.Errorf("without it: %v", d.Sentences())
		}
	})
}

func TestEndorsementCoversTheRun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.save(func(d *policy.Document) {
			d.Rules = append(d.Rules, policy.Rule{ID: 40, Effect: policy.Allow, Who: []string{"agent:scribe"}, Skill: []string{"file.write"}})
		})
		a := b.ask(b.write(outside))
		if !cmp.Equal(a.Asks, []policy.AskKind{policy.AskLabel}) {
			t.Fatalf("%v", a.Asks)
		}
		a = b.allow(a)
		if d := b.decide(b.write(outside, args(`{"content":"other","path":"a.md"}`))); d.Effect != policy.Allow || d.Endorsement != a.Endorsement {
			t.Errorf("the same skill and target in this run: %v", d.Sentences())
		}
		if d := b.decide(b.write(outside, args(`{"content":"hi","path":"b.md"}`))); d.Effect != policy.Ask {
			t.Error("another target")
		}
		b.run = db.IDs.New()
		if d := b.decide(b.write(outside)); d.Effect != policy.Ask {
			t.Error("another run")
		}
	})
}

// broken fails one read.
type broken struct {
	policy.Store
	at string
}

var errDisk = errors.New("input/output error")

func (s broken) GetHead(tx event.Tx) (policy.Head, error) {
	if s.at == "head" {
		return policy.Head{}, errDisk
	}
	return s.Store.GetHead(tx)
}

func (s broken) GetVersion(tx event.Tx, n int) (policy.Version, error) {
	v, err := s.Store.GetVersion(tx, n)
	if s.at == "version" {
		return v, errDisk
	}
	if s.at == "altered version" {
		v.Document = []byte(strings.Replace(string(v.Document), `"ask"`, `"allow"`, 1))
	}
	return v, err
}

func (s broken) FindAutonomy(tx event.Tx, actor string) (a, o *int, err error) {
	if s.at == "autonomy" {
		return nil, nil, errDisk
	}
	return s.Store.FindAutonomy(tx, actor)
}

func (s broken) ListGrantsFor(tx event.Tx, holder string, now time.Time, use id.ID) ([]policy.GrantRow, error) {
	if s.at == "grants" {
		return nil, fault.New(fault.NotFound, "a kind that could pass for an answer")
	}
	return s.Store.ListGrantsFor(tx, holder, now, use)
}

func (s broken) ListEndorsements(tx event.Tx, run id.ID) ([]policy.Endorsement, error) {
	if s.at == "endorsements" {
		return nil, errDisk
	}
	return s.Store.ListEndorsements(tx, run)
}

func (s broken) Now(tx event.Tx) (time.Time, error) {
	if s.at == "clock" {
		return time.Time{}, errDisk
	}
	return s.Store.Now(tx)
}

func TestDecideFailsClosed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		easy := b.write(func(r *policy.Request) {
			r.Skill, r.Access, r.Risk = "file.read", policy.Known(policy.AccessRead), policy.Known(policy.RiskNone)
		})
		if d := b.decide(easy); d.Effect != policy.Allow {
			t.Fatal(d.Sentences())
		}
		before := len(b.Events(t))
		for _, at := range []string{"head", "version", "altered version", "autonomy", "grants", "endorsements", "clock"} {
			svc := b.service(broken{policydb.New(), at})
			for name, f := range map[string]func(tx event.Tx) (policy.Decision, event.Event, error){
				"decide": func(tx event.Tx) (policy.Decision, event.Event, error) { return svc.Decide(tx, easy, b.cause(tx)) },
				"confirm": func(tx event.Tx) (policy.Decision, event.Event, error) {
					return svc.Confirm(tx, policy.Execution{Request: easy, Use: b.run}, b.cause(tx))
				},
			} {
				err := b.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
					d, _, err := f(tx)
					if d.Effect != 0 {
						t.Errorf("%s without %s: %v", name, at, d.Effect)
					}
					return err
				})
				if !errors.Is(err, policy.ErrUnreadable) || fault.KindOf(err) != fault.Unavailable {
					t.Errorf("%s without %s: %v", name, at, err)
				}
			}
		}
		if n := len(b.Events(t)); n != before {
			t.Errorf("%d events of nothing", n-before)
		}
		bare := db.IDs.New()
		err := b.Journal.Do(context.Background(), bare, func(tx event.Tx) error {
			_, _, err := b.svc.Decide(tx, easy, event.Ref{ID: bare, Label: storetest.House()})
			return err
		})
		if !errors.Is(err, policy.ErrUnreadable) {
			t.Errorf("an account without a policy: %v", err)
		}
		for name, f := range map[string]func(*policy.Request){
			"arguments that are not canonical": func(r *policy.Request) { r.Arguments = json.RawMessage(`{ "path":"a" }`) },
			"no arguments":                     func(r *policy.Request) { r.Arguments = nil },
			"no actor":                         func(r *policy.Request) { r.Actor = "scribe" },
			"no manifest":                      func(r *policy.Request) { r.Manifest = "" },
		} {
			err := b.Journal.Do(context.Background(), db.Account, func(tx event.Tx) error {
				_, _, err := b.svc.Decide(tx, b.write(f), b.cause(tx))
				return err
			})
			wantKind(t, err, fault.Invalid, name)
		}
	})
}

// TestDecisionCanBeMadeAgain: what is recorded is enough to decide again.
func TestDecisionCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.allow(b.ask(b.write(outside)), func(r *policy.AnswerRequest) { r.Scope = policy.ScopeGrant })
		b.decide(b.write(outside))
		b.decide(b.write())
		n := 0
		b.See(t, func(tx event.Tx) error {
			table, err := b.svc.Current(tx)
			if err != nil {
				return err
			}
			for _, e := range b.Events(t) {
				p, ok := e.Payload.(event.PolicyDecision)
				if !ok {
					continue
				}
				n++
				var r policy.Request
				if err := json.Unmarshal(p.Request, &r); err != nil {
					return err
				}
				d := policy.Decide(table, r)
				if d.Effect.String() != p.Effect || d.Rule != p.Rule || d.Digest != p.Digest || d.Grant != p.GrantID || !cmp.Equal(d.Sentences(), p.Reasons) {
					t.Errorf("recorded %+v, again %+v", p, d)
				}
			}
			return nil
		})
		if n != 3 {
			t.Errorf("%d decisions", n)
		}
	})
}

func TestHaltAndResume(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		for _, by := range []string{"agent:scribe", "person:" + b.viewer.String()} { // anyone may; twice is once
			if err := b.svc.Halt(ctx, db.Account, by, "account", "stop"); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.svc.Halt(ctx, db.Account, "agent:scribe", "agent:desk", ""); err != nil {
			t.Fatal(err)
		}
		b.See(t, func(tx event.Tx) error {
			s, err := b.svc.Halts(tx)
			if err == nil && (len(s) != 2 || s[0].Scope != "account") {
				t.Errorf("%+v", s)
			}
			return err
		})
		wantKind(t, b.svc.Halt(ctx, db.Account, "", "account", ""), fault.Invalid, "nobody")
		wantKind(t, b.svc.Halt(ctx, db.Account, "agent:x", "workspace:nowhere", ""), fault.Invalid, "no scope")
		wantKind(t, b.svc.Resume(ctx, db.Account, b.viewer, "account"), fault.Denied, "a viewer")
		wantKind(t, b.svc.Resume(ctx, db.Account, id.Nil, "account"), fault.Denied, "nobody")
		if err := b.svc.Resume(ctx, db.Account, b.operator, "account"); err != nil {
			t.Fatal(err)
		}
		wantKind(t, b.svc.Resume(ctx, db.Account, b.operator, "account"), fault.NotFound, "twice")
		if b.count("halt.set") != 2 || b.count("halt.cleared") != 1 {
			t.Error("events")
		}
	})
}

// TestAnIdAloneIsNobodyOfTheAccount: who is called a person stands in the account
// only if the account has that person; the replay decides the same.
func TestAnIdAloneIsNobodyOfTheAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		for to, want := range map[string]policy.Effect{
			"person:" + b.operator.String():       policy.Allow,
			"person:" + b.viewer.String():         policy.Allow,
			"person:" + b.IDs.New().String():      policy.Ask, // of another account, or of none
			"person:mira":                         policy.Ask,
			"person:":                             policy.Ask,
			"contact:" + b.operator.String():      policy.Ask,
			"person:" + b.operator.String() + "x": policy.Ask,
		} {
			d := b.decide(b.write(func(r *policy.Request) {
				r.Skill, r.Access, r.Risk = "message.send", policy.Known(policy.AccessSend), policy.Known(policy.RiskLow)
				r.Recipients = policy.Known([]policy.Recipient{{Principal: to, Channel: "console"}})
			}))
			if d.Effect != want {
				t.Errorf("to %s: %s by %s, want %s", to, d.Effect, d.Rule, want)
			}
		}
		for _, e := range b.Events(t) {
			v, ok := e.Payload.(event.PolicyDecision)
			if !ok {
				continue
			}
			b.See(t, func(tx event.Tx) error {
				d, err := b.svc.Again(tx, v, event.Event{})
				if err == nil && (d.Effect.String() != v.Effect || d.Rule != v.Rule) {
					t.Errorf("again: %s by %s, was %s by %s", d.Effect, d.Rule, v.Effect, v.Rule)
				}
				return err
			})
		}
	})
}
