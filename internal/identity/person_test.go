package identity

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
)

func TestNormalizeSignIn(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"mira": "mira", " Mira ": "mira", "ＭＩＲＡ": "mira", "Straße": "strasse", "MIRA@Example.ORG": "mira@example.org",
		"Jürgen": "jürgen", "ju\u0308rgen": "jürgen", "名前": "名前", "a-b_c+d.e": "a-b_c+d.e",
	} {
		if got, err := NormalizeSignIn(in); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "   ", "a b", ".a", "a/b", "a\x00", "\xff", "a\u200bb", strings.Repeat("a", 65), "mira\u202e"} {
		if got, err := NormalizeSignIn(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// One name has one form: normalising again changes nothing.
func TestNormalizeSignInIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		once, err := NormalizeSignIn(s)
		if err != nil {
			return
		}
		twice, err := NormalizeSignIn(once)
		if err != nil || twice != once {
			t.Fatalf("%q is %q is %q, %v", s, once, twice, err)
		}
	})
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	if got, err := cleanName("  Mira Kovač ", "name"); err != nil || got != "Mira Kovač" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", " ", "a\nb", "a\u202eb", "\xff", strings.Repeat("ä", 81)} {
		if _, err := cleanName(bad, "name"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "n")
		if got := truncate(s, n); len(got) > n || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\r\n") {
			t.Fatalf("truncate(%q, %d) = %q", s, n, got)
		}
	})
}
