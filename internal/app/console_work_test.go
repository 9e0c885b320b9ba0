package app

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// person makes somebody of a role and signs them in.
func (w *consoleWorld) person(role identity.Role) browser {
	w.t.Helper()
	p := w.app.parts
	_, l, err := p.identity.CreatePerson(context.Background(), p.account, identity.Machine(p.account), identity.NewPerson{Name: string(role), SignIn: string(role), Role: role})
	if err != nil {
		w.t.Fatal(err)
	}
	b := newBrowser(w.t, w.base)
	b.get("/reset?code=" + url.QueryEscape(l.Code.Reveal()))
	b.see(b.post("/reset", "code", l.Code.Reveal(), "password", passPhrase, "password2", passPhrase))
	return b
}

func TestConsoleWorkShowsEachRoleWhatItMay(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	viewer, operator := w.person(identity.Viewer), w.person(identity.Operator)
	if p := viewer.get("/work"); p.status != http.StatusOK || strings.Contains(p.body, "Make the workspace") || !strings.Contains(text(p.body), "No workspace yet") {
		t.Errorf("a viewer without a workspace: %d %s", p.status, text(p.body))
	}
	if p := w.post("/workspaces", "name", " "); p.status != http.StatusBadRequest || !strings.Contains(text(p.body), "Give it a name.") {
		t.Errorf("a workspace without a name: %d %s", p.status, text(p.body))
	}
	board := w.see(w.post("/workspaces", "name", "Billing"))
	if to := w.see(w.get("/work")); to != board {
		t.Errorf("Work goes to %s, want %s", to, board)
	}
	form := w.get(board + "/new")
	for range 2 { // sent twice, it is one task
		w.see(w.post(board+"/tasks", "title", hostile, "body", hostile, "assignee", "human", "last", hidden(t, form.body, "last")))
	}
	task := "/tasks/BIL-1"
	for range 2 {
		w.see(w.post(task+"/messages", "text", hostile, "seen", "0"))
	}
	if n := strings.Count(w.get(task).body, `class="turn mine"`); n != 1 {
		t.Errorf("a reply sent twice stands %d times in the thread", n)
	}
	for _, path := range []string{board, board + "?view=list", task, "/workspaces"} {
		for name, b := range map[string]browser{"viewer": viewer, "operator": operator, "owner": w.browser} {
			p := b.get(path)
			if p.status != http.StatusOK || strings.Contains(p.body, "<img src=x") || !strings.Contains(p.body, "BIL") {
				t.Errorf("%s as %s: %d %s", path, name, p.status, text(p.body))
			}
			main := p.body[strings.Index(p.body, "<main"):strings.Index(p.body, "</main>")]
			if writes := strings.Contains(main, `method="post"`); writes != (name != "viewer") && !strings.Contains(path, "view=list") {
				t.Errorf("%s as %s: forms %t", path, name, writes)
			}
		}
	}
	if strings.Contains(w.get(board).body, "BIL-2") {
		t.Error("a form sent twice made two tasks")
	}
	for path, kv := range map[string][]string{task + "/status": {"to", "ongoing"}, task + "/edit": {"title", "mine"}, task + "/messages": {"text", "mine"}, task + "/block": {"key", "BIL-1"}, board + "/tasks": {"title", "mine"}, board + "/archive": nil, "/workspaces": {"name", "mine"}} {
		if p := viewer.post(path, kv...); p.status != http.StatusForbidden {
			t.Errorf("a viewer at %s: %d", path, p.status)
		}
	}
	operator.see(operator.post(task+"/status", "to", "ongoing", "back", board))
	if p := text(w.get(board).body); !strings.Contains(p, "operator") {
		t.Errorf("the board does not say who holds it: %s", p)
	}
	// Somebody else holds it: an owner takes it out of their hands by moving it.
	w.see(w.post(task+"/status", "to", "completed", "on", "task"))
	if p := w.post(task+"/status", "to", "blocked", "on", "task"); p.status != http.StatusConflict || !strings.Contains(text(p.body), "cannot become blocked") {
		t.Errorf("a forbidden move: %d %s", p.status, text(p.body))
	}
	w.see(w.post(board + "/archive"))
	for path, kv := range map[string][]string{task + "/messages": {"text", "late"}, task + "/edit": {"title", "late"}, task + "/block": {"key", "BIL-1"}, task + "/status": {"to", "ongoing", "on", "task"}} {
		if p := w.post(path, kv...); p.status != http.StatusConflict || !strings.Contains(text(p.body), "Not done. The workspace is archived.") {
			t.Errorf("%s in an archived workspace: %d %s", path, p.status, text(p.body))
		}
	}
	w.see(w.post(board + "/unarchive"))
	if p := w.get("/tasks/BIL-99"); p.status != http.StatusNotFound {
		t.Errorf("a task that is not there: %d", p.status)
	}
	if p := text(w.get("/search?q=bil-1").body); !strings.Contains(p, "BIL-1") {
		t.Errorf("search does not find the key: %s", p)
	}
}

