package internal_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// right is a function that carries a right, and the packages that may name it.
type right struct {
	pkg    string   // below internal
	name   string   // of a function, or of a method if method is set
	method bool     // also every selector .name in a file that imports pkg
	tests  bool     // tests anywhere may call it
	allow  []string // packages below internal, or "cmd/..." for tests of commands
	why    string
}

func rights() []right {
	return []right{
		{
			pkg: "skill", name: "Invoke", method: true, allow: []string{"app"},
			why: "the only door to effects is opened by the bus, through the table in app",
		},
		{
			pkg: "dispatch", name: "Send", method: true, tests: true, allow: []string{"app"},
			why: "everything that leaves goes through one place",
		},
		{
			pkg: "event", name: "NewOrigin", tests: true, allow: []string{"app", "store/storetest"},
			why: "app hands out the right to speak",
		},
		{
			pkg: "event", name: "NewDelivery", tests: true, allow: []string{"bus"},
			why: "only the bus turns a committed event into a delivery",
		},
		{
			pkg: "event", name: "NewCollector", tests: true, allow: []string{"store"},
			why: "only the store makes a transaction",
		},
		{
			pkg: "event", name: "NewTx", tests: true, allow: []string{"store"},
			why: "only the store makes a transaction",
		},
		{
			pkg: "store", name: "Open", allow: []string{"app", "app/*", "harness", "store/storetest", "cmd/*"},
			why: "one process opens the data folder, in one place",
		},
	}
}

// callers: the functions that carry a right are named by the listed packages only.
func callers(tree []source) (bad []string) {
	goFiles(tree, func(s source) {
		for _, r := range rights() {
			if s.pkg() == r.pkg || r.tests && s.test || allowed(r, s) {
				continue
			}
			local := s.local(module + "/internal/" + r.pkg)
			if local == "" {
				continue
			}
			if local == "." {
				bad = append(bad, fmt.Sprintf("%s imports %s with a dot, which hides who calls what", s.path, r.pkg))
			}
			if names(s, local, r) {
				bad = append(bad, fmt.Sprintf("%s names %s.%s: %s", s.path, r.pkg, r.name, r.why))
			}
		}
	})
	return bad
}

func allowed(r right, s source) bool {
	if slices.Contains(r.allow, "cmd/*") && strings.HasPrefix(s.dir, "cmd/") && s.test {
		return true
	}
	return s.pkg() != "" && matches(r.allow, s.pkg())
}

// names reports whether a file names the function at all: a reference that is
// not a call would carry the right just as well.
func names(s source, local string, r right) bool {
	found := false
	ast.Inspect(s.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != r.name {
			return !found
		}
		x, plain := sel.X.(*ast.Ident)
		switch {
		case plain && x.Name == local:
			found = true
		case r.method && !(plain && importedAs(s, x.Name)):
			found = true
		}
		return !found
	})
	return found
}

func importedAs(s source, name string) bool {
	return slices.ContainsFunc(s.imports, func(i importOf) bool { return i.name == name })
}

// waiting: a test that sleeps on the wall clock is slow and flaky. Sleeping is
// for the fake time of a synctest bubble, and for kit/clock.
func waiting(tree []source) (bad []string) {
	goFiles(tree, func(s source) {
		local := s.local("time")
		if local == "" || s.local("testing/synctest") != "" || s.pkg() == "kit/clock" || s.dir == "internal" {
			return
		}
		if names(s, local, right{name: "Sleep"}) {
			bad = append(bad, s.path+" sleeps: wait for what should happen, or use testing/synctest")
		}
	})
	return bad
}
