package assets

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

type rgba struct{ r, g, b, a float64 }

func parseHex(t *testing.T, s string) rgba {
	t.Helper()
	s = strings.TrimPrefix(s, "#")
	if len(s) == 3 {
		s = string([]byte{s[0], s[0], s[1], s[1], s[2], s[2]})
	}
	if len(s) == 6 {
		s += "FF"
	}
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil || len(s) != 8 {
		t.Fatalf("colour %q: %v", s, err)
	}
	return rgba{float64(n >> 24 & 255), float64(n >> 16 & 255), float64(n >> 8 & 255), float64(n&255) / 255}
}

// over lays c on an opaque ground.
func (c rgba) over(ground rgba) rgba {
	mix := func(a, b float64) float64 { return a*c.a + b*(1-c.a) }
	return rgba{mix(c.r, ground.r), mix(c.g, ground.g), mix(c.b, ground.b), 1}
}

func (c rgba) luminance() float64 {
	lin := func(v float64) float64 {
		v /= 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.r) + 0.7152*lin(c.g) + 0.0722*lin(c.b)
}

func contrast(a, b rgba) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// tokens reads the two themes out of tokens.css.
func tokens(t *testing.T) [2]map[string]rgba {
	t.Helper()
	data, err := os.ReadFile("src/css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	out := [2]map[string]rgba{{}, {}}
	re := regexp.MustCompile(`(?m)^\s*--([\w-]+):light-dark\((#[0-9A-Fa-f]+),(#[0-9A-Fa-f]+)\);$`)
	for _, m := range re.FindAllStringSubmatch(string(data), -1) {
		out[0][m[1]] = parseHex(t, m[2])
		out[1][m[1]] = parseHex(t, m[3])
	}
	if len(out[0]) < 50 {
		t.Fatalf("found %d tokens", len(out[0]))
	}
	return out
}

// TestContrast computes WCAG contrast of every pair of ink and ground that the style
// sheets use, in both themes (1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	t.Parallel()
	grounds := []string{"canvas", "side", "surface", "surface-2", "raised", "sunken", "sel"}
	type pair struct {
		ink, ground string
		least       float64
	}
	var pairs []pair
	for _, g := range grounds {
		for _, ink := range []string{"ink", "ink-2", "ink-3", "accent", "deny", "need", "good", "live"} {
			pairs = append(pairs, pair{ink, g, 4.5})
		}
		for _, ui := range []string{"line-ui", "deny-solid", "good-solid", "live-solid", "mind-solid", "need-edge", "need-bar", "accent"} {
			pairs = append(pairs, pair{ui, g, 3})
		}
	}
	pairs = append(
		pairs,
		pair{"primary-ink", "primary", 4.5}, pair{"accent", "accent-soft", 4.5}, pair{"ink", "accent-soft", 4.5}, pair{"ink-2", "accent-soft", 4.5},
		pair{"need", "need-soft", 4.5}, pair{"deny", "deny-soft", 4.5}, pair{"good", "good-soft", 4.5}, pair{"live", "live-soft", 4.5}, pair{"mind", "mind-soft", 4.5}, pair{"idle", "idle-soft", 4.5},
		pair{"add-ink", "add-bg", 4.5}, pair{"add-ink", "add-hi", 4.5}, pair{"del-ink", "del-bg", 4.5}, pair{"del-ink", "del-hi", 4.5},
		pair{"idle-solid", "surface", 3}, pair{"idle-solid", "surface-2", 3},
	)
	for i, theme := range []string{"light", "dark"} {
		tk := tokens(t)[i]
		for _, p := range pairs {
			ink, ok1 := tk[p.ink]
			ground, ok2 := tk[p.ground]
			if !ok1 || !ok2 {
				t.Fatalf("no token %s or %s", p.ink, p.ground)
			}
			if c := contrast(ink, ground); c < p.least {
				t.Errorf("%s: %s on %s is %.2f, want %.1f", theme, p.ink, p.ground, c, p.least)
			}
		}
		// Text over the hatch stands on its ground and on its stripes.
		stripe := tk["hatch"].over(tk["hatch-bg"])
		for _, ink := range []string{"ink", "ink-2", "need"} {
			for name, ground := range map[string]rgba{"hatch ground": tk["hatch-bg"], "hatch stripe": stripe} {
				if c := contrast(tk[ink], ground); c < 4.5 {
					t.Errorf("%s: %s on the %s is %.2f", theme, ink, name, c)
				}
			}
		}
		// The white mark inside filled glyphs.
		white := rgba{255, 255, 255, 1}
		for _, solid := range []string{"good-solid", "deny-solid", "idle-solid"} {
			if c := contrast(white, tk[solid]); c < 3 {
				t.Errorf("%s: the mark on %s is %.2f", theme, solid, c)
			}
		}
	}
}

