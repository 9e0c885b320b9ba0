package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"white space goes", " { \"a\" :\t[ 1 ,\r\n2 ] } ", `{"a":[1,2]}`},
		{"keys are sorted", `{"b":1,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":1}`},
		{"keys sort by code point, not by UTF-16 unit", `{"\ud83d\ude00":1,"\ufb33":2}`, "{\"\ufb33\":2,\"\U0001F600\":1}"},
		{"needless escapes go", `"\u003c\/\u0041\u2028"`, "\"</A\u2028\""},
		{"needed escapes take their short form", `"\u000a\u0008\u001F\"\\"`, `"\n\b\u001f\"\\"`},
		{"escaped keys are compared decoded", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{"text is not normalised", "[\"e\u0301\",\"\u00e9\"]", "[\"e\u0301\",\"\u00e9\"]"},
		{"minus zero is zero", `[-0,0,-7]`, `[0,0,-7]`},
		{"the largest integers", `[9007199254740991,-9007199254740991]`, `[9007199254740991,-9007199254740991]`},
		{"a scalar is a document", `true`, `true`},
		{"empty containers", `[{},[ ],{ }]`, `[{},[],{}]`},
		{"DEL is not escaped", "\"\u007f\"", "\"\u007f\""},
	} {
		got, err := Canonicalize([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q gave %q, %v; want %q", c.name, c.in, got, err, c.want)
		}
	}
}

func TestRefusalsAreNamedWithTheirPath(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, c := range []struct {
		in   string
		want error
		path string
	}{
		{`{"a":[1,2.5]}`, ErrFloat, "$.a[1]"},
		{`{"a":{"b c":1e3}}`, ErrFloat, `$.a["b c"]`},
		{`{"n":9007199254740992}`, ErrRange, "$.n"},
		{`-9007199254740992`, ErrRange, "$"},
		{`123456789012345678901234567890`, ErrRange, "$"},
		{`{"a":1,"b":{"x":1,"\u0078":2}}`, ErrDuplicate, "$.b.x"},
		{`{"t":["ok","a\u0000b"]}`, ErrNUL, "$.t[1]"},
		{"\"a\x00b\"", ErrNUL, "$"},
		{`["\ud800"]`, ErrSurrogate, "$[0]"},
		{`["\ud800\u0041"]`, ErrSurrogate, "$[0]"},
		{`["\udc00\ud800"]`, ErrSurrogate, "$[0]"},
		{"[\"\xed\xa0\x80\"]", ErrSurrogate, "$[0]"},
		{"{\"k\":\"\xff\"}", ErrUTF8, "$.k"},
		{"{\"k\":\"\xc3\"}", ErrUTF8, "$.k"},
		{deep, ErrDepth, "$" + strings.Repeat("[0]", MaxDepth)},
		{`[01]`, ErrSyntax, "$[0]"},
		{`[1,]`, ErrSyntax, "$[1]"},
		{`{"a":1,}`, ErrSyntax, "$"},
		{`{"a"}`, ErrSyntax, "$.a"},
		{`[1 2]`, ErrSyntax, "$"},
		{`"a` + "\n" + `"`, ErrSyntax, "$"},
		{`"\x"`, ErrSyntax, "$"},
		{`"\u12g4"`, ErrSyntax, "$"},
		{`nul`, ErrSyntax, "$"},
		{`NaN`, ErrSyntax, "$"},
		{`-`, ErrSyntax, "$"},
		{`1 1`, ErrSyntax, "$"},
		{``, ErrSyntax, "$"},
		{`"open`, ErrSyntax, "$"},
	} {
		out, err := Canonicalize([]byte(c.in))
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, c.want) || e.Path != c.path {
			t.Errorf("%q gave %q, %v; want %v at %s", c.in, out, err, c.want, c.path)
		}
	}
	if _, err := CanonicalizeMax([]byte(`"12345"`), 6); !errors.Is(err, ErrSize) {
		t.Errorf("size limit: %v", err)
	}
	if _, err := Canonicalize([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth))); err != nil {
		t.Errorf("depth %d must pass: %v", MaxDepth, err)
	}
}

func TestJSONRefusesDamagedTextInsteadOfReplacingIt(t *testing.T) {
	t.Parallel()
	type box struct {
		Name  string   `json:"name"`
		Words []string `json:"words"`
	}
	_, err := JSON(box{Name: "a", Words: []string{"ok", "b\xff"}})
	if !errors.Is(err, ErrUTF8) || !strings.HasPrefix(err.Error(), "$.words[1]") {
		t.Fatalf("invalid UTF-8: %v", err)
	}
	if _, err := JSON(map[string]any{"k": map[string]int{"\xfe": 1}}); !errors.Is(err, ErrUTF8) {
		t.Fatalf("invalid UTF-8 in a key: %v", err)
	}
	got, err := JSON(box{Name: "a\ufffd<b>"})
	if err != nil || string(got) != "{\"name\":\"a\ufffd<b>\",\"words\":null}" {
		t.Fatalf("a real U+FFFD must pass: %s, %v", got, err)
	}
	if _, err := JSON(map[string]any{"x": 0.5}); !errors.Is(err, ErrFloat) {
		t.Fatalf("float: %v", err)
	}
	if _, err := JSON(json.RawMessage(`{"x":"\u0000"}`)); !errors.Is(err, ErrNUL) {
		t.Fatalf("raw NUL: %v", err)
	}
	if _, err := JSON(make(chan int)); err == nil {
		t.Fatal("a channel has no JSON")
	}
}

