package identity

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// crockford is base32 that survives being read aloud: no i, l, o, u.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

const (
	codeBytes    = 20 // 160 bits: a link code
	sessionBytes = 32 // 256 bits: a session or ceremony secret
	tokenBytes   = 25 // 200 bits: an API token, of which 30 are shown in lists
	tokenSum     = 6  // characters of checksum
	tokenShown   = 6  // characters of the body shown in lists
	tokenPrefix  = "wtn_"
)

// Digest domains: a digest of one kind never matches one of another.
const (
	digestLink     = "witan/link/1"
	digestSession  = "witan/session/1"
	digestToken    = "witan/token/1"
	digestCeremony = "witan/ceremony/1"
	digestSum      = "witan/token-checksum/1"
	digestDecoy    = "witan/decoy-passkey/1"
)

// digest is how a secret of full strength is stored. Its entropy (160 bits and
// more) makes salt and stretching useless, so SHA-256 it is.
func digest(domain, text string) []byte {
	sum := sha256.Sum256([]byte(domain + "\x00" + text))
	return sum[:]
}

func randomBytes(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fault.New(fault.Internal, "read randomness: %w", err)
	}
	return b, nil
}

// newCode makes a link code: 160 bits as eight groups of four characters.
func newCode(r io.Reader) (secret.String, error) {
	b, err := randomBytes(r, codeBytes)
	if err != nil {
		return secret.String{}, err
	}
	text := crockford.EncodeToString(b)
	groups := make([]string, 0, 8)
	for ; text != ""; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return secret.New(strings.Join(groups, "-")), nil
}

// codeDigest returns the digest of a code as somebody typed it: case, dashes
// and spaces do not matter, and o, i, l are taken for the digits they look like.
func codeDigest(code secret.String) ([]byte, bool) {
	var b strings.Builder
	for _, r := range strings.ToLower(code.Reveal()) {
		switch r {
		case '-', ' ', '\t', '\n', '\r':
			continue
		case 'o':
			r = '0'
		case 'i', 'l':
			r = '1'
		}
		b.WriteRune(r)
		if b.Len() > 32 {
			return nil, false
		}
	}
	raw, err := crockford.DecodeString(b.String())
	if err != nil || len(raw) != codeBytes {
		return nil, false
	}
	return digest(digestLink, b.String()), true
}

// newOpaque makes a session or ceremony secret of 256 bits.
func newOpaque(r io.Reader) (secret.String, error) {
	b, err := randomBytes(r, sessionBytes)
	if err != nil {
		return secret.String{}, err
	}
	return secret.New(base64.RawURLEncoding.EncodeToString(b)), nil
}

// opaqueDigest returns the digest of a session or ceremony secret; false for
// anything that newOpaque cannot have made, so that noise costs no query.
func opaqueDigest(domain string, s secret.String) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s.Reveal())
	if err != nil || len(raw) != sessionBytes {
		return nil, false
	}
	return digest(domain, s.Reveal()), true
}

// newToken makes an API token: "wtn_", 200 bits, a checksum. It also returns
// the prefix by which people tell their tokens apart.
func newToken(r io.Reader) (token secret.String, prefix string, err error) {
	b, err := randomBytes(r, tokenBytes)
	if err != nil {
		return secret.String{}, "", err
	}
	body := crockford.EncodeToString(b)
	return secret.New(tokenPrefix + body + checksum(body)), tokenPrefix + body[:tokenShown], nil
}

// checksum lets a scanner of leaked secrets, and us, tell a token from noise
// without asking anybody.
func checksum(body string) string {
	return crockford.EncodeToString(digest(digestSum, body))[:tokenSum]
}

// LooksLikeToken reports whether a text has the form of an API token of ours,
// checksum included. Redaction uses it too.
func LooksLikeToken(text string) bool {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok || len(rest) != tokenBytes*8/5+tokenSum {
		return false
	}
	body := rest[:len(rest)-tokenSum]
	return checksum(body) == rest[len(body):]
}

func tokenDigest(s secret.String) ([]byte, bool) {
	if !LooksLikeToken(s.Reveal()) {
		return nil, false
	}
	return digest(digestToken, s.Reveal()), true
}

// must32 is for keys of maps: every digest has 32 bytes.
func must32(b []byte) (out [32]byte) {
	if copy(out[:], b) != len(out) || len(b) != len(out) {
		panic(fmt.Sprintf("identity: a digest of %d bytes", len(b)))
	}
	return out
}
