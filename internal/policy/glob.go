package policy

import (
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Glob is a compiled pattern over one text. "*" stands for any run of
// characters, also an empty one; "\*" and "\\" stand for themselves; "**" alone
// stands for any text at all. Matching takes time linear in text and pattern
// for each literal part, and never backtracks.
//
// What a wildcard may stand for depends on what the pattern is used for:
//   - Restricts, for DENY and ASK: anything; ASCII case is ignored, so a
//     capital letter is no way around
//   - Permits, for ALLOW and grants: no white space, no shell metacharacter, no
//     control character and no "..", so "git push *" covers no second command
//     and "docs/*" covers no way out of docs. A wildcard before a literal part
//     stands for no separator ("/", ":", "@", ",") either, so "*@example.com"
//     is one address and "https://*.example.com/*" one domain. Only "**"
//     stands for all of those too.
type Glob struct {
	text   string
	parts  []string // literal parts; n parts have n-1 wildcards between them
	folded []string // parts in lower case
	unsafe int      // of those, how many a permitting wildcard may not stand for
	dots   int      // how often ".." stands in the parts
	seps   int      // how many separators stand in the parts
	rank   int      // orders patterns by how much they say: nothing, more literal bytes, exact
	any    bool     // "**"
}

const (
	maxGlob    = 1024 // bytes
	exactRank  = 1 << 20
	shellMeta  = ";&|$`<>(){}[]!#~*?\\'\"^%"
	separators = "/:@,"
)

// CompileGlob reads a pattern of at most 1,024 bytes. It returns fault.Invalid
// for an empty one, a "**" that does not stand alone, and a "\" before anything
// but "*" and "\".
func CompileGlob(pattern string) (Glob, error) {
	switch {
	case pattern == "":
		return Glob{}, fault.New(fault.Invalid, "a pattern may not be empty").WithFix(`write "*" for any value`)
	case len(pattern) > maxGlob:
		return Glob{}, fault.New(fault.Limited, "a pattern has at most %d bytes", maxGlob)
	case !utf8.ValidString(pattern):
		return Glob{}, fault.New(fault.Invalid, "a pattern is valid UTF-8")
	case pattern == "**":
		return Glob{text: pattern, any: true}, nil
	}
	g := Glob{text: pattern}
	var part strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
			if i == len(pattern) || pattern[i] != '*' && pattern[i] != '\\' {
				return Glob{}, fault.New(fault.Invalid, `"\" stands before something else than "*" or "\" in %q`, pattern)
			}
			part.WriteByte(pattern[i])
		case c == '*' && i > 0 && pattern[i-1] == '*' && part.Len() == 0 && len(g.parts) > 0:
			return Glob{}, fault.New(fault.Invalid, `"**" stands alone or not at all, in %q`, pattern)
		case c == '*':
			g.parts = append(g.parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	g.parts = append(g.parts, part.String())
	g.folded = make([]string, len(g.parts))
	for i, p := range g.parts {
		g.folded[i] = lower(p)
		g.rank += len(p)
		g.unsafe += countUnsafe(p)
		g.dots += strings.Count(p, "..")
		g.seps += countAny(p, separators)
	}
	if len(g.parts) == 1 {
		g.rank = exactRank
	}
	return g, nil
}

// compileValue is CompileGlob for the value of an argument, where the empty
// pattern is the empty text.
func compileValue(pattern string) (Glob, error) {
	if pattern == "" {
		return Glob{parts: []string{""}, folded: []string{""}, rank: exactRank}, nil
	}
	return CompileGlob(pattern)
}

// EscapeGlob returns the pattern that matches exactly s.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`).Replace(s)
}

// String returns the pattern as it was written.
func (g *Glob) String() string { return g.text }

// Exact reports whether the pattern has no wildcard.
func (g *Glob) Exact() bool { return !g.any && len(g.parts) == 1 }

// Restricts reports whether s is matched by a pattern that limits.
func (g *Glob) Restricts(s string) bool { return g.any || match(g.folded, lower(s)) >= 0 }

// restricts is Restricts for a text that was folded before.
func (g *Glob) restricts(folded string) bool { return g.any || match(g.folded, folded) >= 0 }

// Permits reports whether s is matched by a pattern that gives way.
func (g *Glob) Permits(s string) bool {
	if g.any {
		return true
	}
	end := match(g.parts, s)
	if end < 0 {
		return false
	}
	// Literal parts match themselves, so whatever s holds more than they do
	// lies under a wildcard, however the wildcards are laid.
	return len(g.parts) == 1 ||
		countUnsafe(s) == g.unsafe && strings.Count(s, "..") == g.dots && countAny(s[:end], separators) == g.seps
}

// match reports whether s is parts[0], anything, parts[1], anything, ...: it
// returns where the last literal part ends, or -1. That end is the earliest
// possible, so what lies before it is the least that earlier wildcards span.
func match(parts []string, s string) int {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		if s == first {
			return len(s)
		}
		return -1
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return -1
	}
	at, limit := len(first), len(s)-len(last)
	for _, p := range parts[1 : len(parts)-1] {
		k := strings.Index(s[at:limit], p)
		if k < 0 {
			return -1
		}
		at += k + len(p)
	}
	if last != "" {
		at = len(s)
	}
	return at
}

// countUnsafe counts the bytes that a permitting wildcard may not stand for.
func countUnsafe(s string) (n int) {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || strings.IndexByte(shellMeta, c) >= 0 {
			n++
		}
	}
	return n
}

func countAny(s, set string) (n int) {
	for i := range len(s) {
		if strings.IndexByte(set, s[i]) >= 0 {
			n++
		}
	}
	return n
}

// lower folds ASCII only: other tables change with Go's Unicode version, and a
// decision must replay the same.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// compileGlobs compiles a list; errors name the item in field.
func compileGlobs(field string, patterns []string) ([]Glob, error) {
	out := make([]Glob, 0, len(patterns))
	for i, p := range patterns {
		g, err := CompileGlob(p)
		if err != nil {
			return nil, on(err, field, i)
		}
		out = append(out, g)
	}
	return out, nil
}
