package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestNarrowestGrantIsThisCall(t *testing.T) {
	t.Parallel()
	shell := call(func(r *Request) {
		r.Skill, r.Arguments = "shell.exec", json.RawMessage(`{"argv":["git","push","origin *"],"env":{},"force":false,"note":"","tries":3}`)
		r.Targets = Known([]Target{{"/argv", "git"}, {"/argv", "push"}})
	})
	spec, err := NarrowestGrant(shell)
	if err != nil {
		t.Fatal(err)
	}
	want := GrantSpec{Skill: "shell.exec", Manifest: "m1", Targets: []string{"git", "push"}, Access: []Access{AccessWrite}, MaxRisk: RiskLow,
		Arguments: map[string]string{"/argv/0": "git", "/argv/1": "push", "/argv/2": `origin \*`, "/env": "{}", "/force": "false", "/note": "", "/tries": "3"}}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	spec.ExpiresAt = clock.Micros(noon.Add(time.Hour))
	if !spec.Covers(shell) {
		t.Fatal("it does not cover its own call")
	}
	shell.Workspace = Known(space)
	scoped := spec
	if scoped.Workspace = space; !scoped.Covers(shell) || !spec.Covers(shell) {
		t.Fatal("a grant in its workspace, and one in any")
	}
	for name, change := range map[string]func(*Request){
		"another workspace":                        func(r *Request) { r.Workspace = Known(aRun) },
		"another skill whose name begins the same": func(r *Request) { r.Skill = "shell.execute" },
		"another version of the skill":             func(r *Request) { r.Manifest = "m2" },
		"another target":                           func(r *Request) { r.Targets = Known([]Target{{"/argv", "rm"}}) },
		"one more target":                          func(r *Request) { r.Targets = Known([]Target{{"/argv", "git"}, {"/argv", "rm"}}) },
		"one more argument": func(r *Request) {
			r.Arguments = json.RawMessage(`{"argv":["git","push","origin *"],"env":{},"force":false,"note":"","sudo":true,"tries":3}`)
		},
		"one more element": func(r *Request) {
			r.Arguments = json.RawMessage(`{"argv":["git","push","origin *","x"],"env":{},"force":false,"note":"","tries":3}`)
		},
		"a wildcard of the call is no wildcard": func(r *Request) {
			r.Arguments = json.RawMessage(`{"argv":["git","push","origin main"],"env":{},"force":false,"note":"","tries":3}`)
		},
		"a filled object": func(r *Request) {
			r.Arguments = json.RawMessage(`{"argv":["git","push","origin *"],"env":{"PATH":"x"},"force":false,"note":"","tries":3}`)
		},
		"a higher risk":                 func(r *Request) { r.Risk = Known(RiskMedium) },
		"another access":                func(r *Request) { r.Access = Known(AccessDelete) },
		"no workspace that is known":    func(r *Request) { r.Workspace = Maybe[id.ID]{} },
		"an unknown access":             func(r *Request) { r.Access = Maybe[Access]{} },
		"an unknown risk":               func(r *Request) { r.Risk = Maybe[Risk]{} },
		"unknown targets":               func(r *Request) { r.Targets = Maybe[[]Target]{} },
		"unknown time":                  func(r *Request) { r.Now = Maybe[time.Time]{} },
		"its end":                       func(r *Request) { r.Now = Known(noon.Add(time.Hour)) },
		"arguments that cannot be read": func(r *Request) { r.Arguments = json.RawMessage(`[]`) },
	} {
		r := shell
		change(&r)
		if scoped.Covers(r) {
			t.Errorf("%s is covered", name)
		}
	}
	for _, unknown := range []string{"access", "risk", "targets", "workspace"} {
		r := shell
		unknowns()[unknown](&r)
		if _, err := NarrowestGrant(r); !fault.Is(err, fault.Invalid) {
			t.Errorf("a grant without %s: %v", unknown, err)
		}
	}
	if d := Decide(table(t, rules(Rule{ID: 1, Effect: Ask})), shell); d.Effect != Ask {
		t.Fatal(d.Effect)
	}
	for holder, want := range map[string]Effect{"agent:scribe": Allow, "agent:desk": Ask, "agent:*": Ask} {
		g, err := newGrant(space, holder, spec)
		if err != nil {
			t.Fatal(err)
		}
		r := shell
		r.Grants = Known([]Grant{g})
		if d := Decide(table(t, rules(Rule{ID: 1, Effect: Ask})), r); d.Effect != want || (d.Grant == space) != (want == Allow) {
			t.Errorf("held by %s: %v", holder, d.Effect)
		}
	}
}

