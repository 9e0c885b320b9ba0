// Package id makes and renders the 16-byte identifiers of everything in Witan.
//
// An ID is a UUIDv7 (RFC 9562): it sorts by creation time. In a database it is
// 16 bytes; at every edge it is 26 lower-case Crockford base32 characters,
// which fit a DNS label and sort the same way.
//
// It imports the standard library only and starts no goroutine.
package id

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ID is a UUIDv7 in its 16 bytes. The zero ID means "none".
type ID [16]byte

// Nil is the zero ID.
var Nil ID

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// ErrInvalid is returned by Parse for anything that is not an id.
var ErrInvalid = errors.New("not an id: want 26 characters of 0-9 a-z without i l o u")

var decode = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range alphabet {
		t[alphabet[i]] = byte(i)
	}
	return t
}()

// String renders the id as 26 base32 characters; the zero ID is "".
func (i ID) String() string {
	if i == Nil {
		return ""
	}
	var out [26]byte
	hi, lo := binary.BigEndian.Uint64(i[:8]), binary.BigEndian.Uint64(i[8:])
	for p := 25; p >= 0; p-- {
		out[p] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// Parse reads what String wrote. Upper case is accepted; "" is the zero ID.
func Parse(s string) (ID, error) {
	if s == "" {
		return Nil, nil
	}
	if len(s) != 26 {
		return Nil, ErrInvalid
	}
	var hi, lo uint64
	for p := range 26 {
		c := s[p]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		v := decode[c]
		if v == 0xff || (p == 0 && v > 7) {
			return Nil, ErrInvalid
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(v)
	}
	var out ID
	binary.BigEndian.PutUint64(out[:8], hi)
	binary.BigEndian.PutUint64(out[8:], lo)
	return out, nil
}

// MustParse is Parse for constants in tests.
func MustParse(s string) ID {
	i, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return i
}

// IsZero reports whether the id is the zero ID.
func (i ID) IsZero() bool { return i == Nil }

// Time returns the creation time in the id, in milliseconds.
func (i ID) Time() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(i[:8]) >> 16)).UTC()
}

// MarshalText implements encoding.TextMarshaler.
func (i ID) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *ID) UnmarshalText(b []byte) (err error) { *i, err = Parse(string(b)); return err }

// Value implements driver.Valuer: 16 bytes, or NULL for the zero ID.
func (i ID) Value() (driver.Value, error) {
	if i == Nil {
		return nil, nil
	}
	return i[:], nil
}

// Scan implements sql.Scanner.
func (i *ID) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*i = Nil
		return nil
	case []byte:
		if len(v) == 16 {
			copy(i[:], v)
			return nil
		}
		if len(v) == 0 {
			*i = Nil
			return nil
		}
	}
	return fmt.Errorf("scan id: want 16 bytes, got %T", src)
}

// Source makes new ids. Ids of one Source are strictly increasing, also when
// the clock stands still or goes back. It is safe for concurrent use.
type Source struct {
	now  func() time.Time
	rand io.Reader

	mu   sync.Mutex
	last uint64 // 48 bits of milliseconds, 12 bits of counter; guarded by mu
}

// NewSource returns a source over a clock; nil random means crypto/rand.
func NewSource(now func() time.Time, random io.Reader) *Source {
	if random == nil {
		random = rand.Reader
	}
	return &Source{now: now, rand: random}
}

// New returns the next id. It panics only if the system has no randomness.
func (s *Source) New() ID {
	var out ID
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.rand, out[8:]); err != nil {
		panic(fmt.Sprintf("id: no randomness: %v", err))
	}
	next := uint64(s.now().UnixMilli())<<12 | uint64(out[8]^out[9])&0xff
	if next <= s.last {
		next = s.last + 1
	}
	s.last = next
	binary.BigEndian.PutUint64(out[:8], next>>12<<16|0x7000|next&0xfff)
	out[8] = out[8]&0x3f | 0x80
	return out
}

// Derive returns the id that a digest of the parts names: the same parts give
// the same id on every machine. It carries t as its time.
func Derive(t time.Time, parts ...[]byte) ID {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	sum := h.Sum(nil)
	var out ID
	copy(out[6:], sum)
	ms := uint64(t.UnixMilli())
	for p := range 6 {
		out[p] = byte(ms >> (8 * (5 - p)))
	}
	out[6] = out[6]&0x0f | 0x70
	out[8] = out[8]&0x3f | 0x80
	return out
}
