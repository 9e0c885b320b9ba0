package api_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/kit/fault"
)

func TestOnlyOurOwnHostIsServed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) { d.Hosts = []string{"witan.internal:8443"} })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(h.server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for host, ok := range map[string]bool{
		"localhost:7420": true, "LOCALHOST:7420": true, "localhost.:7420": true, "localhost:" + port: true, "127.0.0.1:" + port: true, "[::1]:" + port: true,
		"witan.internal:8443": true, "witan.internal": false, "localhost:1": false, "localhost": false, "evil.example": false, "evil.example:" + port: false,
		"127.0.0.2:" + port: false, "localhost.evil.example:" + port: false, "127.0.0.1.nip.io:" + port: false,
	} {
		r := h.do(request{method: "GET", path: "/healthz", host: host})
		if got := r.status == 200; got != ok {
			t.Errorf("host %q: %d", host, r.status)
		}
		if !ok && (r.status != 421 || r.problem(t).Kind != "denied") {
			t.Errorf("host %q: %d", host, r.status)
		}
	}
}

func TestAnotherSiteCannotActThroughACookie(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, c := range []struct {
		name    string
		headers map[string]string
		refused bool
	}{
		{"another origin", map[string]string{"Origin": "https://evil.example"}, true},
		{"another port", map[string]string{"Origin": "http://localhost:1"}, true},
		{"cross-site fetch", map[string]string{"Sec-Fetch-Site": "cross-site"}, true},
		{"same-site fetch of a neighbour", map[string]string{"Sec-Fetch-Site": "same-site"}, true},
		{"another origin that claims to be the same", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}, true},
		{"a sandboxed page", map[string]string{"Origin": "null"}, true},
		{"our own page", map[string]string{"Origin": publicURL, "Sec-Fetch-Site": "same-origin"}, false},
		{"our own page at this address", map[string]string{"Origin": h.server.URL, "Sec-Fetch-Site": "same-origin"}, false},
		{"no browser", nil, false},
	} {
		q := request{method: "POST", path: "/api/v1/halt", session: h.owner.Secret, headers: c.headers}
		if c.refused {
			if p := h.fails(q, 403, fault.Denied); p.Field != "Origin" {
				t.Errorf("%s: refused for %s", c.name, p.Detail)
			}
			// Signing in is guarded as well: nobody can be signed in as somebody else.
			h.fails(request{method: "POST", path: "/api/v1/session", body: `{"signInName":"mira","password":"` + goodWords + `"}`, headers: c.headers}, 403, fault.Denied)
			continue
		}
		h.ok(q, 200, nil)
	}
	// A token is not sent by a browser on its own.
	h.ok(request{method: "POST", path: "/api/v1/halt", as: h.token(h.owner), headers: map[string]string{"Origin": "https://tool.example"}}, 200, nil)
	// Neither does a form of another site fit: it cannot be JSON.
	h.fails(request{method: "POST", path: "/api/v1/messages", session: h.owner.Secret, body: "text=help", headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415, fault.Invalid)
	// Nothing here is for other sites' scripts.
	r := h.do(request{method: "OPTIONS", path: "/api/v1/messages", headers: map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}})
	if r.header.Get("Access-Control-Allow-Origin") != "" || r.status < 400 {
		t.Errorf("a preflight got %d %v", r.status, r.header)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) { d.Limits.Upload = 2 << 20 })
	token := h.token(h.owner)
	big := `{"scope":"` + strings.Repeat("x", 1<<20) + `"}`
	if p := h.fails(request{method: "POST", path: "/api/v1/halt", as: token, body: big}, 413, fault.Limited); p.Field != "body" {
		t.Errorf("%+v", p)
	}
	h.fails(request{method: "POST", path: "/api/v1/session", body: `{"signInName":"` + strings.Repeat("x", 16<<10) + `"}`}, 413, fault.Limited)
	h.fails(request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"` + strings.Repeat("x", 2<<20) + `"}`}, 413, fault.Limited)
	// What the intake refuses is its own word, with its own limit.
	h.fails(request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"` + strings.Repeat("x", 1<<20+1) + `"}`}, 429, fault.Limited)
}

