package event

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
)

// chainDomain separates this hash from every other use of SHA-256.
const chainDomain = "witan/1"

// AppendHeader appends the fixed-order, length-prefixed binary encoding of e's
// header to b: every stored column but hash and body. It is the preimage of
// the chain hash, so its layout never changes (architecture §4).
func AppendHeader(b []byte, e *Event) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = append(b, e.ID[:]...)
	b = appendText(b, string(e.Type))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Version))
	b = append(b, e.Stream[:]...)
	b = append(b, e.Addressee[:]...)
	b = append(b, byte(e.Layer))
	b = appendText(b, e.Source)
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Parents)))
	for _, p := range e.Parents {
		b = append(b, p[:]...)
	}
	b = append(b, e.Causation[:]...)
	b = append(b, e.Correlation[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(clock.Micros(e.OccurredAt)))
	b = binary.BigEndian.AppendUint64(b, uint64(clock.Micros(e.RecordedAt)))
	b = appendText(b, e.Label.String())
	for _, f := range []*int32{e.Feelings.Salience, e.Feelings.Confidence, e.Feelings.Valence, e.Feelings.Arousal} {
		if f == nil {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = binary.BigEndian.AppendUint32(b, uint32(*f))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Evidence)))
	for _, r := range e.Evidence {
		b = append(b, byte(r.Kind))
		b = append(b, r.ID[:]...)
	}
	b = append(b, e.Subject[:]...)
	return append(b, e.BodyCommit[:]...)
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// Hasher computes chain hashes; it reuses its buffers and is for one goroutine.
type Hasher struct {
	h   hash.Hash
	buf []byte
}

// NewHasher returns a Hasher.
func NewHasher() *Hasher { return &Hasher{h: sha256.New(), buf: make([]byte, 0, 512)} }

// Chain returns SHA-256("witan/1" ‖ account ‖ prev ‖ header of e).
func (h *Hasher) Chain(account id.ID, prev [32]byte, e *Event) (out [32]byte) {
	h.buf = append(h.buf[:0], chainDomain...)
	h.buf = append(h.buf, account[:]...)
	h.buf = append(h.buf, prev[:]...)
	h.buf = AppendHeader(h.buf, e)
	h.h.Reset()
	h.h.Write(h.buf)
	h.h.Sum(out[:0])
	return out
}

// Commit returns the digest of a sealed body as it is stored.
func Commit(sealed []byte) [32]byte { return sha256.Sum256(sealed) }
