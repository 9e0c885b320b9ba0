package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/witan-run/witan/internal/identity"
)

// TestTheDocumentDescribesEveryRoute reads the OpenAPI document as a program
// would: every route is in it, every reference resolves, every schema is one,
// and the answers that the API gives fit what it says.
func TestTheDocumentDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	raw := h.do(request{method: "GET", path: "/api/v1/openapi.json"}).body
	var doc struct {
		OpenAPI string `json:"openapi"`
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Summary     string
			Act         string `json:"x-witan-act"`
			Parameters  []struct {
				Name, In string
				Required bool
			}
			RequestBody *struct{ Content map[string]json.RawMessage }
			Responses   map[string]json.RawMessage
			Security    []map[string][]string
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") || doc.Info.Title == "" || doc.Info.Version != "test" {
		t.Errorf("%s %+v", doc.OpenAPI, doc.Info)
	}
	operations := 0
	for _, item := range doc.Paths {
		operations += len(item)
	}
	routes := h.api.Routes()
	if operations != len(routes) {
		t.Errorf("%d operations for %d routes", operations, len(routes))
	}
	ids := map[string]bool{}
	for _, r := range routes {
		op, ok := doc.Paths[r.Path][strings.ToLower(r.Method)]
		if !ok {
			t.Errorf("%s is missing", r.Pattern())
			continue
		}
		if ids[op.OperationID] || op.OperationID == "" || op.Summary != r.Doc || op.Act != string(r.Act) {
			t.Errorf("%s: %+v", r.Pattern(), op)
		}
		ids[op.OperationID] = true
		if op.Responses[strconv.Itoa(r.Status)] == nil || op.Responses["default"] == nil {
			t.Errorf("%s does not say what it answers", r.Pattern())
		}
		row, _ := identity.LookupAct(r.Act)
		if row.Public != (len(op.Security) == 0) {
			t.Errorf("%s: security %v", r.Pattern(), op.Security)
		}
		for _, name := range regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(r.Path, -1) {
			found := false
			for _, p := range op.Parameters {
				found = found || p.In == "path" && p.Name == name[1] && p.Required
			}
			if !found {
				t.Errorf("%s does not describe {%s}", r.Pattern(), name[1])
			}
		}
		if hasBody := op.RequestBody != nil; hasBody && r.Method == http.MethodGet {
			t.Errorf("%s has a body", r.Pattern())
		}
	}

	for _, ref := range regexp.MustCompile(`"\$ref":"#/components/(schemas|responses)/([A-Za-z]+)"`).FindAllSubmatch(raw, -1) {
		if string(ref[1]) == "schemas" && doc.Components.Schemas[string(ref[2])] == nil || string(ref[1]) == "responses" && string(ref[2]) != "Problem" {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	res, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("witan:openapi", res); err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*jsonschema.Schema{}
	for name := range doc.Components.Schemas {
		s, err := c.Compile("witan:openapi#/components/schemas/" + name)
		if err != nil {
			t.Errorf("%s is no schema: %v", name, err)
		}
		compiled[name] = s
	}

	// What the document says is what comes.
	token := h.token(h.owner)
	h.ask("note.put", "tea")
	h.do(request{method: "POST", path: bridgePath, as: token, body: `{"text":"x","sender":"ines@example.org"}`, headers: map[string]string{"Idempotency-Key": "k"}})
	var said struct{ MessageID, ThreadID string }
	h.ok(request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"help"}`}, 202, &said)
	h.drain()
	h.ok(request{method: "POST", path: "/api/v1/halt", as: token}, 200, nil)
	for path, name := range map[string]string{
		"/healthz": "Health", "/api/v1/inbox": "Inbox", "/api/v1/approvals": "ApprovalList", "/api/v1/effects": "EffectList", "/api/v1/events": "Events",
		"/api/v1/events/1": "Event", "/api/v1/events/1/tree": "Tree", "/api/v1/threads": "ThreadList", "/api/v1/threads/" + said.ThreadID + "/turns": "TurnList",
		"/api/v1/messages/" + said.MessageID: "Message", "/api/v1/runs": "RunList", "/api/v1/contacts": "ContactList", "/api/v1/held": "HeldList", "/api/v1/agents": "AgentList",
		"/api/v1/agents/coordinator": "Agent", "/api/v1/skills": "Catalogue", "/api/v1/people": "PersonList", "/api/v1/tokens": "TokenList", "/api/v1/session": "Who",
		"/api/v1/sessions": "SessionList", "/api/v1/channels": "ChannelList", "/api/v1/halts": "HaltList", "/api/v1/policy": "Policy", "/api/v1/autonomy": "AutonomyList",
		"/api/v1/usage": "SpendList", "/api/v1/usage/calls": "CallList", "/api/v1/parked": "ParkedList", "/api/v1/grants": "GrantList", "/api/v1/nowhere": "Problem",
	} {
		r := h.do(request{method: "GET", path: path, as: token})
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		s := compiled[name]
		if s == nil {
			t.Errorf("%s: there is no schema %s", path, name)
			continue
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s does not fit %s: %v\n%s", path, name, err, r.body)
		}
	}
}
