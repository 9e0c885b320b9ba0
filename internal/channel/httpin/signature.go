package httpin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// The headers of a signed request, in both directions.
const (
	HeaderTimestamp = "Witan-Timestamp" // Unix seconds
	HeaderSignature = "Witan-Signature" // v1=HEX, several separated by commas while a secret is rotated
	HeaderKey       = "Idempotency-Key"
)

// Tolerance is how old, or how far ahead, a signed request may be.
const Tolerance = 5 * time.Minute

// minSecret is the shortest secret: 16 bytes are 128 bits.
const minSecret = 16

// Sign returns the value of HeaderSignature: HMAC-SHA256 over the decimal Unix
// seconds, a full stop and the body.
func Sign(key secret.String, at time.Time, body []byte) string {
	return "v1=" + hex.EncodeToString(mac(key, strconv.FormatInt(at.Unix(), 10), body))
}

func mac(key secret.String, seconds string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(key.Reveal()))
	h.Write([]byte(seconds))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks a request signed with one of the channel's secrets. A wrong,
// old or missing signature is fault.Unauthorized and does not say which.
func (c *Channel) Verify(timestamp, signature string, body []byte, now time.Time) error {
	refused := fault.New(fault.Unauthorized, "the signature is missing, wrong or too old").On(HeaderSignature)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != timestamp {
		return refused
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return refused
	}
	for _, given := range strings.Split(signature, ",") {
		sum, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(given), "v1="))
		if err != nil {
			continue
		}
		for _, key := range c.secrets {
			if hmac.Equal(sum, mac(key, timestamp, body)) {
				return nil
			}
		}
	}
	return refused
}
