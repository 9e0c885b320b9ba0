package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// browser is a page of the console with one passkey: it keeps cookies and does
// what internal/console/assets/src/js/passkey.js does.
type browser struct {
	h       *house
	cookies map[string]string
	key     *ecdsa.PrivateKey
	cred    []byte
	handle  string
	count   uint32
}

func newBrowser(h *house) *browser {
	return &browser{h: h, cookies: map[string]string{}, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(h.t), cred: []byte("credential-of-the-test-0123456789")}
}

func (b *browser) post(path string, body any, out any) reply {
	b.h.t.Helper()
	var jar []string
	for k, v := range b.cookies {
		jar = append(jar, k+"="+v)
	}
	r := b.h.do(request{method: "POST", path: path, body: body, headers: map[string]string{"Cookie": strings.Join(jar, "; "), "Origin": publicURL, "Sec-Fetch-Site": "same-origin"}})
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if !c.HttpOnly {
			b.h.t.Errorf("scripts can read the cookie %s", c.Name)
		}
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
		}
	}
	if out != nil && r.status < 300 {
		if err := json.Unmarshal(r.body, out); err != nil {
			b.h.t.Fatal(err)
		}
	}
	return r
}

type options struct {
	PublicKey struct {
		Challenge        string
		User             struct{ ID string }
		AllowCredentials []struct{ ID string }
	}
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func (b *browser) client(kind, challenge string) []byte {
	return must(json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": publicURL, "crossOrigin": false}))(b.h.t)
}

func (b *browser) data(flags byte) []byte {
	host := sha256.Sum256([]byte("localhost"))
	return binary.BigEndian.AppendUint32(append(host[:], flags), b.count)
}

func (b *browser) credential(response map[string]any) map[string]any {
	return map[string]any{"id": b64(b.cred), "rawId": b64(b.cred), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{}}
}

// create answers navigator.credentials.create: ES256, no attestation.
func (b *browser) create(o options) map[string]any {
	b.handle = o.PublicKey.User.ID
	point := must(b.key.PublicKey.ECDH())(b.h.t).Bytes()[1:]
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21}, cbor(2, point[:32])...)
	cose = append(append(cose, 0x22), cbor(2, point[32:])...)
	data := append(b.data(0x45), make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(b.cred)))
	data = append(append(data, b.cred...), cose...)
	att := append([]byte{0xa3}, cbor(3, []byte("fmt"))...)
	att = append(append(att, cbor(3, []byte("none"))...), cbor(3, []byte("attStmt"))...)
	att = append(append(att, 0xa0), cbor(3, []byte("authData"))...)
	att = append(att, cbor(2, data)...)
	return b.credential(map[string]any{"clientDataJSON": b64(b.client("webauthn.create", o.PublicKey.Challenge)), "attestationObject": b64(att), "transports": []string{"internal"}})
}