// TestNarrowestGrantCoversNothingElse: whatever a call is changed to, the
// narrowest grant of the first does not cover it.
func TestNarrowestGrantCoversNothingElse(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.Just(""), rapid.StringMatching("[a-c*?;|&$(){}\\\\\n .]{1,6}"))
	args := rapid.Custom(func(t *rapid.T) json.RawMessage {
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			k := rapid.SampledFrom([]string{"a", "b", "a/b", "~"}).Draw(t, "key")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				m[k] = value.Draw(t, "text")
			case 1:
				m[k] = []string{value.Draw(t, "e0"), value.Draw(t, "e1")}
			default:
				m[k] = map[string]string{value.Filter(func(s string) bool { return s != "" }).Draw(t, "inner"): value.Draw(t, "text")}
			}
		}
		b, err := canon.JSON(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		first := call()
		first.Arguments = args.Draw(t, "first")
		spec, err := NarrowestGrant(first)
		if err != nil {
			t.Fatal(err)
		}
		spec.ExpiresAt = clock.Micros(noon.Add(time.Hour))
		if !spec.Covers(first) {
			t.Fatalf("%+v does not cover %s", spec, first.Arguments)
		}
		other := first
		other.Arguments = args.Draw(t, "other")
		// A grant names what may be said; leaving an optional argument out is the
		// one thing that it lets a call do differently.
		if spec.Covers(other) && !subset(t, other.Arguments, first.Arguments) {
			t.Fatalf("%+v covers %s", spec.Arguments, other.Arguments)
		}
	})
}

func subset(t *rapid.T, a, b json.RawMessage) bool {
	in := map[leaf]bool{}
	lb, err := leaves(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lb {
		in[l] = true
	}
	la, err := leaves(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range la {
		if !in[l] {
			return false
		}
	}
	return true
}

func TestGrantOverArguments(t *testing.T) {
	t.Parallel()
	base := GrantSpec{Skill: "file.write", Targets: []string{"notes/*"}, Access: []Access{AccessWrite}, MaxRisk: RiskLow, ExpiresAt: clock.Micros(noon.Add(time.Hour))}
	for _, c := range []struct {
		name string
		args map[string]string
		call string
		want bool
	}{
		{"any content", map[string]string{"/path": "notes/*", "/content": "**"}, `{"content":"a; b\n","path":"notes/a.md"}`, true},
		{"a star is no metacharacter", map[string]string{"/path": "notes/*", "/content": "*"}, `{"content":"a; b","path":"notes/a.md"}`, false},
		{"an argument that is not named", map[string]string{"/path": "notes/*"}, `{"content":"a","path":"notes/a.md"}`, false},
		{"a pointer covers what is under it", map[string]string{"/path": "notes/*", "/to": "*@example.com"}, `{"path":"notes/a.md","to":["a@example.com","b@example.com"]}`, true},
		{"all of it", map[string]string{"/path": "notes/*", "/to": "*@example.com"}, `{"path":"notes/a.md","to":["a@example.com","b@evil.org"]}`, false},
		{"the closest pointer counts", map[string]string{"/path": "notes/*", "/o": "**", "/o/cmd": "ls"}, `{"o":{"cmd":"rm","x":"y"},"path":"notes/a.md"}`, false},
		{"a name that begins the same is another", map[string]string{"/path": "notes/*", "/to": "**"}, `{"path":"notes/a.md","tool":"x"}`, false},
	} {
		spec := base
		spec.Arguments = c.args
		r := call(func(r *Request) { r.Arguments = json.RawMessage(c.call) })
		if got := spec.Covers(r); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for name, bad := range map[string]func(*GrantSpec){
		"no skill": func(s *GrantSpec) { s.Skill = "" }, "no access": func(s *GrantSpec) { s.Access = nil }, "no risk": func(s *GrantSpec) { s.MaxRisk = 0 },
		"no end": func(s *GrantSpec) { s.ExpiresAt = 0 }, "negative uses": func(s *GrantSpec) { s.Uses = -1 },
		"a version of many skills": func(s *GrantSpec) { s.Skill, s.Manifest = "file.*", "m1" },
		"a pointer to nothing":     func(s *GrantSpec) { s.Arguments = map[string]string{"path": "x"} },
		"a broken pattern":         func(s *GrantSpec) { s.Targets = []string{"a**"} },
	} {
		s := base
		bad(&s)
		if _, err := newGrant(space, "agent:scribe", s); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMarkEditedRaisesOnlyWhatAPersonWrote(t *testing.T) {
	t.Parallel()
	first := call(outside, func(r *Request) {
		r.What = []ArgumentLabel{{"/path", event.NewLabel(event.Known, event.AccountWide())}}
	})
	edited := first
	edited.Arguments = json.RawMessage(`{"content":"bye","mode":"append","path":"notes/a.md"}`)
	got, err := MarkEdited(edited, first.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]event.Integrity{"/content": event.Person, "/mode": event.Person, "/path": event.Known} {
		if l := got.whatOf(p); l.Integrity() != want {
			t.Errorf("%s carries %v", p, l.Integrity())
		}
	}
	same, err := MarkEdited(first, first.Arguments)
	if err != nil || same.Digest() != first.Digest() {
		t.Errorf("no edit, another digest (%v)", err)
	}
	if got.Digest() == first.Digest() || got.Shape() == first.Shape() {
		t.Error("an edit kept its digest")
	}
}
