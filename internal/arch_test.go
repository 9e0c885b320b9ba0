// Package internal_test holds the architecture: which package may import which,
// who may call the few functions that carry a right, and how large a file may
// grow. It is the law that docs/architecture.md describes.
//
// The table below is the whole house. A package that is not in it fails the
// test: add a line here, in the same commit, and say in the commit why the new
// room is needed. arch_bite_test.go plants a violation of each rule, so that no
// rule can fall asleep.
package internal_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// room is one package of the table.
type room struct {
	// ring is the import level: a package imports lower rings only.
	ring int
	// only lists what the package may import of ours, if that is less than the
	// lower rings ("kit/*" stands for every child).
	only []string
	// leaf marks a child of plain vocabulary: its parent and siblings may import
	// it, and it imports neither.
	leaf bool
	// also lists further packages it may import, by name.
	also []string
}

// house is architecture.md, section 2.
func house() map[string]room {
	h := map[string]room{
		"event":    {ring: 1},
		"policy":   {ring: 2},
		"llm":      {ring: 2},
		"identity": {ring: 2},
		"bus":      {ring: 2},

		"work": {ring: 3}, "skill": {ring: 3}, "skill/manifest": {ring: 3, leaf: true},
		"agent": {ring: 3}, "mind": {ring: 3}, "mind/faculty": {ring: 3}, "mind/cycle": {ring: 3}, "mind/plan": {ring: 3},
		"memory": {ring: 3}, "memory/recall": {ring: 3, leaf: true},
		"dispatch": {ring: 3}, "channel": {ring: 3}, "notify": {ring: 3},

		"store": {ring: 4}, "store/blob": {ring: 4, only: []string{"kit/*", "store"}},
		"store/storetest": {ring: 4, also: []string{"store/*"}},
		"mcp":             {ring: 4}, "api": {ring: 4}, "api/client": {ring: 4, only: []string{"kit/*"}},
		"console": {ring: 4}, "console/ui": {ring: 4, leaf: true},
		"console/assets": {ring: 4, leaf: true}, "console/assets/bundle": {ring: 4}, "console/assets/gen": {ring: 4, also: []string{"console/assets/bundle"}},

		"app": {ring: 5}, "app/demo": {ring: 5}, "app/selftest": {ring: 5},
		"harness": {ring: 5, also: []string{"app"}}, "harness/fakeworld": {ring: 5, leaf: true, only: []string{"kit/*"}},
		"harness/acts":     {ring: 5, leaf: true, only: []string{"kit/*", "event", "skill", "skill/manifest"}},
		"harness/tortured": {ring: 5, only: []string{"kit/*", "app", "harness/acts"}},
		"harness/killer":   {ring: 5, leaf: true, only: []string{"kit/*"}}, "harness/bench": {ring: 5, leaf: true, only: []string{"kit/*"}},
	}
	for _, kit := range []string{"clock", "id", "fault", "lifecycle", "secret", "canon", "failpoint"} {
		h["kit/"+kit] = room{ring: 0, only: []string{}}
	}
	for _, provider := range []string{"script", "anthropic", "openai", "bedrock", "static", "llmtest"} {
		h["llm/"+provider] = room{ring: 4, only: []string{"kit/*", "llm"}}
	}
	for _, kind := range []string{"builtin", "mcpclient", "script"} {
		h["skill/"+kind] = room{ring: 4, only: []string{"kit/*", "event", "skill", "skill/manifest"}}
	}
	for _, adapter := range []string{
		"console", "cli", "httpin", "email", "signalcli", "slack", "telegram", "webhook", "folder", "gitrepo", "metrics",
	} {
		h["channel/"+adapter] = room{ring: 4, only: []string{"kit/*", "event", "channel"}}
	}
	for _, domain := range []string{
		"identity", "policy", "llm", "work", "skill", "agent", "memory", "mind", "dispatch", "channel", "notify",
	} {
		h["store/"+domain+"db"] = room{ring: 4, only: []string{"kit/*", "event", "store", domain, domain + "/*"}}
	}
	for _, place := range []string{"inbox", "work", "chat", "minds", "journal", "policy", "setup"} {
		h["console/"+place] = room{ring: 4}
	}
	return h
}

