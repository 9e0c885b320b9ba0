package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/store/storetest"
)

type wirePublish struct {
	ID       string
	Repeated bool
	Stopped  string
	Tasks    []struct{ TaskID, Key, WorkspaceID string }
	Passed   []struct{ Reason string }
}

func (p *place) signal(name string) string {
	p.t.Helper()
	var out struct{ Event struct{ ID, Name string } }
	p.ok(request{method: "POST", path: "/api/v1/signals", as: p.token, body: `{"event":{"name":"` + name + `","payloadGuidelines":"Say what happened"}}`}, 201, &out)
	return out.Event.ID
}

func (p *place) trigger(signal, fields string) string {
	p.t.Helper()
	var out struct{ Trigger struct{ ID string } }
	p.ok(request{method: "POST", path: "/api/v1/signals/" + signal + "/triggers", as: p.token,
		body: `{"trigger":{"workspaceId":"` + p.id + `","title":"Review"` + fields + `}}`}, 201, &out)
	return out.Trigger.ID
}

func (p *place) publish(signal, fields, key string) (out wirePublish) {
	p.t.Helper()
	var v struct{ Publish wirePublish }
	q := request{method: "POST", path: "/api/v1/signals/" + signal + "/publish", as: p.token, body: `{"publish":{` + fields + `}}`}
	if key != "" {
		q.headers = map[string]string{"Idempotency-Key": key}
	}
	p.ok(q, 200, &v)
	return v.Publish
}

// TestAChainOverHTTP walks the seed's chain: a publish makes a task that is asked
// to publish the next signal, and completing it with a payload does so.
func TestAChainOverHTTP(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		p := houseOn(t, db).place("Chain")
		first, second := p.signal("deploy_done"), p.signal("deploy_reviewed")
		p.trigger(first, `,"body":"Look at {{EVENT_PAYLOAD}}","emitEventId":"`+second+`"`)
		last := p.trigger(second, `,"body":"{{EVENT_PAYLOAD}} {{EVENT_FAQ}}","assignee":"human"`)
		one := p.publish(first, `"payload":"v2.3"`, "k1")
		if again := p.publish(first, `"payload":"v2.3"`, "k1"); len(one.Tasks) != 1 || one.Repeated || !again.Repeated || again.ID != one.ID || again.Tasks[0] != one.Tasks[0] {
			t.Fatalf("%+v and %+v", one, again)
		}
		at := p.path("/", one.Tasks[0].TaskID)
		task := p.change("GET", at, "", 200)
		want := "Look at v2.3\n\n[On completion, before marking this task completed: call workspace {action: \"publishEvent\", payload: {name: \"deploy_reviewed\", taskId: \"" +
			task.ID + "\", payload: \"<your output payload>\"}}]\nPayload guidelines: Say what happened"
		if task.Body != want || task.Title != "Review" || task.Assignee != "agent" || task.Key != one.Tasks[0].Key {
			t.Errorf("%+v", task)
		}
		if status, problem := p.knock(request{method: "PATCH", path: at + "/status", as: p.token, body: `{"status":{"value":"blocked"},"publish":{"payload":"x"}}`}); status != 400 || problem.Field != "publish" {
			t.Errorf("%d %+v", status, problem)
		}
		p.change("PATCH", at+"/status", `{"status":{"value":"completed"},"publish":{"payload":"all is well","faq":[{"q":"Risky?","a":"No."}]}}`, 200)
		if told := p.publish(second, `"payload":"once more","taskId":"`+task.ID+`"`, ""); !told.Repeated || len(told.Tasks) != 1 {
			t.Errorf("%+v", told)
		}
		var tasks struct{ Tasks []wireTask }
		p.ok(request{method: "GET", path: "/api/v1/signals/" + second + "/tasks", as: p.token}, 200, &tasks)
		if len(tasks.Tasks) != 1 || tasks.Tasks[0].Body != "all is well Q: Risky?\nA: No." || tasks.Tasks[0].Assignee != "human" {
			t.Errorf("%+v", tasks)
		}
		var list struct{ Publishes []wirePublish }
		p.ok(request{method: "GET", path: "/api/v1/signals/" + first + "/publishes?limit=1", as: p.token}, 200, &list)
		if len(list.Publishes) != 1 || list.Publishes[0].ID != one.ID {
			t.Errorf("%+v", list)
		}
		path := "/api/v1/signals/" + second + "/triggers/" + last
		status, problem := p.knock(request{method: "PATCH", path: path, as: p.token, body: `{"trigger":{"emitEventId":"` + first + `"}}`})
		if status != 409 || problem.Field != "emitEventId" || !strings.Contains(problem.Detail, "circle") {
			t.Errorf("%d %+v", status, problem)
		}
		var g struct {
			Trigger struct {
				Title, Body, Assignee string
				Enabled               bool
			}
		}
		p.ok(request{method: "PATCH", path: path, as: p.token, body: `{"trigger":{"enabled":false}}`}, 200, &g)
		if g.Trigger.Enabled || g.Trigger.Title != "Review" || g.Trigger.Body == "" || g.Trigger.Assignee != "human" {
			t.Errorf("one field blanks another: %+v", g)
		}
		if got := p.publish(second, `"payload":"x"`, ""); len(got.Tasks) != 0 || len(got.Passed) != 1 || got.Passed[0].Reason != "disabled" {
			t.Errorf("%+v", got)
		}
		p.ok(request{method: "POST", path: "/api/v1/signals/" + second + "/archive", as: p.token}, 200, nil)
		if status, problem := p.knock(request{method: "POST", path: "/api/v1/signals/" + second + "/publish", as: p.token, body: `{"publish":{}}`}); status != 409 || problem.Fix == "" {
			t.Errorf("%d %+v", status, problem)
		}
		many := `{"q":"a","a":"b"}` + strings.Repeat(`,{"q":"a","a":"b"}`, 32)
		if status, problem := p.knock(request{method: "POST", path: "/api/v1/signals/" + first + "/publish", as: p.token, body: `{"publish":{"faq":[` + many + `]}}`}); status != 429 || problem.Field != "faq" {
			t.Errorf("%d %+v", status, problem)
		}
		p.ok(request{method: "DELETE", path: "/api/v1/signals/" + second, as: p.token}, 204, nil)
		var events struct{ Events []struct{ Name string } }
		p.ok(request{method: "GET", path: "/api/v1/signals?archived=true", as: p.token}, 200, &events)
		if len(events.Events) != 1 || events.Events[0].Name != "deploy_done" {
			t.Errorf("%+v", events)
		}
	})
}

