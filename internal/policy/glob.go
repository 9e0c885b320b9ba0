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
//     and "docs/*" covers no way out of docs. Only "**" stands for those too.
type Glob struct {
	text     string
	parts    []string // literal parts; n parts have n-1 wildcards between them
	folded   []string // parts in lower case
	literals int      // bytes of the parts
	unsafe   int      // of those, how many a permitting wildcard may not stand for
	dots     int      // how often ".." stands in the parts
	any      bool     // "**"
}

const (
	maxGlob   = 1024 // bytes
	exactRank = 1 << 20
	shellMeta = ";&|$`<>(){}[]!#~*?\\'\"^%"
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
		g.literals += len(p)
		g.unsafe += countUnsafe(p)
		g.dots += strings.Count(p, "..")
	}
	return g, nil
}

// compileValue is CompileGlob for the value of an argument, where the empty
// pattern is the empty text.
func compileValue(pattern string) (Glob, error) {
	if pattern == "" {
		return Glob{parts: []string{""}, folded: []string{""}}, nil
	}
	return CompileGlob(pattern)
}

// EscapeGlob returns the pattern that matches exactly s.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`).Replace(s)
}

// String returns the pattern as it was written.
func (g Glob) String() string { return g.text }

// Exact reports whether the pattern has no wildcard.
func (g Glob) Exact() bool { return !g.any && len(g.parts) == 1 }

// rank orders patterns by how much they say: nothing, more literal bytes, exact.
func (g Glob) rank() int {
	if g.Exact() {
		return exactRank
	}
	return g.literals
}

// Restricts reports whether s is matched by a pattern that limits.
func (g Glob) Restricts(s string) bool { return g.any || match(g.folded, lower(s)) }

// Permits reports whether s is matched by a pattern that gives way.
func (g Glob) Permits(s string) bool {
	if g.any {
		return true
	}
	if !match(g.parts, s) {
		return false
	}
	// Literal parts match themselves, so whatever s holds more than they do
	// lies under a wildcard, however the wildcards are laid.
	return len(g.parts) == 1 || countUnsafe(s) == g.unsafe && strings.Count(s, "..") == g.dots
}

// match reports whether s is parts[0], anything, parts[1], anything, ...
func match(parts []string, s string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		k := strings.Index(s, p)
		if k < 0 {
			return false
		}
		s = s[k+len(p):]
	}
	return true
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
