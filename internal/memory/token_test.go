package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func tokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := NewTokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestTermsOfManyScripts(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t)
	for text, want := range map[string]string{
		"":                                  "",
		"Hello, World!":                     "hello world",
		"The cats were running to Berlin's": "cat run berlin",
		"Caroline's dog doesn't bark":       "carolin dog doesn t bark",
		"dogs' toys 's":                     "dog toi s",
		"Ørsted pays €1,250.50 in März":     "orst pai 1 250 50 marz",
		"Straße STRASSE ﬁne Ⅷ":              "strass strass fine viii",
		"naïve nai\u0308ve cafe\u0301":      "naiv naiv cafe",
		"pass\u00adword pass\u200bword":     "password password",
		"東京都に住む":                            "東京 京都 都に に住 住む",
		"犬 ｶﾞ":                              "犬 カ\u3099",
		"iPhone を買う":                        "iphon を買 買う",
		"한국어 문서":                            "한국 국어 문서",
		"สวัสดี":                            "สว วั ัส สด ดี",
		"Привет МИР ёлка":                   "привет мир елка",
		"Ελλάς ΕΛΛΆΣ":                       "ελλασ ελλασ",
		"नमस्ते दुनिया":                     "नमस्ते दुनिया",
		"İstanbul ISTANBUL ıstanbul":        "istanbul istanbul istanbul",
		"snake_case a.b@c.example":          "snake case b c exampl",
		"bad\xffutf8":                       "bad utf8",
	} {
		if got := strings.Join(tok.Terms(text), " "); got != want {
			t.Errorf("Terms(%q)\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestStemsFollowPorter(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "plastered": "plaster",
		"motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl", "hopping": "hop", "tanned": "tan",
		"falling": "fall", "hissing": "hiss", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky",
		"relational": "relat", "conditional": "condit", "valenci": "valenc", "digitizer": "digit", "vietnamization": "vietnam",
		"predication": "predic", "operator": "oper", "feudalism": "feudal", "hopefulness": "hope", "sensibiliti": "sensibl",
		"triplicate": "triplic", "formative": "form", "electrical": "electr", "goodness": "good", "revival": "reviv",
		"allowance": "allow", "inference": "infer", "adjustment": "adjust", "adoption": "adopt", "communism": "commun",
		"effective": "effect", "probate": "probat", "rate": "rate", "cease": "ceas", "fulfill": "fulfil", "enroll": "enrol", "roll": "roll",
		"at": "at", "y": "y",
	} {
		if got := stem(word); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzTermsAreSoundAndStable(f *testing.F) {
	for _, s := range []string{"Hello World", "東京都", "a\u0301", "\xff\xfe", "don't ’s", strings.Repeat("x", 300)} {
		f.Add(s)
	}
	tok := tokenizer(f)
	f.Fuzz(func(t *testing.T, text string) {
		terms := tok.Terms(text)
		for _, w := range terms {
			if w == "" || len(w) > maxTerm || !utf8.ValidString(w) {
				t.Fatalf("term %q of %q", w, text)
			}
		}
		if d := cmp.Diff(terms, tok.Terms(text)); d != "" {
			t.Fatal(d)
		}
	})
}
