package id

import (
	"bytes"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTextRoundTripsAndSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "a"))
		b := ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "b"))
		if a == Nil || b == Nil {
			return
		}
		got, err := Parse(a.String())
		if err != nil || got != a {
			t.Fatalf("round trip of %x: %x, %v", a, got, err)
		}
		if (bytes.Compare(a[:], b[:]) < 0) != (a.String() < b.String()) {
			t.Fatal("text order differs from byte order")
		}
	})
}

func TestSourceIsStrictlyIncreasingEvenIfTheClockGoesBack(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	s := NewSource(func() time.Time { return now }, nil)
	var ids []string
	for i := range 10_000 {
		if i == 5_000 {
			now = now.Add(-time.Hour)
		}
		ids = append(ids, s.New().String())
	}
	if !sort.StringsAreSorted(ids) {
		t.Fatal("not increasing")
	}
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Fatal("two equal ids")
		}
	}
	if v := MustParse(ids[0]); v[6]>>4 != 7 || v[8]>>6 != 2 {
		t.Fatalf("not a UUIDv7: %x", v)
	}
}

func TestParseRefusesWhatIsNoID(t *testing.T) {
	for _, s := range []string{"x", "0123456789abcdefghjkmnpqrs ", "il0000000000000000000000ou", "zzzzzzzzzzzzzzzzzzzzzzzzzz"} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestDeriveIsAFunctionOfItsParts(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	if Derive(at, []byte("ab"), []byte("c")) == Derive(at, []byte("a"), []byte("bc")) {
		t.Fatal("parts run together")
	}
	if once, again := Derive(at, []byte("a")), Derive(at, []byte("a")); once != again {
		t.Fatal("not deterministic")
	}
}
