package memory

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/witan-run/witan/internal/kit/fault"
)

// posting is one row that holds a term.
type posting struct {
	number int64 // of the row on its shelf
	tf     int64 // how often
	length int64 // terms in the row
}

// appendPosting adds p to a block: the distance from the row before, how often,
// and the row's length, as varints. The length stands here so that scoring
// needs no second look-up.
func appendPosting(b []byte, last int64, p posting) []byte {
	b = binary.AppendUvarint(b, uint64(p.number-last))
	b = binary.AppendUvarint(b, uint64(p.tf))
	return binary.AppendUvarint(b, uint64(p.length))
}

// eachPosting calls f for the postings of a block; fault.Corrupt if it is no block.
func eachPosting(b Block, f func(posting)) error {
	number, packed := b.First, b.Packed
	for n := range b.Count {
		var v [3]uint64
		for i := range v {
			x, size := binary.Uvarint(packed)
			if size <= 0 || x > 1<<40 {
				return fault.New(fault.Corrupt, "a block of the memory index is damaged").WithFix("rebuild the index")
			}
			v[i], packed = x, packed[size:]
		}
		if n == 0 && v[0] != 0 || n > 0 && v[0] == 0 {
			return fault.New(fault.Corrupt, "a block of the memory index is out of order").WithFix("rebuild the index")
		}
		number += int64(v[0])
		f(posting{number, int64(v[1]), int64(v[2])})
	}
	if len(packed) > 0 || number != b.Last {
		return fault.New(fault.Corrupt, "a block of the memory index has the wrong size").WithFix("rebuild the index")
	}
	return nil
}

// counts returns how often each term stands in a text.
func counts(terms []string) map[string]int64 {
	m := make(map[string]int64, len(terms))
	for _, t := range terms {
		m[t]++
	}
	return m
}

// encodeTerms packs the terms of one row, sorted: its length, then each term
// with how often it stands there.
func encodeTerms(terms []string) []byte {
	m := counts(terms)
	b := binary.AppendUvarint(nil, uint64(len(terms)))
	for _, t := range slices.Sorted(maps.Keys(m)) {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
		b = binary.AppendUvarint(b, uint64(m[t]))
	}
	return b
}

// eachTerm calls f for the terms of a fresh row.
func eachTerm(fresh Fresh, f func(term string, p posting)) error {
	bad := fault.New(fault.Corrupt, "a fresh row of the memory index is damaged").WithFix("rebuild the index")
	b := fresh.Terms
	next := func() (uint64, bool) {
		x, n := binary.Uvarint(b)
		if n <= 0 || x > 1<<40 {
			return 0, false
		}
		b = b[n:]
		return x, true
	}
	length, ok := next()
	if !ok {
		return bad
	}
	for len(b) > 0 {
		n, ok := next()
		if !ok || n > uint64(len(b)) {
			return bad
		}
		term := string(b[:n])
		b = b[n:]
		tf, ok := next()
		if !ok {
			return bad
		}
		f(term, posting{fresh.Number, int64(tf), int64(length)})
	}
	return nil
}
