package fakeworld

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a served world and a client for it.
type site struct {
	*Server
	t      *testing.T
	client *http.Client
	path   string
}

func setup(t *testing.T) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "world.jsonl")
	s, err := Serve(path)
	if err != nil {
		t.Fatal(err)
	}
	st := &site{Server: s, t: t, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, path: path}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// do returns status and body; status 0 means that no whole answer came.
func (s *site) do(method, path, key, body string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	res, err := s.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	out, err := io.ReadAll(res.Body)
	if e := res.Body.Close(); e != nil {
		s.t.Error(e)
	}
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(out)
}

func TestEachClassKeepsItsPromise(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, c := range Classes() {
		for range 2 {
			if code, body := s.do("POST", "/act/"+string(c), "key-"+string(c), "x"); code != 200 {
				t.Fatalf("%s: %d %s", c, code, body)
			}
		}
	}
	want := Counts{
		Effects: map[Class]int{Idempotent: 1, Reconcilable: 2, Once: 2},
		Reads:   2, Repeats: 1, Doubled: []string{"key-once", "key-reconcilable"},
	}
	if diff := cmp.Diff(want, s.World.Counts()); diff != "" {
		t.Fatal(diff)
	}
	var over Counts
	_, body := s.do("GET", "/counts", "", "")
	if err := json.Unmarshal([]byte(body), &over); err != nil || !cmp.Equal(want, over) {
		t.Fatalf("over HTTP: %s, %v", body, err)
	}
	for key, code := range map[string]int{"key-idempotent": 200, "key-reconcilable": 200, "key-once": 403, "key-read": 404, "none": 404} {
		if got, body := s.do("GET", "/effects/"+key, "", ""); got != code {
			t.Errorf("read back %s: %d %s, want %d", key, got, body, code)
		}
	}
	for path, key := range map[string]string{"/act/sometimes": "k", "/act/once": ""} {
		if code, _ := s.do("POST", path, key, ""); code != 400 {
			t.Errorf("%s with key %q: %d, want 400", path, key, code)
		}
	}
}

func TestEveryModeDoesWhatItSays(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for mode, want := range map[Mode]struct{ status, effects int }{
		FailBefore: {500, 0}, FailAfter: {500, 1}, TooMany: {429, 0},
		HangBefore: {0, 0}, HangAfter: {0, 1}, DieBefore: {0, 0}, DieAfter: {0, 1}, CutAnswer: {0, 1},
	} {
		key := "k-" + string(mode)
		if code, body := s.do("POST", "/tell", "", `{"mode":"`+string(mode)+`","class":"once","key":"`+key+`"}`); code != 204 {
			t.Fatalf("tell %s: %d %s", mode, code, body)
		}
		if code, body := s.do("POST", "/act/once", "bystander-"+string(mode), "x"); code != 200 {
			t.Errorf("%s hit another key: %d %s", mode, code, body)
		}
		code, body := s.do("POST", "/act/once", key, "x")
		if code != want.status || s.World.Count(key) != want.effects {
			t.Errorf("%s: status %d (%s), %d effects; want %d, %d", mode, code, body, s.World.Count(key), want.status, want.effects)
		}
		if code, _ := s.do("POST", "/act/once", key, "x"); code != 200 {
			t.Errorf("%s was not used up: %d", mode, code)
		}
	}
	for _, bad := range []string{`{"mode":"sulk"}`, `{"mode":"fail_before","class":"never"}`, `?`} {
		if code, _ := s.do("POST", "/tell", "", bad); code != 400 {
			t.Errorf("tell %s: %d", bad, code)
		}
	}
}

func TestBehavioursLastAsLongAsTold(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, b := range []Behaviour{{Mode: FailBefore, Times: 2}, {Mode: TooMany, Times: -1}} {
		if err := s.World.Tell(b); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{500, 500, 429, 429, 429} {
		if code, _ := s.do("POST", "/act/once", "k", ""); code != want {
			t.Fatalf("act %d: %d, want %d", i, code, want)
		}
	}
	s.World.Behave()
	if code, _ := s.do("POST", "/act/once", "k", ""); code != 200 {
		t.Fatalf("after Behave: %d", code)
	}
}

func TestNoAnsweredEffectIsLost(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 10 {
				key := string(rune('a'+i)) + string(rune('a'+n))
				if _, err := s.World.Do(Once, key, "body"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// The file as another process finds it, with a line that a crash cut short.
	raw, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(copied, append(raw, `{"serial":81,"cl`...), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.World.Effects(), again.Effects()); diff != "" || len(again.Effects()) != 80 {
		t.Fatal(diff)
	}
	if e, err := again.Do(Once, "next", ""); err != nil || e.Serial != 81 {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err = Open(copied); err != nil || len(again.Effects()) != 81 || again.Count("next") != 1 {
		t.Fatalf("after a cut line and one more effect: %v", err)
	}
	if err := errors.Join(again.Close(), os.WriteFile(copied, []byte("nonsense\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(copied); err == nil {
		t.Fatal("a damaged file must not count as an empty world")
	}
}
