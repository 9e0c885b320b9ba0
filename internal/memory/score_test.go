package memory

import (
	"math"
	"math/bits"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory/recall"
)

func TestIntegerScoresAreThoseOfTheFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rows := rapid.Int64Range(1, 5_000_000).Draw(r, "rows")
		having := rapid.Int64Range(1, rows).Draw(r, "having")
		tokens := rapid.Int64Range(rows, rows*300).Draw(r, "tokens")
		p := posting{1, rapid.Int64Range(1, 500).Draw(r, "tf"), rapid.Int64Range(1, 20_000).Draw(r, "length")}
		n, df, tf := float64(rows), float64(having), float64(p.tf)
		wantIDF := math.Log(1 + (n-df+.5)/(df+.5))
		got := idf(rows, having)
		if math.Abs(float64(got)-wantIDF*1e6) > 2 {
			r.Fatalf("idf(%d, %d) = %d, want %.1f", rows, having, got, wantIDF*1e6)
		}
		want := wantIDF * tf * 2.2 / (tf + 1.2*(.25+.75*float64(p.length)*n/float64(tokens)))
		if score := (corpus{rows, tokens}).bm25(got, p); math.Abs(float64(score)-want*1e6) > 6 {
			r.Fatalf("bm25 = %d, want %.1f", score, want*1e6)
		}
	})
}

func TestBoostsAreSmallAndMonotone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]int64{-time.Hour: micro, 0: micro, 30 * 24 * time.Hour: micro / 2, 60 * 24 * time.Hour: micro / 3} {
		if got := recency(now, now.Add(-age)); got != want {
			t.Errorf("recency at age %s = %d, want %d", age, got, want)
		}
	}
	if got := fuse(recall.Parts{BM25: 2 * micro}); got != 2*micro {
		t.Errorf("no boost changes the score to %d", got)
	}
	if got := fuse(recall.Parts{BM25: 2 * micro, Recency: micro, Importance: micro}); got != 2_300_000 {
		t.Errorf("all boosts give %d, want 2,300,000", got)
	}
}

func TestPostingsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := Block{First: rapid.Int64Range(1, 1<<30).Draw(r, "first")}
		b.Last = b.First
		var want []posting
		for i := range rapid.IntRange(1, maxPostings).Draw(r, "n") {
			p := posting{b.Last, rapid.Int64Range(1, 1<<20).Draw(r, "tf"), rapid.Int64Range(1, 1<<30).Draw(r, "length")}
			if i > 0 {
				p.number += rapid.Int64Range(1, 1<<20).Draw(r, "gap")
			}
			b.Packed = appendPosting(b.Packed, b.Last, p)
			b.Last, b.Count = p.number, b.Count+1
			want = append(want, p)
		}
		var got []posting
		if err := eachPosting(b, func(p posting) { got = append(got, p) }); err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(posting{})); d != "" {
			r.Fatal(d)
		}
		b.Packed = b.Packed[:len(b.Packed)-1]
		if err := eachPosting(b, func(posting) {}); !fault.Is(err, fault.Corrupt) {
			r.Fatalf("a cut block gives %v", err)
		}
	})
}

func TestTermsOfARowReadBack(t *testing.T) {
	t.Parallel()
	terms := []string{"b", "a", "b", "東京"}
	f := Fresh{Place: Place{id.Nil, 7}, Terms: encodeTerms(terms)}
	got := map[string]posting{}
	if err := eachTerm(f, func(s string, p posting) { got[s] = p }); err != nil {
		t.Fatal(err)
	}
	want := map[string]posting{"a": {7, 1, 4}, "b": {7, 2, 4}, "東京": {7, 1, 4}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(posting{})); d != "" {
		t.Fatal(d)
	}
	for cut := range len(f.Terms) {
		err := eachTerm(Fresh{Terms: f.Terms[:cut]}, func(string, posting) {})
		if err != nil && !fault.Is(err, fault.Corrupt) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func FuzzDamagedBlocksAreRefusedNotBelieved(f *testing.F) {
	f.Add([]byte{0, 1, 5, 1, 2, 9}, int64(2), int64(3), int64(4))
	f.Fuzz(func(t *testing.T, packed []byte, count, first, last int64) {
		n := 0
		err := eachPosting(Block{First: first, Last: last, Count: count % 1000, Packed: packed}, func(posting) { n++ })
		if err == nil && int64(n) != max(count%1000, 0) {
			t.Fatalf("%d postings of %d", n, count)
		}
	})
}

func TestSimilarTextsHaveSimilarSketches(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t)
	sketch := func(s string) uint64 { return uint64(simhash(tok.Terms(s))) }
	a := sketch("The invoice of Orsted for March was paid on Friday by bank transfer from Berlin")
	b := sketch("The invoice of Orsted for March was paid on Monday by bank transfer from Berlin")
	c := sketch("Melanie painted a lake at sunrise and her children went camping in the mountains")
	if near, far := bits.OnesCount64(a^b), bits.OnesCount64(a^c); near >= far || near > 20 {
		t.Fatalf("distance of near texts is %d, of others %d", near, far)
	}
}

func TestTitlesAreMadeOfWholeWords(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"short":              "short",
		"first line\nsecond": "first line",
		"Orsted pays its invoices in March, as a rule, and never before the twentieth of that month": "Orsted pays its invoices in March, as a rule, and never before the twentieth of…",
	} {
		if d := cmp.Diff(want, firstWords(body), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%q: %s", body, d)
		}
	}
}
