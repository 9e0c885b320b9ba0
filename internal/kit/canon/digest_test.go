package canon

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDigestKeepsPartsAndDomainsApart(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]string{}
	for name, d := range map[string][32]byte{
		"ab,c":         Digest("d", []byte("ab"), []byte("c")),
		"a,bc":         Digest("d", []byte("a"), []byte("bc")),
		"abc":          Digest("d", []byte("abc")),
		"abc,":         Digest("d", []byte("abc"), nil),
		"other domain": Digest("e", []byte("abc")),
		"domain+part":  Digest("dabc"),
	} {
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[d] = name
	}
	// Pinned: stored chains depend on it.
	got := Digest("witan/test", []byte("one"), []byte{}, []byte("three"))
	if want := "aeb10960f991b82df1f5ae09d0a2cd7b3740d9418a0b9d4d75d5e2ea52276098"; hex.EncodeToString(got[:]) != want {
		t.Errorf("the form of Digest changed: %x", got)
	}
}

func TestBinaryIsInjectiveForOneListOfCalls(t *testing.T) {
	t.Parallel()
	type row struct {
		A uint64
		B int64
		C string
		D []byte
		E []byte // nil is not empty
		F bool
	}
	write := func(r row) []byte {
		var b Binary
		b.Uint64(r.A)
		b.Int64(r.B)
		b.String(r.C)
		b.Bytes(r.D)
		b.Nullable(r.E)
		b.Bool(r.F)
		return b.Encoded()
	}
	draw := rapid.Custom(func(t *rapid.T) row {
		r := row{
			A: rapid.Uint64Range(0, 3).Draw(t, "a"), B: rapid.Int64Range(-1, 1).Draw(t, "b"),
			C: rapid.StringN(0, 3, 9).Draw(t, "c"), D: rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 3).Draw(t, "d"),
			F: rapid.Bool().Draw(t, "f"),
		}
		if rapid.Bool().Draw(t, "hasE") {
			r.E = append([]byte{}, rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 3).Draw(t, "e")...)
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := draw.Draw(t, "x"), draw.Draw(t, "y")
		equal := x.A == y.A && x.B == y.B && x.C == y.C && bytes.Equal(x.D, y.D) &&
			(x.E == nil) == (y.E == nil) && bytes.Equal(x.E, y.E) && x.F == y.F
		if bytes.Equal(write(x), write(y)) != equal {
			t.Fatalf("%+v and %+v: equal = %v", x, y, equal)
		}
	})
	var b Binary
	b.Uint64(1)
	b.Int64(-1)
	b.String("é")
	b.Bool(true)
	if got := hex.EncodeToString(b.Encoded()); got != "0000000000000001"+"ffffffffffffffff"+"0000000000000002c3a9"+"01" {
		t.Errorf("the form changed: %s", got)
	}
	if b.Reset(); len(b.Encoded()) != 0 {
		t.Error("Reset kept something")
	}
}

func TestIntegralFindsTheField(t *testing.T) {
	t.Parallel()
	type inner struct {
		Score float64
	}
	type good struct {
		N    int
		At   time.Time
		Raw  json.RawMessage
		Own  *good
		List []map[string]int64
		skip float64
		Not  float32 `json:"-"`
	}
	_ = good{skip: 1}.skip
	if err := Integral(reflect.TypeFor[good]()); err != nil {
		t.Errorf("good type refused: %v", err)
	}
	for _, c := range []struct {
		typ  reflect.Type
		path string
	}{
		{reflect.TypeFor[struct{ A []inner }](), ".A[].Score"},
		{reflect.TypeFor[struct{ M map[string]*inner }](), ".M{}.Score"},
		{reflect.TypeFor[struct{ Any any }](), ".Any"},
		{reflect.TypeFor[struct{ C complex64 }](), ".C"},
	} {
		if err := Integral(c.typ); !errors.Is(err, ErrFloat) || !strings.Contains(err.Error(), c.path+" is") {
			t.Errorf("%v: %v, want path %s", c.typ, err, c.path)
		}
	}
	if Integral(reflect.TypeFor[struct{ F func() }]()) == nil {
		t.Error("a function passed")
	}
}
