package bedrock

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/secret"
)

// Credentials sign requests. SessionToken is empty for long-lived ones.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey secret.String
	SessionToken    secret.String
}

// signing is what a SigV4 signature covers, besides the credentials.
type signing struct {
	region, service string
	at              time.Time
	method          string
	path            string // as it stands on the wire; "" is "/"
	query           string // as it stands on the wire, without "?"
	header          map[string][]string
	body            []byte
	rawPath         bool // leave dot segments and empty segments as they are
}

const (
	algorithm   = "AWS4-HMAC-SHA256"
	longDate    = "20060102T150405Z"
	shortDate   = "20060102"
	terminator  = "aws4_request"
	hexAlphabet = "0123456789ABCDEF"
)

// authorization returns the value of the Authorization header. s.header must hold
// every header to be signed, Host and X-Amz-Date among them.
func (s signing) authorization(c Credentials) string {
	canonical, signed := s.canonical()
	day := s.at.UTC().Format(shortDate)
	scope := strings.Join([]string{day, s.region, s.service, terminator}, "/")
	toSign := strings.Join([]string{algorithm, s.at.UTC().Format(longDate), scope, digest([]byte(canonical))}, "\n")
	key := []byte("AWS4" + c.SecretAccessKey.Reveal())
	for _, part := range []string{day, s.region, s.service, terminator} {
		key = mac(key, part)
	}
	return algorithm + " Credential=" + c.AccessKeyID + "/" + scope +
		", SignedHeaders=" + signed + ", Signature=" + hex.EncodeToString(mac(key, toSign))
}

// canonical returns the canonical request and the list of signed headers.
func (s signing) canonical() (request, signed string) {
	var names []string
	values := map[string]string{}
	for k, vs := range s.header {
		k = strings.ToLower(k)
		names = append(names, k)
		joined := make([]string, len(vs))
		for i, v := range vs {
			joined[i] = strings.Join(strings.Fields(v), " ")
		}
		values[k] = strings.Join(joined, ",")
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, k := range names {
		headers.WriteString(k + ":" + values[k] + "\n")
	}
	signed = strings.Join(names, ";")
	return strings.Join([]string{s.method, s.canonicalPath(), canonicalQuery(s.query), headers.String(), signed, digest(s.body)}, "\n"), signed
}

// canonicalPath encodes the path once more than the wire does, as every service
// but S3 wants it.
func (s signing) canonicalPath() string {
	p := s.path
	if !s.rawPath {
		var kept []string
		for seg := range strings.SplitSeq(p, "/") {
			switch seg {
			case "", ".":
			case "..":
				kept = kept[:max(0, len(kept)-1)]
			default:
				kept = append(kept, seg)
			}
		}
		end := ""
		if strings.HasSuffix(p, "/") && len(kept) > 0 {
			end = "/"
		}
		p = "/" + strings.Join(kept, "/") + end
	}
	if p == "" {
		p = "/"
	}
	return escape(p, true)
}

// canonicalQuery sorts the parameters by encoded key, then by encoded value.
func canonicalQuery(query string) string {
	if query == "" {
		return ""
	}
	var pairs [][2]string
	for param := range strings.SplitSeq(query, "&") {
		k, v, _ := strings.Cut(param, "=")
		pairs = append(pairs, [2]string{escape(unescape(k), false), escape(unescape(v), false)})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		if c := strings.Compare(a[0], b[0]); c != 0 {
			return c
		}
		return strings.Compare(a[1], b[1])
	})
	out := make([]string, len(pairs))
	for i, p := range pairs {
		out[i] = p[0] + "=" + p[1]
	}
	return strings.Join(out, "&")
}

// escape encodes every byte but the unreserved ones (RFC 3986 §2.3).
func escape(s string, keepSlash bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, c == '/' && keepSlash:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexAlphabet[c>>4])
			b.WriteByte(hexAlphabet[c&15])
		}
	}
	return b.String()
}

// unescape decodes %XX; anything else stays.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.WriteByte(v[0])
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func digest(b []byte) string { sum := sha256.Sum256(b); return hex.EncodeToString(sum[:]) }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
