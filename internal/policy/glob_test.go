package policy

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
)

func TestGlobMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, glob, text   string
		restricts, permits bool
	}{
		{"exact", "file.write", "file.write", true, true},
		{"exact, other", "file.write", "file.writes", false, false},
		{"star at the end", "file.*", "file.write", true, true},
		{"star spans dots", "payments.*", "payments.card.charge", true, true},
		{"star may be empty", "a*b", "ab", true, true},
		{"prefix and suffix may not overlap", "aba*aba", "aba", false, false},
		{"middle parts in order", "a*b*c*d", "a-c-b-c-d", true, true},
		{"middle parts out of order", "a*b*c*d", "a-c-b-d", false, false},
		{"escaped star", `a\*b`, "a*b", true, true},
		{"escaped star is no star", `a\*b`, "axb", false, false},
		{"escaped backslash", `a\\b`, `a\b`, true, true},
		{"case is no way around a limit", "rm", "RM", true, false},
		{"two stars are anything", "**", "a; rm -rf /\n", true, true},
		{"a limit spans metacharacters", "git *", "git push; rm -rf /", true, false},
		{"a permission spans no second command", "git push*", "git push;id", true, false},
		{"nor a new line", "git push*", "git push\nid", true, false},
		{"nor white space", "git push *", "git push origin main", true, false},
		{"but one word", "git push *", "git push origin", true, true},
		{"a metacharacter that is written is permitted", "a;b*", "a;bc", true, true},
		{"but no second one", "a;b*", "a;bc;d", true, false},
		{"no way out of a folder", "docs/*", "docs/../keys", true, false},
		{"a folder is spanned", "docs/*", "docs/a/b.md", true, true},
		{"mail of a domain", "*@example.com", "ann@example.com", true, true},
		{"two addresses are not one", "*@example.com", "eve@evil.org,ann@example.com", true, false},
		{"one level before a literal", "docs/*.md", "docs/a/b.md", true, false},
		{"a domain", "https://*.example.com/*", "https://www.example.com/a/b:c", true, true},
		{"not a path that looks like one", "https://*.example.com/*", "https://evil.org/www.example.com/", true, false},
		{"not a user name that does", "https://*.example.com/*", "https://x@www.example.com/", true, false},
		{"mail of another", "*@example.com", "ann@example.com.evil.org", false, false},
	} {
		g, err := CompileGlob(c.glob)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := g.Restricts(c.text); got != c.restricts {
			t.Errorf("%s: %q restricts %q = %v", c.name, c.glob, c.text, got)
		}
		if got := g.Permits(c.text); got != c.permits {
			t.Errorf("%s: %q permits %q = %v", c.name, c.glob, c.text, got)
		}
	}
	for _, bad := range []string{"", `a\`, `a\b`, "a**", "**a", "a**b", "***", "\xff", strings.Repeat("a", maxGlob+1)} {
		if _, err := CompileGlob(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		} else if k := fault.KindOf(err); k != fault.Invalid && k != fault.Limited {
			t.Errorf("%q: kind %v", bad, k)
		}
	}
}

// slow is the meaning of a pattern in its plainest form.
func slow(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	switch pattern[0] {
	case '*':
		for i := range len(s) + 1 {
			if slow(pattern[1:], s[i:]) {
				return true
			}
		}
		return false
	case '\\':
		pattern = pattern[1:]
	}
	return s != "" && s[0] == pattern[0] && slow(pattern[1:], s[1:])
}

func TestGlobMeansWhatThePlainFormMeans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`(a|b|\\\*|\*)(a|b|\\\*|a\*|b\*){0,6}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab*]{0,10}`).Draw(t, "text")
		g, err := CompileGlob(p)
		if err != nil {
			t.Skip(err)
		}
		if want := slow(p, s); g.Restricts(s) != want {
			t.Fatalf("%q on %q: %v, want %v", p, s, !want, want)
		}
		if g.Permits(s) && !slow(p, s) {
			t.Fatalf("%q permits %q without matching it", p, s)
		}
		if e, err := CompileGlob(EscapeGlob(s)); s != "" && (err != nil || !e.Permits(s) || !e.Exact() || e.rank != exactRank) {
			t.Fatalf("escaped %q does not match itself: %v", s, err)
		}
	})
}

func TestGlobNeverBacktracks(t *testing.T) {
	t.Parallel()
	g, err := CompileGlob(strings.Repeat("a*", 500) + "b")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 1<<20)
	done := make(chan bool, 1)
	go func() { done <- g.Restricts(text) }()
	select {
	case got := <-done:
		if got {
			t.Error("it matched")
		}
	case <-time.After(time.Minute): // backtracking would take longer than the world will last
		t.Fatal("still matching after a minute")
	}
}
