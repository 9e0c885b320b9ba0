package internal_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// rule finds violations in a tree of files.
type rule struct {
	name  string
	check func([]source) []string
}

func rules() []rule {
	return []rule{
		{"table", inTable},
		{"rings", rings},
		{"commands", commands},
		{"third party", thirdParty},
		{"callers", callers},
		{"file size", fileSize},
		{"package names", packageNames},
		{"package comments", packageComments},
		{"forbidden words", forbiddenWords},
		{"waiting", waiting},
	}
}

// goFiles calls f for each Go file.
func goFiles(tree []source, f func(source)) {
	for _, s := range tree {
		if s.isGo() {
			f(s)
		}
	}
}

// inTable: every package below internal stands in the table, every command in cmd.
func inTable(tree []source) (bad []string) {
	seen := map[string]bool{}
	goFiles(tree, func(s source) {
		if seen[s.dir] {
			return
		}
		seen[s.dir] = true
		_, ok := house()[s.pkg()]
		switch {
		case s.pkg() != "" && !ok:
			bad = append(bad, s.dir+" is not in the table of arch_test.go")
		case s.pkg() == "" && s.dir != "internal" && !strings.HasPrefix(s.dir, "cmd/") && !strings.HasPrefix(s.dir, "tools"):
			bad = append(bad, s.dir+" holds Go code outside cmd and internal")
		}
	})
	return bad
}

// rings: imports go to lower rings, and from child to parent.
func rings(tree []source) (bad []string) {
	goFiles(tree, func(s source) {
		from := s.pkg()
		if from == "" {
			return
		}
		for _, i := range s.imports {
			to := i.internal()
			if to == "" {
				if strings.HasPrefix(i.path, module+"/cmd") {
					bad = append(bad, fmt.Sprintf("%s imports %s: nobody imports a command", s.path, i.path))
				}
				continue
			}
			if slices.Contains(testsReachUp(), to) && s.test && from != to {
				// Nobody below imports app, so that its inner tests close no circle.
				if !s.external() && from != "app" {
					bad = append(bad, fmt.Sprintf("%s imports %s: only an external test (package %s_test) may", s.path, to, s.name))
				}
				continue
			}
			if s.test && matches(testsReachDown()[from], to) {
				continue
			}
			if why := forbids(from, to); why != "" {
				bad = append(bad, fmt.Sprintf("%s (%s) imports %s: %s", s.path, from, to, why))
			}
		}
	})
	return bad
}

// commands: cmd is flags and exit codes; it knows the app, the client and kit.
func commands(tree []source) (bad []string) {
	goFiles(tree, func(s source) {
		if !strings.HasPrefix(s.dir, "cmd/") {
			return
		}
		for _, i := range s.imports {
			if to := i.internal(); to != "" && !matches(cmdImports(), to) {
				bad = append(bad, fmt.Sprintf("%s imports %s: cmd may import only %s", s.path, to, strings.Join(cmdImports(), ", ")))
			}
		}
	})
	return bad
}

// thirdParty: who may import what from outside the module.
func thirdParty(tree []source) (bad []string) {
	drivers := []string{"database/sql", "modernc.org/sqlite", "github.com/jackc/pgx", "github.com/pressly/goose", "github.com/mattn/go-sqlite3", "github.com/lib/pq"}
	never := []string{"github.com/stretchr/testify", "gorm.io", "github.com/golang/mock", "go.uber.org/mock", "github.com/docker", "github.com/testcontainers", "github.com/spf13/viper", "go.uber.org/fx", "github.com/google/wire"}
	is := func(list []string, p string) bool {
		return slices.ContainsFunc(list, func(b string) bool { return p == b || strings.HasPrefix(p, b+"/") && p != "database/sql/driver" })
	}
	goFiles(tree, func(s source) {
		pkg := s.pkg()
		for _, i := range s.imports {
			foreign := strings.Contains(strings.Split(i.path, "/")[0], ".") && !strings.HasPrefix(i.path, module)
			switch {
			case is(never, i.path):
				bad = append(bad, fmt.Sprintf("%s imports %s: not used in this house (docs/dependencies.md)", s.path, i.path))
			case is(drivers, i.path) && pkg != "store" && !under(pkg, "store"):
				bad = append(bad, fmt.Sprintf("%s imports %s: database drivers live in store only", s.path, i.path))
			case is([]string{"github.com/evanw/esbuild"}, i.path) && pkg != "console/assets/bundle":
				bad = append(bad, fmt.Sprintf("%s imports %s: the bundler is not linked into the product", s.path, i.path))
			case under(pkg, "kit") && foreign && !s.test:
				bad = append(bad, fmt.Sprintf("%s imports %s: kit packages import the standard library only", s.path, i.path))
			case i.path == "net/http" && !s.test && domain(pkg):
				bad = append(bad, fmt.Sprintf("%s imports net/http: a domain does not speak HTTP; an adapter does", s.path))
			}
		}
	})
	return bad
}

