package canon

import (
	"bytes"
	"slices"
	"strconv"
)

// scanner reads one document and writes its canonical form in a single pass.
type scanner struct {
	in  []byte
	pos int
	out []byte
}

// member is one object member as it stands in the output, before sorting.
type member struct {
	key        []byte // decoded
	start, end int    // of `"key":value` in scanner.out
}

func (s *scanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end (a raw NUL is no JSON either).
func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) syntax() *Error {
	if s.pos >= len(s.in) {
		return refuse(ErrSyntax, "unexpected end")
	}
	return refuse(ErrSyntax, "unexpected "+strconv.QuoteToASCII(string(s.in[s.pos:s.pos+1]))+" at byte "+strconv.Itoa(s.pos))
}

// value copies the next value; depth counts the arrays and objects around it.
func (s *scanner) value(depth int) *Error {
	s.space()
	switch c := s.peek(); {
	case c == '{':
		return s.object(depth + 1)
	case c == '[':
		return s.array(depth + 1)
	case c == '"':
		return s.text()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.syntax()
}

func (s *scanner) word(w string) *Error {
	if len(s.in)-s.pos < len(w) || string(s.in[s.pos:s.pos+len(w)]) != w {
		return s.syntax()
	}
	s.pos += len(w)
	s.out = append(s.out, w...)
	return nil
}

func (s *scanner) array(depth int) *Error {
	if depth > MaxDepth {
		return refuse(ErrDepth, "")
	}
	s.pos++
	s.out = append(s.out, '[')
	if s.space(); s.peek() == ']' {
		s.pos++
		s.out = append(s.out, ']')
		return nil
	}
	for i := 0; ; i++ {
		if err := s.value(depth); err != nil {
			return err.inIndex(i)
		}
		s.space()
		c := s.peek()
		if c != ',' && c != ']' {
			return s.syntax()
		}
		s.pos++
		s.out = append(s.out, c)
		if c == ']' {
			return nil
		}
	}
}

func (s *scanner) object(depth int) *Error {
	if depth > MaxDepth {
		return refuse(ErrDepth, "")
	}
	s.pos++
	s.out = append(s.out, '{')
	if s.space(); s.peek() == '}' {
		s.pos++
		s.out = append(s.out, '}')
		return nil
	}
	var room [12]member // most objects are small: no allocation
	all, sorted := room[:0], true
	first := len(s.out)
	for {
		m, err := s.member(depth)
		if err != nil {
			return err
		}
		if n := len(all); n > 0 && bytes.Compare(all[n-1].key, m.key) >= 0 {
			sorted = false
		}
		all = append(all, m)
		s.space()
		c := s.peek()
		if c != ',' && c != '}' {
			return s.syntax()
		}
		s.pos++
		s.out = append(s.out, c)
		if c == '}' {
			break
		}
	}
	if sorted {
		return nil
	}
	return s.sort(all, first)
}

// member copies `"key":value` and returns where it stands.
func (s *scanner) member(depth int) (member, *Error) {
	m := member{start: len(s.out)}
	s.space()
	if s.peek() != '"' {
		return m, s.syntax()
	}
	key, err := s.key()
	if err != nil {
		return m, err
	}
	m.key = key
	if s.space(); s.peek() != ':' {
		return m, s.syntax().inKey(string(key))
	}
	s.pos++
	s.out = append(s.out, ':')
	if err := s.value(depth); err != nil {
		return m, err.inKey(string(key))
	}
	m.end = len(s.out)
	return m, nil
}

// sort rewrites the members from first on in key order: the byte order of UTF-8 is the order of code points.
func (s *scanner) sort(all []member, first int) *Error {
	slices.SortFunc(all, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(all); i++ {
		if bytes.Equal(all[i].key, all[i-1].key) {
			return refuse(ErrDuplicate, "").inKey(string(all[i].key))
		}
	}
	old := slices.Clone(s.out[first:])
	s.out = s.out[:first]
	for i, m := range all {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, old[m.start-first:m.end-first]...)
	}
	s.out = append(s.out, '}')
	return nil
}

// maxInteger is 2^53-1, the largest integer that every JSON reader keeps exact.
const maxInteger = 1<<53 - 1

func (s *scanner) number() *Error {
	start := s.pos
	negative := s.in[s.pos] == '-'
	if negative {
		s.pos++
	}
	digits := s.pos
	var n uint64
	for s.pos < len(s.in) && s.in[s.pos] >= '0' && s.in[s.pos] <= '9' {
		if n <= maxInteger { // beyond that the exact value no longer matters
			n = n*10 + uint64(s.in[s.pos]-'0')
		}
		s.pos++
	}
	switch c := s.peek(); {
	case s.pos == digits:
		return s.syntax()
	case s.pos-digits > 1 && s.in[digits] == '0':
		return refuse(ErrSyntax, "leading zero")
	case c == '.' || c == 'e' || c == 'E':
		return refuse(ErrFloat, string(s.in[start:min(len(s.in), s.pos+8)]))
	case n > maxInteger:
		return refuse(ErrRange, string(s.in[start:s.pos]))
	case n == 0:
		s.out = append(s.out, '0')
		return nil
	}
	s.out = append(s.out, s.in[start:s.pos]...)
	return nil
}
