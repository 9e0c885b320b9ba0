package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
)

// The generators draw from small worlds, so that rules and calls meet often.

// some draws none to two of a world; mostly none, which is "any".
func some[T any](t *rapid.T, name string, world ...T) []T {
	if rapid.IntRange(0, 3).Draw(t, "has "+name) > 0 {
		return nil
	}
	n := rapid.IntRange(1, 2).Draw(t, name+" count")
	var out []T
	for i := range n {
		out = append(out, rapid.SampledFrom(world).Draw(t, fmt.Sprint(name, i)))
	}
	return out
}

func drawRule(t *rapid.T, number int, effects ...Effect) Rule {
	r := Rule{
		ID: number, Effect: rapid.SampledFrom(effects).Draw(t, "effect"),
		Who:         some(t, "who", "agent:*", "agent:scribe", "mind:*", "*"),
		Workspace:   some(t, "workspace", space, aRun),
		Skill:       some(t, "skill", "file.*", "file.write", "message.send", "*"),
		Target:      some(t, "target", "notes/*", "notes/a.md", "x", "*", "**"),
		For:         some(t, "for", "person:*", "contact:*", ann),
		Access:      some(t, "access", AccessRead, AccessWrite, AccessSend),
		Risk:        some(t, "risk", RiskNone, RiskLow, RiskMedium, RiskHigh),
		Recipient:   some(t, "recipient", "requester", "account", "outside"),
		Sensitivity: some(t, "sensitivity", Public, Internal, Restricted),
		Why:         some(t, "why", "outside", "known", "person"),
	}
	if rapid.IntRange(0, 3).Draw(t, "has arguments") == 0 {
		r.Arguments = map[string]string{rapid.SampledFrom([]string{"/path", "/text", "/to"}).Draw(t, "pointer"): rapid.SampledFrom([]string{"*", "**", "x", "notes/*", "h*"}).Draw(t, "glob")}
	}
	if rapid.IntRange(0, 4).Draw(t, "has window") == 0 {
		r.During = &Window{Zone: "UTC", From: "11:00", Until: rapid.SampledFrom([]string{"12:00", "13:00"}).Draw(t, "until")}
	}
	if rapid.IntRange(0, 4).Draw(t, "has trust") == 0 {
		r.Trust = &Range{AtLeast: rapid.SampledFrom([]int32{0, 500_000, 900_000}).Draw(t, "at least")}
	}
	if rapid.IntRange(0, 4).Draw(t, "has recipient trust") == 0 {
		r.RecipientTrust = &Range{Below: rapid.SampledFrom([]int32{400_000, 600_000}).Draw(t, "below")}
	}
	return r
}

func drawDocument(t *rapid.T) Document {
	d := Document{Default: rapid.SampledFrom([]Effect{Allow, Ask, Deny}).Draw(t, "default")}
	for i := range rapid.IntRange(0, 2).Draw(t, "guardrails") {
		d.Guardrails = append(d.Guardrails, drawRule(t, i+1, Ask, Deny))
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
		d.Rules = append(d.Rules, drawRule(t, i+1, Allow, Ask, Deny))
	}
	return d
}

func drawLabel(t *rapid.T, name string) event.Label {
	return event.NewLabel(
		rapid.SampledFrom([]event.Integrity{event.Outside, event.Known, event.Person}).Draw(t, name+" integrity"),
		rapid.SampledFrom([]event.Audience{event.Public(), event.AccountWide(), event.Only(ann), event.Only()}).Draw(t, name+" audience"))
}

