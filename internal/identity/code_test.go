package identity

import (
	"crypto/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/secret"
)

func TestCodeSurvivesBeingTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), codeBytes, codeBytes).Draw(t, "raw")
		code, err := newCode(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		want, ok := codeDigest(code)
		if !ok {
			t.Fatal("a fresh code has no digest")
		}
		typed := code.Reveal()
		if rapid.Bool().Draw(t, "upper") {
			typed = strings.ToUpper(typed)
		}
		if rapid.Bool().Draw(t, "letters") {
			typed = strings.NewReplacer("0", "o", "1", "l").Replace(typed)
		}
		typed = strings.ReplaceAll(typed, "-", rapid.SampledFrom([]string{"-", "", " "}).Draw(t, "gap"))
		got, ok := codeDigest(secret.New(typed))
		if !ok || string(got) != string(want) {
			t.Fatal("the typed code is another one")
		}
	})
}

func TestCodeHas160Bits(t *testing.T) {
	t.Parallel()
	code, err := newCode(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if groups := strings.Split(code.Reveal(), "-"); len(groups) != 8 || len(groups[0]) != 4 {
		t.Errorf("a code of %d groups", len(groups))
	}
	for _, bad := range []string{"", "abc", strings.Repeat("z", 33), strings.Repeat("u", 32), code.Reveal()[1:]} {
		if _, ok := codeDigest(secret.New(bad)); ok {
			t.Errorf("%q has a digest", bad)
		}
	}
}

func TestTokenChecksumFindsEveryTypo(t *testing.T) {
	t.Parallel()
	token, prefix, err := newToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := token.Reveal()
	if !LooksLikeToken(text) || !strings.HasPrefix(text, prefix) || len(prefix) != len("wtn_")+tokenShown {
		t.Fatalf("a token with prefix %q", prefix)
	}
	for i := len(tokenPrefix); i < len(text); i++ {
		c := byte('0')
		if text[i] == c {
			c = '1'
		}
		if LooksLikeToken(text[:i] + string(c) + text[i+1:]) {
			t.Errorf("a typo at %d goes unnoticed", i)
		}
	}
	if LooksLikeToken(strings.ToUpper(text)) || LooksLikeToken(text+"x") || LooksLikeToken("") {
		t.Error("noise looks like a token")
	}
}

func TestProofsDoNotCross(t *testing.T) {
	t.Parallel()
	token, _, _ := newToken(rand.Reader)
	session, _ := newOpaque(rand.Reader)
	if _, ok := SessionProof(token).digest(); ok {
		t.Error("a token passed as a session")
	}
	if _, ok := TokenProof(session).digest(); ok {
		t.Error("a session passed as a token")
	}
	if _, ok := (Proof{}).digest(); ok {
		t.Error("no proof is a proof")
	}
	a, _ := opaqueDigest(digestSession, session)
	b, _ := opaqueDigest(digestCeremony, session)
	if string(a) == string(b) {
		t.Error("a session digest equals a ceremony digest")
	}
}