// get answers navigator.credentials.get.
func (b *browser) get(o options) map[string]any {
	b.count++
	data, client := b.data(0x05), b.client("webauthn.get", o.PublicKey.Challenge)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	sig := must(ecdsa.SignASN1(rand.Reader, b.key, digest[:]))(b.h.t)
	return b.credential(map[string]any{"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(sig), "userHandle": b.handle})
}

// cbor encodes bytes (2) or a text (3) (RFC 8949 §3).
func cbor(major byte, b []byte) []byte {
	switch n := len(b); {
	case n < 24:
		return append([]byte{major<<5 | byte(n)}, b...)
	case n < 256:
		return append([]byte{major<<5 | 24, byte(n)}, b...)
	default:
		return append([]byte{major<<5 | 25, byte(n >> 8), byte(n)}, b...)
	}
}

// enrol gives a person a passkey by their reset link, as the page does.
func (b *browser) enrol(code string) {
	b.h.t.Helper()
	var o options
	if r := b.post("/auth/passkey/register/begin", map[string]string{"code": code, "name": "", "signInName": ""}, &o); r.status != 200 || o.PublicKey.Challenge == "" {
		b.h.t.Fatalf("begin: %d %s", r.status, r.body)
	}
	var done struct{ Redirect string }
	if r := b.post("/auth/passkey/register/finish", map[string]any{"code": code, "name": "", "signInName": "", "credential": b.create(o)}, &done); r.status != 200 || done.Redirect != "/inbox" {
		b.h.t.Fatalf("finish: %d %s", r.status, r.body)
	}
	if b.cookies[identity.CookieName(false)] == "" {
		b.h.t.Fatal("no session came with it")
	}
}

func (h *house) resetCode(in identity.SignedIn) string {
	h.t.Helper()
	return must(h.deps.Identity.NewResetLink(ctx(), h.account, h.owner.Principal, in.Principal.PersonID))(h.t).Code.Reveal()
}

func TestAPasskeySignsInAndGoesBackInsideTheSite(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := newBrowser(h)
	b.enrol(h.resetCode(h.person("otto", identity.Operator)))
	for back, want := range map[string]string{"/inbox/AP-1?x=1": "/inbox/AP-1?x=1", "": "/inbox", "https://evil.example": "/inbox", "//evil.example": "/inbox", `/\evil.example`: "/inbox", "/\tevil": "/inbox"} {
		clear(b.cookies)
		var o options
		if r := b.post("/auth/passkey/login/begin", map[string]string{"back": back}, &o); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		ceremony := b.cookies["witan-ceremony"]
		cred := b.get(o)
		var done struct{ Redirect string }
		if r := b.post("/auth/passkey/login/finish", map[string]any{"credential": cred, "back": back}, &done); r.status != 200 || done.Redirect != want {
			t.Errorf("%q: %d %s", back, r.status, r.body)
		}
		// An answer works once.
		b.cookies["witan-ceremony"] = ceremony
		if r := b.post("/auth/passkey/login/finish", map[string]any{"credential": cred}, nil); r.status != 401 || r.problem(t).Detail == "" {
			t.Errorf("a second time: %d", r.status)
		}
	}
	if r := b.post("/auth/passkey/login/finish", map[string]any{"credential": map[string]any{}}, nil); r.status != 401 {
		t.Errorf("without a beginning: %d %s", r.status, r.body)
	}
}

func TestAStepUpAllowsTheVeryCallItWasMadeFor(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := newBrowser(h)
	b.enrol(h.resetCode(h.person("otto", identity.Operator)))
	token := h.token(h.owner)
	h.ask("note.burn", "the old one")
	a := h.openApproval(token)
	h.db.Clock.Advance(identity.StepUpWindow + time.Second)
	proof := func() string {
		t.Helper()
		var o options
		if r := b.post("/auth/passkey/stepup/begin", map[string]string{"approval": a.Key, "digest": a.Digest}, &o); r.status != 200 || len(o.PublicKey.AllowCredentials) != 1 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		var done struct{ Token string }
		if r := b.post("/auth/passkey/stepup/finish", map[string]any{"credential": b.get(o), "approval": a.Key}, &done); r.status != 200 || done.Token == "" {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return done.Token
	}
	if r := b.post("/auth/passkey/stepup/begin", map[string]string{"approval": a.Key, "digest": strings.Repeat("0", 64)}, nil); r.status != 412 {
		t.Errorf("a proof for a call that was not shown: %d", r.status)
	}
	answer := "/api/v1/approvals/" + a.ID + "/answer"
	allow := func(proof string) reply {
		return b.post(answer, map[string]string{"answer": "allow", "digest": a.Digest, "stepUp": proof}, nil)
	}
	if r := allow(""); r.status != 403 || !r.problem(t).StepUp {
		t.Fatalf("without a proof: %d", r.status)
	}
	old := proof()
	h.db.Clock.Advance(3 * time.Minute)
	if r := allow(old); r.status != 403 {
		t.Errorf("an old proof: %d", r.status)
	}
	fresh := proof()
	// It is bound to session, approval and digest.
	otto := must(h.deps.Identity.Authenticate(ctx(), h.account, identity.SessionProof(secret.New(b.cookies[identity.CookieName(false)]))))(t)
	approval := id.MustParse(a.ID)
	if err := h.api.CheckStepUp(otto, approval, a.Digest, fresh); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another digest":   h.api.CheckStepUp(otto, approval, strings.Repeat("0", 64), fresh),
		"another approval": h.api.CheckStepUp(otto, h.db.IDs.New(), a.Digest, fresh),
		"another session":  h.api.CheckStepUp(h.owner.Principal, approval, a.Digest, fresh),
		"a changed token":  h.api.CheckStepUp(otto, approval, a.Digest, fresh[:len(fresh)-4]+"AAAA"),
	} {
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := allow(fresh); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
