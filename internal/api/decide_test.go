package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
)

type shownApproval struct {
	ID, Key, State, Digest, Title, Risk, Rule, Words, Answer, Via string
	Arguments                                                     json.RawMessage
	EffectiveAt                                                   time.Time
	Asks, Reasons                                                 []string
}

// open returns the one open approval.
func (h *house) openApproval(token string) shownApproval {
	h.t.Helper()
	var inbox struct {
		Approvals []shownApproval
		Waiting   int
	}
	h.ok(request{method: "GET", path: "/api/v1/inbox", as: token}, 200, &inbox)
	if len(inbox.Approvals) != 1 || inbox.Waiting != 1 {
		h.t.Fatalf("inbox %+v", inbox)
	}
	return inbox.Approvals[0]
}

func TestAnApprovalIsAnsweredForExactlyWhatWasShown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	effect := h.ask("note.put", "buy tea")
	a := h.openApproval(token)
	if a.Title != "Put buy tea" || a.Risk != "medium" || a.Words != "because" || len(a.Reasons) == 0 || !strings.Contains(string(a.Arguments), "buy tea") {
		t.Fatalf("%+v", a)
	}
	var byKey shownApproval
	if h.ok(request{method: "GET", path: "/api/v1/approvals/" + strings.ToLower(a.Key), as: token}, 200, &byKey); byKey.ID != a.ID {
		t.Errorf("by its key: %+v", byKey)
	}
	answer := "/api/v1/approvals/" + a.Key + "/answer"
	// Another digest changes nothing, and says what is live.
	p := h.fails(request{method: "POST", path: answer, as: token, body: map[string]string{"answer": "allow", "digest": strings.Repeat("0", 64)}}, 409, fault.Conflict)
	if p.Live == nil || p.Live.Digest != a.Digest || p.Live.State != "open" {
		t.Errorf("live is %+v", p.Live)
	}
	h.fails(request{method: "POST", path: answer, as: token, body: map[string]string{"answer": "maybe", "digest": a.Digest}}, 400, fault.Invalid)
	h.fails(request{method: "POST", path: answer, as: h.token(h.person("vera", identity.Viewer)), body: map[string]string{"answer": "allow", "digest": a.Digest}}, 403, fault.Denied)
	// A button press may be taken back for a moment.
	var done shownApproval
	h.ok(request{method: "POST", path: answer, session: h.owner.Secret, body: map[string]string{"answer": "allow", "digest": a.Digest}}, 200, &done)
	if done.State != "allowed" || done.Via != "console" || done.EffectiveAt.Sub(h.db.Clock.Now()) != 5*time.Second {
		t.Fatalf("%+v", done)
	}
	h.ok(request{method: "POST", path: "/api/v1/approvals/" + a.ID + "/withdraw", session: h.owner.Secret}, 200, &done)
	if done.State != "open" {
		t.Fatalf("%+v", done)
	}
	// Over the API it is meant.
	a = h.openApproval(token)
	h.ok(request{method: "POST", path: answer, as: token, body: map[string]string{"answer": "allow", "digest": a.Digest}}, 200, &done)
	if done.Via != "api" || done.EffectiveAt.After(h.db.Clock.Now()) {
		t.Fatalf("%+v", done)
	}
	p = h.fails(request{method: "POST", path: answer, as: token, body: map[string]string{"answer": "deny", "digest": a.Digest}}, 409, fault.Conflict)
	if p.Live == nil || p.Live.State != "allowed" {
		t.Errorf("live is %+v", p.Live)
	}
	// The act ends in doubt, and a person settles it.
	if err := h.deps.Skills.Work(ctx(), h.account, effect.ID); err != nil {
		t.Fatal(err)
	}
	var inbox struct {
		Effects []struct{ ID, State, Skill string }
	}
	h.ok(request{method: "GET", path: "/api/v1/inbox", as: token}, 200, &inbox)
	if len(inbox.Effects) != 1 || inbox.Effects[0].State != "unknown" {
		t.Fatalf("%+v", inbox)
	}
	var settled struct {
		State string
		Steps []struct{ State string }
	}
	h.fails(request{method: "POST", path: "/api/v1/effects/" + effect.ID.String() + "/settle", as: token, body: `{"word":"perhaps"}`}, 400, fault.Invalid)
	h.ok(request{method: "POST", path: "/api/v1/effects/" + effect.ID.String() + "/settle", as: token, body: `{"word":"happened","note":"I looked"}`}, 200, &settled)
	if settled.State != "confirmed" || len(settled.Steps) != 7 {
		t.Errorf("%+v", settled)
	}
	h.fails(request{method: "POST", path: "/api/v1/effects/" + effect.ID.String() + "/settle", as: token, body: `{"word":"did_not"}`}, 409, fault.Conflict)
}

