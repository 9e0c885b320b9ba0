package secret

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
)

// DataKey seals the bodies of one subject with AES-256-GCM. It is stored only
// wrapped by the account key; deleting the wrapped row erases the subject.
// It prints as "[secret]". It is immutable and safe for concurrent use; nonces
// are random, so one key must seal fewer than 2^32 bodies.
type DataKey struct {
	material [keySize]byte
	aead     cipher.AEAD
}

// NewDataKey makes a data key; nil random means crypto/rand.
func NewDataKey(random io.Reader) (*DataKey, error) {
	if random == nil {
		random = rand.Reader
	}
	var d DataKey
	if _, err := io.ReadFull(random, d.material[:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return d.ready()
}

// NewDataKey makes a data key from the keyring's randomness.
func (k *Keyring) NewDataKey() (*DataKey, error) { return NewDataKey(k.opts.Random) }

func (d *DataKey) ready() (*DataKey, error) {
	var err error
	d.aead, err = newAEAD(d.material[:])
	return d, err
}

// Wrap seals a data key with the current account key. aad names the account and
// the subject it belongs to; Unwrap needs the same bytes.
func (k *Keyring) Wrap(d *DataKey, aad []byte) ([]byte, error) {
	return k.Seal(PurposeAccount, d.material[:], aad)
}

// Unwrap is the inverse of Wrap. After a rotation, Stale(PurposeAccount,
// wrapped) says whether the row should be wrapped anew.
func (k *Keyring) Unwrap(wrapped, aad []byte) (*DataKey, error) {
	raw, err := k.Open(PurposeAccount, wrapped, aad)
	if err != nil {
		return nil, fmt.Errorf("unwrap data key: %w", err)
	}
	if len(raw) != keySize {
		return nil, fmt.Errorf("unwrap data key: %w: it has %d bytes", ErrTampered, len(raw))
	}
	return (&DataKey{material: [keySize]byte(raw)}).ready()
}

// SealWith encrypts under a data key: nonce (12) | ciphertext and tag (16 more
// than the plaintext). nil random means crypto/rand.
func SealWith(d *DataKey, random io.Reader, plaintext, aad []byte) ([]byte, error) {
	if random == nil {
		random = rand.Reader
	}
	return seal(d.aead, random, make([]byte, 0, nonceSize+len(plaintext)+tagSize), plaintext, aad)
}

// OpenWith is the inverse of SealWith; ErrTampered if anything differs.
func OpenWith(d *DataKey, sealed, aad []byte) ([]byte, error) { return open(d.aead, sealed, aad) }

// String implements fmt.Stringer and hides the key.
func (*DataKey) String() string { return mask }

// GoString implements fmt.GoStringer and hides the key.
func (*DataKey) GoString() string { return mask }

// Format implements fmt.Formatter, so that no verb shows the key.
func (*DataKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// LogValue implements slog.LogValuer and hides the key.
func (*DataKey) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText implements encoding.TextMarshaler and hides the key.
func (*DataKey) MarshalText() ([]byte, error) { return []byte(mask), nil }
