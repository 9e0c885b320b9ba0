package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store/storetest"
)

type wireTask struct {
	ID, Key, WorkspaceID, Status, Title, Body, Assignee, Why, ParentID string
	SortOrder                                                          float64
	AllowAllCommands                                                   bool
	Revision                                                           int64
	Waits                                                              int
}

// place is a workspace over HTTP.
type place struct {
	*house
	token string
	id    string
}

func (h *house) place(name string) *place {
	h.t.Helper()
	p := &place{house: h, token: h.token(h.owner)}
	var out struct{ Workspace struct{ ID string } }
	h.ok(request{method: "POST", path: "/api/v1/workspaces", as: p.token, body: map[string]any{"workspace": map[string]any{"name": name, "description": "brief"}}}, 201, &out)
	p.id = out.Workspace.ID
	return p
}

func (p *place) path(parts ...string) string {
	return "/api/v1/workspaces/" + p.id + "/tasks" + strings.Join(parts, "")
}

func (p *place) make(title string) wireTask {
	p.t.Helper()
	var out struct{ Task wireTask }
	p.ok(request{method: "POST", path: p.path(), as: p.token, body: map[string]any{"task": map[string]any{"title": title, "body": "do it", "assignee": "agent"}}}, 201, &out)
	return out.Task
}

func (p *place) change(method, path string, body string, status int) wireTask {
	p.t.Helper()
	var out struct{ Task wireTask }
	p.ok(request{method: method, path: path, as: p.token, body: body}, status, &out)
	return out.Task
}

func TestATaskLivesOverHTTPInThePeersShapes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		p := houseOn(t, db).place("Billing")
		task := p.make("First")
		at := p.path("/", task.ID)
		if task.Key != "BIL-1" || task.Status != "notstarted" || task.Why != "queued" || task.SortOrder != 1 {
			t.Fatalf("%+v", task)
		}
		for _, c := range []struct {
			method, path, body string
			check              func(wireTask) bool
		}{
			{"PATCH", "/status", `{"status":{"value":"ongoing"}}`, func(w wireTask) bool { return w.Status == "ongoing" && w.Why == "running" }},
			{"PATCH", "/status", `{"status":{"value":"completed"}}`, func(w wireTask) bool { return w.Status == "completed" }},
			{"PATCH", "/status", `{"status":{"value":"ongoing"}}`, func(w wireTask) bool { return w.Status == "ongoing" }},
			{"PATCH", "/status", `{"status":{"value":"notstarted"}}`, func(w wireTask) bool { return w.Status == "notstarted" }},
			{"PATCH", "/order", `{"order":{"value":1.5}}`, func(w wireTask) bool { return w.SortOrder == 1.5 }},
			{"PATCH", "/assignee", `{"assignee":{"value":"human"}}`, func(w wireTask) bool { return w.Assignee == "human" && w.Why == "person" }},
			{"PATCH", "/allow_all", `{"allowAll":{"value":true}}`, func(w wireTask) bool { return w.AllowAllCommands }},
			{"PUT", "/scheduled", `{"task":{"cronSchedule":"0 9 * * 1"}}`, func(w wireTask) bool {
				return w.Status == "cron" && w.Title == "First" && w.Body == "do it" && w.Assignee == "human"
			}},
			{"PUT", "/scheduled", `{"task":{"cronSchedule":""}}`, func(w wireTask) bool { return w.Status == "notstarted" }},
			{"PATCH", "", `{"task":{"title":"Renamed"}}`, func(w wireTask) bool { return w.Title == "Renamed" && w.Body == "do it" }},
		} {
			if got := p.change(c.method, at+c.path, c.body, 200); !c.check(got) {
				t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, got)
			}
		}
		var message struct {
			Message struct {
				Sender, Text string
				Number       int
			}
		}
		p.ok(request{method: "POST", path: at + "/reply", as: p.token, body: `{"reply":{"text":"how far are you?"}}`}, 201, &message)
		if message.Message.Sender != "human" || message.Message.Number != 1 {
			t.Errorf("%+v", message)
		}
		var thread struct{ Messages []struct{ Text string } }
		p.ok(request{method: "GET", path: at + "/messages?newest=true&limit=1", as: p.token}, 200, &thread)
		if len(thread.Messages) != 1 || thread.Messages[0].Text != "how far are you?" {
			t.Errorf("%+v", thread)
		}
		var history struct{ Items []struct{ Type string } }
		p.ok(request{method: "GET", path: at + "/history", as: p.token}, 200, &history)
		if len(history.Items) < 8 || history.Items[0].Type != "task.created" {
			t.Errorf("%+v", history)
		}
		if got := p.change("GET", "/api/v1/tasks/BIL-1", "", 200); got.ID != task.ID {
			t.Errorf("BIL-1 is %+v", got)
		}
		var counts struct{ Counts map[string]int }
		p.ok(request{method: "GET", path: p.path("/counts"), as: p.token}, 200, &counts)
		if counts.Counts["notstarted"] != 1 || len(counts.Counts) != 6 {
			t.Errorf("%v", counts)
		}
		p.ok(request{method: "POST", path: p.path(), as: p.token, body: `{"task":{"title":"As older clients say it","createdBy":"human"}}`}, 201, nil)
		p.fails(request{method: "POST", path: p.path(), as: p.token, body: `{"task":{"title":"Forged","createdBy":"agent"}}`}, 400, fault.Invalid)
		p.ok(request{method: "DELETE", path: at, as: p.token}, 204, nil)
		if status, problem := p.knock(request{method: "GET", path: at, as: p.token}); status != 404 {
			t.Errorf("%d %s", status, problem.Detail)
		}
	})
}

