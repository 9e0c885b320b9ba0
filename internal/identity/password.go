package identity

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// HashParams are the costs of argon2id (RFC 9106).
type HashParams struct {
	MemoryKiB uint32
	Passes    uint32
	Lanes     uint8
}

// DefaultHashParams returns 19 MiB, three passes, one lane: one pass more than
// OWASP's least, about 30 ms on a small core. One lane, because the machine has
// two cores and other work.
func DefaultHashParams() HashParams { return HashParams{MemoryKiB: 19 * 1024, Passes: 3, Lanes: 1} }

const (
	saltSize = 16
	hashSize = 32
	// Two hashes at a time use two cores and 38 MiB; what waits beyond the
	// queue is refused, so that a flood of sign-ins costs no more than that.
	hashSlots = 2
	hashQueue = 32
	// maxPassword bounds what is hashed, in bytes after normalisation.
	maxPassword = 1024
)

// hasher hashes and verifies passwords, a bounded number at a time.
type hasher struct {
	params HashParams
	random io.Reader
	slots  chan struct{} // a token per hash in flight; never closed
	queued atomic.Int32
	dummy  phc // its key is noise: no password verifies against it
}

func newHasher(p HashParams, random io.Reader) (*hasher, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	noise, err := randomBytes(random, saltSize+hashSize)
	if err != nil {
		return nil, err
	}
	return &hasher{params: p, random: random, slots: make(chan struct{}, hashSlots),
		dummy: phc{params: p, salt: noise[:saltSize], key: noise[saltSize:]}}, nil
}

func (p HashParams) check() error {
	if p.MemoryKiB < 8*uint32(p.Lanes) || p.MemoryKiB > 1<<20 || p.Passes < 1 || p.Passes > 32 || p.Lanes < 1 || p.Lanes > 16 {
		return fault.New(fault.Invalid, "argon2id costs out of range").On("hash")
	}
	return nil
}

// derive runs argon2id when there is a free slot.
func (h *hasher) derive(ctx context.Context, password string, p HashParams, salt []byte, size int) ([]byte, error) {
	if h.queued.Add(1) > hashQueue {
		h.queued.Add(-1)
		return nil, fault.New(fault.Unavailable, "too many sign-ins at once").WithFix("try again in a moment")
	}
	defer h.queued.Add(-1)
	if err := ctx.Err(); err != nil { // select would pick either way
		return nil, err
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.slots }()
	return argon2.IDKey([]byte(password), salt, p.Passes, p.MemoryKiB, p.Lanes, uint32(size)), nil
}

// hash returns the PHC string of a password.
func (h *hasher) hash(ctx context.Context, password secret.String) (string, error) {
	salt, err := randomBytes(h.random, saltSize)
	if err != nil {
		return "", err
	}
	key, err := h.derive(ctx, normalPassword(password), h.params, salt, hashSize)
	if err != nil {
		return "", err
	}
	return phc{params: h.params, salt: salt, key: key}.String(), nil
}

// verify reports whether a password has this hash, and whether the hash should
// be made anew with today's costs. With stored "" (no such person, or no
// password) it does the same work and says no.
func (h *hasher) verify(ctx context.Context, password secret.String, stored string) (good, stale bool, err error) {
	want, known := h.dummy, stored != ""
	if known {
		if want, err = parsePHC(stored); err != nil {
			return false, false, err
		}
	}
	text := normalPassword(password)
	long := len(text) > maxPassword
	if long { // nothing that long was ever set; do not hash it, but take the time
		text = ""
	}
	got, err := h.derive(ctx, text, want.params, want.salt, len(want.key))
	if err != nil {
		return false, false, err
	}
	same := subtle.ConstantTimeCompare(got, want.key) == 1
	return same && known && !long, want.params != h.params, nil
}

// normalPassword is NFC, so that the same keys give the same password on every
// system (RFC 8265 §4.2 does the same, and more that is not needed here).
func normalPassword(p secret.String) string { return norm.NFC.String(p.Reveal()) }

// phc is a password hash as it is stored:
// $argon2id$v=19$m=19456,t=3,p=1$SALT$KEY, unpadded base64.
type phc struct {
	params HashParams
	salt   []byte
	key    []byte
}

// String encodes the hash.
func (p phc) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.params.MemoryKiB, p.params.Passes, p.params.Lanes,
		base64.RawStdEncoding.EncodeToString(p.salt), base64.RawStdEncoding.EncodeToString(p.key))
}

// parsePHC is the inverse of String. It accepts exactly what String writes, with
// costs in range: a row that somebody edited cannot make us allocate gigabytes.
// The error (Corrupt) never holds the text.
func parsePHC(s string) (phc, error) {
	bad := fault.New(fault.Corrupt, "a stored password hash is not one of ours")
	f := strings.Split(s, "$")
	if len(f) != 6 || f[0] != "" || f[1] != "argon2id" || f[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phc{}, bad
	}
	var p phc
	if _, err := fmt.Sscanf(f[3], "m=%d,t=%d,p=%d", &p.params.MemoryKiB, &p.params.Passes, &p.params.Lanes); err != nil {
		return phc{}, bad
	}
	var err error
	if p.salt, err = base64.RawStdEncoding.Strict().DecodeString(f[4]); err != nil {
		return phc{}, bad
	}
	if p.key, err = base64.RawStdEncoding.Strict().DecodeString(f[5]); err != nil {
		return phc{}, bad
	}
	if p.params.check() != nil || len(p.salt) < 8 || len(p.salt) > 64 || len(p.key) < 16 || len(p.key) > 64 || p.String() != s {
		return phc{}, bad
	}
	return p, nil
}
