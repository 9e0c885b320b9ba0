package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// cheap makes hashing fast; the codec and the flow are the same.
func cheap() HashParams { return HashParams{MemoryKiB: 16, Passes: 1, Lanes: 1} }

func TestPasswordVerifies(t *testing.T) {
	t.Parallel()
	h, err := newHasher(cheap(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	stored, err := h.hash(ctx, secret.New("pâte à tartiner")) // composed
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := h.hash(ctx, secret.New("pâte à tartiner")); other == stored {
		t.Error("two hashes of one password are equal: no salt")
	}
	for password, want := range map[string]bool{
		"pâte à tartiner": true, "pa\u0302te a\u0300 tartiner": true, "pâte à tartiner ": false, "": false,
		strings.Repeat("x", 2000): false,
	} {
		good, stale, err := h.verify(ctx, secret.New(password), stored)
		if err != nil || good != want || stale {
			t.Errorf("verify(%q) = %v, stale %v, %v", password, good, stale, err)
		}
	}
	if good, _, err := h.verify(ctx, secret.New(""), ""); good || err != nil {
		t.Errorf("nobody's password verified: %v %v", good, err)
	}
	dear := cheap()
	dear.Passes = 2
	h2, _ := newHasher(dear, rand.Reader)
	if good, stale, err := h2.verify(ctx, secret.New("pâte à tartiner"), stored); !good || !stale || err != nil {
		t.Errorf("a hash of older costs: good %v, stale %v, %v", good, stale, err)
	}
}

func TestDefaultCostsAreNoLessThanAdvised(t *testing.T) {
	t.Parallel()
	p := DefaultHashParams()
	if p.MemoryKiB < 19*1024 || p.Passes < 2 || p.Lanes < 1 {
		t.Errorf("%+v is less than the OWASP minimum", p)
	}
	h, err := newHasher(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := h.hash(context.Background(), secret.New("correct donkey battery"))
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=3,p=1$") {
		t.Fatalf("%s, %v", stored, err)
	}
	if good, _, err := h.verify(context.Background(), secret.New("correct donkey battery"), stored); !good || err != nil {
		t.Errorf("good %v, %v", good, err)
	}
}

func TestPHCReadsOnlyWhatItWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := phc{params: HashParams{
			MemoryKiB: rapid.Uint32Range(256, 1<<20).Draw(t, "m"), Passes: rapid.Uint32Range(1, 32).Draw(t, "t"),
			Lanes: rapid.Uint8Range(1, 16).Draw(t, "p")},
			salt: rapid.SliceOfN(rapid.Byte(), 8, 64).Draw(t, "salt"), key: rapid.SliceOfN(rapid.Byte(), 16, 64).Draw(t, "key")}
		got, err := parsePHC(p.String())
		if err != nil || got.String() != p.String() {
			t.Fatalf("%s reads as %s, %v", p, got, err)
		}
	})
	good := phc{params: cheap(), salt: make([]byte, 16), key: make([]byte, 32)}.String()
	for _, bad := range []string{
		"", "x", good + "$", good + "\n", strings.Replace(good, "argon2id", "argon2i", 1), strings.Replace(good, "v=19", "v=16", 1),
		strings.Replace(good, "m=16", "m=99999999", 1), strings.Replace(good, "m=16", "m=+16", 1), strings.Replace(good, "t=1", "t=0", 1),
		strings.Replace(good, "p=1", "p=1,x=2", 1), strings.Replace(good, "AAAA", "AA=A", 1), "$2a$10$abcdefghijklmnopqrstuv",
	} {
		if _, err := parsePHC(bad); !fault.Is(err, fault.Corrupt) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("parsePHC(%q) = %v", bad, err)
		}
	}
}

func TestHashingIsBounded(t *testing.T) {
	t.Parallel()
	h, _ := newHasher(cheap(), rand.Reader)
	h.slots <- struct{}{}
	h.slots <- struct{}{} // both slots are taken
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	errs := make(chan error, hashQueue)
	for range hashQueue {
		wg.Go(func() {
			_, err := h.hash(ctx, secret.New("does not matter"))
			errs <- err
		})
	}
	for h.queued.Load() < hashQueue {
		runtime.Gosched()
	}
	if _, err := h.hash(context.Background(), secret.New("one too many")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the %dth waits: %v", hashQueue+1, err)
	}
	cancel()
	wg.Wait()
	for range hashQueue {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left got %v", err)
		}
	}
	if n := h.queued.Load(); n != 0 {
		t.Errorf("%d still queued", n)
	}
}

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"correct donkey battery", "x7$9!2@4%8^w", "8f3kd0s1mz", "Zwölf Boxkämpfer", "9071823645 2746 18", "mein fahrrad ist gelb", "пароль не простой",
	} {
		if err := CheckPassword(secret.New(good), "Mira Kovač", "mira"); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"tiny", "123456789", "1234567890", "0987654321", "qwertyuiop", "qwertqwert", "aaaaaaaaaaaa", "abcabcabcabc", "Password123!",
		"P@ssw0rd2026", "letmein12345", "adminadmin", "Welcome2026!", "witan-witan-1", "mira.kovač.1990", "iloveyou!!!!", "abcdefghijkl",
		"zxcvbasdfg", "1q2w3e4r5t6z", "Summer2026!!", "2026-03-0110", "password" + string(rune(0)) + "xx", "\xff\xfe0123456789",
		strings.Repeat("long enough ", 100),
	} {
		err := CheckPassword(secret.New(bad), "Mira Kovač", "mira")
		var f *fault.Error
		if !fault.Is(err, fault.Invalid) || !errors.As(err, &f) || f.Field != "password" {
			t.Errorf("%q: %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), bad) {
			t.Errorf("the refusal of %q shows it", bad)
		}
	}
}

func FuzzParsePHC(f *testing.F) {
	f.Add(phc{params: cheap(), salt: make([]byte, 16), key: make([]byte, 32)}.String())
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parsePHC(s); err == nil && (p.String() != s || p.params.check() != nil) {
			t.Errorf("%q was accepted as %s", s, p)
		}
	})
}