// TestEverySignalRouteAnswersAlikeForWhatIsNotThere walks the table: an id of
// nothing, one of another kind and a word that is no id get one answer.
func TestEverySignalRouteAnswersAlikeForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.place("Here")
	g := p.signal("here")
	bodies := map[string]string{"PATCH ": `{"event":{"description":"x"}}`, "PATCH /triggers/{trigger}": `{"trigger":{"title":"x"}}`,
		"POST /triggers": `{"trigger":{"workspaceId":"` + p.id + `","title":"x"}}`, "POST /publish": `{"publish":{}}`}
	walked := 0
	for _, r := range h.api.Routes() {
		_, rest, ok := strings.Cut(r.Path, "/signals/{signal}")
		if !ok {
			continue
		}
		walked++
		answers := map[string]bool{}
		for _, other := range []string{h.db.IDs.New().String(), p.id, "nonsense"} {
			path := "/api/v1/signals/" + other + rest
			if strings.Contains(rest, "{trigger}") {
				path = "/api/v1/signals/" + g + strings.ReplaceAll(rest, "{trigger}", other)
			}
			status, problem := h.knock(request{method: r.Method, path: path, as: p.token, body: bodies[r.Method+" "+rest]})
			problem.Instance = ""
			text, err := json.Marshal(problem)
			if err != nil || status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", r.Method, path, status, text)
			}
			answers[string(text)] = true
		}
		if len(answers) != 1 {
			t.Errorf("%s: %d different answers: %v", r.Pattern(), len(answers), answers)
		}
	}
	if walked < 13 {
		t.Errorf("only %d routes were walked", walked)
	}
	viewer := h.token(h.person("vera", identity.Viewer))
	h.ok(request{method: "GET", path: "/api/v1/signals/" + g, as: viewer}, 200, nil)
	if status, _ := h.knock(request{method: "POST", path: "/api/v1/signals/" + g + "/publish", as: viewer, body: `{"publish":{}}`}); status != 403 {
		t.Errorf("a viewer publishes: %d", status)
	}
}
