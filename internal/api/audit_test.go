package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
)

type verdictLine struct {
	State  string
	Events int64
	Result *struct {
		Head int64
		Hash string
	}
	Error *struct{ Kind string }
}

func lastLine(t *testing.T, body []byte) (v verdictLine) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func TestTheChainIsVerifiedSignedAndExported(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	tip := h.tip()
	r := h.do(request{method: "GET", path: "/api/v1/audit/verify", as: token})
	if v := lastLine(t, r.body); r.status != 200 || v.State != "verified" || v.Result.Head != tip.Seq || len(v.Result.Hash) != 64 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	sign := h.do(request{method: "POST", path: "/api/v1/audit/checkpoint", as: token})
	if sign.status != 200 || bytes.Count(sign.body, []byte("\n")) != 1 {
		t.Fatalf("%d %s", sign.status, sign.body) // one line of a checkpoint file
	}
	with := func(checkpoint string) verdictLine {
		return lastLine(t, h.do(request{method: "POST", path: "/api/v1/audit/verify", as: token, body: `{"checkpoints":[` + checkpoint + `]}`}).body)
	}
	if v := with(string(sign.body)); v.State != "verified" {
		t.Errorf("%+v", v)
	}
	var c map[string]any
	if err := json.Unmarshal(sign.body, &c); err != nil {
		t.Fatal(err)
	}
	c["seq"] = 1
	if v := with(string(must(json.Marshal(c))(t))); v.State != "broken" || v.Error == nil {
		t.Errorf("a changed checkpoint: %+v", v)
	}
	out := h.do(request{method: "GET", path: "/api/v1/audit/export?from=1&until=3&open=true", as: token})
	z := must(gzip.NewReader(bytes.NewReader(out.body)))(t)
	n := 0
	for s := bufio.NewScanner(z); s.Scan(); n++ {
		var e struct{ Seq int64 }
		if err := json.Unmarshal(s.Bytes(), &e); err != nil || e.Seq != int64(n+1) {
			t.Errorf("line %d: %v %s", n, err, s.Text())
		}
	}
	if n != 3 || out.header.Get("Content-Type") != "application/gzip" {
		t.Errorf("%d lines as %s", n, out.header.Get("Content-Type"))
	}
	h.fails(request{method: "GET", path: "/api/v1/audit/export", as: h.token(h.person("otto", identity.Operator))}, 403, fault.Denied)
}

func TestABackupIsMadeInANewFolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token, dir := h.token(h.owner), filepath.Join(t.TempDir(), "backup")
	var made struct {
		Dir, Engine string
		Files       int
		Digests     map[string]string
	}
	h.ok(request{method: "POST", path: "/api/v1/backup", as: token, body: map[string]string{"to": dir}}, 200, &made)
	if made.Files == 0 || made.Files != len(made.Digests) || made.Engine != "sqlite" || made.Dir != dir {
		t.Errorf("%+v", made)
	}
	if r := h.do(request{method: "POST", path: "/api/v1/backup", as: token, body: map[string]string{"to": dir}}); r.status < 400 {
		t.Errorf("a second one in the same folder: %d", r.status)
	}
}

func TestAgentsSkillsAndRoutesAreChangedByPeople(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	yaml := func(body string) request {
		return request{method: "PUT", path: "/api/v1/agents/scribe", as: token, body: body, headers: map[string]string{"Content-Type": "application/yaml"}}
	}
	var a struct {
		Name, YAML string
		Version    int
		Skills     []string
	}
	h.ok(yaml("name: scribe\ndescription: Writes.\nskills: [note.put]\n"), 200, &a)
	if a.Version != 1 || len(a.Skills) != 1 || !strings.HasPrefix(a.YAML, "name: scribe") {
		t.Fatalf("%+v", a)
	}
	h.ok(yaml("name: scribe\ndescription: Writes more.\n"), 200, &a)
	if a.Version != 2 {
		t.Errorf("%+v", a)
	}
	h.ok(request{method: "GET", path: "/api/v1/agents/scribe?version=1", as: token}, 200, &a)
	if a.Version != 1 {
		t.Errorf("%+v", a)
	}
	h.fails(yaml("name: other\ndescription: x\n"), 400, fault.Invalid)
	if p := h.fails(yaml("name: scribe\ndescription: x\ncolour: red\n"), 400, fault.Invalid); !strings.Contains(p.Detail+p.Field, "colour") {
		t.Errorf("%+v", p)
	}
	h.fails(request{method: "GET", path: "/api/v1/agents/nobody", as: token}, 404, fault.NotFound)

	var cat struct {
		Number int
		Items  []struct {
			Name string
			Off  bool
		}
	}
	h.ok(request{method: "PUT", path: "/api/v1/skills", as: token, body: `{"switch":[{"skill":"note.put","on":false}]}`}, 200, &cat)
	if cat.Number != 2 || len(cat.Items) != 2 || cat.Items[0].Off == cat.Items[1].Off {
		t.Errorf("%+v", cat)
	}
	h.ok(request{method: "GET", path: "/api/v1/skills?number=1", as: token}, 200, &cat)
	if cat.Number != 1 || cat.Items[0].Off || cat.Items[1].Off {
		t.Errorf("%+v", cat)
	}
	h.fails(request{method: "PUT", path: "/api/v1/skills", as: token, body: `{"switch":[{"skill":"no.such","on":false}]}`}, 404, fault.NotFound)

	var routes struct {
		Items []struct{ Kind, Key, Agent string }
	}
	h.ok(request{method: "PUT", path: "/api/v1/routes", as: token, body: `{"kind":"channel","key":"bridge","agent":"scribe"}`}, 200, &routes)
	if len(routes.Items) != 1 || routes.Items[0].Agent != "scribe" {
		t.Errorf("%+v", routes)
	}
	h.fails(request{method: "PUT", path: "/api/v1/routes", as: token, body: `{"kind":"channel","key":"bridge","agent":"nobody"}`}, 404, fault.NotFound)
	h.ok(request{method: "DELETE", path: "/api/v1/routes?kind=channel&key=bridge", as: token}, 200, &routes)
	if len(routes.Items) != 0 {
		t.Errorf("%+v", routes)
	}
}
