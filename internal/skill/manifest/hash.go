package manifest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Encode returns the stored form of m: JSON with fields in the order of the
// struct and schemas as they were normalised by Parse. It is the preimage of
// the hash, so a field added later must be omitted when it is zero.
func (m Manifest) Encode() ([]byte, error) {
	m.normal()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, fault.New(fault.Invalid, "encode manifest %s: %w", m.Name, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Hash returns the content hash of m: 64 hexadecimal digits over the stored
// form. It does not depend on the order of keys or on white space in the file.
func (m Manifest) Hash() (string, error) {
	b, err := m.Encode()
	if err != nil {
		return "", err
	}
	return hashOf(b), nil
}

func hashOf(stored []byte) string {
	d := canon.Digest("witan/manifest/1", stored)
	return hex.EncodeToString(d[:])
}

// Decode reads the stored form and refuses one whose hash is not want
// (fault.Corrupt): a manifest that was changed in the database is no manifest.
func Decode(stored []byte, want string) (Manifest, error) {
	if got := hashOf(stored); got != want {
		return Manifest{}, fault.New(fault.Corrupt, "the stored manifest does not match its hash %.12s", want)
	}
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(stored))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Manifest{}, fault.New(fault.Corrupt, "stored manifest %.12s: %w", want, err)
	}
	return m, nil
}

// DigestContent returns the digest for Manifest.Content over named parts:
// files of a folder as path and bytes, in the order given.
func DigestContent(parts ...[]byte) string {
	d := canon.Digest("witan/skill-content/1", parts...)
	return hex.EncodeToString(d[:])
}

// schemaText returns a schema as JSON with sorted keys and no white space, so
// that the hash sees its meaning and not its layout.
func schemaText(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