type rule struct{ file, selector, body string }

func rules(t *testing.T) []rule {
	t.Helper()
	files, err := filepath.Glob("src/css/*.css")
	if err != nil || len(files) == 0 {
		t.Fatalf("no style sheets: %v", err)
	}
	comment := regexp.MustCompile(`(?s)/\*.*?\*/`)
	re := regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	var out []rule
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range re.FindAllStringSubmatch(comment.ReplaceAllString(string(data), ""), -1) {
			out = append(out, rule{filepath.Base(f), strings.TrimSpace(m[1]), m[2]})
		}
	}
	return out
}

// TestAmberIsReserved: the need tokens and the hatch are drawn only by selectors that
// say a person is needed, a rule asks, an effect is unknown, or bytes came from outside.
func TestAmberIsReserved(t *testing.T) {
	t.Parallel()
	amber := regexp.MustCompile(`var\(--(need|hatch)`)
	// .nd is a step of the taint chain; .askcard is an open approval, undone by .done.
	allowed := regexp.MustCompile(`need|ask|unknown|hatch|outside|\.nd\b`)
	seen := 0
	for _, r := range rules(t) {
		if r.file == "tokens.css" || !amber.MatchString(r.body) {
			continue
		}
		for _, sel := range strings.Split(r.selector, ",") {
			seen++
			if !allowed.MatchString(sel) {
				t.Errorf("%s: %s is amber", r.file, strings.TrimSpace(sel))
			}
		}
	}
	if seen < 8 {
		t.Errorf("found %d amber selectors; the test reads nothing", seen)
	}
}

// TestNoCutInCalls: an argument, a diff, a rule, a command or a body is never cut.
func TestNoCutInCalls(t *testing.T) {
	t.Parallel()
	cut := regexp.MustCompile(`text-overflow|line-clamp|white-space:nowrap`)
	whole := regexp.MustCompile(`(^|[ ,>.])(args|arg|diff|dl|tx|v|rule|json|cmd|acall|pre|says)\b`)
	for _, r := range rules(t) {
		if cut.MatchString(r.body) && whole.MatchString(r.selector) {
			t.Errorf("%s: %s cuts what must be whole", r.file, r.selector)
		}
		if strings.Contains(r.body, "text-overflow") && r.selector != ".ell" {
			t.Errorf("%s: %s cuts text; only .ell may", r.file, r.selector)
		}
	}
}

// TestColoursAreTokens: a colour outside tokens.css would miss the other theme.
func TestColoursAreTokens(t *testing.T) {
	t.Parallel()
	hex := regexp.MustCompile(`#[0-9A-Fa-f]{3,8}\b`)
	for _, r := range rules(t) {
		if r.file == "tokens.css" {
			continue
		}
		for _, h := range hex.FindAllString(r.body, -1) {
			if h != "#FFF" { // the mark inside filled glyphs, measured above
				t.Errorf("%s: %s uses %s", r.file, r.selector, h)
			}
		}
	}
}
