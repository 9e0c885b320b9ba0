package policy

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
)

var (
	noon  = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	aRun  = id.MustParse("01kk0000000000000000000001")
	space = id.MustParse("01kk0000000000000000000002")
	ann   = "person:01kk0000000000000000000003"
	eve   = "contact:01kk0000000000000000000004"
)

// call is a request of which everything is known and nothing is unusual: an
// agent writes a file for Ann.
func call(change ...func(*Request)) Request {
	r := Request{
		Actor: "agent:scribe", Requester: Known(ann), Trust: Known[int32](800_000), Workspace: Known(id.Nil), Run: aRun,
		Skill: "file.write", Manifest: "m1", Risk: Known(RiskLow), Access: Known(AccessWrite),
		Targets:    Known([]Target{{Pointer: "/path", Value: "notes/a.md"}}),
		Arguments:  json.RawMessage(`{"content":"hello","path":"notes/a.md"}`),
		Why:        Known(event.NewLabel(event.Person, event.AccountWide())),
		Recipients: Known([]Recipient{}), Channel: Known("console"), Sensitivity: Known(Internal),
		Autonomy: Known(DefaultAutonomy), Now: Known(noon), Dreaming: Known(false),
		Commitments: Known([]Commitment{}), Grants: Known([]Grant{}), Endorsements: Known([]Endorsement{}),
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func outside(r *Request) { r.Why = Known(event.NewLabel(event.Outside, event.AccountWide())) }
func medium(r *Request)  { r.Risk = Known(RiskMedium) }

// sends makes it a message to somebody on some channel.
func sends(who, channel string) func(*Request) {
	return func(r *Request) {
		r.Skill, r.Access, r.Risk = "message.send", Known(AccessSend), Known(RiskMedium)
		r.Arguments = json.RawMessage(`{"text":"hi","to":"x"}`)
		r.Targets = Known([]Target{{Pointer: "/to", Value: "x"}})
		r.Recipients = Known([]Recipient{{Principal: who, Channel: channel, Trust: Known[int32](500_000)}})
	}
}

func table(t testing.TB, d Document) *Table {
	t.Helper()
	if d.Default == 0 {
		d.Default = Ask
	}
	out, err := Compile(7, d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rules(r ...Rule) Document { return Document{Rules: r} }

func TestDecideInOrder(t *testing.T) {
	t.Parallel()
	allow := Rule{ID: 1, Effect: Allow}
	for _, c := range []struct {
		name string
		doc  Document
		req  Request
		want Effect
		rule string
		asks []AskKind
	}{
		{"no rule: the default", Document{}, call(), Ask, "default", []AskKind{AskRule}},
		{"no rule, and a default of deny", Document{Default: Deny}, call(), Deny, "default", nil},
		{"an allow", rules(allow), call(), Allow, "rule 1", nil},
		{"a guardrail's deny is above everything", Document{Guardrails: []Rule{{ID: 1, Effect: Deny, Skill: []string{"file.*"}}},
			Rules: []Rule{{ID: 9, Effect: Allow, Who: []string{"agent:scribe"}, Skill: []string{"file.write"}}}}, call(), Deny, "guardrail 1", nil},
		{"a guardrail's deny is above its ask", Document{Guardrails: []Rule{{ID: 1, Effect: Ask}, {ID: 2, Effect: Deny}}, Rules: []Rule{allow}},
			call(), Deny, "guardrail 2", nil},
		{"a guardrail's ask stands", Document{Guardrails: []Rule{{ID: 4, Effect: Ask}}, Rules: []Rule{allow}}, call(), Ask, "guardrail 4", []AskKind{AskGuardrail}},
		{"a rule's deny is above a guardrail's ask", Document{Guardrails: []Rule{{ID: 4, Effect: Ask}}, Rules: []Rule{{ID: 1, Effect: Deny}}},
			call(), Deny, "rule 1", nil},
		{"a narrower skill wins", rules(allow, Rule{ID: 2, Effect: Deny, Skill: []string{"file.write"}}), call(), Deny, "rule 2", nil},
		{"a narrower allow wins over a broad deny", rules(Rule{ID: 1, Effect: Deny, Skill: []string{"file.*"}}, Rule{ID: 2, Effect: Allow, Skill: []string{"file.write"}}),
			call(), Allow, "rule 2", nil},
		{"scope before skill", rules(Rule{ID: 1, Effect: Deny, Skill: []string{"file.write"}}, Rule{ID: 2, Effect: Allow, Who: []string{"agent:scribe"}}),
			call(), Allow, "rule 2", nil},
		{"workspace before account", rules(Rule{ID: 1, Effect: Deny, Skill: []string{"file.write"}}, Rule{ID: 2, Effect: Allow, Workspace: []id.ID{space}}),
			call(func(r *Request) { r.Workspace = Known(space) }), Allow, "rule 2", nil},
		{"actor before workspace", rules(Rule{ID: 1, Effect: Deny, Workspace: []id.ID{space}}, Rule{ID: 2, Effect: Allow, Who: []string{"agent:scribe"}}),
			call(func(r *Request) { r.Workspace = Known(space) }), Allow, "rule 2", nil},
		{"workspace before a sort of actor", rules(Rule{ID: 1, Effect: Deny, Who: []string{"agent:*"}}, Rule{ID: 2, Effect: Allow, Workspace: []id.ID{space}}),
			call(func(r *Request) { r.Workspace = Known(space) }), Allow, "rule 2", nil},
		{"skill before target", rules(Rule{ID: 1, Effect: Deny, Target: []string{"notes/a.md"}}, Rule{ID: 2, Effect: Allow, Skill: []string{"file.*"}}),
			call(), Allow, "rule 2", nil},
		{"target before arguments", rules(Rule{ID: 1, Effect: Deny, Arguments: map[string]string{"/content": "hello"}}, Rule{ID: 2, Effect: Allow, Target: []string{"notes/*"}}),
			call(), Allow, "rule 2", nil},
		{"arguments before time", rules(Rule{ID: 1, Effect: Deny, During: &Window{Zone: "UTC"}}, Rule{ID: 2, Effect: Allow, Arguments: map[string]string{"/content": "h*"}}),
			call(), Allow, "rule 2", nil},
		{"time before other conditions", rules(Rule{ID: 1, Effect: Deny, Access: []Access{AccessWrite}, Risk: []Risk{RiskLow}}, Rule{ID: 2, Effect: Allow, During: &Window{Zone: "UTC"}}),
			call(), Allow, "rule 2", nil},
		{"on a tie deny beats ask beats allow", rules(Rule{ID: 1, Effect: Allow, Skill: []string{"file.write"}}, Rule{ID: 2, Effect: Ask, Skill: []string{"file.write"}},
			Rule{ID: 3, Effect: Deny, Skill: []string{"file.write"}}), call(), Deny, "rule 3", nil},
		{"on a full tie the lower number", rules(Rule{ID: 8, Effect: Ask}, Rule{ID: 2, Effect: Ask}), call(), Ask, "rule 2", []AskKind{AskRule}},
		{"outside its window a rule is none", rules(Rule{ID: 1, Effect: Allow, During: &Window{Zone: "UTC", From: "13:00", Until: "14:00"}}), call(), Ask, "default", []AskKind{AskRule}},
		{"below the floor an allow asks", rules(allow), call(func(r *Request) { r.Risk = Known(RiskHigh) }), Ask, "rule 1", []AskKind{AskAutonomy}},
		{"at the floor it does not", rules(allow), call(func(r *Request) { r.Risk, r.Autonomy = Known(RiskHigh), Known(80) }), Allow, "rule 1", nil},
		{"no risk has no floor", rules(allow), call(func(r *Request) { r.Risk, r.Autonomy = Known(RiskNone), Known(0) }), Allow, "rule 1", nil},
		{"an unknown target may be the one that asks", rules(Rule{ID: 1, Effect: Allow, Skill: []string{"file.*"}}, Rule{ID: 2, Effect: Ask, Skill: []string{"file.*"}, Target: []string{"secret/*"}}),
			call(func(r *Request) { r.Targets = Maybe[[]Target]{} }), Ask, "rule 2", []AskKind{AskRule}},
		{"an unknown workspace is no workspace that allows", rules(Rule{ID: 1, Effect: Deny}, Rule{ID: 2, Effect: Allow, Workspace: []id.ID{space}}),
			call(func(r *Request) { r.Workspace = Maybe[id.ID]{} }), Deny, "rule 1", nil},
		{"and may be one that denies", rules(Rule{ID: 1, Effect: Allow}, Rule{ID: 2, Effect: Deny, Workspace: []id.ID{space}}),
			call(func(r *Request) { r.Workspace = Maybe[id.ID]{} }), Deny, "rule 2", nil},
		{"a milder rule that may hold does not lift a stricter one", rules(Rule{ID: 1, Effect: Deny}, Rule{ID: 2, Effect: Ask, Workspace: []id.ID{space}}),
			call(func(r *Request) { r.Workspace = Maybe[id.ID]{} }), Deny, "rule 1", nil},
		{"a dream is denied", rules(allow), call(func(r *Request) { r.Dreaming = Known(true) }), Deny, "dream", nil},
		{"a commitment asks", rules(allow), call(func(r *Request) { r.Commitments = Known([]Commitment{{Skill: "file.*", Target: "notes/*"}}) }), Ask, "rule 1", []AskKind{AskCommitment}},
		{"another commitment does not", rules(allow), call(func(r *Request) { r.Commitments = Known([]Commitment{{Skill: "file.*", Target: "secret/*"}}) }), Allow, "rule 1", nil},
	} {
		d := Decide(table(t, c.doc), c.req)
		if d.Effect != c.want || d.Rule != c.rule || !slices.Equal(d.Asks, c.asks) {
			t.Errorf("%s: %v by %s asking %v, want %v by %s asking %v", c.name, d.Effect, d.Rule, d.Asks, c.want, c.rule, c.asks)
		}
		if n := len(c.doc.Rules) + len(c.doc.Guardrails); len(d.Losers) < n-2 || len(d.Losers) > n {
			t.Errorf("%s: %d of %d rules explained", c.name, len(d.Losers), n)
		}
	}
}

func TestDecideOverSeveralTargets(t *testing.T) {
	t.Parallel()
	two := call(sends(eve, "email"), func(r *Request) {
		r.Risk = Known(RiskLow)
		r.Why = Known(event.NewLabel(event.Person, event.Public()))
		r.Arguments = json.RawMessage(`{"cc":["eve@evil.org"],"to":["ann@example.com"]}`)
		r.Targets = Known([]Target{{"/to", "ann@example.com"}, {"/cc", "eve@evil.org"}})
	})
	allow := Rule{ID: 1, Effect: Allow, Target: []string{"*@example.com"}}
	if d := Decide(table(t, rules(allow)), two); d.Effect != Ask || d.Rule != "default" {
		t.Errorf("an allow held although one target is foreign: %v by %s", d.Effect, d.Rule)
	}
	if d := Decide(table(t, rules(Rule{ID: 1, Effect: Allow}, Rule{ID: 2, Effect: Deny, Target: []string{"*@EVIL.org"}})), two); d.Effect != Deny {
		t.Errorf("one foreign cc was not enough: %v", d.Effect)
	}
	if d := Decide(table(t, rules(Rule{ID: 1, Effect: Allow}, Rule{ID: 2, Effect: Deny, Arguments: map[string]string{"/cc": "*evil*"}})), two); d.Effect != Deny {
		t.Errorf("an element of a list was not seen: %v", d.Effect)
	}
	if d := Decide(table(t, rules(Rule{ID: 1, Effect: Allow, Arguments: map[string]string{"/to": "*@example.com"}})), two); d.Effect != Allow {
		t.Errorf("an allow over a list did not hold: %v by %s %v", d.Effect, d.Rule, d.Sentences())
	}
}

func TestDecideLabels(t *testing.T) {
	t.Parallel()
	everything := rules(Rule{ID: 1, Effect: Allow})
	known := event.NewLabel(event.Known, event.AccountWide())
	label := []AskKind{AskLabel}
	what := func(p string, l event.Label) func(*Request) {
		return func(r *Request) { r.What = []ArgumentLabel{{p, l}} }
	}
	nod := func(r *Request) {
		r.Endorsements = Known([]Endorsement{{ID: aRun, Run: aRun, Skill: r.Skill, Targets: r.targetsDigest(), Label: r.seen()}})
	}
	for _, c := range []struct {
		name string
		doc  Document
		req  Request
		asks []AskKind
	}{
		{"a medium act led by outside asks", everything, call(outside, medium), label},
		{"a low one does not", everything, call(outside), nil},
		{"a known context does not", everything, call(medium, func(r *Request) { r.Why = Known(known) }), nil},
		{"reading is never raised", everything, call(outside, medium, func(r *Request) { r.Access = Known(AccessRead) }), nil},
		{"answering the requester is not raised", everything, call(sends(ann, "console"), outside), nil},
		{"the requester on another channel is", everything, call(sends(ann, "email"), outside), label},
		{"the requester and a cc are", everything, call(sends(ann, "console"), outside, func(r *Request) {
			r.Recipients = Known(append(r.Recipients.Or(nil), Recipient{Principal: "person:01kk00000000000000000000zz", Channel: "console"}))
		}), label},
		{"a rule that names the target, with a known value, frees it",
			rules(Rule{ID: 1, Effect: Allow, Target: []string{"notes/*"}}), call(outside, medium, what("/path", known)), nil},
		{"not with an outside value", rules(Rule{ID: 1, Effect: Allow, Target: []string{"notes/*"}}), call(outside, medium), label},
		{"not if the rule names another argument",
			rules(Rule{ID: 1, Effect: Allow, Arguments: map[string]string{"/content": "hello"}}), call(outside, medium, what("/content", known)), label},
		{"an argument can be named as any", rules(Rule{ID: 1, Effect: Allow, Arguments: map[string]string{"/path": "**"}}), call(outside, medium, what("/path", known)), nil},
		{"a target of any names nothing", rules(Rule{ID: 1, Effect: Allow, Target: []string{"**"}}), call(outside, medium, what("/path", known)), label},
		{"what leaves needs readers that include the recipient", everything, call(sends(eve, "email")), label},
		{"public text may go", everything, call(sends(eve, "email"), func(r *Request) { r.Why = Known(event.NewLabel(event.Person, event.Public())) }), nil},
		{"to people of the account it may", everything, call(sends("person:01kk00000000000000000000zz", "console")), nil},
		{"the audience holds for the requester too", everything, call(sends(ann, "console"), func(r *Request) {
			r.Why = Known(event.NewLabel(event.Person, event.Only("agent:scribe")))
		}), label},
		{"the audience holds for reads that send", everything, call(func(r *Request) {
			r.Access, r.Recipients = Known(AccessRead), Known([]Recipient{{Principal: Anyone}})
		}), label},
		{"arguments raised one by one can leave", everything, call(sends(eve, "email"), func(r *Request) {
			pub := event.NewLabel(event.Known, event.Public())
			r.What = []ArgumentLabel{{"/text", pub}, {"/to", pub}}
		}), nil},
		{"all of them must be", everything, call(sends(eve, "email"), what("/text", event.NewLabel(event.Known, event.Public()))), label},
		{"an endorsement answers", everything, call(outside, medium, nod), nil},
		{"not in another run", everything, call(outside, medium, nod, func(r *Request) { r.Run = space }), label},
		{"not for another target", everything, call(outside, medium, nod, func(r *Request) { r.Targets = Known([]Target{{"/path", "notes/b.md"}}) }), label},
		{"not for another skill", everything, call(outside, medium, nod, func(r *Request) { r.Skill = "file.delete" }), label},
		{"not for data that fewer may read", everything, call(sends(eve, "email"), nod, func(r *Request) {
			r.Why = Known(event.NewLabel(event.Person, event.Only(ann)))
		}), label},
		{"and not an ask of a rule", rules(Rule{ID: 1, Effect: Ask}), call(outside, medium, nod), []AskKind{AskRule}},
	} {
		d := Decide(table(t, c.doc), c.req)
		if !slices.Equal(d.Asks, c.asks) {
			t.Errorf("%s: asks %v, want %v: %v", c.name, d.Asks, c.asks, d.Sentences())
		}
		if want := c.asks != nil; (d.Effect == Ask) != want || d.Effect == Deny {
			t.Errorf("%s: %v", c.name, d.Effect)
		}
	}
}

func TestDecideStandardPolicy(t *testing.T) {
	t.Parallel()
	std := table(t, Standard())
	public := func(r *Request) { r.Why = Known(event.NewLabel(event.Person, event.Public())) }
	for _, c := range []struct {
		name string
		req  Request
		want Effect
		rule string
	}{
		{"an agent's file asks by rule 3", call(), Ask, "rule 3"},
		{"a person's own hand writes by the default", call(func(r *Request) { r.Actor = ann }), Ask, "default"},
		{"reading is free", call(func(r *Request) { r.Skill, r.Access, r.Risk = "file.read", Known(AccessRead), Known(RiskNone) }), Allow, "rule 1"},
		{"memory may be written", call(func(r *Request) { r.Skill = "memory.remember" }), Allow, "rule 2"},
		{"pano may be written", call(func(r *Request) { r.Skill = "pano.write" }), Allow, "rule 2"},
		{"pano at a higher risk asks", call(medium, func(r *Request) { r.Skill = "pano.write" }), Ask, "default"},
		{"a third party asks", call(sends(eve, "email"), public), Ask, "rule 4"},
		{"one third party among people asks", call(sends(ann, "console"), public, func(r *Request) {
			r.Recipients = Known(append(r.Recipients.Or(nil), Recipient{Principal: eve, Channel: "email"}))
		}), Ask, "rule 4"},
		{"an answer goes out", call(sends(ann, "console")), Allow, "rule 6"},
		{"spending asks", call(func(r *Request) { r.Skill, r.Access = "shop.buy", Known(AccessSpend) }), Ask, "rule 5"},
		{"deleting asks, of documents too", call(func(r *Request) { r.Skill, r.Access = "pano.delete", Known(AccessDelete) }), Ask, "rule 5"},
	} {
		if d := Decide(std, c.req); d.Effect != c.want || d.Rule != c.rule {
			t.Errorf("%s: %v by %s: %v", c.name, d.Effect, d.Rule, d.Sentences())
		}
	}
}

func TestDecideExplains(t *testing.T) {
	t.Parallel()
	doc := Document{Rules: []Rule{
		{ID: 1, Effect: Allow}, {ID: 2, Effect: Ask, Skill: []string{"file.write"}}, {ID: 3, Effect: Deny, Skill: []string{"shell.*"}},
		{ID: 4, Effect: Allow, Skill: []string{"file.write"}}, {ID: 5, Effect: Ask, Skill: []string{"file.write"}},
		{ID: 6, Effect: Deny, Arguments: map[string]string{"/path": "secret/*"}},
	}}
	d := Decide(table(t, doc), call())
	want := []Loser{{"rule 1", Allow, "less specific"}, {"rule 3", Deny, "skill"}, {"rule 4", Allow, "weaker"}, {"rule 5", Ask, "later"}, {"rule 6", Deny, "arguments/path"}}
	if diff := cmp.Diff(want, d.Losers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Rule 2 is the most specific one that applies.", "Autonomy stands at 75: approval-required."}, d.Sentences()); diff != "" {
		t.Error(diff)
	}
	if d.Version != 7 || d.Band != BandApproval || d.Digest == "" {
		t.Errorf("%+v", d)
	}
	if r, ok := table(t, doc).Rule(d.Rule); !ok || r.Text() != "ASK file.write" {
		t.Errorf("%q", r.Text())
	}
	if got, want := (Rule{ID: 3, Effect: Ask, Who: []string{"agent:*"}, Skill: []string{"file.write"}}).Text(), "ASK file.write\n  by agents"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, l := range d.Losers {
		if l.Sentence() == "" {
			t.Errorf("%+v has no words", l)
		}
	}
}

func TestBandsAndFloors(t *testing.T) {
	t.Parallel()
	for a, want := range map[int]Band{100: BandFull, 90: BandFull, 89: BandSpotCheck, 80: BandSpotCheck, 79: BandApproval, 70: BandApproval,
		69: BandDraft, 60: BandDraft, 59: BandRestricted, 0: BandRestricted} {
		if got := BandOf(a); got != want {
			t.Errorf("%d: %s, want %s", a, got, want)
		}
	}
	for r, want := range map[Risk]int{RiskNone: 0, RiskLow: 60, RiskMedium: 70, RiskHigh: 80, RiskCritical: 90} {
		if r.Floor() != want {
			t.Errorf("%v: %d", r, r.Floor())
		}
	}
	if Risk(0).Floor() <= maxAutonomy {
		t.Error("no risk at all is allowed")
	}
}

// unknowns empties one input each.
func unknowns() map[string]func(*Request) {
	return map[string]func(*Request){
		"requester": func(r *Request) { r.Requester = Maybe[string]{} }, "trust": func(r *Request) { r.Trust = Maybe[int32]{} },
		"workspace": func(r *Request) { r.Workspace = Maybe[id.ID]{} }, "risk": func(r *Request) { r.Risk = Maybe[Risk]{} },
		"access": func(r *Request) { r.Access = Maybe[Access]{} }, "targets": func(r *Request) { r.Targets = Maybe[[]Target]{} },
		"why": func(r *Request) { r.Why = Maybe[event.Label]{} }, "sensitivity": func(r *Request) { r.Sensitivity = Maybe[Sensitivity]{} },
		"recipients": func(r *Request) { r.Recipients = Maybe[[]Recipient]{} }, "channel": func(r *Request) { r.Channel = Maybe[string]{} },
		"autonomy": func(r *Request) { r.Autonomy = Maybe[int]{} }, "now": func(r *Request) { r.Now = Maybe[time.Time]{} },
		"dreaming": func(r *Request) { r.Dreaming = Maybe[bool]{} }, "commitments": func(r *Request) { r.Commitments = Maybe[[]Commitment]{} },
		"grants": func(r *Request) { r.Grants = Maybe[[]Grant]{} }, "endorsements": func(r *Request) { r.Endorsements = Maybe[[]Endorsement]{} },
	}
}

func TestRequestIsRecordedWhole(t *testing.T) {
	t.Parallel()
	full := call(sends(eve, "email"), outside, func(r *Request) {
		r.What = []ArgumentLabel{{"/to", event.NewLabel(event.Known, event.Only(ann))}}
		g, err := newGrant(space, r.Actor, GrantSpec{Skill: "message.*", Targets: []string{"x"}, Access: []Access{AccessSend}, MaxRisk: RiskHigh,
			Arguments: map[string]string{"/to": "x"}, Uses: 3, ExpiresAt: clock.Micros(noon.Add(time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		r.Grants = Known([]Grant{g})
		r.Endorsements = Known([]Endorsement{{ID: space, Run: aRun, Skill: "message.send", Targets: "t", Label: event.NewLabel(event.Outside, event.AccountWide())}})
		r.Commitments = Known([]Commitment{{ID: space, Skill: "*"}})
	})
	requests := map[string]Request{"all": full}
	for name, f := range unknowns() {
		r := full
		f(&r)
		requests[name] = r
	}
	policies := []*Table{table(t, Standard()), table(t, rules(Rule{ID: 1, Effect: Allow}))}
	for name, r := range requests {
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Request
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(raw) {
			t.Errorf("%s: %s became %s (%v)", name, raw, again, err)
		}
		for _, p := range policies {
			if diff := cmp.Diff(Decide(p, r), Decide(p, back)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}
