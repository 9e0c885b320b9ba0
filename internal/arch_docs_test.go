package internal_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocsAreTrue checks what a machine can: links lead somewhere, every
// invariant is listed, every test that guards one exists, and every decision is
// in the index.
func TestDocsAreTrue(t *testing.T) {
	t.Parallel()
	tree := loadModule(t)
	for _, v := range slices.Concat(deadLinks(tree, exists), invariants(tree), decisions(tree), dependencies(tree)) {
		t.Error(v)
	}
}

func exists(rel string) bool {
	_, err := os.Stat(filepath.Join("..", filepath.FromSlash(rel)))
	return err == nil
}

// deadLinks returns the links of Markdown pages that lead to no file.
func deadLinks(tree []source, there func(string) bool) (bad []string) {
	link := regexp.MustCompile(`\]\(([^)#?\s]+)[^)]*\)`)
	for _, s := range tree {
		if path.Ext(s.path) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(s.text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if target := path.Join(s.dir, m[1]); !there(target) {
				bad = append(bad, fmt.Sprintf("%s links to %s, which is not there", s.path, target))
			}
		}
	}
	return bad
}

const invariantCount = 16

// invariants: docs/invariants.md has a row for each, and the tests it names exist.
func invariants(tree []source) (bad []string) {
	i := slices.IndexFunc(tree, func(s source) bool { return s.path == "docs/invariants.md" })
	if i < 0 {
		return []string{"docs/invariants.md is missing"}
	}
	page := string(tree[i].text)
	for n := 1; n <= invariantCount; n++ {
		if !strings.Contains(page, fmt.Sprintf("| INV-%d |", n)) {
			bad = append(bad, fmt.Sprintf("docs/invariants.md has no row for INV-%d", n))
		}
	}
	defined := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	goFiles(tree, func(s source) {
		for _, m := range declared.FindAllStringSubmatch(string(s.text), -1) {
			defined[m[1]] = true
		}
	})
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(page, -1) {
		if !defined[m[1]] {
			bad = append(bad, "docs/invariants.md names "+m[1]+", which does not exist")
		}
	}
	return bad
}

// decisions: every ADR is in the index, and numbers are used once.
func decisions(tree []source) (bad []string) {
	numbers := map[string]string{}
	index := ""
	for _, s := range tree {
		if s.path == "docs/adr/README.md" {
			index = string(s.text)
		}
	}
	for _, s := range tree {
		name := path.Base(s.path)
		if s.dir != "docs/adr" || name == "README.md" {
			continue
		}
		if !strings.Contains(index, "("+name+")") {
			bad = append(bad, s.path+" is not in docs/adr/README.md")
		}
		number, _, _ := strings.Cut(name, "-")
		if other, twice := numbers[number]; twice {
			bad = append(bad, fmt.Sprintf("%s and %s have one number", s.path, other))
		}
		numbers[number] = s.path
		for _, part := range []string{"Status: ", "## Context", "## Decision", "## Consequences", "## Alternatives"} {
			if !strings.Contains(string(s.text), part) {
				bad = append(bad, fmt.Sprintf("%s has no %q", s.path, part))
			}
		}
	}
	return bad
}

// dependencies: every module that our code imports has its line in
// docs/dependencies.md.
func dependencies(tree []source) (bad []string) {
	page, required := "", []string{}
	line := regexp.MustCompile(`(?m)^\s*(?:require )?([a-zA-Z0-9.-]+\.[a-z]+/\S+) v\S+`)
	for _, s := range tree {
		switch s.path {
		case "docs/dependencies.md":
			page = string(s.text)
		case "go.mod":
			for _, m := range line.FindAllStringSubmatch(string(s.text), -1) {
				required = append(required, m[1])
			}
		}
	}
	slices.Sort(required)
	slices.Reverse(required) // of two modules that fit, the longer path is the module
	goFiles(tree, func(s source) {
		for _, i := range s.imports {
			for _, mod := range required {
				if i.path != mod && !strings.HasPrefix(i.path, mod+"/") {
					continue
				}
				if !strings.Contains(page, "`"+mod+"`") {
					bad = append(bad, fmt.Sprintf("%s imports %s: docs/dependencies.md has no line for %s", s.path, i.path, mod))
				}
				break
			}
		}
	})
	return bad
}

func TestDocsRulesBite(t *testing.T) {
	t.Parallel()
	planted := tree(t, map[string]string{
		"docs/a.md":          "see [b](b.md), [c](../README.md#top) and [out](https://example.org/x)",
		"docs/invariants.md": "| INV-1 | x | y | `TestGone`, `TestHere` |",
		"internal/kit/id/a_test.go": `func TestHere(t T) {}
type T int`,
		"go.mod":                 "require (\n\texample.org/known v1.0.0 // indirect\n\texample.org/new v0.1.0\n)",
		"docs/dependencies.md":   "| x | `example.org/known` |",
		"internal/kit/id/imp.go": "import (\n_ \"example.org/known/sub\"\n_ \"example.org/new\"\n)",
		"docs/adr/README.md":     "[1](0001-a.md)",
		"docs/adr/0001-a.md":     "Status: accepted\n## Context\n## Decision\n## Consequences\n## Alternatives\n",
		"docs/adr/0001-b.md":     "Status: accepted\n## Context\n",
	})
	there := func(p string) bool { return p == "README.md" || p == "docs/adr/0001-a.md" }
	got := strings.Join(slices.Concat(deadLinks(planted, there), invariants(planted), decisions(planted), dependencies(planted)), "\n")
	for _, want := range []string{
		"docs/a.md links to docs/b.md", "no row for INV-2", "no row for INV-16", "names TestGone",
		"no line for example.org/new", "0001-b.md is not in", "have one number", `0001-b.md has no "## Decision"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not found: %s", want)
		}
	}
	for _, wrong := range []string{"links to https", "links to README.md", "INV-1\n", "TestHere", "0001-a.md has no", "example.org/known"} {
		if strings.Contains(got, wrong) {
			t.Errorf("refused what is right: %s", wrong)
		}
	}
}
