package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store"
)

// neighbour fills another account on the same rows with one of everything, and
// returns the ids of it.
func (h *house) neighbour() map[string]id.ID {
	h.t.Helper()
	a, _, err := h.deps.Identity.EnsureAccount(ctx(), "neighbour", "Neighbour")
	if err != nil {
		h.t.Fatal(err)
	}
	other := *h
	other.account = a.ID
	link := must(h.deps.Identity.NewSetupLink(ctx(), a.ID))(h.t)
	other.owner = must(h.deps.Identity.ClaimWithPassword(ctx(), a.ID, identity.Claim{Code: link.Code, Name: "Nils", SignIn: "nils"}, secret.New(goodWords)))(h.t)
	registry, err := testSkills()
	if err != nil {
		h.t.Fatal(err)
	}
	must(h.deps.Skills.Seed(ctx(), a.ID, registry.Entries()))(h.t)
	src := must(agent.ReadSource("c.yaml", []byte("name: coordinator\ndescription: Answers.\nplain_commands: true\nskills: [note.put]\n")))(h.t)
	must(h.agents.Define(ctx(), a.ID, []agent.Source{src}, "system:start"))(h.t)
	ids := map[string]id.ID{"account": a.ID, "person": other.owner.Principal.PersonID, "session": other.owner.Session.ID}
	t, _, err := h.deps.Identity.CreateToken(ctx(), a.ID, other.owner.Principal, identity.NewTokenRequest{Name: "theirs"})
	if err != nil {
		h.t.Fatal(err)
	}
	ids["token"] = t.ID
	e := other.ask("note.put", "tea")
	ids["effect"], ids["approval"] = e.ID, e.Approval
	acc := must(h.deps.Intake.Accept(ctx(), h.deps.Speakers["cli"](api.Said{Account: a.ID, PersonID: other.owner.Principal.PersonID, Name: "Nils", Text: "help"})))(h.t)
	ids["message"], ids["thread"] = acc.MessageID, acc.ThreadID
	ids["run"] = must(h.deps.Dispatch.Fate(ctx(), a.ID, acc.MessageID))(h.t).RunID
	ids["event"] = must(h.deps.Dispatch.Fate(ctx(), a.ID, acc.MessageID))(h.t).EventID
	ids["contact"] = must(h.deps.Dispatch.AddContact(ctx(), a.ID, other.owner.Principal.PersonID, dispatch.NewContact{Name: "Ines"}))(h.t).ID
	ids["grant"] = must(h.deps.Policy.MakeGrant(ctx(), a.ID, other.owner.Principal.PersonID, "agent:coordinator", policy.GrantSpec{Skill: "note.put", Targets: []string{"wall"},
		Arguments: map[string]string{"/text": "tea", "/to": "wall"}, Access: []policy.Access{policy.AccessDelete}, MaxRisk: policy.RiskMedium, Uses: 1, ExpiresAt: h.db.Clock.Now().Add(3600e9).UnixMicro()}))(h.t).ID
	other.drainAll()
	return ids
}

// drainAll works off the runs of whichever account.
func (h *house) drainAll() { h.drain() }

func (h *house) tipOf(account id.ID) (tip bus.Tip) {
	h.t.Helper()
	if err := h.db.Journal.View(ctx(), account, func(tx event.Tx) (err error) { tip, _, err = store.HeadOf(tx); return err }); err != nil {
		h.t.Fatal(err)
	}
	return tip
}

// TestAnotherAccountsIDsAreNotFoundAnywhere takes one of everything that a
// neighbour has to every route that takes an id (INV-9).
func TestAnotherAccountsIDsAreNotFoundAnywhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	theirs := h.neighbour()
	before := h.tipOf(theirs["account"])
	bodies := map[string]any{ // so that nothing is refused for its form first
		"POST /api/v1/approvals/{id}/answer": map[string]string{"answer": "allow", "digest": strings.Repeat("a", 64)}, "POST /api/v1/effects/{id}/settle": map[string]string{"word": "happened"},
		"PATCH /api/v1/contacts/{id}": map[string]any{"version": 1, "name": "Mine"}, "POST /api/v1/contacts/{id}/addresses": map[string]string{"channel": "bridge", "address": "x@y"},
		"POST /api/v1/held/{id}": map[string]string{"action": "release"}, "POST /api/v1/deliveries/{id}": map[string]string{"action": "arrived"},
		"PATCH /api/v1/people/{id}": map[string]string{"name": "Mine"}, "PATCH /api/v1/passkeys/{id}": map[string]string{"name": "Mine"},
	}
	tried := 0
	for _, r := range h.api.Routes() {
		if !strings.Contains(r.Path, "{id}") {
			continue
		}
		for what, v := range theirs {
			q := request{method: r.Method, path: strings.ReplaceAll(strings.ReplaceAll(r.Path, "{id}", v.String()), "{name}", "bridge"), session: h.owner.Secret, body: bodies[r.Pattern()]}
			if got := h.do(q); got.status != 404 || got.problem(t).Kind != "not_found" {
				t.Errorf("%s with their %s: %d %s", r.Pattern(), what, got.status, got.body)
			}
			tried++
		}
	}
	if tried < 200 {
		t.Errorf("only %d tries", tried)
	}
	for _, q := range []string{"/api/v1/events?correlation=" + theirs["event"].String(), "/api/v1/events?stream=" + theirs["thread"].String(), "/api/v1/effects?run=" + theirs["run"].String(),
		"/api/v1/approvals?run=" + theirs["run"].String(), "/api/v1/runs?thread=" + theirs["thread"].String(), "/api/v1/usage/calls?run=" + theirs["run"].String(), "/api/v1/held?after=" + theirs["message"].String()} {
		var list struct{ Items []json.RawMessage }
		if h.ok(request{method: "GET", path: q, session: h.owner.Secret}, 200, &list); len(list.Items) != 0 {
			t.Errorf("%s shows %d of theirs", q, len(list.Items))
		}
	}
	if p := h.do(request{method: "POST", path: "/api/v1/messages", session: h.owner.Secret, body: map[string]any{"text": "hi", "threadId": theirs["thread"]}}); p.status != 404 {
		t.Errorf("their thread took a message: %d", p.status)
	}
	// Their credentials open nothing here.
	s := must(h.deps.Identity.SignIn(ctx(), theirs["account"], "nils", secret.New(goodWords), identity.Client{}))(t)
	if r := h.do(request{method: "GET", path: "/api/v1/inbox", session: s.Secret}); r.status != 401 {
		t.Errorf("their session: %d", r.status)
	}
	if after := h.tipOf(theirs["account"]); after.Seq != before.Seq+1 { // the sign-in
		t.Errorf("their journal went from %d to %d", before.Seq, after.Seq)
	}
}

