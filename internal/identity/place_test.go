package identity

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Place{
		"http://localhost:7420":         {OK: true, Host: "localhost", Origin: "http://localhost:7420"},
		"http://LOCALHOST:7420/x":       {OK: true, Host: "localhost", Origin: "http://localhost:7420"},
		"http://w.localhost":            {OK: true, Host: "w.localhost", Origin: "http://w.localhost"},
		"https://witan.example.org":     {OK: true, Host: "witan.example.org", Origin: "https://witan.example.org"},
		"https://witan.example.org:443": {OK: true, Host: "witan.example.org", Origin: "https://witan.example.org"},
		"http://127.0.0.1:7420":         {Why: "an IP number", Better: "http://localhost:7420"},
		"http://[::1]:7420":             {Why: "an IP number", Better: "http://localhost:7420"},
		"https://192.0.2.1":             {Why: "an IP number"},
		"https://[2001:db8::1]":         {Why: "an IP number"},
		"http://witan.example.org":      {Why: "plain http", Better: "https://witan.example.org"},
		"https://witan.example.org.":    {Why: "not a name"},
		"":                              {Why: "cannot be read"},
		"ftp://x":                       {Why: "cannot be read"},
	} {
		got := PlaceOf(address)
		if !strings.Contains(got.Why, want.Why) || want.Why == "" && got.Why != "" {
			t.Errorf("%s: why %q", address, got.Why)
		}
		got.Why = want.Why
		if got != want {
			t.Errorf("%s: %+v, want %+v", address, got, want)
		}
	}
}

func TestPlaceErrorIsTyped(t *testing.T) {
	t.Parallel()
	s := &Service{place: PlaceOf("http://192.0.2.1")}
	_, err := s.passkeys()
	var pe *PlaceError
	if !errors.As(err, &pe) || !fault.Is(err, fault.Conflict) {
		t.Fatalf("got %v", err)
	}
	if msg, _, fix := fault.Public(err); !strings.Contains(msg, "IP number") || fix == "" {
		t.Errorf("the page would say %q, %q", msg, fix)
	}
}

func TestPlaceAtAnotherAddress(t *testing.T) {
	t.Parallel()
	s := &Service{place: PlaceOf("https://witan.example.org")}
	if p := s.PlaceAt("https://witan.example.org"); !p.OK {
		t.Errorf("at home: %+v", p)
	}
	for _, other := range []string{"http://localhost:7420", "https://other.example.org", "http://127.0.0.1:7420"} {
		if p := s.PlaceAt(other); p.OK || p.Better != "https://witan.example.org" || p.Why == "" {
			t.Errorf("at %s: %+v", other, p)
		}
	}
}

func TestCookie(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	in := SignedIn{Secret: secret.New("S"), Session: Session{EndsAt: now.Add(SessionLife)}}
	for https, want := range map[bool]string{
		true:  "__Host-witan=S; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax",
		false: "witan=S; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax",
	} {
		if got := SessionCookie(https, in, now).Header(); got != want {
			t.Errorf("got %s", got)
		}
		if got := ClearCookie(https).Header(); !strings.Contains(got, "Max-Age=0") || !strings.HasPrefix(got, CookieName(https)+"=;") {
			t.Errorf("got %s", got)
		}
	}
}
