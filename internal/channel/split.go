package channel

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Unit is what a medium counts when it limits a message.
type Unit uint8

// The units.
const (
	Bytes Unit = iota // of UTF-8
	UTF16             // code units: Telegram, Slack and everything written in JavaScript
	Runes             // Unicode code points
)

// Limit is the longest message that a medium takes.
type Limit struct {
	Unit Unit
	Max  int // 0 means no limit
}

// minLimit is the smallest limit that every code point fits: 4 bytes of UTF-8.
const minLimit = 4

func (l Limit) check() error {
	if l.Max != 0 && l.Max < minLimit || l.Unit > Runes {
		return fault.New(fault.Invalid, "a message limit is 0 or at least %d", minLimit).On("limit")
	}
	return nil
}

// Measure returns the length of s in the limit's unit.
func (l Limit) Measure(s string) int {
	switch l.Unit {
	case UTF16:
		n := 0
		for _, r := range s {
			n++
			if r >= 0x10000 {
				n++
			}
		}
		return n
	case Runes:
		return utf8.RuneCountInString(s)
	}
	return len(s)
}

// Split cuts text into parts that fit the limit; joined they are text. A part
// ends behind white space if there is some in its second half, else between two
// grapheme clusters: an emoji family, a flag or a letter with its marks stays
// whole. Only a cluster that alone exceeds the limit is cut, between code points.
// It runs in linear time.
func Split(text string, l Limit) []string {
	if l.Max == 0 || l.Measure(text) <= l.Max {
		return []string{text}
	}
	var parts []string
	start, size := 0, 0          // of the part being filled
	soft, softSize := 0, 0       // where white space ends in it, and the size there
	cut := func(end, used int) { // ends the part at byte end
		parts = append(parts, text[start:end])
		start, size, soft, softSize = end, size-used, end, 0
	}
	rest, state, pos := text, -1, 0
	for rest != "" {
		var g string
		g, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n := l.Measure(g)
		if size+n > l.Max && size > 0 {
			if softSize*2 >= l.Max {
				cut(soft, softSize)
			} else {
				cut(pos, size)
			}
		}
		if size+n > l.Max && size > 0 { // what follows the white space is too long as well
			cut(pos, size)
		}
		if n > l.Max {
			for i, r := range g {
				m := l.Measure(string(r))
				if size+m > l.Max {
					cut(pos+i, size)
				}
				size += m
			}
		} else {
			size += n
		}
		pos += len(g)
		if r, _ := utf8.DecodeLastRuneInString(g); unicode.IsSpace(r) {
			soft, softSize = pos, size
		}
	}
	return append(parts, text[start:])
}
