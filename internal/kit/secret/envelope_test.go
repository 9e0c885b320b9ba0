package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestEverySealedBitIsGuarded(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	aad, text := []byte("subject 7"), []byte("plain text")
	sealed := must2(k.Seal(PurposeVault, text, aad))(t)
	sig := must2(k.Sign(PurposeCheckpoint, text))(t)
	mac := must2(k.MAC(PurposeToken, text))(t)
	d := must2(k.NewDataKey())(t)
	body := must2(SealWith(d, nil, text, aad))(t)
	if bytes.Contains(sealed, text) || bytes.Contains(body, text) {
		t.Fatal("the plaintext shows")
	}
	each := func(b []byte, check func(bad []byte) bool) {
		t.Helper()
		for i := range len(b) * 8 {
			bad := bytes.Clone(b)
			bad[i/8] ^= 1 << (i % 8)
			if check(bad) {
				t.Fatalf("bit %d can be flipped unseen", i)
			}
		}
		for n := range len(b) {
			if check(b[:n]) {
				t.Fatalf("the first %d bytes are accepted", n)
			}
		}
		if !check(b) {
			t.Fatal("the untouched bytes are refused")
		}
	}
	each(sealed, func(b []byte) bool { _, err := k.Open(PurposeVault, b, aad); return err == nil })
	each(sig, func(b []byte) bool { return k.Verify(PurposeCheckpoint, text, b) == nil })
	each(mac, func(b []byte) bool { return k.VerifyMAC(PurposeToken, text, b) })
	each(body, func(b []byte) bool { _, err := OpenWith(d, b, aad); return err == nil })
}

func TestNothingOpensInAnotherPlace(t *testing.T) {
	t.Parallel()
	k, other := fresh(t), fresh(t)
	aad, text := []byte("account 1"), []byte("x")
	sealed := must2(k.Seal(PurposeVault, text, aad))(t)
	sig := must2(k.Sign(PurposeCheckpoint, text))(t)
	for name, err := range map[string]error{
		"other aad":        second(k.Open(PurposeVault, sealed, []byte("account 2"))),
		"no aad":           second(k.Open(PurposeVault, sealed, nil)),
		"other purpose":    second(k.Open(PurposeAccount, sealed, aad)),
		"other keyring":    second(other.Open(PurposeVault, sealed, aad)),
		"other message":    k.Verify(PurposeCheckpoint, []byte("y"), sig),
		"foreign verifier": other.Verify(PurposeCheckpoint, text, sig),
		"wrong kind":       second(k.Open(PurposeCheckpoint, sealed, aad)),
	} {
		if !errors.Is(err, ErrTampered) && !errors.Is(err, ErrNoKey) && !errors.Is(err, ErrPurpose) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if k.VerifyMAC(PurposeVault, text, sig) || k.Stale(PurposeVault, sealed) || !k.Stale(PurposeVault, []byte("?")) {
		t.Error("MAC of a sealing purpose, or a wrong Stale")
	}
	for name, err := range map[string]error{
		"seal with a signing key": second(k.Seal(PurposeCheckpoint, text, nil)),
		"sign with a sealing key": second(k.Sign(PurposeVault, text)),
		"mac with a sealing key":  second(k.MAC(PurposeVault, text)),
	} {
		if !errors.Is(err, ErrPurpose) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestDataKeysTravelWrappedOnly(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	d := must2(k.NewDataKey())(t)
	aad := []byte("account 1, subject 2")
	wrapped := must2(k.Wrap(d, aad))(t)
	if bytes.Contains(wrapped, d.material[:]) {
		t.Fatal("the data key shows")
	}
	if _, err := k.Unwrap(wrapped, []byte("account 1, subject 3")); !errors.Is(err, ErrTampered) {
		t.Fatalf("wrapped key of another subject: %v", err)
	}
	short := must2(k.Seal(PurposeAccount, []byte("not a key"), aad))(t)
	if _, err := k.Unwrap(short, aad); !errors.Is(err, ErrTampered) {
		t.Fatalf("no data key: %v", err)
	}
	back := must2(reopen(t, k).Unwrap(wrapped, aad))(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		aad := rapid.SliceOf(rapid.Byte()).Draw(t, "aad")
		sealed, err := SealWith(d, nil, text, aad)
		if err != nil || len(sealed) != len(text)+nonceSize+tagSize {
			t.Fatalf("%d bytes for %d, %v", len(sealed), len(text), err)
		}
		got, err := OpenWith(back, sealed, aad)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("got %x, %v", got, err)
		}
	})
}

func TestRandomnessComesFromOutside(t *testing.T) {
	t.Parallel()
	make1 := func() (string, []byte) {
		k, err := Create(filepath.Join(t.TempDir(), "k", "keyring.json"), Options{Random: rand.NewChaCha8([32]byte{7})})
		k = must(t, k, err)
		sealed := must2(k.Seal(PurposeVault, []byte("x"), nil))(t)
		return fmt.Sprint(k.Keys()), sealed
	}
	a, sa := make1()
	b, sb := make1()
	if a != b || !bytes.Equal(sa, sb) {
		t.Fatal("two keyrings from one seed differ")
	}
	if _, err := Create(filepath.Join(t.TempDir(), "k", "keyring.json"), Options{Random: strings.NewReader("short")}); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Fatalf("no randomness: %v", err)
	}
}

func TestSecretsDoNotPrintThemselves(t *testing.T) {
	t.Parallel()
	d := must2(NewDataKey(bytes.NewReader(bytes.Repeat([]byte("K"), keySize))))(t)
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("secrets", "text", New("hunter2"), "key", d)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, d)
		fmt.Fprintf(&out, verb, New("hunter2"))
		fmt.Fprintf(&out, verb, struct{ S String }{New("hunter2")})
	}
	js := must2(json.Marshal(map[string]any{"s": New("hunter2"), "d": d}))(t)
	out.Write(js)
	for _, leak := range []string{"hunter2", "KKKK", "75 75", "4b4b", "68756e746572"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q shows in %s", leak, out.String())
		}
	}
	if New("hunter2").Reveal() != "hunter2" || !New("").Empty() {
		t.Error("Reveal or Empty")
	}
}

func TestAKeyringServesManyAtOnce(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				sealed, err := k.Seal(PurposeVault, []byte{byte(n)}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if i == 0 && n%5 == 0 {
					if _, err := k.Rotate(PurposeVault); err != nil {
						t.Error(err)
					}
				}
				if _, err := k.Open(PurposeVault, sealed, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkSealWith500Bytes(b *testing.B) {
	d, err := NewDataKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	text := make([]byte, 500)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SealWith(d, nil, text, text[:32]); err != nil {
			b.Fatal(err)
		}
	}
}