func drawRequest(t *rapid.T) Request {
	r := call(func(r *Request) {
		r.Actor = rapid.SampledFrom([]string{"agent:scribe", "agent:desk", "mind:mo"}).Draw(t, "actor")
		r.Requester = Known(rapid.SampledFrom([]string{ann, eve, ""}).Draw(t, "requester"))
		r.Trust = Known(rapid.SampledFrom([]int32{0, 500_000, 1_000_000}).Draw(t, "trust"))
		r.Workspace = Known(rapid.SampledFrom([]id.ID{id.Nil, space}).Draw(t, "workspace"))
		r.Risk = Known(rapid.SampledFrom([]Risk{RiskNone, RiskLow, RiskMedium, RiskHigh, RiskCritical}).Draw(t, "risk"))
		r.Autonomy = Known(rapid.SampledFrom([]int{0, 60, 75, 90, 100}).Draw(t, "autonomy"))
		r.Sensitivity = Known(rapid.SampledFrom([]Sensitivity{Public, Internal, Restricted}).Draw(t, "sensitivity"))
		r.Why = Known(drawLabel(t, "why"))
	})
	if rapid.Bool().Draw(t, "sends") {
		risk := r.Risk
		sends(rapid.SampledFrom([]string{ann, eve, Anyone, "agent:desk"}).Draw(t, "to"), rapid.SampledFrom([]string{"console", "email"}).Draw(t, "channel"))(&r)
		r.Risk = risk
	} else {
		r.Access = Known(rapid.SampledFrom([]Access{AccessRead, AccessWrite, AccessDelete}).Draw(t, "access"))
	}
	for _, p := range []string{"/path", "/text", "/to"} {
		if rapid.IntRange(0, 2).Draw(t, "raised "+p) == 0 {
			r.What = append(r.What, ArgumentLabel{p, drawLabel(t, p)})
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "committed") == 0 {
		r.Commitments = Known([]Commitment{{Skill: "file.*"}})
	}
	return r
}

// authority draws grants and endorsements, up to ones that cover everything.
func authority(t *rapid.T, r *Request) {
	var grants []Grant
	for i := range rapid.IntRange(0, 3).Draw(t, "grants") {
		g, err := newGrant(id.ID{15: byte(i + 1)}, rapid.SampledFrom([]string{r.Actor, "agent:other"}).Draw(t, "holder"), GrantSpec{
			Skill:     rapid.SampledFrom([]string{"**", "*", "file.write"}).Draw(t, "grant skill"),
			Targets:   rapid.SampledFrom([][]string{{"**"}, {"notes/*"}, nil}).Draw(t, "grant targets"),
			Arguments: map[string]string{"/content": "**", "/path": "**", "/text": "**", "/to": "**"},
			Access:    []Access{AccessRead, AccessWrite, AccessSend, AccessSpend, AccessDelete}, MaxRisk: RiskCritical,
			ExpiresAt: clock.Micros(noon.Add(time.Hour)),
		})
		if err != nil {
			t.Fatal(err)
		}
		grants = append(grants, g)
	}
	r.Grants = Known(grants)
	var nods []Endorsement
	for i := range rapid.IntRange(0, 2).Draw(t, "endorsements") {
		nods = append(nods, Endorsement{ID: id.ID{15: byte(i + 1)}, Run: r.Run, Skill: r.Skill, Targets: r.targetsDigest(),
			Label: event.NewLabel(event.Outside, event.Only())})
	}
	r.Endorsements = Known(nods)
}

func mustCompile(t *rapid.T, d Document) *Table {
	out, err := Compile(1, d)
	if err != nil {
		t.Fatalf("%v: %+v", err, d)
	}
	return out
}

func TestNoAuthorityPassesAGuardrail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, r := drawDocument(t), drawRequest(t)
		bare := Decide(mustCompile(t, Document{Default: Allow, Guardrails: d.Guardrails}), r)
		authority(t, &r)
		got := Decide(mustCompile(t, d), r)
		if bare.Effect == Deny && got.Effect != Deny {
			t.Fatalf("a guardrail denies, and the answer is %v by %s: %v", got.Effect, got.Rule, got.Sentences())
		}
		if bare.Asked(AskGuardrail) && got.Effect == Allow {
			t.Fatalf("a guardrail asks, and the answer is allow: %v", got.Sentences())
		}
	})
}

func TestAuthorityNeverLiftsADenyOrALabel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, r := mustCompile(t, drawDocument(t)), drawRequest(t)
		before := Decide(p, r)
		authority(t, &r)
		nods := r.Endorsements
		after := Decide(p, r)
		if (before.Effect == Deny) != (after.Effect == Deny) {
			t.Fatalf("%v became %v", before.Effect, after.Effect)
		}
		r.Endorsements = Known([]Endorsement{})
		if granted := Decide(p, r); before.Asked(AskLabel) && granted.Effect == Allow {
			t.Fatalf("a grant answered the labels: %v", granted.Sentences())
		}
		r.Endorsements, r.Grants = nods, Known([]Grant{})
		if nodded := Decide(p, r); (before.Asked(AskRule) || before.Asked(AskAutonomy)) && nodded.Effect == Allow {
			t.Fatalf("an endorsement answered a rule: %v", nodded.Sentences())
		}
	})
}

func TestOneMoreDenyNeverAllowsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, r := drawDocument(t), drawRequest(t)
		for name, f := range unknowns() {
			if rapid.IntRange(0, 15).Draw(t, "unknown "+name) == 0 {
				f(&r)
			}
		}
		authority(t, &r)
		before := Decide(mustCompile(t, d), r)
		if rapid.Bool().Draw(t, "as guardrail") {
			d.Guardrails = append(slices.Clone(d.Guardrails), drawRule(t, 99, Deny))
		} else {
			d.Rules = append(slices.Clone(d.Rules), drawRule(t, 99, Deny))
		}
		if after := Decide(mustCompile(t, d), r); after.Effect < before.Effect {
			t.Fatalf("%v became %v: %v", before.Effect, after.Effect, after.Sentences())
		}
	})
}

func TestNotKnowingNeverAllowsMore(t *testing.T) {
	t.Parallel()
	all := unknowns()
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range all {
			if !yield(n) {
				return
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p, r := mustCompile(t, drawDocument(t)), drawRequest(t)
		authority(t, &r)
		before := Decide(p, r)
		for _, name := range names {
			less := r
			all[name](&less)
			if after := Decide(p, less); after.Effect < before.Effect {
				t.Fatalf("without %s %v became %v: %v", name, before.Effect, after.Effect, after.Sentences())
			}
		}
	})
}

func TestDecideIsPureAndIgnoresOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, r := drawDocument(t), drawRequest(t)
		authority(t, &r)
		p := mustCompile(t, d)
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		want := Decide(p, r)
		if diff := cmp.Diff(want, Decide(p, r)); diff != "" {
			t.Fatalf("twice the same question: %s", diff)
		}
		if after, _ := json.Marshal(r); string(after) != string(raw) {
			t.Fatal("the request was changed")
		}
		mixed := Document{Default: d.Default, Guardrails: slices.Clone(d.Guardrails), Rules: slices.Clone(d.Rules)}
		slices.Reverse(mixed.Guardrails)
		if n := len(mixed.Rules); n > 1 {
			k := rapid.IntRange(0, n-1).Draw(t, "cut")
			mixed.Rules = append(mixed.Rules[k:len(mixed.Rules):len(mixed.Rules)], mixed.Rules[:k]...)
		}
		grants, nods := slices.Clone(r.Grants.Or(nil)), slices.Clone(r.Endorsements.Or(nil))
		slices.Reverse(grants)
		slices.Reverse(nods)
		r.Grants, r.Endorsements = Known(grants), Known(nods)
		if diff := cmp.Diff(want, Decide(mustCompile(t, mixed), r)); diff != "" {
			t.Fatalf("another order: %s", diff)
		}
	})
}

func TestAWiderCallIsAnotherCall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRequest(t), drawRequest(t)
		same := a.Actor == b.Actor && a.Skill == b.Skill && string(a.Arguments) == string(b.Arguments) &&
			a.Requester == b.Requester && a.Workspace == b.Workspace && a.Why.Or(event.Label{}).String() == b.Why.Or(event.Label{}).String() &&
			cmp.Equal(a.Targets.Or(nil), b.Targets.Or(nil)) && len(a.What) == len(b.What) &&
			slices.EqualFunc(a.What, b.What, func(x, y ArgumentLabel) bool {
				return x.Pointer == y.Pointer && x.Label.String() == y.Label.String()
			}) && slices.EqualFunc(a.Recipients.Or(nil), b.Recipients.Or(nil), func(x, y Recipient) bool {
			return x.Principal == y.Principal && x.Channel == y.Channel
		})
		if (a.Digest() == b.Digest()) != same {
			t.Fatalf("same = %v, digests %s and %s", same, a.Digest(), b.Digest())
		}
	})
}
