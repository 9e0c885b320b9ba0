package memory

import (
	"math/bits"
	"time"

	"github.com/witan-run/witan/internal/memory/recall"
)

// Ranking names the formula that Recall uses. It is recorded with every recall:
// another formula or constant is another name.
const Ranking = "bm25/1 k1=1.2 b=.75 recency=.05/30d importance=.10"

// Weights of the boosts, in micro-units: a memory of this moment scores 5 %
// more, one of the highest importance 10 % more.
const (
	recencyWeight    = 50_000
	importanceWeight = 100_000
	recencyHalf      = 30 * 24 * time.Hour
)

// log2 returns the binary logarithm of x > 0 with 30 fractional bits, by
// repeated squaring of a 32-bit mantissa. Integer arithmetic only: every
// machine and engine gives the same bits.
func log2(x uint64) int64 {
	whole := bits.Len64(x) - 1
	m := x << (63 - whole) >> 32 // mantissa in [2^31, 2^32)
	out := int64(whole)
	for range 30 {
		out <<= 1
		sq := m * m // in [2^62, 2^64)
		if sq >= 1<<63 {
			out |= 1
			m = sq >> 32
		} else {
			m = sq >> 31
		}
	}
	return out
}

// idf is ln(1 + (rows - having + 1/2) / (having + 1/2)) in micro-units, the
// inverse document frequency that is never negative.
func idf(rows, having int64) int64 {
	const ln2 = 693_147_181 // 1e-9
	d := log2(uint64(2*rows+2)) - log2(uint64(2*having+1))
	hi, lo := bits.Mul64(uint64(max(d, 0)), ln2)
	q, _ := bits.Div64(hi, lo, 1000<<30)
	return int64(q)
}

// corpus is what BM25 needs to know of all rows that may be read.
type corpus struct{ rows, tokens int64 }

// bm25 is the weight of a term that stands tf times in a row, in micro-units:
//
//	idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))
//
// with k1 = 1.2 and b = 0.75 multiplied out to integers.
func (c corpus) bm25(idf int64, p posting) int64 {
	tf := min(p.tf, 1<<16)
	num := uint64(22 * tf * c.tokens)
	den := uint64(10*tf*c.tokens + 3*c.tokens + 9*p.length*c.rows)
	hi, lo := bits.Mul64(uint64(idf), num)
	if den == 0 || hi >= den {
		return 0
	}
	q, _ := bits.Div64(hi, lo, den)
	return int64(q)
}

// recency is 1,000,000 at age zero, half of it after 30 days, a third after 60.
func recency(now, at time.Time) int64 {
	age := max(now.Sub(at), 0) / time.Minute
	half := recencyHalf / time.Minute
	return micro * int64(half) / int64(half+age)
}

// fuse returns the score by which hits are ordered.
func fuse(p recall.Parts) int64 {
	boost := (p.Recency*recencyWeight + p.Importance*importanceWeight) / micro
	hi, lo := bits.Mul64(uint64(max(p.BM25, 0)), uint64(micro+boost))
	q, _ := bits.Div64(hi, lo, micro)
	return int64(q)
}
