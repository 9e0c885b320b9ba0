package httpin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const key1, key2 = "0123456789abcdef0123", "fedcba9876543210fedc"

func secrets(s ...string) (out []secret.String) {
	for _, x := range s {
		out = append(out, secret.New(x))
	}
	return out
}

// sink is an outside program's webhook.
type sink struct {
	*httptest.Server
	mu   sync.Mutex
	got  []*http.Request
	body [][]byte
}

func newSink(t *testing.T, answer http.HandlerFunc) *sink {
	t.Helper()
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.got, s.body = append(s.got, r), append(s.body, b)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func hooked(t *testing.T, url string, d Dialer) *Channel {
	t.Helper()
	c, err := New(Config{Name: "bridge", Secrets: secrets(key1, key2), Webhook: &Webhook{URL: url, Insecure: true, Timeout: 5 * time.Second}}, d, clock.NewFake(start))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func outgoing() channel.Outgoing {
	return channel.Outgoing{Account: id.ID{1}, Part: 2, Parts: 3, ThreadRef: "room-7",
		Message: event.OutboundMessage{Channel: "bridge", MessageID: id.ID{2}, DeliveryID: id.ID{3}, ThreadID: id.ID{4}, Address: "ann", Text: "Hello 👋", Agent: "coordinator"}}
}

func TestAWebhookCallIsSignedAndKeyed(t *testing.T) {
	t.Parallel()
	s := newSink(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"x-9","thread":"room-8"}`) })
	c := hooked(t, s.URL, Guard{Allow: Loopback()})
	r, err := c.Deliver(context.Background(), outgoing(), "the-key")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(channel.Receipt{State: "sent", ProviderID: "x-9", ThreadRef: "room-8"}, r); d != "" {
		t.Error(d)
	}
	s.mu.Lock()
	req, body := s.got[0], s.body[0]
	s.mu.Unlock()
	if req.Method != http.MethodPost || req.Header.Get("Idempotency-Key") != "the-key" || req.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", req.Method, req.Header)
	}
	// The receiver's side, by the documented recipe.
	receiver := &Channel{secrets: secrets(key1)}
	if err := receiver.Verify(req.Header.Get(HeaderTimestamp), req.Header.Get(HeaderSignature), body, start); err != nil {
		t.Error(err)
	}
	var p Posted
	if err := json.Unmarshal(body, &p); err != nil || p.Text != "Hello 👋" || p.Part != 2 || p.Parts != 3 || p.Thread != "room-7" || p.Type != "outbound.message" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	body := []byte(`{"text":"hi"}`)
	stamp := fmt.Sprint(start.Unix())
	good := Sign(secret.New(key1), start, body)
	c := &Channel{secrets: secrets(key1, key2)}
	// An independent computation: printf '1772355600.{"text":"hi"}' | openssl dgst -sha256 -hmac 0123456789abcdef0123
	if want := "v1=a44ebfd02e863bb7d07dada13edb0e32acb58c43312c809cc2cd0c8a7dfbf495"; good != want {
		t.Errorf("signature %s, want %s", good, want)
	}
	for name, tt := range map[string]struct {
		stamp, sig string
		body       []byte
		now        time.Time
		ok         bool
	}{
		"good":                {stamp, good, body, start, true},
		"the second secret":   {stamp, Sign(secret.New(key2), start, body), body, start, true},
		"one of two":          {stamp, "v1=00, " + good, body, start, true},
		"a little late":       {stamp, good, body, start.Add(Tolerance), true},
		"too late":            {stamp, good, body, start.Add(Tolerance + time.Second), false},
		"from the future":     {stamp, good, body, start.Add(-Tolerance - time.Second), false},
		"another body":        {stamp, good, []byte(`{"text":"ho"}`), start, false},
		"another time":        {fmt.Sprint(start.Unix() + 1), good, body, start, false},
		"time in other words": {"+" + stamp, good, body, start, false},
		"another secret":      {stamp, Sign(secret.New("0123456789abcdef"), start, body), body, start, false},
		"none":                {stamp, "", body, start, false},
		"no time":             {"", good, body, start, false},
		"cut short":           {stamp, good[:20], body, start, false},
	} {
		err := c.Verify(tt.stamp, tt.sig, tt.body, tt.now)
		if (err == nil) != tt.ok || err != nil && !fault.Is(err, fault.Unauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&Channel{}).Verify(stamp, good, body, start); err == nil {
		t.Error("a channel without a secret verifies")
	}
}

func TestAnswersAreClassified(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]fault.Kind{
		301: fault.Invalid, 302: fault.Invalid, 400: fault.Invalid, 401: fault.Invalid, 404: fault.Invalid, 410: fault.Invalid, 413: fault.Invalid,
		408: fault.Unavailable, 409: fault.Unavailable, 425: fault.Unavailable, 429: fault.Limited,
		500: fault.Unavailable, 502: fault.Unavailable, 503: fault.Unavailable, 504: fault.Unavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(status)
			})
			_, err := hooked(t, s.URL, Guard{Allow: Loopback()}).Deliver(context.Background(), outgoing(), "k")
			s.mu.Lock()
			calls := len(s.got)
			s.mu.Unlock()
			if !fault.Is(err, want) || calls != 1 {
				t.Errorf("%v (%s), %d calls; want %s and one call", err, fault.KindOf(err), calls, want)
			}
			var after interface{ RetryAfter() time.Duration }
			if has := errors.As(err, &after); has != (status == 429 || status == 503) || has && after.RetryAfter() != 30*time.Second {
				t.Errorf("retry after: %v", has)
			}
		})
	}
}

// cutter answers a connection in a way that HTTP does not.
func cutter(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
		}
	}()
	return "http://" + l.Addr().String()
}

func TestWhatIsKnownOfABrokenAttempt(t *testing.T) {
	t.Parallel()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + dead.Addr().String()
	_ = dead.Close()
	if _, err := hooked(t, url, Guard{Allow: Loopback()}).Deliver(context.Background(), outgoing(), "k"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("nobody listens: %v", err)
	}
	broken := cutter(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 10))
		_ = c.Close()
	})
	if _, err := hooked(t, broken, Guard{Allow: Loopback()}).Deliver(context.Background(), outgoing(), "k"); !fault.Is(err, fault.Unknown) {
		t.Errorf("it broke off after reading: %v", err)
	}
	silent := cutter(t, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := hooked(t, silent, Guard{Allow: Loopback()}).Deliver(ctx, outgoing(), "k"); !fault.Is(err, fault.Timeout) {
		t.Errorf("it never answers: %v", err)
	}
}

func TestTheGuardLooksAtTheAddressItConnectsTo(t *testing.T) {
	t.Parallel()
	s := newSink(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
	if _, err := hooked(t, s.URL, Guard{}).Deliver(context.Background(), outgoing(), "k"); !fault.Is(err, fault.Denied) {
		t.Errorf("loopback: %v", err)
	}
	byName := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) // a name that resolves inside
	if _, err := hooked(t, byName, Guard{}).Deliver(context.Background(), outgoing(), "k"); !fault.Is(err, fault.Denied) {
		t.Errorf("a name: %v", err)
	}
	for addr, want := range map[string]bool{
		"127.0.0.1": false, "127.8.9.1": false, "::1": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "ff02::1": false,
		"100.64.0.1": false, "198.18.0.1": false, "255.255.255.255": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "::127.0.0.1": false, "2001:db8::1": false, "203.0.113.9": false,
		"1.1.1.1": true, "8.8.8.8": true, "2606:4700::1111": true,
	} {
		if got := (Guard{}).Allowed(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s allowed: %v, want %v", addr, got, want)
		}
	}
	if !(Guard{Allow: Loopback()}).Allowed(netip.MustParseAddr("::ffff:127.0.0.1")) {
		t.Error("loopback is not allowed though configured")
	}
	if (Guard{Allow: Loopback()}).Allowed(netip.MustParseAddr("10.0.0.1")) {
		t.Error("allowing loopback allows more")
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	ok := secrets(key1)
	for name, c := range map[string]Config{
		"a name":        {Name: "My Bridge"},
		"no secret":     {Name: "b", Webhook: &Webhook{URL: "https://example.org/h"}},
		"short secret":  {Name: "b", Secrets: secrets("short")},
		"plain http":    {Name: "b", Secrets: ok, Webhook: &Webhook{URL: "http://example.org/h"}},
		"a file":        {Name: "b", Secrets: ok, Webhook: &Webhook{URL: "file:///etc/passwd"}},
		"no host":       {Name: "b", Secrets: ok, Webhook: &Webhook{URL: "https:///h"}},
		"with password": {Name: "b", Secrets: ok, Webhook: &Webhook{URL: "https://u:p@example.org/h"}},
	} {
		_, err := New(c, Guard{}, clock.System{})
		if _, field, _ := fault.Public(err); !fault.Is(err, fault.Invalid) || field == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := New(Config{Name: "fetches"}, nil, nil)
	if err != nil || c.Traits().Push {
		t.Errorf("without a webhook it is fetched from: %v", err)
	}
	if _, err := c.Deliver(context.Background(), outgoing(), "k"); !fault.Is(err, fault.Invalid) {
		t.Errorf("nothing is carried to it: %v", err)
	}
}

func TestRetryAfterReadsBothForms(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]time.Duration{
		"": 0, "12": 12 * time.Second, "-5": 0, "nonsense": 0, "99999999": 24 * time.Hour,
		start.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
	} {
		if got := retryAfter(v, start); got != want {
			t.Errorf("%q: %s, want %s", v, got, want)
		}
	}
}
