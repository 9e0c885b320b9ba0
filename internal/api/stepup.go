package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// stepUpLife is how long the token of a step-up is good: the time to press the
// button that it was made for.
const stepUpLife = 2 * time.Minute

// purpose names what a proof is for, so that it serves one call and no other.
func purpose(approval id.ID, digest string) string {
	sum := canon.Digest("witan/step-up/1", approval[:], []byte(digest))
	return hex.EncodeToString(sum[:])
}

// stepUpToken makes the token that a fresh proof gives: it says until when this
// session may allow this call. It is sealed by the keyring and kept nowhere.
func (a *API) stepUpToken(who identity.Principal, approval id.ID, digest string) (string, error) {
	until := binary.BigEndian.AppendUint64(nil, uint64(clock.Micros(a.Clock.Now().Add(stepUpLife))))
	mac, err := a.Keyring.MAC(secret.PurposeToken, stepUpMessage(who, approval, digest, until))
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "seal a step-up")
	}
	return base64.RawURLEncoding.EncodeToString(append(until, mac...)), nil
}

func stepUpMessage(who identity.Principal, approval id.ID, digest string, until []byte) []byte {
	sum := canon.Digest("witan/step-up-token/1", who.Account[:], who.PersonID[:], who.SessionID[:], approval[:], []byte(digest), until)
	return sum[:]
}

// CheckStepUp checks the token of a step-up: it holds for the session that made
// it, for this approval and this digest, for two minutes. Denied otherwise,
// with identity.ErrStepUp in its chain.
func (a *API) CheckStepUp(who identity.Principal, approval id.ID, digest, token string) error {
	bad := fault.New(fault.Denied, "the proof was made for something else, or is too old: %w", identity.ErrStepUp).On("stepUp")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= 8 || who.Via != identity.ViaSession {
		return bad
	}
	if !a.Keyring.VerifyMAC(secret.PurposeToken, stepUpMessage(who, approval, digest, raw[:8]), raw[8:]) {
		return bad
	}
	now, until := a.Clock.Now(), clock.FromMicros(int64(binary.BigEndian.Uint64(raw[:8])))
	if now.After(until) || until.Sub(now) > stepUpLife {
		return bad
	}
	return nil
}
