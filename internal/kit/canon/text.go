package canon

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text copies one string literal in its canonical escaping.
func (s *scanner) text() *Error {
	s.pos++ // the opening quote, seen by the caller
	s.out = append(s.out, '"')
	for {
		run := s.pos
		for s.pos < len(s.in) && verbatim(s.in[s.pos]) {
			s.pos++
		}
		s.out = append(s.out, s.in[run:s.pos]...)
		if s.pos >= len(s.in) {
			return s.syntax()
		}
		switch c := s.in[s.pos]; {
		case c == '"':
			s.pos++
			s.out = append(s.out, '"')
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < 0x20:
			if c == 0 {
				return refuse(ErrNUL, "")
			}
			return s.syntax()
		default:
			r, n := utf8.DecodeRune(s.in[s.pos:])
			if r == utf8.RuneError && n <= 1 {
				if isSurrogate(s.in[s.pos:]) {
					return refuse(ErrSurrogate, "encoded in UTF-8")
				}
				return refuse(ErrUTF8, "byte "+strconv.Itoa(s.pos))
			}
			s.out = append(s.out, s.in[s.pos:s.pos+n]...)
			s.pos += n
		}
	}
}

// verbatim reports whether an ASCII byte stands for itself in a string.
func verbatim(c byte) bool { return c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' }

// isSurrogate recognises a surrogate written as three bytes (CESU-8 style).
func isSurrogate(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xED && b[1] >= 0xA0 && b[1] <= 0xBF
}

// escape reads one escape sequence and writes what it stands for.
func (s *scanner) escape() *Error {
	s.pos++
	c := s.peek()
	s.pos++
	switch c {
	case '"', '\\', '/':
		s.put(rune(c))
	case 'b':
		s.put('\b')
	case 'f':
		s.put('\f')
	case 'n':
		s.put('\n')
	case 'r':
		s.put('\r')
	case 't':
		s.put('\t')
	case 'u':
		r, err := s.hex()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			if r, err = s.pair(r); err != nil {
				return err
			}
		}
		if r == 0 {
			return refuse(ErrNUL, "")
		}
		s.put(r)
	default:
		s.pos--
		return s.syntax()
	}
	return nil
}

// pair reads the low half of a surrogate pair.
func (s *scanner) pair(high rune) (rune, *Error) {
	lone := refuse(ErrSurrogate, `\u`+strconv.FormatInt(int64(high), 16))
	if s.pos+1 >= len(s.in) || s.in[s.pos] != '\\' || s.in[s.pos+1] != 'u' {
		return 0, lone
	}
	s.pos += 2
	low, err := s.hex()
	if err != nil {
		return 0, err
	}
	if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
		return r, nil
	}
	return 0, lone
}

// hex reads the four digits behind \u.
func (s *scanner) hex() (rune, *Error) {
	var r rune
	for range 4 {
		c := s.peek()
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, s.syntax()
		}
		r = r<<4 | rune(c)
		s.pos++
	}
	return r, nil
}

// put writes one decoded character, escaped only where JSON demands it.
func (s *scanner) put(r rune) {
	switch {
	case r == '"' || r == '\\':
		s.out = append(s.out, '\\', byte(r))
	case r >= 0x20:
		s.out = utf8.AppendRune(s.out, r)
	case r == '\b':
		s.out = append(s.out, '\\', 'b')
	case r == '\f':
		s.out = append(s.out, '\\', 'f')
	case r == '\n':
		s.out = append(s.out, '\\', 'n')
	case r == '\r':
		s.out = append(s.out, '\\', 'r')
	case r == '\t':
		s.out = append(s.out, '\\', 't')
	default:
		const digits = "0123456789abcdef"
		s.out = append(s.out, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
}

// key copies a key in canonical form and returns it decoded. A key without
// escapes is returned as a piece of the input, without an allocation.
func (s *scanner) key() ([]byte, *Error) {
	from, start := s.pos, len(s.out)
	if err := s.text(); err != nil {
		return nil, err
	}
	literal := s.in[from+1 : s.pos-1]
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal, nil
	}
	var decoded string
	if err := json.Unmarshal(s.out[start:], &decoded); err != nil {
		return nil, refuse(ErrSyntax, "key")
	}
	return []byte(decoded), nil
}
