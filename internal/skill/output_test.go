package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/canon"
)

func same(s string) string { return s }

func TestRecordKeepsWhatTheJournalCanHold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`null`:                                `null`,
		`{"b":1,"a":1.10,"c":1e2}`:            `{"a":"1.10","b":1,"c":"1e2"}`,
		`[9007199254740991,9007199254740992]`: `[9007199254740991,"9007199254740992"]`,
		`"nul \u0000 lone \ud800 end"`:        "\"nul \uFFFD lone \uFFFD end\"",
		`{"k\u0000":true}`:                    "{\"k\uFFFD\":true}",
	} {
		got, cut, err := record([]byte(in), 1000, same)
		if err != nil || cut || string(got) != want {
			t.Errorf("%s: %s, cut %v, %v", in, got, cut, err)
		}
	}
	if _, _, err := record([]byte(`{"a":`), 1000, same); err == nil {
		t.Error("half a document was recorded")
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	if got, _, err := record([]byte(deep), 1000, same); err != nil || len(got) > 400 {
		t.Errorf("deep: %v %s", err, got)
	}
}

// Whatever comes out is canonical JSON of at most the limit, and says that it
// was cut if it was.
func TestRecordNeverExceedsItsLimit(t *testing.T) {
	t.Parallel()
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int64(), func(i int64) any { return i }),
			rapid.Just[any](nil), rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 8), func(s []any) any { return s }),
			rapid.Map(rapid.MapOfN(rapid.String(), value(depth-1), 0, 8), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(16, 400).Draw(t, "limit")
		got, cut, err := record(raw, limit, same)
		if err != nil || len(got) > limit || !utf8.Valid(got) {
			t.Fatalf("%d of %d bytes: %s, %v", len(got), limit, got, err)
		}
		if again, err := canon.Canonicalize(got); err != nil || string(again) != string(got) {
			t.Fatalf("not canonical: %s", got)
		}
		whole, _, err := record(raw, 1<<20, same)
		if err != nil || cut != (len(whole) > limit) {
			t.Fatalf("cut %v of %d bytes at %d: %v", cut, len(whole), limit, err)
		}
	})
}

func TestACutIsMarked(t *testing.T) {
	t.Parallel()
	got, cut, err := record([]byte(`{"a":"`+strings.Repeat("x", 500)+`","b":[1,2,3],"c":1}`), 120, same)
	if err != nil || !cut || !strings.Contains(string(got), "bytes left out") || !json.Valid(got) {
		t.Errorf("%s, %v", got, err)
	}
}

// No emoji, flag or accented letter is broken in two, at any length.
func TestPrefixBreaksNoCharacter(t *testing.T) {
	t.Parallel()
	text := "a👩‍👩‍👧‍👦b🇩🇪🇫🇷c e\u0301 क्षि z"
	var whole []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		whole = append(whole, g.Str())
	}
	for n := range len(text) + 3 {
		got := Prefix(text, n)
		rest, i := got, 0
		for i < len(whole) && strings.HasPrefix(rest, whole[i]) {
			rest = rest[len(whole[i]):]
			i++
		}
		if rest != "" || len(got) > n || !utf8.ValidString(got) {
			t.Errorf("%d: %q", n, got)
		}
		if i < len(whole) && len(got)+len(whole[i]) <= n {
			t.Errorf("%d: %q is shorter than it need be", n, got)
		}
	}
}

func TestKeysAreFixedByRunStepAndCall(t *testing.T) {
	t.Parallel()
	type parts struct {
		run  [16]byte
		step int
		call string
	}
	gen := rapid.Custom(func(t *rapid.T) parts {
		p := parts{step: rapid.IntRange(0, 11).Draw(t, "step"), call: rapid.StringMatching(`[0-9a]{1,2}`).Draw(t, "call")}
		p.run[15] = rapid.Byte().Draw(t, "run") & 1
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		ka, kb := Key(a.run, a.step, a.call), Key(b.run, b.step, b.call)
		if len(ka) != 64 || (ka == kb) != (a == b) {
			t.Fatalf("%+v and %+v: %s and %s", a, b, ka, kb)
		}
	})
}

func TestNotSentIsKeptThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("send: %w", NotSent(errors.New("refused")))
	if !errors.Is(err, ErrNotSent) || outcomeOf(err) != unsent {
		t.Errorf("%v is %d", err, outcomeOf(err))
	}
	if NotSent(nil) != nil || FirstHop(nil) != nil {
		t.Error("no error became one")
	}
}
