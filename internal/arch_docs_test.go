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
	for _, v := range slices.Concat(deadLinks(tree, exists), invariants(tree), decisions(tree)) {
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

func TestDocsRulesBite(t *testing.T) {
	t.Parallel()
	planted := tree(t, map[string]string{
		"docs/a.md":          "see [b](b.md), [c](../README.md#top) and [out](https://example.org/x)",
		"docs/invariants.md": "| INV-1 | x | y | `TestGone`, `TestHere` |",
		"internal/kit/id/a_test.go": `func TestHere(t T) {}
type T int`,
		"docs/adr/README.md": "[1](0001-a.md)",
		"docs/adr/0001-a.md": "Status: accepted\n## Context\n## Decision\n## Consequences\n## Alternatives\n",
		"docs/adr/0001-b.md": "Status: accepted\n## Context\n",
	})
	there := func(p string) bool { return p == "README.md" || p == "docs/adr/0001-a.md" }
	got := strings.Join(slices.Concat(deadLinks(planted, there), invariants(planted), decisions(planted)), "\n")
	for _, want := range []string{
		"docs/a.md links to docs/b.md", "no row for INV-2", "no row for INV-16", "names TestGone",
		"0001-b.md is not in", "have one number", `0001-b.md has no "## Decision"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not found: %s", want)
		}
	}
	for _, wrong := range []string{"example.org", "links to README.md", "INV-1\n", "TestHere", "0001-a.md has no"} {
		if strings.Contains(got, wrong) {
			t.Errorf("refused what is right: %s", wrong)
		}
	}
}
