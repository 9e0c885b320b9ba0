package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
)

// Purpose says what a key is for. A key serves one purpose only.
type Purpose string

// The purposes. Each has one current key and any number of older ones.
const (
	PurposeAccount    Purpose = "account"    // AES-256-GCM: wraps data keys; the caller's aad names account and subject
	PurposeVault      Purpose = "vault"      // AES-256-GCM: seals credentials that are stored in the database
	PurposeCheckpoint Purpose = "checkpoint" // Ed25519: signs checkpoints, segments and exports of the journal
	PurposeToken      Purpose = "token"      // HMAC-SHA-256: hashes tokens and codes that are looked up by value
)

// Purposes returns every purpose, in the order of a new keyring.
func Purposes() []Purpose {
	return []Purpose{PurposeAccount, PurposeVault, PurposeCheckpoint, PurposeToken}
}

func (p Purpose) seals() bool { return p == PurposeAccount || p == PurposeVault }
func (p Purpose) signs() bool { return p == PurposeCheckpoint }
func (p Purpose) macs() bool  { return p == PurposeToken }

// KeyID names a key. It is random and says nothing about the key.
type KeyID [8]byte

// String renders the id in hexadecimal.
func (k KeyID) String() string { return hex.EncodeToString(k[:]) }

// key is one key, with what is derived from it. It is immutable.
type key struct {
	id       KeyID
	purpose  Purpose
	created  int64 // microseconds since the epoch, 0 if unknown
	material []byte
	aead     cipher.AEAD        // for purposes that seal
	private  ed25519.PrivateKey // for purposes that sign
}

const keySize = 32 // of every kind: AES-256 key, Ed25519 seed, HMAC key

func newKey(random io.Reader, p Purpose, created int64) (*key, error) {
	var id KeyID
	material := make([]byte, keySize)
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	if _, err := io.ReadFull(random, material); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return loadKey(id, p, created, material)
}

// loadKey derives what the purpose needs and refuses unknown purposes.
func loadKey(id KeyID, p Purpose, created int64, material []byte) (*key, error) {
	if len(material) != keySize {
		return nil, fmt.Errorf("key %s has %d bytes, want %d", id, len(material), keySize)
	}
	k := &key{id: id, purpose: p, created: created, material: material}
	switch {
	case p.seals():
		var err error
		if k.aead, err = newAEAD(material); err != nil {
			return nil, err
		}
	case p.signs():
		k.private = ed25519.NewKeyFromSeed(material)
	case p.macs():
	default:
		return nil, fmt.Errorf("key %s: %w: %q", id, ErrPurpose, p)
	}
	return k, nil
}

func newAEAD(material []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(material)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return cipher.NewGCM(block)
}

// ring is the content of a keyring. It is never changed, only replaced.
type ring struct {
	keys   []*key // oldest first; the last of a purpose is its current key
	erased [][16]byte
}

func (r *ring) current(p Purpose) (*key, error) {
	for i := len(r.keys) - 1; i >= 0; i-- {
		if r.keys[i].purpose == p {
			return r.keys[i], nil
		}
	}
	return nil, fmt.Errorf("%w: no current key for %q", ErrNoKey, p)
}

func (r *ring) find(p Purpose, id KeyID) (*key, error) {
	for _, k := range r.keys {
		if k.id == id && k.purpose == p {
			return k, nil
		}
	}
	return nil, fmt.Errorf("%w: %s for %q", ErrNoKey, id, p)
}

func (r *ring) withKey(k *key) *ring {
	return &ring{keys: append(slices.Clone(r.keys), k), erased: r.erased}
}

func compareIDs(a, b [16]byte) int { return slices.Compare(a[:], b[:]) }

// withErased returns a ring with the subjects added, in order, none twice.
func (r *ring) withErased(subjects ...[16]byte) *ring {
	all := append(slices.Clone(r.erased), subjects...)
	slices.SortFunc(all, compareIDs)
	return &ring{keys: r.keys, erased: slices.Compact(all)}
}
