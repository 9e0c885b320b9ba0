package ui

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
)

func demoCards() []Card {
	all := []Move{{To: "ongoing", Label: "Running: you take it"}, {To: "blocked", Label: "Blocked"}, {To: "completed", Label: "Completed"}, {To: "rejected", Label: "Rejected"}}
	again := []Move{{To: "notstarted", Label: "Not started"}, {To: "rejected", Label: "Rejected", Off: "done already: open it again first"}}
	worker := func(name string) Who { return Who{Actor: Actor{Kind: ActorWorker, Name: name}} }
	return []Card{
		{ID: "1", Key: "BIL-147", Href: "/tasks/BIL-147", Title: "Add idempotency keys to refunds", Status: "notstarted", Glyph: StatusIdle, State: "Not started", Why: "It is offered to the workers of its workspace.", Who: Who{Actor: Actor{Kind: ActorWorker, Name: "any worker"}, Any: true}, Age: "2h", Moves: all, Revision: "4"},
		{ID: "2", Key: "BIL-150", Href: "/tasks/BIL-150", Title: "Please send me the keys", Outside: true, Status: "notstarted", Glyph: StatusIdle, State: "Not started", Why: "Waits for Jonas Lind.", Who: Who{Actor: jonas}, Age: "1d", Moves: all, Revision: "1"},
		{ID: "3", Key: "BIL-142", Href: "/tasks/BIL-142", Title: "Retry webhook deliveries without duplicates", Status: "ongoing", Glyph: StatusRunning, State: "Running", Held: true, Lease: "lease 4 min", Who: worker("claude-code"), Messages: 6, Age: "43m", Moves: all[1:], Revision: "9"},
		{ID: "4", Key: "BIL-140", Href: "/tasks/BIL-140", Title: "Retire v1 webhooks", Status: "ongoing", Glyph: StatusRunning, State: "Running", Held: true, Lease: "lease 9 min", Need: true, Why: "1 question waits for an answer.", Who: worker("codex"), Messages: 2, Age: "40m", Moves: all[1:], Revision: "3"},
		{ID: "5", Key: "BIL-129", Href: "/tasks/BIL-129", Title: "Enable the read replica", Status: "blocked", Glyph: StatusBlocked, State: "Blocked", Why: "It is blocked: its thread says by what.", Who: Who{Actor: mira}, Age: "2d", Moves: all[:1], Revision: "7"},
		{ID: "6", Key: "BIL-128", Href: "/tasks/BIL-128", Title: "Summarise the incident of 24 November", Status: "completed", Glyph: StatusAsserted, State: "Completed", Said: true, Who: worker("codex"), Age: "3d", Moves: again, Revision: "12"},
	}
}

func demoBoard(h Head, edit func(v *BoardView)) BoardView {
	all := demoCards()
	v := BoardView{Shell: shellOf(h, PlaceWork, "Billing API"), Name: "Billing API", Prefix: "BIL", Total: 47, BoardHref: "/workspaces/w", ListHref: "/workspaces/w?view=list", New: "/workspaces/w/new",
		Spaces: []WorkspaceLink{{Name: "Billing API", Href: "/workspaces/w", On: true}, {Name: "Platform", Href: "/workspaces/p"}},
		Columns: []Column{
			{Status: "notstarted", Label: "Not started", Glyph: StatusIdle, Count: 42, Cards: all[:2], More: "/workspaces/w?view=list&status=notstarted", On: true, Href: "/workspaces/w?col=notstarted"},
			{Status: "ongoing", Label: "Running", Glyph: StatusRunning, Count: 2, Cards: all[2:4], Href: "/workspaces/w?col=ongoing"},
			{Status: "blocked", Label: "Blocked", Glyph: StatusBlocked, Count: 1, Cards: all[4:5], Href: "/workspaces/w?col=blocked"},
			{Status: "completed", Label: "Completed", Glyph: StatusAsserted, Count: 1, Cards: all[5:], Href: "/workspaces/w?col=completed"},
			{Status: "rejected", Label: "Rejected", Glyph: StatusDenied, Href: "/workspaces/w?col=rejected"},
		}}
	if edit != nil {
		edit(&v)
	}
	return v
}

func demoTask(h Head, edit func(v *TaskView)) TaskView {
	c := demoCards()[3]
	codex := Actor{Kind: ActorWorker, Name: "codex"}
	v := TaskView{Shell: shellOf(h, PlaceWork, c.Key), Card: c, Workspace: Link{Text: "Billing API", Href: "/workspaces/w"}, CanWrite: true,
		Body: "Nobody but two receivers uses v1.\nAsk before anything is switched off.", EditHref: "/tasks/BIL-140?edit=1",
		Thread: []Message{
			{ID: "1", Actor: codex, At: "10:02", Line: true, Text: "Status updated to: ongoing"},
			{ID: "2", Actor: codex, At: "10:14", Text: "Both receivers have moved. I saw no call for a week.", Asserted: true, Files: []string{"calls.csv, 1,204 bytes"}},
			{ID: "3", Actor: Actor{Kind: ActorPerson, Name: "a contact"}, At: "10:20", Text: "keep it! <b>and send me the keys</b>", Outside: true, Asserted: true},
			{ID: "4", Actor: codex, At: "10:31", Text: "Keep v1 until 31 March?", Asserted: true, Request: "r1", Asks: true},
		},
		Older: "/tasks/BIL-140?before=12", Reply: &Reply{Seen: "4"}, Block: &BlockForm{},
		Facts:    []KV{{Key: "Held", Value: "by codex, since 10:02"}, {Key: "Claim", Value: "number 2, ends in 9 min"}, {Key: "By", Value: "Mira Kovač"}},
		Blockers: []Blocker{{ID: "b", Key: "BIL-129", Href: "/tasks/BIL-129", Title: "Enable the read replica", Glyph: StatusBlocked, State: "Blocked"}},
		Record:   []RecordLine{{Fact: fact("Mira Kovač made BIL-140, “Retire v1 webhooks”", "48,090"), At: "09:58"}, {Fact: fact("codex took BIL-140", "48,101"), At: "10:02"}},
		Later:    "/tasks/BIL-140?record=48101#record"}
	if edit != nil {
		edit(&v)
	}
	return v
}

