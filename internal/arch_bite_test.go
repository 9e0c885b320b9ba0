package internal_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// tree makes sources of planted files. A body without a package clause gets one,
// named after its folder, with a comment.
func tree(t *testing.T, files map[string]string) []source {
	t.Helper()
	var out []source
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if strings.HasSuffix(name, ".go") && !strings.Contains(text, "package ") {
			dir := name[:strings.LastIndex(name, "/")]
			pkg := dir[strings.LastIndex(dir, "/")+1:]
			text = fmt.Sprintf("// Package %s is planted by a test to see a rule bite.\npackage %s\n%s", pkg, pkg, text)
		}
		s, err := newSource(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// use returns imports that are used for nothing.
func use(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		if !strings.Contains(p, ".") {
			p = module + "/internal/" + p
		}
		fmt.Fprintf(&b, "import _ %q\n", p)
	}
	return b.String()
}

// inWork is the path of a file that is planted in the package work, a domain like
// any other.
func inWork(file string) string { return path.Join("internal", "work", file) }

func TestRulesBite(t *testing.T) {
	t.Parallel()
	in := func(pkg string) string { return "import \"" + module + "/internal/" + pkg + "\"\n" }
	ext := func(pkg, body string) string { return "package " + pkg + "_test\n" + body }
	long := strings.Repeat("var _ = 0\n", 801)
	for _, c := range []struct {
		name, rule, file, text, want string
	}{
		{"a package in no ring", "table", "internal/wiring/a.go", "", "not in the table"},
		{"a child in no ring", "table", inWork("board/a.go"), "", "not in the table"},
		{"code outside cmd and internal", "table", "pkg/a/a.go", "", "outside cmd and internal"},

		{"upward", "rings", "internal/policy/a.go", use("work"), "ring 2 may not import ring 3"},
		{"event imports a domain", "rings", "internal/event/a.go", use("policy"), "ring 1 may not import ring 2"},
		{"sideways in ring 2", "rings", "internal/policy/a.go", use("llm"), "siblings of ring 2"},
		{"sideways in ring 3", "rings", inWork("a.go"), use("agent"), "siblings of ring 3"},
		{"an edge that is not listed", "rings", "internal/dispatch/a.go", use("skill/manifest"), "siblings of ring 3"},
		{"a domain imports its adapter", "rings", "internal/channel/a.go", use("channel/email"), "from child to parent only"},
		{"a domain imports the store", "rings", inWork("a.go"), use("store"), "ring 3 may not import ring 4"},
		{"sideways in ring 4", "rings", "internal/mcp/a.go", use("api"), "siblings of ring 4"},
		{"adapter to adapter", "rings", "internal/channel/email/a.go", use("channel/slack"), "it may import only"},
		{"adapter into another domain", "rings", "internal/channel/email/a.go", use("dispatch"), "it may import only"},
		{"provider into event", "rings", "internal/llm/openai/a.go", use("event"), "it may import only"},
		{"store child into another domain", "rings", "internal/store/workdb/a.go", use("agent"), "it may import only"},
		{"store imports its child", "rings", "internal/store/a.go", use("store/workdb"), "from child to parent only"},
		{"parent imports faculty", "rings", "internal/mind/a.go", use("mind/faculty"), "from child to parent only"},
		{"faculty imports cycle", "rings", "internal/mind/faculty/a.go", use("mind/cycle"), "siblings of ring 3"},
		{"bus below ring 4", "rings", inWork("a.go"), use("bus"), "used by ring 4 and app only"},
		{"vocabulary imports its parent", "rings", "internal/skill/manifest/a.go", use("skill"), "neither its parent"},
		{"kit imports kit", "rings", "internal/kit/canon/a.go", use("kit/fault"), "standard library only"},
		{"kit test imports kit", "rings", "internal/kit/canon/a_test.go", use("kit/fault"), "standard library only"},
		{"client with domains", "rings", "internal/api/client/a.go", use("work"), "it may import only"},
		{"client used by a domain", "rings", "internal/mcp/a.go", use("api/client"), "for cmd and the harness"},
		{"app imports harness", "rings", "internal/app/a.go", use("harness"), "siblings of ring 5"},
		{"somebody imports a command", "rings", "internal/app/a.go", "import _ \"" + module + "/cmd/witan\"", "nobody imports a command"},
		{"test reaches up too far", "rings", inWork("a_test.go"), ext("work", use("store/workdb")), "ring 3 may not import ring 4"},
		{"inner test reaches up", "rings", inWork("a_test.go"), use("store/storetest"), "only an external test"},
		{"code reaches up to the test helpers", "rings", inWork("a.go"), use("store/storetest"), "ring 3 may not import ring 4"},

		{"cmd imports a domain", "commands", "cmd/witan/a.go", use("work"), "cmd may import only"},
		{"cmd imports the store", "commands", "cmd/witan/a.go", use("store"), "cmd may import only"},
		{"cmd imports the API server", "commands", "cmd/witan/a.go", use("api"), "cmd may import only"},

		{"driver in a domain", "third party", inWork("a.go"), use("modernc.org/sqlite"), "drivers live in store"},
		{"database/sql in an adapter", "third party", "internal/mcp/a.go", `import _ "database/sql"`, "drivers live in store"},
		{"driver in a test", "third party", "internal/app/a_test.go", use("github.com/jackc/pgx/v5"), "drivers live in store"},
		{"kit with a module", "third party", "internal/kit/id/a.go", use("golang.org/x/crypto/argon2"), "standard library only"},
		{"HTTP in a domain", "third party", "internal/dispatch/a.go", `import _ "net/http"`, "does not speak HTTP"},
		{"the bundler in the product", "third party", "internal/console/assets/a.go", use("github.com/evanw/esbuild/pkg/api"), "not linked into the product"},
		{"an asset imports the bundler's package", "rings", "internal/console/assets/a.go", use("console/assets/bundle"), "from child to parent only"},
		{"a library of mocks", "third party", "internal/app/a_test.go", use("github.com/stretchr/testify/require"), "not used in this house"},

		{"an agent opens the door", "callers", "internal/mcp/a.go", in("skill") + "func f() { skill.Invoke() }", "the only door to effects"},
		{"through a value", "callers", "internal/mcp/a.go", in("skill") + "func f(d skill.Door) { d.Invoke() }", "the only door to effects"},
		{"as a value", "callers", "internal/mcp/a.go", in("skill") + "var f = skill.Invoke", "the only door to effects"},
		{"under another name", "callers", "internal/mcp/a.go", "import s \"" + module + "/internal/skill\"\nvar f = s.Invoke", "the only door to effects"},
		{"with a dot", "callers", "internal/mcp/a.go", "import . \"" + module + "/internal/skill\"\nvar _ = 1", "hides who calls what"},
		{"a domain makes an origin", "callers", "internal/agent/a.go", in("event") + "var f = event.NewOrigin", "hands out the right to speak"},
		{"the store makes an origin", "callers", "internal/store/a.go", in("event") + "var f = event.NewOrigin", "hands out the right to speak"},
		{"a skill builds a delivery", "callers", "internal/skill/a.go", in("event") + "var f = event.NewDelivery[int]", "only the bus"},
		{"a domain makes a transaction", "callers", inWork("a.go"), in("event") + "var f = event.NewCollector", "only the store makes"},
		{"console opens the database", "callers", "internal/console/a.go", in("store") + "var f = store.Open", "in one place"},
		{"a test opens the database", "callers", "internal/mcp/a_test.go", in("store") + "var f = store.Open", "in one place"},
		{"a channel sends past the gateway", "callers", "internal/notify/a.go", in("dispatch") + "func f(g dispatch.Gateway) { g.Send() }", "everything that leaves"},

		{"a file of 803 lines", "file size", inWork("a.go"), long, "at most 800"},
		{"large files throughout", "file size", inWork("a.go"), long[:200*len("var _ = 0\n")], "the median file"},
		{"a drawer", "package names", inWork("util/a.go"), "", "says nothing"},
		{"a drawer of types", "package names", inWork("types.go"), "", "says nothing"},
		{"no package comment", "package comments", inWork("a.go"), "package work\n", "no package comment"},
		{"a comment that says nothing", "package comments", inWork("a.go"), "// Package work.\npackage work\n", "no package comment"},
		{"path in a page", "forbidden words", "docs/a.md", "see /wo" + "rk/main/x", "path of a machine"},
		{"path in code", "forbidden words", inWork("a.go"), `const p = "/tm` + `p/w/x"`, "path of a machine"},
		{"path in the Makefile", "forbidden words", "Makefile", "cd /ro" + "ot/witan", "path of a machine"},
		{"a promise", "forbidden words", inWork("a.go"), "// TO" + "DO: later", "promises something"},
		{"a test that sleeps", "waiting", inWork("a_test.go"), "import \"time\"\nfunc f() { time.Sleep(1) }", "sleeps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			planted := tree(t, map[string]string{c.file: c.text})
			i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == c.rule })
			if i < 0 {
				t.Fatalf("there is no rule %q", c.rule)
			}
			got := rules()[i].check(planted)
			if !slices.ContainsFunc(got, func(v string) bool {
				return strings.Contains(v, c.want) || c.want == "import with a dot" && strings.Contains(v, "with a dot")
			}) {
				t.Fatalf("rule %q let it pass; found %q, want something with %q", c.rule, got, c.want)
			}
		})
	}
}