func TestBadInputIsRefusedByName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	deep := strings.Repeat(`{"grant":`, 70) + "1" + strings.Repeat("}", 70)
	for _, c := range []struct{ method, path, body, field, detail string }{
		{"POST", "/api/v1/messages", `{"text":"x","txet":"y"}`, "txet", "no such member"},
		{"POST", "/api/v1/messages", `{"Text":"x"}`, "Text", "no such member"},
		{"POST", "/api/v1/messages", `{"text":"x","text":"y"}`, "text", "twice"},
		{"POST", "/api/v1/messages", `{"text":7}`, "text", "a text"},
		{"POST", "/api/v1/messages", `{"text":"x","threadId":"zzz"}`, "threadId", "an id"},
		{"POST", "/api/v1/messages", `{"text":"x","attachments":[{"name":"a","dta":""}]}`, "attachments[0].dta", "no such member"},
		{"POST", "/api/v1/messages", `{"text":"x","attachments":{}}`, "attachments", "a list"},
		{"POST", "/api/v1/messages", `{"text":"x"} {}`, "body", "behind"},
		{"POST", "/api/v1/messages", `{"text":`, "body", "JSON"},
		{"POST", "/api/v1/messages", ``, "body", "JSON"},
		{"POST", "/api/v1/messages", `[]`, "body", "an object"},
		{"POST", "/api/v1/messages", `null`, "body", "an object"},
		{"POST", "/api/v1/approvals/AP-1/answer", deep, "grant.grant", "no such member"},
		{"POST", "/api/v1/session", `{"password":"x"}`, "signInName", "missing"},
		{"GET", "/api/v1/events?typ=x", "", "typ", "no such parameter"},
		{"GET", "/api/v1/events?limit=x", "", "limit", "whole number"},
		{"GET", "/api/v1/events?limit=-1", "", "limit", "whole number"},
		{"GET", "/api/v1/events?limit=1&limit=2", "", "limit", "twice"},
		{"GET", "/api/v1/events?limit=5000", "", "limit", "at most"},
		{"GET", "/api/v1/events?after=zzz", "", "after", "EPOCH-SEQ"},
		{"GET", "/api/v1/events?after=1&before=3", "", "before", "one of the two"},
		{"GET", "/api/v1/effects?run=nope", "", "run", "an id"},
		{"GET", "/api/v1/stream?after=12", "", "after", "EPOCH-SEQ"},
		{"GET", "/api/v1/inbox?%zz", "", "query", "cannot be read"},
		{"GET", "/api/v1/messages/" + h.db.IDs.New().String() + "?wait=61", "", "wait", "at most"},
		{"POST", "/api/v1/backup", `{"to":"here"}`, "to", "absolute"},
	} {
		q := request{method: c.method, path: c.path, as: token}
		if c.method != http.MethodGet {
			q.body = c.body
		}
		p := h.fails(q, 400, fault.Invalid)
		if p.Field != c.field || !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s %s %s: %q on %q", c.method, c.path, c.body, p.Detail, p.Field)
		}
	}
	h.fails(request{method: "GET", path: "/api/v1/events?after=9-3", as: token}, 412, fault.Stale)
	for _, path := range []string{"/api/v1/runs/nope", "/api/v1/events/nope", "/api/v1/events/999999", "/api/v1/approvals/nope", "/api/v1/approvals/AP-77", "/api/v1/threads/" + strings.Repeat("0", 26)} {
		h.fails(request{method: "GET", path: path, as: token}, 404, fault.NotFound)
	}
}

func TestAPanicIsOneRequestsOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) {
		d.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/half" {
				_, _ = w.Write([]byte("half of"))
			}
			panic("a canary in the coal mine")
		})
	})
	p := h.fails(request{method: "GET", path: "/boom"}, 500, fault.Internal)
	if strings.Contains(p.Detail, "canary") || !strings.Contains(h.log.String(), strings.TrimPrefix(p.Instance, "urn:witan:request:")) || !strings.Contains(h.log.String(), "a canary in the coal mine") {
		t.Errorf("the answer says %q; the log must know the rest", p.Detail)
	}
	// Half an answer is not passed off as a whole one.
	if res, err := h.server.Client().Do(h.newRequest(request{method: "GET", path: "/half"})); err == nil {
		_ = res.Body.Close()
		if res.ContentLength >= 0 {
			t.Error("half an answer came as a whole one")
		}
	}
	h.ok(request{method: "GET", path: "/healthz"}, 200, nil)
}

func TestTheFallbackStandsBehindTheSameGate(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a page")) })
	h := newHouse(t, func(d *api.Deps) { d.Fallback = page })
	if r := h.do(request{method: "GET", path: "/inbox"}); string(r.body) != "a page" {
		t.Errorf("%s", r.body)
	}
	h.fails(request{method: "GET", path: "/inbox", host: "evil.example"}, 421, fault.Denied)
	h.fails(request{method: "POST", path: "/inbox", headers: map[string]string{"Origin": "https://evil.example"}}, 403, fault.Denied)
	h.fails(request{method: "GET", path: "/api/v1/nowhere"}, 404, fault.NotFound) // the API's own space
}

func TestTheLocalSocketActsAsTheOwner(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.api.Handler().ServeHTTP(w, r.WithContext(api.WithLocal(r.Context())))
	}))
	defer local.Close()
	req := func(method, path, body, as string) reply {
		r := must(http.NewRequestWithContext(ctx(), method, local.URL+path, strings.NewReader(body)))(t)
		r.Host = "witan" // as the client names it
		r.Header.Set("Content-Type", "application/json")
		if as != "" {
			r.Header.Set(api.HeaderAs, as)
		}
		res := must(local.Client().Do(r))(t)
		defer res.Body.Close()
		b := make([]byte, 4096)
		n, _ := res.Body.Read(b)
		return reply{res.StatusCode, res.Header, b[:n]}
	}
	if r := req("GET", "/api/v1/session", "", ""); !strings.Contains(string(r.body), `"signInName":"mira"`) || !strings.Contains(string(r.body), `"via":"machine"`) {
		t.Errorf("%s", r.body)
	}
	// The machine needs no fresh proof.
	if r := req("POST", "/api/v1/people", `{"name":"Otto","signInName":"otto","role":"operator"}`, ""); r.status != 201 || !strings.Contains(string(r.body), `"link":"http://localhost:7420/reset?code=`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := req("POST", "/api/v1/people/otto/reset-link", "", ""); r.status != 201 || !strings.Contains(string(r.body), `"link":"http://localhost:7420/reset?code=`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := req("GET", "/api/v1/session", "", "otto"); !strings.Contains(string(r.body), `"role":"operator"`) {
		t.Errorf("%s", r.body)
	}
	// Over the network the same header is nothing.
	h.fails(request{method: "GET", path: "/api/v1/session", headers: map[string]string{api.HeaderAs: "mira"}}, 401, fault.Unauthorized)
}