// sideways are the only imports between packages of ring 3: types and ports.
func sideways() map[string][]string {
	return map[string][]string{
		"agent": {"skill/manifest", "memory/recall"},
		"mind":  {"skill/manifest", "memory/recall"},
		"work":  {"skill/manifest", "memory/recall"},
	}
}

// testsReachUp are the packages that an external test may import from anywhere.
func testsReachUp() []string { return []string{"store/storetest", "llm/script", "llm/llmtest"} }

// testsReachDown lists what tests of a package may import beside it: children, to
// prove generated files fresh by making them again; for api the rows and channels
// that its routes are proven over.
func testsReachDown() map[string][]string {
	return map[string][]string{
		"console/assets": {"console/assets/bundle"},
		"api":            {"store", "store/*", "channel/*"},
	}
}

// cmdImports is what a command may import of ours.
func cmdImports() []string { return []string{"app", "app/*", "api/client", "kit/*"} }

func TestTheHouseStands(t *testing.T) {
	t.Parallel()
	tree := loadModule(t)
	if len(tree) < 50 {
		t.Fatalf("only %d files found: the loader looks in the wrong place", len(tree))
	}
	for _, r := range rules() {
		for _, v := range r.check(tree) {
			t.Errorf("%s: %s", r.name, v)
		}
	}
}

func TestSidewaysEdgesAreAtMostSix(t *testing.T) {
	t.Parallel()
	n := 0
	for from, tos := range sideways() {
		for _, to := range tos {
			n++
			if h := house(); h[from].ring != 3 || h[to].ring != 3 || !h[to].leaf {
				t.Errorf("%s -> %s is no edge from ring 3 to a vocabulary child of ring 3", from, to)
			}
		}
	}
	if n > 6 {
		t.Errorf("%d sideways edges, at most 6", n)
	}
}

// matches reports whether a package is in a list; "x/*" stands for every child
// of x, at any depth.
func matches(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		if parent, ok := strings.CutSuffix(p, "/*"); ok {
			return strings.HasPrefix(pkg, parent+"/")
		}
		return p == pkg
	})
}

func under(child, parent string) bool { return strings.HasPrefix(child, parent+"/") }

func parentOf(pkg string) string {
	i := strings.LastIndexByte(pkg, '/')
	return pkg[:max(i, 0)]
}

// forbids says why from may not import to, or "". Both are paths below internal.
func forbids(from, to string) string {
	h := house()
	f, okF := h[from]
	t, okT := h[to]
	switch {
	case !okF || !okT:
		return "" // the rule of the table reports it
	case from == to:
		return "" // an external test of the package
	case f.only != nil && !matches(f.only, to):
		if len(f.only) == 0 {
			return "kit packages import the standard library only"
		}
		return fmt.Sprintf("it may import only %s", strings.Join(f.only, ", "))
	case f.only != nil, matches(f.also, to), matches(sideways()[from], to):
		return ""
	case to == "bus" && f.ring < 4:
		return "bus is used by ring 4 and app only"
	case to == "api/client" && from != "harness":
		return "the typed client is for cmd and the harness"
	case f.leaf && under(from, parentOf(to)) && !t.leaf:
		return "a vocabulary child imports neither its parent nor its siblings"
	case under(from, to):
		if f.leaf {
			return "a vocabulary child imports neither its parent nor its siblings"
		}
		return ""
	case t.leaf && parentOf(to) != "" && (from == parentOf(to) || parentOf(from) == parentOf(to)):
		return ""
	case under(to, from):
		return "imports go from child to parent only"
	case t.ring < f.ring:
		return ""
	case t.ring == f.ring:
		return fmt.Sprintf("siblings of ring %d never import each other", f.ring)
	}
	return fmt.Sprintf("ring %d may not import ring %d", f.ring, t.ring)
}

func TestEveryRoomIsReachable(t *testing.T) {
	t.Parallel()
	for _, pkg := range slices.Sorted(maps.Keys(house())) {
		if p := parentOf(pkg); p != "" && p != "kit" {
			if _, ok := house()[p]; !ok {
				t.Errorf("%s stands in a folder %s that is not in the table", pkg, p)
			}
		}
	}
}