// TestRulesLetGoodCodePass is the other half: a rule that refuses everything
// would pass TestRulesBite.
func TestRulesLetGoodCodePass(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"cmd/witan/main.go":                   "// Command witan is planted by a test of the rules.\npackage main\n" + use("app", "app/demo", "api/client", "kit/fault", "github.com/alecthomas/kong"),
		"internal/kit/canon/a.go":             `import _ "crypto/sha256"`,
		"internal/kit/canon/a_test.go":        use("pgregory.net/rapid"),
		"internal/kit/id/a.go":                `import _ "database/sql/driver"`,
		"internal/event/a.go":                 use("kit/id", "kit/canon"),
		inWork("a.go"):                        use("event", "policy", "skill/manifest", "memory/recall"),
		inWork("a_test.go"):                   "package work_test\n" + use("work", "store/storetest", "llm/script"),
		"internal/skill/a.go":                 use("skill/manifest", "policy"),
		"internal/skill/manifest/a.go":        use("event"),
		"internal/memory/recall/a.go":         use("event"),
		"internal/mind/faculty/a.go":          use("mind"),
		"internal/bus/a.go":                   "import \"" + module + "/internal/event\"\nvar f = event.NewDelivery[int]",
		"internal/llm/openai/a.go":            use("llm", "kit/fault") + `import _ "net/http"`,
		"internal/store/a.go":                 use("bus", "event", "modernc.org/sqlite", "github.com/jackc/pgx/v5"),
		"internal/store/workdb/a.go":          use("store", "work", "event") + `import _ "database/sql"`,
		"internal/store/skilldb/a.go":         use("store", "skill", "skill/manifest"),
		"internal/store/storetest/a.go":       use("store/workdb", "work"),
		"internal/store/blob/a.go":            use("store"),
		"internal/channel/email/a.go":         use("channel", "event", "kit/clock"),
		"internal/mcp/a.go":                   use("work", "bus", "identity") + `import _ "net/http"`,
		"internal/console/a.go":               use("console/ui", "console/assets", "work"),
		"internal/console/ui/a.go":            use("kit/id", "policy"),
		"internal/console/inbox/a.go":         use("console", "console/ui", "policy"),
		"internal/app/a.go":                   "import (\n\"" + module + "/internal/skill\"\n\"" + module + "/internal/store\"\n)\nvar f, g = skill.Invoke, store.Open",
		"internal/app/demo/a.go":              use("app", "work"),
		"internal/harness/a.go":               use("harness/fakeworld", "harness/killer", "api/client", "store"),
		"internal/harness/fakeworld/a.go":     `import _ "net/http"`,
		"internal/policy/big_templ.go":        "// Code generated by a test. DO NOT EDIT.\n\n// Package policy is planted by a test of the rules.\npackage policy\n" + strings.Repeat("var _ = 0\n", 900),
		"internal/policy/doc.go":              "",
		"internal/kit/lifecycle/sleeps.go":    "import (\n\"time\"\n_ \"testing/synctest\"\n)\nfunc f() { time.Sleep(1) }",
		"docs/a.md":                           "Paths such as /var/lib/witan and /workspace/x are nobody's machine.",
		"internal/console/assets/a_test.go":   "package assets_test\n" + use("console/assets", "console/assets/bundle"),
		"internal/console/assets/bundle/a.go": use("github.com/evanw/esbuild/pkg/api"),
	}
	for _, r := range rules() {
		for _, v := range r.check(tree(t, good)) {
			t.Errorf("%s refuses good code: %s", r.name, v)
		}
	}
}