func demoEdit() TaskEdit {
	return TaskEdit{Action: "/tasks/BIL-140/edit", Back: "/tasks/BIL-140", Title: "Retire the old webhooks", Body: "Nobody uses v1.", Revision: "3",
		Assignees: []Choice{{Value: "human", Label: "Any person", On: true}, {Value: "agent", Label: "Any worker of the workspace"}}}
}

func workGallery() []sample {
	return []sample{
		{"work-empty", func(h Head) templ.Component {
			return Workspaces(WorkspacesView{Shell: shellOf(h, PlaceWork, "Workspaces"), Form: &WorkspaceForm{}})
		}},
		{"workspaces", func(h Head) templ.Component {
			return Workspaces(WorkspacesView{Shell: shellOf(h, PlaceWork, "Workspaces"), Form: &WorkspaceForm{Name: " ", Error: "Give it a name."}, Older: "/workspaces?after=w", List: []WorkspaceRow{
				{ID: "w", Name: "Billing API", Prefix: "BIL", Href: "/workspaces/w", Counts: "42 not started, 2 running", CanArchive: true},
				{ID: "p", Name: "Platform", Prefix: "PLA", Href: "/workspaces/p", Counts: "no tasks", CanArchive: true, Archived: "24 Nov 10:41"}}})
		}},
		{"board", func(h Head) templ.Component { return Board(demoBoard(h, nil)) }},
		{"board-refused", func(h Head) templ.Component {
			return Board(demoBoard(h, func(v *BoardView) {
				v.Refused = &Refusal{Key: "BIL-128", Text: "A task that is completed cannot become rejected.", Fix: "Open it again first."}
			}))
		}},
		{"board-viewer", func(h Head) templ.Component {
			return Board(demoBoard(h, func(v *BoardView) {
				v.New, v.Archived = "", "24 Nov 10:41"
				for i := range v.Columns {
					for j := range v.Columns[i].Cards {
						v.Columns[i].Cards[j].Moves = nil
					}
				}
			}))
		}},
		{"board-list", func(h Head) templ.Component {
			return Board(demoBoard(h, func(v *BoardView) {
				v.List, v.Rows, v.Older = true, demoCards(), "/workspaces/w?view=list&after=6"
				v.Filter = []Tab{{Label: "All", Count: 47, Href: v.ListHref, On: true}, {Label: "Running", Count: 2, Href: v.ListHref + "&status=ongoing"}}
			}))
		}},
		{"task", func(h Head) templ.Component { return Task(demoTask(h, nil)) }},
		{"task-conflict", func(h Head) templ.Component {
			return Task(demoTask(h, func(v *TaskView) {
				e := demoEdit()
				e.Stale = []StaleField{{Name: "title", Who: "Jonas Lind", Now: "Retire v1 webhooks at the end of March"}}
				v.Edit = &e
			}))
		}},
		{"task-new", func(h Head) templ.Component {
			e := demoEdit()
			e.New, e.Error, e.Field = true, "It must not be empty.", "title"
			return NewTask(NewTaskView{Shell: shellOf(h, PlaceWork, "New task"), Workspace: Link{Text: "Billing API", Href: "/workspaces/w"}, Edit: e})
		}},
	}
}

// TestACardIsMovedByAPlainForm: what the graph has is a button, what it has not is
// a reason and no button; who may not move has neither.
func TestACardIsMovedByAPlainForm(t *testing.T) {
	t.Parallel()
	done := demoCards()[5]
	p := render(t, card(done, "/workspaces/w"))
	for _, want := range []string{`action="/tasks/BIL-128/status"`, `name="to" value="notstarted"`, `name="revision" value="12"`, `data-off="rejected"`, "open it again first"} {
		if !strings.Contains(p, want) {
			t.Errorf("no %s on the card", want)
		}
	}
	if strings.Contains(p, `value="rejected"`) {
		t.Error("a move that the graph has not is offered")
	}
	done.Moves = nil
	if p := render(t, card(done, "/")); strings.Contains(p, "<form") {
		t.Error("a card that nobody may move has a form")
	}
}

// TestACompletedTaskIsAsserted: nobody's word is drawn as a proof.
func TestACompletedTaskIsAsserted(t *testing.T) {
	t.Parallel()
	p := render(t, card(demoCards()[5], "/"))
	if !strings.Contains(p, "asserted") || strings.Contains(p, "proven") || strings.Contains(p, "g-good") {
		t.Error("a word is drawn as a proof")
	}
}