func TestAHighRiskAsksABrowsersPersonForAFreshProof(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ask("note.burn", "the house")
	token := h.token(h.owner)
	h.db.Clock.Advance(identity.StepUpWindow + time.Second)
	a := h.openApproval(token)
	allow := request{method: "POST", path: "/api/v1/approvals/" + a.ID + "/answer", session: h.owner.Secret, body: map[string]string{"answer": "allow", "digest": a.Digest}}
	if p := h.fails(allow, 403, fault.Denied); !p.StepUp {
		t.Errorf("%+v", p)
	}
	forged := allow
	forged.body = map[string]string{"answer": "allow", "digest": a.Digest, "stepUp": "AAAAAAAAAAAAAAAAAAAAAAAA"}
	if p := h.fails(forged, 403, fault.Denied); !p.StepUp || p.Field != "stepUp" {
		t.Errorf("%+v", p)
	}
	// To deny needs no proof: no is safe.
	h.ok(request{method: "POST", path: "/api/v1/session/verify", session: h.owner.Secret, body: map[string]string{"password": goodWords}}, 200, nil)
	h.ok(allow, 200, nil)
}

func TestGrantsAreMadeReadAndEnded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	spec := map[string]any{"skill": "note.put", "targets": []string{"wall"}, "arguments": map[string]string{"/text": "**", "/to": "wall"}, "access": []string{"delete"}, "maxRisk": "medium", "uses": 2,
		"expiresAt": h.db.Clock.Now().Add(time.Hour).UnixMicro()}
	var g struct {
		ID, Holder, Sentence string
		InForce              bool
	}
	h.ok(request{method: "POST", path: "/api/v1/grants", as: token, body: map[string]any{"holder": "agent:coordinator", "spec": spec}}, 201, &g)
	if !g.InForce || g.Sentence == "" {
		t.Fatalf("%+v", g)
	}
	spec["acess"] = 1
	if p := h.fails(request{method: "POST", path: "/api/v1/grants", as: token, body: map[string]any{"holder": "agent:coordinator", "spec": spec}}, 400, fault.Invalid); p.Field != "spec.acess" {
		t.Errorf("%+v", p)
	}
	h.ok(request{method: "DELETE", path: "/api/v1/grants/" + g.ID, as: token}, 204, nil)
	h.fails(request{method: "DELETE", path: "/api/v1/grants/" + g.ID, as: token}, 409, fault.Conflict)
	var all struct {
		Items []struct{ Ended string }
	}
	if h.ok(request{method: "GET", path: "/api/v1/grants?all=true", as: token}, 200, &all); len(all.Items) != 1 || all.Items[0].Ended != "revoked" {
		t.Errorf("%+v", all)
	}
}

func TestPolicyAndAutonomyAreVersioned(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.owner.Secret
	var v struct {
		Version  int
		Document json.RawMessage
	}
	h.ok(request{method: "GET", path: "/api/v1/policy", session: in}, 200, &v)
	if v.Version != 1 {
		t.Fatalf("%+v", v)
	}
	next := map[string]any{"base": 1, "text": "default: ask\nrules:\n  - {id: 1, effect: deny, skill: [note.burn]}\n", "comment": "no fire"}
	h.ok(request{method: "PUT", path: "/api/v1/policy", session: in, body: next}, 200, &v)
	if v.Version != 2 || !strings.Contains(string(v.Document), "note.burn") {
		t.Fatalf("%+v", v)
	}
	h.fails(request{method: "PUT", path: "/api/v1/policy", session: in, body: map[string]any{"base": 1, "text": "default: deny\n"}}, 409, fault.Conflict)
	h.fails(request{method: "PUT", path: "/api/v1/policy", session: in, body: map[string]any{"base": 2, "text": "fallback: deny\n"}}, 400, fault.Invalid)
	h.fails(request{method: "PUT", path: "/api/v1/policy", session: in, body: map[string]any{"base": 2}}, 400, fault.Invalid)
	var versions struct{ Items []struct{ Version int } }
	if h.ok(request{method: "GET", path: "/api/v1/policy/versions", session: in}, 200, &versions); len(versions.Items) != 2 || versions.Items[0].Version != 2 {
		t.Errorf("%+v", versions)
	}
	var dials struct {
		Items []struct {
			Scope, Band string
			Value       int
		}
	}
	if h.ok(request{method: "GET", path: "/api/v1/autonomy", session: in}, 200, &dials); len(dials.Items) != 1 || dials.Items[0].Value != 75 || dials.Items[0].Band != "approval-required" {
		t.Errorf("%+v", dials)
	}
	h.ok(request{method: "PUT", path: "/api/v1/autonomy", session: in, body: `{"scope":"agent:coordinator","value":0}`}, 200, &dials)
	if len(dials.Items) != 2 {
		t.Errorf("%+v", dials)
	}
	h.fails(request{method: "PUT", path: "/api/v1/autonomy", session: in, body: `{"scope":"account","value":101}`}, 400, fault.Invalid)
	h.fails(request{method: "PUT", path: "/api/v1/autonomy", session: in, body: `{"scope":"account"}`}, 400, fault.Invalid)
}
