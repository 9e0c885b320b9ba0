package secret

import (
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// An envelope is: version (1) | key id (8) | nonce (12) | ciphertext and tag.
// A signature is: version (1) | key id (8) | Ed25519 (64).
// A MAC is:       version (1) | key id (8) | HMAC-SHA-256 (32).
const (
	version   = 1
	headSize  = 1 + 8
	nonceSize = 12
	tagSize   = 16
)

// head starts an envelope for a key.
func head(id KeyID, room int) []byte {
	return append(append(make([]byte, 0, headSize+room), version), id[:]...)
}

// split takes an envelope apart.
func split(b []byte, least int) (KeyID, []byte, error) {
	if len(b) < headSize+least || b[0] != version {
		return KeyID{}, nil, fmt.Errorf("%w: not an envelope of ours", ErrTampered)
	}
	return KeyID(b[1:headSize]), b[headSize:], nil
}

// bind makes the additional data of a seal: purpose, key and caller's data, each
// behind its length, so that none can be moved into another.
func bind(p Purpose, id KeyID, aad []byte) []byte {
	out := binary.BigEndian.AppendUint64(nil, uint64(len(p)))
	out = append(out, p...)
	out = append(out, id[:]...)
	return append(out, aad...)
}

// Seal encrypts with the current key of a sealing purpose. aad is not stored;
// Open needs the same bytes: name in it what the plaintext belongs to.
func (k *Keyring) Seal(p Purpose, plaintext, aad []byte) ([]byte, error) {
	if !p.seals() {
		return nil, fmt.Errorf("seal: %w: %q", ErrPurpose, p)
	}
	key, err := k.load().current(p)
	if err != nil {
		return nil, err
	}
	out := head(key.id, nonceSize+len(plaintext)+tagSize)
	return seal(key.aead, k.opts.Random, out, plaintext, bind(p, key.id, aad))
}

// Open decrypts what Seal made, with whichever key it names. It returns
// ErrTampered for wrong bytes, purpose or aad, and ErrNoKey for an unknown key.
func (k *Keyring) Open(p Purpose, envelope, aad []byte) ([]byte, error) {
	if !p.seals() {
		return nil, fmt.Errorf("open: %w: %q", ErrPurpose, p)
	}
	id, body, err := split(envelope, nonceSize+tagSize)
	if err != nil {
		return nil, err
	}
	key, err := k.load().find(p, id)
	if err != nil {
		return nil, err
	}
	return open(key.aead, body, bind(p, id, aad))
}

// Stale reports whether an envelope, signature or MAC was made by a key that is
// no longer the current one of its purpose: time to make it anew.
func (k *Keyring) Stale(p Purpose, envelope []byte) bool {
	id, _, err := split(envelope, 0)
	if err != nil {
		return true
	}
	key, err := k.load().current(p)
	return err != nil || key.id != id
}

// Sign signs a message with the current key of a signing purpose.
func (k *Keyring) Sign(p Purpose, message []byte) ([]byte, error) {
	if !p.signs() {
		return nil, fmt.Errorf("sign: %w: %q", ErrPurpose, p)
	}
	key, err := k.load().current(p)
	if err != nil {
		return nil, err
	}
	out := head(key.id, ed25519.SignatureSize)
	return append(out, ed25519.Sign(key.private, bind(p, key.id, message))...), nil
}

// Verify checks what Sign made, with whichever key it names.
func (k *Keyring) Verify(p Purpose, message, signature []byte) error {
	return VerifyWith(k.PublicKeys(p), message, signature)
}

// PublicKey is what somebody without the keyring needs to verify a signature.
type PublicKey struct {
	ID      KeyID
	Purpose Purpose
	Key     ed25519.PublicKey
}

// PublicKeys returns the public halves of a signing purpose, oldest first.
func (k *Keyring) PublicKeys(p Purpose) []PublicKey {
	var out []PublicKey
	for _, key := range k.load().keys {
		if key.purpose == p && p.signs() {
			out = append(out, PublicKey{key.id, p, key.private.Public().(ed25519.PublicKey)})
		}
	}
	return out
}

// VerifyWith checks a signature against known public keys. It returns ErrNoKey
// if none of them made it, and ErrTampered if message or signature differ.
func VerifyWith(keys []PublicKey, message, signature []byte) error {
	id, body, err := split(signature, ed25519.SignatureSize)
	if err != nil {
		return err
	}
	for _, pub := range keys {
		if pub.ID != id {
			continue
		}
		if len(pub.Key) != ed25519.PublicKeySize || !ed25519.Verify(pub.Key, bind(pub.Purpose, id, message), body) {
			return fmt.Errorf("verify: %w", ErrTampered)
		}
		return nil
	}
	return fmt.Errorf("verify: %w: %s", ErrNoKey, id)
}

// MAC hashes a message with the current key of a hashing purpose. Equal
// messages have equal MACs under one key, so a MAC can be looked up.
func (k *Keyring) MAC(p Purpose, message []byte) ([]byte, error) {
	all, err := k.MACs(p, message)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// MACs returns the MAC under every key of the purpose, the current one first:
// after a rotation a stored MAC is one of them.
func (k *Keyring) MACs(p Purpose, message []byte) ([][]byte, error) {
	if !p.macs() {
		return nil, fmt.Errorf("mac: %w: %q", ErrPurpose, p)
	}
	r := k.load()
	var out [][]byte
	for i := len(r.keys) - 1; i >= 0; i-- {
		if key := r.keys[i]; key.purpose == p {
			h := hmac.New(sha256.New, key.material)
			h.Write(bind(p, key.id, message))
			out = append(out, h.Sum(head(key.id, sha256.Size)))
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%w: no current key for %q", ErrNoKey, p)
	}
	return out, nil
}

// VerifyMAC reports in constant time whether mac is that of the message under
// any key of the purpose.
func (k *Keyring) VerifyMAC(p Purpose, message, mac []byte) bool {
	all, err := k.MACs(p, message)
	if err != nil {
		return false
	}
	good := false
	for _, m := range all {
		good = hmac.Equal(m, mac) || good
	}
	return good
}

// seal appends nonce, ciphertext and tag to out.
func seal(a cipher.AEAD, random io.Reader, out, plaintext, aad []byte) ([]byte, error) {
	n := len(out)
	out = append(out, make([]byte, nonceSize)...)
	if _, err := io.ReadFull(random, out[n:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return a.Seal(out, out[n:], plaintext, aad), nil
}

// open is the inverse of seal.
func open(a cipher.AEAD, body, aad []byte) ([]byte, error) {
	if len(body) < nonceSize+tagSize {
		return nil, fmt.Errorf("%w: too short", ErrTampered)
	}
	out, err := a.Open([]byte{}, body[:nonceSize], body[nonceSize:], aad)
	if err != nil {
		return nil, fmt.Errorf("open: %w", ErrTampered) // the cause says no more
	}
	return out, nil
}
