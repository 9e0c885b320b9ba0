package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func TestAMessageIsAnsweredAndReplayed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	var said struct{ MessageID, ThreadID, State string }
	q := request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"help","channel":"cli"}`, headers: map[string]string{"Idempotency-Key": "k1"}}
	h.ok(q, 202, &said)
	if said.State != "waiting" || said.MessageID == "" {
		t.Fatalf("accepted as %+v", said)
	}
	var again struct {
		MessageID string
		Repeat    bool
	}
	if h.ok(q, 202, &again); !again.Repeat || again.MessageID != said.MessageID {
		t.Fatalf("the same key made %+v", again)
	}
	type fate struct {
		State, RunID, RunState string
		Answers                []struct{ Text, Agent string }
	}
	waited := make(chan fate, 1)
	go func() { // joined by the receive below
		var f fate
		h.ok(request{method: "GET", path: "/api/v1/messages/" + said.MessageID + "?wait=30", as: token}, 200, &f)
		waited <- f
	}()
	h.drain()
	f := <-waited
	if f.State != "answered" || len(f.Answers) != 1 || !strings.Contains(f.Answers[0].Text, "remember") || f.Answers[0].Agent != "coordinator" {
		t.Fatalf("waited for %+v", f)
	}
	var run struct {
		Outcome, Brain string
		Answer         []struct{ Text string }
	}
	h.ok(request{method: "GET", path: "/api/v1/runs/" + f.RunID, as: token}, 200, &run)
	if run.Outcome != "answered" || run.Brain != "plain" || len(run.Answer) == 0 {
		t.Errorf("run %+v", run)
	}
	var replay struct {
		Verdict   string
		Divergent any
	}
	h.ok(request{method: "POST", path: "/api/v1/runs/" + f.RunID + "/replay", as: token}, 200, &replay)
	if replay.Verdict != "exact" || replay.Divergent != nil {
		t.Errorf("replay %+v", replay)
	}
	var turns struct {
		Items []struct{ Role, Text string }
	}
	h.ok(request{method: "GET", path: "/api/v1/threads/" + said.ThreadID + "/turns", as: token}, 200, &turns)
	if len(turns.Items) != 2 || turns.Items[1].Text != "help" || turns.Items[0].Role != "assistant" {
		t.Errorf("turns %+v", turns)
	}
	var tree struct {
		Items []struct {
			Type  string
			Depth int
		}
	}
	h.ok(request{method: "GET", path: "/api/v1/events/1", as: token}, 200, nil)
	var newest struct {
		Items []struct{ ID string }
	}
	h.ok(request{method: "GET", path: "/api/v1/events?type=agent.response&actor=coordinator", as: token}, 200, &newest)
	if len(newest.Items) != 1 {
		t.Fatalf("%d answers in the journal", len(newest.Items))
	}
	h.ok(request{method: "GET", path: "/api/v1/events/" + newest.Items[0].ID + "/tree", as: token}, 200, &tree)
	if len(tree.Items) < 5 || tree.Items[0].Type != "inbound.message" || tree.Items[0].Depth != 0 || tree.Items[1].Depth == 0 {
		t.Errorf("tree %+v", tree)
	}
}

func TestSignInGivesASessionAndASignOutEndsIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	res := h.do(request{method: "POST", path: "/api/v1/session", body: map[string]string{"signInName": "Mira ", "password": goodWords}})
	if res.status != 201 {
		t.Fatalf("%d %s", res.status, res.body)
	}
	cookies := (&http.Response{Header: res.header}).Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Secure {
		t.Fatalf("cookies %+v", cookies)
	}
	with := map[string]string{"Cookie": cookies[0].String()}
	var who struct{ Name, SignInName, Role, Via string }
	h.ok(request{method: "GET", path: "/api/v1/session", headers: with}, 200, &who)
	if who.SignInName != "mira" || who.Role != "owner" || who.Via != "session" {
		t.Errorf("who %+v", who)
	}
	h.ok(request{method: "DELETE", path: "/api/v1/session", headers: with}, 204, nil)
	h.fails(request{method: "GET", path: "/api/v1/session", headers: with}, 401, fault.Unauthorized)
}

func TestTooManyTriesSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	wrong := request{method: "POST", path: "/api/v1/session", body: `{"signInName":"mira","password":"wrong wrong wrong"}`}
	var last reply
	for range 10 {
		if last = h.do(wrong); last.status == 429 {
			break
		}
	}
	p := last.problem(t)
	if p.Kind != "limited" || last.header.Get("Retry-After") == "" || last.header.Get("Retry-After") == "0" {
		t.Errorf("%+v, Retry-After %q", p, last.header.Get("Retry-After"))
	}
}

func TestUnknownAddressesAndMethods(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fails(request{method: "GET", path: "/api/v1/nowhere"}, 404, fault.NotFound)
	h.fails(request{method: "GET", path: "/api/v1//inbox"}, 404, fault.NotFound)
	h.fails(request{method: "GET", path: "/api/v1/../v1/inbox"}, 404, fault.NotFound)
	h.fails(request{method: "GET", path: "/"}, 404, fault.NotFound)
	r := h.do(request{method: "PATCH", path: "/api/v1/halt"})
	if p := r.problem(t); r.status != 405 || r.header.Get("Allow") != "POST, DELETE" || p.Kind != "invalid" {
		t.Errorf("%d %q", r.status, r.header.Get("Allow"))
	}
}

func TestSecurityHeadersStandOnEveryAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, path := range []string{"/healthz", "/api/v1/nowhere", "/api/v1/inbox"} {
		r := h.do(request{method: "GET", path: path})
		for k, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store"} {
			if got := r.header.Get(k); got != want {
				t.Errorf("%s: %s is %q", path, k, got)
			}
		}
		if r.header.Get("X-Request-Id") == "" {
			t.Errorf("%s has no request id", path)
		}
	}
}

func TestHealthReadinessAndMetrics(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var live struct{ Status, Version string }
	h.ok(request{method: "GET", path: "/healthz"}, 200, &live)
	if live.Status != "alive" || live.Version != "test" {
		t.Errorf("%+v", live)
	}
	h.ok(request{method: "GET", path: "/readyz"}, 200, nil)
	h.fails(request{method: "GET", path: "/metrics"}, 401, fault.Unauthorized)
	r := h.do(request{method: "GET", path: "/metrics", as: h.token(h.owner)})
	for _, want := range []string{`witan_http_requests_total{route="GET /healthz",status="200"} 1`, "witan_stream_readers 0", "witan_commits_total ", "witan_tail_reads_total "} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

func TestATokenEndsWhenItIsRevoked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var made struct{ ID, Secret, Role string }
	h.ok(request{method: "POST", path: "/api/v1/tokens", session: h.owner.Secret, body: map[string]any{"name": "laptop", "role": "viewer", "lifeSeconds": 60}}, 201, &made)
	if !strings.HasPrefix(made.Secret, "wtn_") || made.Role != "viewer" {
		t.Fatalf("%+v", made)
	}
	h.ok(request{method: "GET", path: "/api/v1/inbox", as: made.Secret}, 200, nil)
	h.fails(request{method: "POST", path: "/api/v1/messages", as: made.Secret, body: `{"text":"help"}`}, 403, fault.Denied)
	h.fails(request{method: "POST", path: "/api/v1/tokens", as: made.Secret, body: `{"name":"more"}`}, 403, fault.Denied)
	h.ok(request{method: "DELETE", path: "/api/v1/tokens/" + made.ID, session: h.owner.Secret}, 204, nil)
	h.fails(request{method: "GET", path: "/api/v1/inbox", as: made.Secret}, 401, fault.Unauthorized)
	h.ok(request{method: "POST", path: "/api/v1/tokens", session: h.owner.Secret, body: map[string]any{"name": "short", "lifeSeconds": 60}}, 201, &made)
	h.db.Clock.Advance(2 * time.Minute)
	h.fails(request{method: "GET", path: "/api/v1/inbox", as: made.Secret}, 401, fault.Unauthorized)
	h.fails(request{method: "POST", path: "/api/v1/tokens", session: h.owner.Secret, body: `{"name":"x","lifeSeconds":5,"expiresAt":"2030-01-01T00:00:00Z"}`}, 400, fault.Invalid)
}

func TestAnOldProofAsksForAFreshOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.db.Clock.Advance(identity.StepUpWindow + time.Second)
	q := request{method: "POST", path: "/api/v1/tokens", session: h.owner.Secret, body: `{"name":"laptop"}`}
	if p := h.fails(q, 403, fault.Denied); !p.StepUp {
		t.Errorf("%+v does not ask for a step-up", p)
	}
	h.ok(request{method: "POST", path: "/api/v1/session/verify", session: h.owner.Secret, body: map[string]string{"password": goodWords}}, 200, nil)
	h.ok(q, 201, nil)
}

// meddler is a journal in which something happens before one of the views.
type meddler struct {
	event.Journal
	left int // views until then; 0 is never
	act  func()
}

func (m *meddler) View(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	if m.left--; m.left == 0 {
		m.act()
	}
	return m.Journal.View(ctx, account, f)
}

// TestAnAnswerThatComesWhileItIsReadHasWords answers the message before each of
// the views in which a request for it reads: what is "answered" has an answer.
func TestAnAnswerThatComesWhileItIsReadHasWords(t *testing.T) {
	t.Parallel()
	m := &meddler{}
	h := newHouse(t, func(d *api.Deps) { m.Journal, d.Journal = d.Journal, m })
	m.act = h.drain
	token, met := h.token(h.owner), 0
	for n := 1; n <= 8; n++ {
		var said struct{ MessageID string }
		h.ok(request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"help","channel":"cli"}`, headers: map[string]string{"Idempotency-Key": fmt.Sprint(n)}}, 202, &said)
		var f struct {
			State   string
			Answers []struct{ Text string }
		}
		m.left = n
		h.ok(request{method: "GET", path: "/api/v1/messages/" + said.MessageID, as: token}, 200, &f)
		if m.left <= 0 {
			met++
		}
		if m.left = 0; (f.State == "answered") != (len(f.Answers) == 1) {
			t.Errorf("answered before view %d, the message is %+v", n, f)
		}
		h.drain()
	}
	if met == 0 || met == 8 {
		t.Errorf("%d of 8 answers came while the message was read", met)
	}
}
