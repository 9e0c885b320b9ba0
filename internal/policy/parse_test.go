package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
)

const sample = `# what this account holds to
default: ask
guardrails:
  - id: 1
    effect: deny
    skill: [payments.*]
    who: [agent:*, mind:*]
    note: money is for people
rules:
  - id: 3
    effect: ask
    who: [agent:*]
    skill: [file.write]
  - id: 7
    effect: allow
    skill: [message.send]
    arguments: {/to: "*@example.com"}
    recipientTrust: {atLeast: 500000}
    during: {days: [mon, fri], from: "09:00", until: "17:00", zone: UTC}
`

func TestParseReadsYAMLAndJSON(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Error(diff)
	}
	if d.Rules[1].Arguments["/to"] != "*@example.com" || d.Guardrails[0].Effect != Deny || d.Rules[1].During.Days[1] != "fri" {
		t.Errorf("%+v", d)
	}
	std, err := Standard().JSON()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Parse(std); err != nil || cmp.Diff(Standard(), back) != "" {
		t.Errorf("the standard policy does not come back: %v", err)
	}
}

func TestParseNamesTheLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, line, field string }{
		{"unknown key", "    note: money", "    comment: money", "line 8", ""},
		{"unknown key on top", "default: ask", "default: ask\nfallback: deny", "line 3", ""},
		{"key twice", "    skill: [file.write]", "    skill: [file.write]\n    skill: [file.read]", "line 14", ""},
		{"no such effect", "effect: allow", "effect: perhaps", "", ""},
		{"broken pattern", "payments.*]", "pay**]", "line 6", "guardrails[0].skill[0]"},
		{"guardrail that allows", "effect: deny", "effect: allow", "line 5", "guardrails[0].effect"},
		{"number twice", "id: 7", "id: 3", "line 14", "rules[1].id"},
		{"no number", "id: 7", "id: 0", "line 14", "rules[1].id"},
		{"bad pointer", "{/to:", "{to:", "line 17", "rules[1].arguments"},
		{"bad argument pattern", `"*@example.com"`, `"a\\"`, "line 17", "rules[1].arguments./to"},
		{"bad zone", "zone: UTC", "zone: Nowhere", "line 19", "rules[1].during.zone"},
		{"trust out of range", "500000", "1500000", "line 18", "rules[1].recipientTrust"},
		{"a fraction", "500000", "0.5", "", ""},
		{"an anchor", "default: ask", "default: &x ask", "line 2", ""},
		{"two documents", "rules:", "---\nrules:", "", ""},
		{"no default", "default: ask\n", "", "", "default"},
		{"not a mapping", sample, "- 1", "", ""},
		{"nothing", sample, "", "", ""},
	} {
		text := strings.Replace(sample, c.from, c.to, 1)
		if text == sample {
			t.Fatalf("%s changes nothing", c.name)
		}
		_, err := Parse([]byte(text))
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, field, _ := fault.Public(err); field != c.field || !strings.Contains(err.Error(), c.line) {
			t.Errorf("%s: field %q, want %q on %s: %v", c.name, field, c.field, c.line, err)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("#", maxDocument+1))); !fault.Is(err, fault.Limited) {
		t.Errorf("a huge text: %v", err)
	}
	if _, err := Parse([]byte(strings.Repeat("[", 100_000))); !fault.Is(err, fault.Invalid) {
		t.Errorf("a deep text: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	std, err := Standard().JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(std))
	f.Add([]byte("default: ask\nrules: [{id: 1, effect: allow, skill: ['\\*']}]"))
	f.Add([]byte("? a\n: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Invalid && k != fault.Limited {
				t.Fatalf("kind %v: %v", k, err)
			}
			return
		}
		// What is accepted can be stored, read back the same, and decided with.
		canonical, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(canonical)
		if err != nil {
			t.Fatalf("%v in %s", err, canonical)
		}
		again, err := back.JSON()
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("%s became %s (%v)", canonical, again, err)
		}
		p, err := Compile(1, d)
		if err != nil {
			t.Fatal(err)
		}
		if got := Decide(p, call()); got.Effect.String() == "" || got.Rule == "" || len(got.Sentences()) == 0 {
			t.Fatalf("%+v", got)
		}
	})
}
