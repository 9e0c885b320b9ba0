package canon

import (
	"crypto/sha256"
	"encoding/binary"
)

// Digest is SHA-256 over a domain string and the parts, each behind its length.
// The domain keeps digests of different uses apart ("witan/call", "witan/body");
// the lengths keep the parts from running together.
func Digest(domain string, parts ...[]byte) [32]byte {
	var room [256]byte
	b := Binary{buf: room[:0]}
	b.String(domain)
	for _, p := range parts {
		b.Bytes(p)
	}
	return sha256.Sum256(b.buf)
}

// Binary writes values one behind the other, in the order of the calls. The
// form has no names and no types: the reader is the same list of calls, and the
// order is therefore part of a format's version. Integers are 8 bytes, big
// endian; texts and byte strings stand behind their length. The zero Binary is
// ready for use. It is not safe for concurrent use.
type Binary struct{ buf []byte }

// Uint64 appends v in 8 bytes, big endian.
func (b *Binary) Uint64(v uint64) { b.buf = binary.BigEndian.AppendUint64(b.buf, v) }

// Int64 appends v in 8 bytes, big endian, two's complement.
func (b *Binary) Int64(v int64) { b.Uint64(uint64(v)) }

// Bool appends one byte, 0 or 1.
func (b *Binary) Bool(v bool) {
	if v {
		b.buf = append(b.buf, 1)
	} else {
		b.buf = append(b.buf, 0)
	}
}

// Bytes appends the length of v and v. A nil slice is an empty one.
func (b *Binary) Bytes(v []byte) {
	b.Uint64(uint64(len(v)))
	b.buf = append(b.buf, v...)
}

// String appends the length of v in bytes and v.
func (b *Binary) String(v string) {
	b.Uint64(uint64(len(v)))
	b.buf = append(b.buf, v...)
}

// Nullable appends whether v is there (not nil), and if so v: for columns in
// which NULL and the empty value differ.
func (b *Binary) Nullable(v []byte) {
	b.Bool(v != nil)
	if v != nil {
		b.Bytes(v)
	}
}

// Encoded returns what was written. It stays valid until the next write or Reset.
func (b *Binary) Encoded() []byte { return b.buf }

// Sum returns SHA-256 of what was written, without copying it.
func (b *Binary) Sum() [32]byte { return sha256.Sum256(b.buf) }

// Reset forgets what was written and keeps the room.
func (b *Binary) Reset() { b.buf = b.buf[:0] }