// domain reports whether a package is in rings 1 to 3.
func domain(pkg string) bool {
	r, ok := house()[pkg]
	return ok && r.ring >= 1 && r.ring <= 3
}

// fileSize: no file over 800 lines; half of the files at most 150.
func fileSize(tree []source) (bad []string) {
	const most, median = 800, 150
	var sizes []int
	goFiles(tree, func(s source) {
		if s.generated {
			return
		}
		if s.lines > most {
			bad = append(bad, fmt.Sprintf("%s has %d lines, at most %d: which noun wants a file of its own?", s.path, s.lines, most))
		}
		if !s.test {
			sizes = append(sizes, s.lines)
		}
	})
	if len(sizes) > 0 {
		slices.Sort(sizes)
		if m := sizes[len(sizes)/2]; m > median {
			bad = append(bad, fmt.Sprintf("the median file has %d lines, at most %d", m, median))
		}
	}
	return bad
}

// packageNames: a name that says nothing is two packages or none.
func packageNames(tree []source) (bad []string) {
	empty := []string{"util", "utils", "common", "types", "models", "model", "manager", "helper", "helpers", "base", "misc", "shared", "lib", "core"}
	files := []string{"types.go", "interfaces.go", "constants.go", "helpers.go", "utils.go", "util.go", "models.go"}
	goFiles(tree, func(s source) {
		if slices.Contains(empty, path.Base(s.dir)) {
			bad = append(bad, s.dir+" has a name that says nothing")
		}
		if slices.Contains(files, path.Base(s.path)) {
			bad = append(bad, s.path+" has a name that says nothing: name a file after the noun it defines")
		}
	})
	slices.Sort(bad)
	return slices.Compact(bad)
}

// packageComments: every package says what it is for.
func packageComments(tree []source) (bad []string) {
	has, code := map[string]bool{}, map[string]bool{}
	goFiles(tree, func(s source) {
		if s.test {
			return
		}
		code[s.dir] = true
		if s.ast.Doc != nil && len(s.ast.Doc.Text()) >= 40 && !s.generated {
			has[s.dir] = true
		}
	})
	for dir := range code {
		if !has[dir] {
			bad = append(bad, dir+" has no package comment (purpose, invariants, imports, goroutines)")
		}
	}
	slices.Sort(bad)
	return bad
}

// forbiddenWords: no paths of a developer's machine, and no promises in code.
func forbiddenWords(tree []source) (bad []string) {
	// Written in pieces, so that this file does not find itself.
	paths := regexp.MustCompile(`/wo` + `rk/(main|shared)\b|/tm` + `p/w/|bash_` + `jobs|/ro` + `ot/`)
	words := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, s := range tree {
		if s.generated {
			continue
		}
		for n, line := range strings.Split(string(s.text), "\n") {
			if m := paths.FindString(line); m != "" {
				bad = append(bad, fmt.Sprintf("%s:%d holds the path of a machine: %s", s.path, n+1, m))
			}
			if _, comment, ok := strings.Cut(line, "//"); ok && s.isGo() && words.MatchString(comment) {
				bad = append(bad, fmt.Sprintf("%s:%d promises something; do it, or write it in the issue", s.path, n+1))
			}
		}
	}
	return bad
}
