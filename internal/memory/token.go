package memory

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
)

// words.txt says what a word is made of and what its letters fold to. It is
// made by token_table_test.go and committed, so that a newer compiler with a
// newer Unicode ranks old memories as before.
//
//go:embed words.txt
var wordTable string

// maxTerm is the longest term, in bytes; longer words are cut.
const maxTerm = 64

// class is what a rune does to segmentation.
type class uint8

const (
	breaks  class = iota // ends a word
	letter               // part of a word
	pair                 // of a script without spaces: indexed in overlapping pairs
	ignored              // as if it were not there: soft hyphen, joiners, tags
)

type span struct {
	from, to rune
	class    class
}

// Tokenizer turns text into index terms. It is read-only once made and safe for
// concurrent use.
type Tokenizer struct {
	spans []span          // sorted by from
	fold  map[rune]string // what a rune becomes, if not itself
	low   [utf8.RuneSelf]class
	stop  map[string]bool
}

// NewTokenizer reads the committed tables; fault.Corrupt if they are damaged.
func NewTokenizer() (*Tokenizer, error) {
	t := &Tokenizer{fold: map[rune]string{}, stop: stopWords()}
	classes := map[string]class{"w": letter, "c": pair, "i": ignored}
	for line := range strings.Lines(wordTable) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		bad := fault.New(fault.Corrupt, "words.txt: bad line %q", line)
		num := func(i, base int) rune {
			if i >= len(f) {
				return -1
			}
			n, err := strconv.ParseInt(f[i], base, 32)
			if err != nil {
				return -1
			}
			return rune(n)
		}
		from, to := num(1, 16), num(2, 16)
		if c, ok := classes[f[0]]; ok && from >= 0 && to >= from {
			t.spans = append(t.spans, span{from, to, c})
			continue
		}
		switch {
		case f[0] == "d" && from >= 0 && to >= from && len(f) == 4: // a run that shifts by the same distance
			by, err := strconv.ParseInt(f[3], 10, 32)
			if err != nil {
				return nil, bad
			}
			for r := from; r <= to; r++ {
				t.fold[r] = string(r + rune(by))
			}
		case f[0] == "f" && from >= 0 && len(f) == 3:
			t.fold[from] = f[2]
		case f[0] == "f" && from >= 0 && len(f) == 2:
			t.fold[from] = ""
		default:
			return nil, bad
		}
	}
	slices.SortFunc(t.spans, func(a, b span) int { return int(a.from - b.from) })
	for r := range rune(utf8.RuneSelf) {
		t.low[r] = t.find(r)
	}
	return t, nil
}

// find returns the class of a rune.
func (t *Tokenizer) find(r rune) class {
	i, ok := slices.BinarySearchFunc(t.spans, r, func(s span, r rune) int {
		switch {
		case s.to < r:
			return -1
		case s.from > r:
			return 1
		}
		return 0
	})
	if !ok {
		return breaks
	}
	return t.spans[i].class
}

// Terms returns the index terms of a text, in order, with repetitions: words
// folded to lower case without accents, stop words left out, English words cut
// to their stem, and overlapping pairs of characters for scripts that put no
// spaces between words. A possessive 's is dropped.
func (t *Tokenizer) Terms(text string) []string {
	c := cutter{t: t, terms: make([]string, 0, len(text)/6)}
	for i, r := range text {
		k := breaks
		switch {
		case r < utf8.RuneSelf:
			k = t.low[r]
		case r != utf8.RuneError:
			k = t.find(r)
		}
		switch k {
		case letter:
			c.endPairs()
			c.letter(r)
		case pair:
			c.endWord()
			c.pair(r)
		case ignored:
		case breaks:
			possessive := (r == '\'' || r == '’') && c.onlyS(text[i+utf8.RuneLen(r):])
			c.endWord()
			c.endPairs()
			c.skipS = possessive
		}
	}
	c.endWord()
	c.endPairs()
	return c.terms
}

// cutter collects the terms of one text.
type cutter struct {
	t     *Tokenizer
	terms []string
	word  []byte
	last  string // the character before, of a script in pairs
	alone bool   // last has not been part of a pair
	skipS bool   // the word that begins is a possessive s
}

func (c *cutter) letter(r rune) {
	if c.skipS {
		c.skipS = false
		return
	}
	n := len(c.word)
	if f, ok := c.t.fold[r]; ok {
		c.word = append(c.word, f...)
	} else {
		c.word = utf8.AppendRune(c.word, r)
	}
	if len(c.word) > maxTerm {
		c.word = c.word[:n]
	}
}

// onlyS reports whether rest begins with an s that ends a word.
func (c *cutter) onlyS(rest string) bool {
	if len(c.word) == 0 || rest == "" || rest[0] != 's' && rest[0] != 'S' {
		return false
	}
	r, n := utf8.DecodeRuneInString(rest[1:])
	return n == 0 || c.t.find(r) == breaks
}

func (c *cutter) endWord() {
	c.skipS = false
	if len(c.word) == 0 {
		return
	}
	w := string(c.word)
	c.word = c.word[:0]
	if c.t.stop[w] {
		return
	}
	if english(w) {
		w = stem(w)
	}
	c.terms = append(c.terms, w)
}

// english reports whether a folded word is made of a to z.
func english(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

func (c *cutter) pair(r rune) {
	s, ok := c.t.fold[r]
	if !ok {
		s = string(r)
	}
	if s == "" {
		return
	}
	if c.last != "" {
		c.terms = append(c.terms, c.last+s)
		c.alone = false
	} else {
		c.alone = true
	}
	c.last = s
}

func (c *cutter) endPairs() {
	if c.alone {
		c.terms = append(c.terms, c.last)
	}
	c.last, c.alone = "", false
}
