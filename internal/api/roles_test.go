package api_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

var param = regexp.MustCompile(`\{[a-z]+\}`)

// concrete fills a route's parameters with something that does not exist.
func (h *house) concrete(path string) string {
	return param.ReplaceAllStringFunc(path, func(string) string { return h.db.IDs.New().String() })
}

// knock sends a request only as far as its status: streams do not end.
func (h *house) knock(q request) (int, api.Problem) {
	h.t.Helper()
	r := h.newRequest(q)
	c, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	res := must(h.server.Client().Do(r.WithContext(c)))(h.t)
	defer res.Body.Close()
	if res.StatusCode < 400 {
		return res.StatusCode, api.Problem{}
	}
	body := make([]byte, 1<<16)
	n := 0
	for n < len(body) {
		k, err := res.Body.Read(body[n:])
		if n += k; err != nil {
			break
		}
	}
	return res.StatusCode, reply{res.StatusCode, res.Header, body[:n]}.problem(h.t)
}

// TestEveryRouteHoldsToTheRolesTable walks the table as each role, by session
// and by token, and as nobody: what the roles table refuses is refused before
// anything else, and what it allows is not refused for want of a right.
func TestEveryRouteHoldsToTheRolesTable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.person("otto", identity.Operator)
	h.person("vera", identity.Viewer)
	routes := h.api.Routes()
	if len(routes) < 80 {
		t.Fatalf("only %d routes", len(routes))
	}
	type caller struct {
		name, signIn string
		token        bool
	}
	tokens := map[string]string{}
	for _, c := range []caller{{"nobody", "", false}, {"owner", "mira", false}, {"owner's token", "mira", true}, {"operator", "otto", false}, {"operator's token", "otto", true}, {"viewer", "vera", false}, {"viewer's token", "vera", true}} {
		for _, r := range routes {
			var who identity.Principal
			q := request{method: r.Method, path: h.concrete(r.Path)}
			if r.Method != http.MethodGet {
				q.body = "{}"
			}
			if c.signIn != "" { // a session of its own: some routes end it
				in := must(h.deps.Identity.SignIn(ctx(), h.account, c.signIn, secret.New(goodWords), identity.Client{}))(t)
				who, q.session = in.Principal, in.Secret
				if c.token { // one for all: a person has not as many as there are routes
					if tokens[c.signIn] == "" {
						tokens[c.signIn] = h.token(in)
					}
					q.as, q.session = tokens[c.signIn], secret.String{}
					who = must(h.deps.Identity.Authenticate(ctx(), h.account, identity.TokenProof(secret.New(q.as))))(t)
				}
			}
			status, p := h.knock(q)
			want := identity.Authorize(who, r.Act, h.db.Clock.Now())
			gate := status == 401 || status == 403
			switch {
			case want != nil && (status != fault.EdgeOf(fault.KindOf(want)).HTTP || p.StepUp != (strings.Contains(want.Error(), identity.ErrStepUp.Error()))):
				t.Errorf("%s %s: %d (%s), want %v", c.name, r.Pattern(), status, p.Detail, want)
			case want == nil && gate && !credentialRoute(r):
				t.Errorf("%s %s: refused with %d (%s) though the table allows %s", c.name, r.Pattern(), status, p.Detail, r.Act)
			case status >= 500:
				t.Errorf("%s %s: %d %s", c.name, r.Pattern(), status, p.Detail)
			}
		}
	}
}

// credentialRoute reports whether a route itself looks at a credential in the
// body, and so may say 401 for one that is wrong.
func credentialRoute(r api.Route) bool {
	return slices.Contains([]identity.Act{identity.ActSetupClaim, identity.ActResetUse, identity.ActSignIn, identity.ActStepUp}, r.Act) || strings.HasSuffix(r.Path, "/passkeys")
}

func TestEveryRouteNamesAnActThatIsServedOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	seen := map[string]bool{}
	for _, r := range h.api.Routes() {
		row, ok := identity.LookupAct(r.Act)
		if !ok || row.Machine {
			t.Errorf("%s names %q", r.Pattern(), r.Act)
		}
		if r.Doc == "" || !strings.HasSuffix(r.Doc, ".") || seen[r.Pattern()] {
			t.Errorf("%s has no sentence, or stands twice", r.Pattern())
		}
		seen[r.Pattern()] = true
	}
}

func TestAnybodyMayHaltAndOnlySomeResume(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	viewer := h.token(h.person("vera", identity.Viewer))
	var halts struct{ Items []struct{ Scope string } }
	h.ok(request{method: "POST", path: "/api/v1/halt", as: viewer}, 200, &halts)
	if len(halts.Items) != 1 || halts.Items[0].Scope != "account" {
		t.Fatalf("%+v", halts)
	}
	h.fails(request{method: "DELETE", path: "/api/v1/halt", as: viewer}, 403, fault.Denied)
	h.ok(request{method: "DELETE", path: "/api/v1/halt?scope=account", as: h.token(h.owner)}, 200, &halts)
	if len(halts.Items) != 0 {
		t.Errorf("%+v", halts)
	}
}