func TestAForbiddenMoveAndAStaleFieldSayWhich(t *testing.T) {
	t.Parallel()
	p := newHouse(t).place("Rules")
	task := p.make("one")
	at := p.path("/", task.ID)
	p.change("PATCH", at+"/status", `{"status":{"value":"rejected"}}`, 200)
	status, problem := p.knock(request{method: "PATCH", path: at + "/status", as: p.token, body: `{"status":{"value":"completed"}}`})
	if status != 409 || problem.Field != "status" || problem.Fix == "" {
		t.Errorf("%d %+v", status, problem)
	}
	if status, problem := p.knock(request{method: "PATCH", path: at + "/status", as: p.token, body: `{"status":{"value":"banana"}}`}); status != 400 || problem.Field != "status" {
		t.Errorf("%d %+v", status, problem)
	}
	p.change("PATCH", at, `{"task":{"title":"two"},"revision":1}`, 200)
	p.change("PATCH", at, `{"task":{"body":"other"},"revision":1}`, 200)
	status, problem = p.knock(request{method: "PATCH", path: at, as: p.token, body: `{"task":{"title":"three"},"revision":1}`})
	if status != 409 || problem.Field != "title" {
		t.Errorf("%d %+v", status, problem)
	}
}

// TestEveryTaskRouteAnswersAlikeForWhatIsNotThere walks the table: an id of
// nothing, a task of another workspace and a word that is no id get one answer,
// byte for byte but for the number of the request.
func TestEveryTaskRouteAnswersAlikeForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	here, there := h.place("Here"), h.place("There")
	foreign := there.make("there")
	bodies := map[string]string{
		"/status": `{"status":{"value":"ongoing"}}`, "/order": `{"order":{"value":2}}`, "/assignee": `{"assignee":{"value":"agent"}}`,
		"/allow_all": `{"allowAll":{"value":true}}`, "/scheduled": `{"task":{"title":"x"}}`, "/reply": `{"reply":{"text":"x"}}`,
		"/permission": `{"requestId":"r","behavior":"allow"}`, "/place": `{}`, "": `{"task":{"title":"x"}}`,
	}
	walked := 0
	for _, r := range h.api.Routes() {
		_, rest, ok := strings.Cut(r.Path, "/tasks/{task}")
		if !ok {
			continue
		}
		walked++
		answers := map[string]bool{}
		for _, task := range []string{h.db.IDs.New().String(), foreign.ID, "nonsense"} {
			q := request{method: r.Method, path: here.path("/", task, strings.ReplaceAll(rest, "{blocker}", foreign.ID)), as: here.token}
			if r.Method != http.MethodGet && r.Method != http.MethodDelete && !strings.Contains(rest, "{blocker}") {
				q.body = bodies[rest]
			}
			status, problem := h.knock(q)
			problem.Instance = ""
			text, err := json.Marshal(problem)
			if err != nil || status != 404 {
				t.Errorf("%s %s: %d %s", r.Method, q.path, status, text)
			}
			answers[string(text)] = true
		}
		if len(answers) != 1 {
			t.Errorf("%s: %d different answers: %v", r.Pattern(), len(answers), answers)
		}
	}
	if walked < 15 {
		t.Errorf("only %d routes were walked", walked)
	}
}

func TestAWorkspaceOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.place("Customer support")
	one := "/api/v1/workspaces/" + p.id
	var w struct {
		Token     string
		Workspace struct {
			Prefix, Name, Description, TokenLastFour string
			ArchivedAt                               *string
		}
	}
	h.ok(request{method: "PATCH", path: one, as: p.token, body: `{"workspace":{"name":"Support"}}`}, 200, &w)
	if w.Workspace.Name != "Support" || w.Workspace.Description != "brief" || w.Workspace.Prefix != "CUS" {
		t.Errorf("one field blanks another: %+v", w)
	}
	h.ok(request{method: "POST", path: one + "/token", as: p.token}, 200, &w)
	if !strings.HasPrefix(w.Token, "wtw_") || !strings.HasSuffix(w.Token, w.Workspace.TokenLastFour) {
		t.Errorf("%+v", w)
	}
	var fork struct{ Workspace struct{ ID, ForkOfID string } }
	h.ok(request{method: "POST", path: one + "/fork", as: p.token}, 201, &fork)
	if status, problem := h.knock(request{method: "POST", path: one + "/archive", as: p.token}); status != 409 || fork.Workspace.ForkOfID != p.id {
		t.Errorf("%d %+v", status, problem)
	}
	h.ok(request{method: "POST", path: "/api/v1/workspaces/" + fork.Workspace.ID + "/merge", as: p.token}, 200, &w)
	h.ok(request{method: "POST", path: one + "/archive", as: p.token}, 200, &w)
	status, problem := h.knock(request{method: "POST", path: p.path(), as: p.token, body: `{"task":{"title":"x"}}`})
	if w.Workspace.ArchivedAt == nil || status != 409 || !strings.Contains(problem.Detail, "archived") {
		t.Errorf("%d %+v", status, problem)
	}
	var list struct{ Workspaces []struct{ ID string } }
	h.ok(request{method: "GET", path: "/api/v1/workspaces", as: p.token}, 200, &list)
	if len(list.Workspaces) != 0 {
		t.Error("an archived workspace is listed")
	}
	viewer := h.token(h.person("vera", identity.Viewer))
	h.ok(request{method: "GET", path: one, as: viewer}, 200, &w)
	if status, _ := h.knock(request{method: "POST", path: one + "/unarchive", as: viewer}); status != 403 {
		t.Errorf("a viewer unarchives: %d", status)
	}
}

// TestTwoFieldsOverHTTPLoseNothing is the peer's race: a status and an order at
// the same time, both acknowledged; it lost one of them in most rounds.
func TestTwoFieldsOverHTTPLoseNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		p := houseOn(t, db).place("Race")
		at := p.path("/", p.make("one").ID)
		for i := range 50 {
			to := []string{"completed", "notstarted"}[i%2]
			var wg sync.WaitGroup
			wg.Go(func() { p.change("PATCH", at+"/status", fmt.Sprintf(`{"status":{"value":%q}}`, to), 200) })
			wg.Go(func() { p.change("PATCH", at+"/order", fmt.Sprintf(`{"order":{"value":%d}}`, 10+i), 200) })
			wg.Wait()
			if got := p.change("GET", at, "", 200); got.Status != to || got.SortOrder != float64(10+i) {
				t.Fatalf("round %d: %s at %v", i, got.Status, got.SortOrder)
			}
		}
	})
}
