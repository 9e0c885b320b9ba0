package channel

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// boundaries returns the byte offsets between grapheme clusters of s.
func boundaries(s string) map[int]bool {
	at := map[int]bool{0: true, len(s): true}
	for g := uniseg.NewGraphemes(s); g.Next(); {
		_, end := g.Positions()
		at[end] = true
	}
	return at
}

// checkParts holds the law of Split.
func checkParts(t interface{ Fatalf(string, ...any) }, text string, l Limit, parts []string) {
	if got := strings.Join(parts, ""); got != text {
		t.Fatalf("joined %q, want %q", got, text)
	}
	at, pos := boundaries(text), 0
	for i, p := range parts {
		if !utf8.ValidString(p) {
			t.Fatalf("part %d is no valid UTF-8: %q", i, p)
		}
		if n := l.Measure(p); n > l.Max {
			t.Fatalf("part %d measures %d, limit %d: %q", i, n, l.Max, p)
		}
		if p == "" {
			t.Fatalf("part %d of %d is empty", i, len(parts))
		}
		pos += len(p)
		if !at[pos] && fits(text, pos, l) {
			t.Fatalf("part %d ends inside a grapheme cluster, at byte %d of %q", i, pos, text)
		}
	}
}

// fits reports whether the cluster around byte pos is one that fits the limit.
func fits(text string, pos int, l Limit) bool {
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if from, to := g.Positions(); from < pos && pos < to {
			return l.Measure(g.Str()) <= l.Max
		}
	}
	return true
}

// Bug report 41: a split inside an emoji breaks the delivery.
func TestSplitKeepsGraphemesAroundTheLimit(t *testing.T) {
	t.Parallel()
	clusters := map[string]string{
		"emoji outside the BMP":   "😀",
		"family of four":          "👨\u200d👩\u200d👧\u200d👦",
		"flag":                    "🇩🇪",
		"skin tone":               "👍🏽",
		"letter with three marks": "e\u0301\u0323\u0308",
		"keycap":                  "1\ufe0f\u20e3",
		"hangul jamo":             "\u1112\u1161\u11ab",
		"devanagari":              "क्षि",
		"CR LF":                   "\r\n",
	}
	const limit = 40
	for name, g := range clusters {
		for _, unit := range []Unit{Bytes, UTF16, Runes} {
			t.Run(fmt.Sprintf("%s in unit %d", name, unit), func(t *testing.T) {
				t.Parallel()
				l := Limit{unit, limit}
				for off := limit - 2 - l.Measure(g); off <= limit+2; off++ {
					text := strings.Repeat("a", off) + g + strings.Repeat(g, 3) + "tail"
					checkParts(t, text, l, Split(text, l))
				}
			})
		}
	}
}

func TestSplitHoldsForAnyText(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"a", "word ", "\n", "\r\n", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "🇫", "é", "e\u0301", "\u0301", "\u200d", "漢", "क्", "👍🏽", " ", "\t",
		strings.Repeat("\u0301", 30),
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "") + rapid.StringN(0, 20, 80).Draw(t, "rest")
		l := Limit{Unit(rapid.IntRange(0, 2).Draw(t, "unit")), rapid.IntRange(minLimit, 50).Draw(t, "limit")}
		parts := Split(text, l)
		if text == "" {
			if len(parts) != 1 || parts[0] != "" {
				t.Fatalf("an empty text is one empty part, got %q", parts)
			}
			return
		}
		checkParts(t, text, l, parts)
	})
}

func TestSplitPrefersWhiteSpace(t *testing.T) {
	t.Parallel()
	got := Split("one two three four five", Limit{Bytes, 10})
	want := []string{"one two ", "three ", "four five"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Split(strings.Repeat("x", 25), Limit{Bytes, 10}); len(got) != 3 {
		t.Errorf("a word of 25 in parts of 10: %q", got)
	}
	if got := Split("whole", Limit{}); len(got) != 1 {
		t.Errorf("no limit, one part: %q", got)
	}
}
