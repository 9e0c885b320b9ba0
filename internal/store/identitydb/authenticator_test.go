package identitydb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/witan-run/witan/internal/identity"
)

// authenticator is a passkey provider in software: ES256, no attestation
// (WebAuthn level 3, §6). Its fields can be bent to make it misbehave.
type authenticator struct {
	host   string
	origin string
	flags  byte // user present and verified, unless bent
	keys   []*credential
}

type credential struct {
	id     []byte
	handle []byte
	key    *ecdsa.PrivateKey
	count  uint32
}

func newAuthenticator() *authenticator {
	return &authenticator{host: "localhost", origin: publicURL, flags: 0x05}
}

var b64 = base64.RawURLEncoding

// create answers navigator.credentials.create.
func (a *authenticator) create(t testing.TB, c identity.Ceremony) []byte {
	t.Helper()
	var o struct {
		PublicKey struct {
			Challenge string
			User      struct{ ID string }
		}
	}
	if err := json.Unmarshal(c.Options, &o); err != nil {
		t.Fatal(err)
	}
	handle, err := b64.DecodeString(o.PublicKey.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	k := &credential{id: make([]byte, 32), handle: handle}
	if _, err := rand.Read(k.id); err != nil {
		t.Fatal(err)
	}
	if k.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.keys = append(a.keys, k)

	point, err := k.key.PublicKey.ECDH()
	if err != nil {
		t.Fatal(err)
	}
	xy := point.Bytes()[1:]
	cose := []byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21} // EC2, ES256, P-256, x
	cose = append(cose, cborBytes(xy[:32])...)
	cose = append(append(cose, 0x22), cborBytes(xy[32:])...) // y
	data := a.data(a.flags|0x40, k.count)
	data = append(data, make([]byte, 16)...) // no model
	data = binary.BigEndian.AppendUint16(data, uint16(len(k.id)))
	data = append(append(data, k.id...), cose...)

	att := append([]byte{0xa3}, cborText("fmt")...)
	att = append(append(att, cborText("none")...), cborText("attStmt")...)
	att = append(append(att, 0xa0), cborText("authData")...)
	att = append(att, cborBytes(data)...)
	return a.answer(t, k, map[string]any{
		"clientDataJSON":    b64.EncodeToString(a.client(t, "webauthn.create", o.PublicKey.Challenge)),
		"attestationObject": b64.EncodeToString(att),
		"transports":        []string{"internal"},
	})
}

// get answers navigator.credentials.get: with one of the allowed credentials,
// or with the last one it has when any will do. nil if it has none.
func (a *authenticator) get(t testing.TB, c identity.Ceremony) []byte {
	t.Helper()
	var o struct {
		PublicKey struct {
			Challenge        string
			AllowCredentials []struct{ ID string }
		}
	}
	if err := json.Unmarshal(c.Options, &o); err != nil {
		t.Fatal(err)
	}
	var k *credential
	for _, have := range a.keys {
		ok := len(o.PublicKey.AllowCredentials) == 0
		for _, allowed := range o.PublicKey.AllowCredentials {
			ok = ok || allowed.ID == b64.EncodeToString(have.id)
		}
		if ok {
			k = have
		}
	}
	if k == nil {
		return nil
	}
	return a.sign(t, k, o.PublicKey.Challenge)
}

func (a *authenticator) sign(t testing.TB, k *credential, challenge string) []byte {
	t.Helper()
	k.count++
	data := a.data(a.flags, k.count)
	client := a.client(t, "webauthn.get", challenge)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	sig, err := ecdsa.SignASN1(rand.Reader, k.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return a.answer(t, k, map[string]any{
		"clientDataJSON": b64.EncodeToString(client), "authenticatorData": b64.EncodeToString(data),
		"signature": b64.EncodeToString(sig), "userHandle": b64.EncodeToString(k.handle),
	})
}

func (a *authenticator) data(flags byte, count uint32) []byte {
	hash := sha256.Sum256([]byte(a.host))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), count)
}

func (a *authenticator) client(t testing.TB, typ, challenge string) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"type": typ, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (a *authenticator) answer(t testing.TB, k *credential, response map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"id": b64.EncodeToString(k.id), "rawId": b64.EncodeToString(k.id),
		"type": "public-key", "response": response, "clientExtensionResults": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cborBytes and cborText encode the two CBOR kinds that are needed (RFC 8949 §3).
func cborBytes(b []byte) []byte { return append(cborHead(2, len(b)), b...) }
func cborText(s string) []byte  { return append(cborHead(3, len(s)), s...) }

func cborHead(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 256:
		return []byte{major<<5 | 24, byte(n)}
	}
	return []byte{major<<5 | 25, byte(n >> 8), byte(n)}
}