// value draws any value that has a canonical form.
func value(depth int) *rapid.Generator[any] {
	text := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "") })
	leaf := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Int64Range(-maxInteger, maxInteger), func(n int64) any { return json.Number(fmt.Sprint(n)) }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 5), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(text, value(depth-1), 0, 20), func(v map[string]any) any { return v }),
	)
}

// scrambled writes v as JSON in a random key order, spacing and escaping.
func scrambled(r *rand.Rand, v any) string {
	gap := []string{"", " ", "\n\t"}[r.IntN(3)]
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for k, e := range v {
			parts = append(parts, gap+scrambled(r, k)+gap+":"+scrambled(r, e))
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, ",") + gap + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, scrambled(r, e)+gap)
		}
		return gap + "[" + strings.Join(parts, ",") + "]"
	case string:
		var b strings.Builder
		b.WriteByte('"')
		for _, c := range v {
			switch {
			case c < 0x10000 && (r.IntN(3) == 0 || c < 0x20 || c == '"' || c == '\\'):
				fmt.Fprintf(&b, `\u%04X`, c)
			default:
				b.WriteRune(c)
			}
		}
		b.WriteByte('"')
		return b.String()
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestEqualBytesExactlyForEqualValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := value(3).Draw(t, "a")
		b := value(3).Draw(t, "b")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		ca, err := Canonicalize([]byte(scrambled(r, a)))
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		again, err := Canonicalize([]byte(scrambled(r, a)))
		if err != nil || !bytes.Equal(ca, again) {
			t.Fatalf("writing order shows: %s | %s | %v", ca, again, err)
		}
		twice, err := Canonicalize(ca)
		if err != nil || !bytes.Equal(ca, twice) {
			t.Fatalf("not idempotent: %s | %s | %v", ca, twice, err)
		}
		direct, err := JSON(a)
		if err != nil || !bytes.Equal(ca, direct) {
			t.Fatalf("JSON differs: %s | %s | %v", ca, direct, err)
		}
		cb, err := JSON(b)
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		if bytes.Equal(ca, cb) != same(a, b) {
			t.Fatalf("bytes equal = %v for %#v and %#v", bytes.Equal(ca, cb), a, b)
		}
		if diff := cmp.Diff(decode(t, ca), decode(t, []byte(scrambled(r, a)))); diff != "" {
			t.Fatal("meaning changed:\n" + diff)
		}
	})
}

// same is equality of JSON values: a nil slice or map is null.
func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	var vx, vy any
	_ = json.Unmarshal(x, &vx)
	_ = json.Unmarshal(y, &vy)
	return reflect.DeepEqual(vx, vy)
}

func decode(t *rapid.T, raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzCanonicalize(f *testing.F) {
	for _, s := range []string{`{"b":[1,{"\u0061":"\ud83d\ude00"}],"a":null}`, `1e5`, `"\ud800"`, "\"\xff\"", `{"a":1,"a":2}`, `[[[[]]]]`, `-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := Canonicalize(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) || !json.Valid(out) {
			t.Fatalf("accepted what is no JSON: %q -> %q", raw, out)
		}
		again, err := Canonicalize(out)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("not idempotent: %q -> %q -> %q, %v", raw, out, again, err)
		}
		var a, b any
		if json.Unmarshal(raw, &a) != nil || json.Unmarshal(out, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("meaning changed: %q -> %q", raw, out)
		}
	})
}

type sample struct {
	ID        string            `json:"id"`
	Account   string            `json:"account"`
	Summary   string            `json:"summary"`
	Skill     string            `json:"skill"`
	Arguments json.RawMessage   `json:"arguments"`
	Labels    map[string]string `json:"labels"`
	Attempt   int               `json:"attempt"`
	Deadline  int64             `json:"deadline"`
	Refs      []string          `json:"refs"`
	At        time.Time         `json:"at"`
}

func newSample() sample {
	return sample{
		ID: "01jd8x3v5k8c9r2m4n6p7q8s9t", Account: "01jd8x3v5k8c9r2m4n6p7q8s9t",
		Summary: "write the weekly report to reports/2026-48.md", Skill: "file.write",
		Arguments: json.RawMessage(`{"path":"reports/2026-48.md","content":"# Week 48\n\nAll is well.","expect":null}`),
		Labels:    map[string]string{"integrity": "house", "audience": "owner"},
		Attempt:   1, Deadline: 1_800_000_000_000_000,
		Refs: []string{"01jd8x3v5k8c9r2m4n6p7q8s9t", "01jd8x3v5k8c9r2m4n6p7q8s9v"},
		At:   time.UnixMicro(1_800_000_000_000_000).UTC(),
	}
}

func BenchmarkJSON(b *testing.B) {
	v := newSample()
	out, err := JSON(v)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := JSON(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalAlone(b *testing.B) {
	v := newSample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}