// TestNoSecretStandsInAnAnswerOrTheLog sends secrets in all the ways that a
// client can, right and wrong, and looks for them afterwards (INV-12).
func TestNoSecretStandsInAnAnswerOrTheLog(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	const canary = "canary-7f3a9c21e5"
	var answers strings.Builder
	send := func(q request) {
		r := h.do(q)
		answers.WriteString(string(r.body))
		for k, v := range r.header {
			if k != "Set-Cookie" {
				answers.WriteString(k + strings.Join(v, ","))
			}
		}
	}
	for _, q := range []request{
		{method: "POST", path: "/api/v1/session", body: `{"signInName":"mira","password":"` + canary + `"}`},
		{method: "POST", path: "/api/v1/session", body: `{"signInName":"` + canary + `","password":"` + canary + `"}`},
		{method: "POST", path: "/api/v1/session", body: `{"signInName":"mira","password":["` + canary + `"]}`},
		{method: "POST", path: "/api/v1/session", body: `{"signInName":"mira","password":"` + canary + `"`},
		{method: "POST", path: "/api/v1/session", body: canary},
		{method: "POST", path: "/api/v1/session", body: `{"signInName":"mira","password":"` + canary + `","x":"` + canary + `"}`},
		{method: "POST", path: "/api/v1/setup", body: `{"code":"` + canary + `","name":"x","signInName":"x","password":"` + canary + `"}`},
		{method: "POST", path: "/api/v1/reset", body: `{"code":"` + canary + `","password":"` + canary + `"}`},
		{method: "PUT", path: "/api/v1/password", session: h.owner.Secret, body: `{"password":"` + canary[:6] + `"}`},
		{method: "POST", path: "/api/v1/session/verify", session: h.owner.Secret, body: `{"password":"` + canary + `"}`},
		{method: "POST", path: "/auth/passkey/register/begin", body: `{"code":"` + canary + `"}`},
		{method: "POST", path: "/auth/passkey/login/finish", body: `{"credential":{"id":"` + canary + `"}}`, headers: map[string]string{"Cookie": "witan-ceremony=" + canary}},
		{method: "POST", path: "/auth/passkey/register/finish", body: `{"code":"` + canary + `","credential":"` + canary + `"}`},
		{method: "GET", path: "/api/v1/inbox", as: "wtn_" + canary},
		{method: "GET", path: "/api/v1/inbox", session: secret.New(canary)},
		{method: "GET", path: "/api/v1/inbox", headers: map[string]string{"Authorization": "Basic " + canary}},
		{method: "GET", path: "/api/v1/stream?token=wtn_" + canary},
		{method: "GET", path: "/api/v1/inbox?token=" + canary, as: token},
		{method: "GET", path: "/api/v1/events?limit=" + canary, as: token},
		{method: "GET", path: "/api/v1/events/" + canary, as: token},
		{method: "POST", path: "/api/v1/approvals/AP-1/answer", as: token, body: `{"answer":"allow","digest":"x","stepUp":"` + canary + `"}`},
		{method: "POST", path: bridgePath, body: `{"text":"` + canary + `"}`, headers: map[string]string{"Witan-Signature": "v1=" + canary, "Witan-Timestamp": canary, "Idempotency-Key": "k"}},
	} {
		send(q)
	}
	for name, text := range map[string]string{"an answer": answers.String(), "the log": h.log.String()} {
		for _, s := range []string{canary, token, h.owner.Secret.Reveal(), signing} {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("a secret stands in %s: …%s", name, text[max(0, i-200):i])
			}
		}
	}
	if !strings.Contains(h.log.String(), `"msg":"request"`) {
		t.Error("the access log is empty: nothing was proven")
	}
}

func TestRequestsEndWithTheirTimeout(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) {
		d.Limits.Timeout = 300 * time.Millisecond
		d.Unpark = func(ctx context.Context, _ id.ID, _, _ string, _ id.ID, _ bool) error { <-ctx.Done(); return ctx.Err() }
	})
	r := h.do(request{method: "POST", path: "/api/v1/parked/unpark", session: h.owner.Secret, body: map[string]any{"subscriber": "x", "stream": h.account}})
	if p := r.problem(t); r.status != 504 || p.Kind != "timeout" {
		t.Errorf("%d %+v", r.status, p)
	}
}