func TestConsoleWorkHatchesOutsideWordsAndAsksPeople(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	board := w.see(w.post("/workspaces", "name", "Billing"))
	w.see(w.post(board+"/tasks", "title", "Ask the bank", "assignee", "agent"))
	p := w.app.parts
	stranger := work.Actor{Principal: "worker:codex", Trust: 1, Label: event.NewLabel(event.Outside, event.AccountWide())}
	if err := p.db.Do(context.Background(), p.account, func(tx event.Tx) error {
		me := work.Actor{Principal: "machine", Trust: 1, Label: event.NewLabel(event.House, event.AccountWide())}
		task, err := p.work.TaskByKey(tx, me, "BIL-1")
		if err != nil {
			return err
		}
		stranger.Workspace = task.WorkspaceID
		if _, err := p.work.CreateTask(tx, stranger, work.NewTask{Workspace: task.WorkspaceID, Title: hostile, Body: hostile}); err != nil {
			return err
		}
		c, err := p.work.ClaimTask(tx, stranger, task.WorkspaceID, task.ID, 0)
		if err != nil {
			return err
		}
		stranger.Fence = c.Task.Claim.Fence
		_, err = p.work.AddMessage(tx, stranger, work.NewMessage{Workspace: task.WorkspaceID, Task: task.ID, Text: "May I pay? " + hostile,
			Metadata: event.MessageMetadata{Type: "permission", RequestID: "r1", Status: work.Pending}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	b := w.get(board)
	if strings.Contains(b.body, "<img src=x") || !strings.Contains(b.body, "hatch edge") || !strings.Contains(text(b.body), "1 question waits for an answer.") || !strings.Contains(text(b.body), "codex") {
		t.Errorf("the board: %s", text(b.body))
	}
	task := w.get("/tasks/BIL-1")
	for _, want := range []string{"hatch outside", `name="request" value="r1"`, `value="allow"`, `value="deny"`} {
		if !strings.Contains(task.body, want) {
			t.Errorf("no %s on the task's page: %s", want, text(task.body))
		}
	}
	w.see(w.post("/tasks/BIL-1/answer", "request", "r1", "answer", "deny"))
	if p := w.post("/tasks/BIL-1/answer", "request", "r1", "answer", "allow"); p.status != http.StatusConflict || !strings.Contains(text(p.body), "answered already") {
		t.Errorf("a second answer: %d %s", p.status, text(p.body))
	}
	if p := text(w.get("/tasks/BIL-1").body); !strings.Contains(p, "Answered: deny") {
		t.Errorf("the answer is not on the page: %s", p)
	}
}

func TestConsoleWorkPagesByCursor(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	board := w.see(w.post("/workspaces", "name", "Billing"))
	p := w.app.parts
	if err := p.db.Do(context.Background(), p.account, func(tx event.Tx) error {
		me := work.Actor{Principal: "machine", Trust: 1, Label: event.NewLabel(event.House, event.AccountWide())}
		spaces, err := p.work.ListWorkspaces(tx, me, false, id.Nil, 1)
		if err != nil {
			return err
		}
		var last work.Task
		for range 45 {
			if last, err = p.work.CreateTask(tx, me, work.NewTask{Workspace: spaces[0].ID, Title: "one of many"}); err != nil {
				return err
			}
		}
		for range 45 {
			if _, err := p.work.AddMessage(tx, me, work.NewMessage{Task: last.ID, Text: "one of many"}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	next := func(body, rel string) string {
		t.Helper()
		m := regexp.MustCompile(rel + `[^>]*href="([^"]*)"`).FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("no door %s in %s", rel, text(body))
		}
		return html.UnescapeString(m[1])
	}
	if b := w.get(board); strings.Count(b.body, "data-row=") != 30 || !strings.Contains(text(b.body), "All 45 in the list") {
		t.Errorf("a column of 45 draws %d", strings.Count(b.body, "data-row="))
	}
	if to := w.see(w.post(board+"/tasks", "title", "behind them all")); to != "/tasks/BIL-46" {
		t.Errorf("a task that its column does not draw is shown at %s", to)
	}
	w.see(w.post("/tasks/BIL-46/status", "to", "rejected"))
	list := w.get(board + "?view=list")
	second := w.get(next(list.body, `rel="next"`))
	if a, b := strings.Count(list.body, "data-row="), strings.Count(second.body, "data-row="); a != 40 || b != 6 {
		t.Errorf("pages of %d and %d rows, want 40 and 6", a, b)
	}
	if back := w.get(next(second.body, `rel="prev"`)); !strings.Contains(back.body, "BIL-45<") {
		t.Error("Newer does not go back")
	}
	task := w.get("/tasks/BIL-45")
	older := w.get(next(task.body, `class="door older"`))
	if a, b := strings.Count(task.body, `class="turn`), strings.Count(older.body, `class="turn`); a != 40 || b != 5 {
		t.Errorf("a thread in pages of %d and %d, want 40 and 5", a, b)
	}
	if p := w.get(board + "?view=list&after=none&status=none&col=none"); p.status != http.StatusOK {
		t.Errorf("a strange address: %d", p.status)
	}
}
