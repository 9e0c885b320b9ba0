package console

import (
	"net/http"
	"net/url"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// How many tasks a column and a page of the list hold.
const (
	tasksPerColumn = 30
	tasksPerPage   = 40
)

// notMoved is a move that was refused: its board says why.
type notMoved struct {
	status int
	on     id.ID // workspace; nil takes that of the address
	query  url.Values
	path   string
	why    *ui.Refusal
}

func (c *Console) board(k *call) error { return c.boardPage(k, notMoved{status: http.StatusOK}) }

func (c *Console) boardPage(k *call, p notMoved) error {
	on, q := p.on, p.query
	if on.IsZero() {
		var err error
		if on, err = k.pathID(); err != nil {
			return err
		}
	}
	if q == nil {
		q = k.r.URL.Query()
	}
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	var v ui.BoardView
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		w, err := c.Work.GetWorkspace(r.tx, r.me(), on)
		if err != nil {
			return err
		}
		v.Shell, err = c.shell(k, r, waits, ui.PlaceWork, ui.Crumb{Text: "Work", Href: "/work"}, ui.Crumb{Text: w.Name})
		if err != nil {
			return err
		}
		if p.path != "" {
			v.Shell.Path = p.path
		}
		v.Refused = p.why
		return r.fillBoard(&v, w, q)
	}); err != nil {
		return err
	}
	c.send(k, p.status, ui.Board(v))
	return nil
}

// fillBoard reads a workspace as a board, or as a list.
func (r *reader) fillBoard(v *ui.BoardView, w work.Workspace, q url.Values) error {
	at := workspacePath(w.ID)
	v.Name, v.Prefix, v.Outside = w.Name, w.Prefix, outside(w.Label)
	v.BoardHref, v.ListHref, v.List = at, at+"?view=list", q.Get("view") == "list"
	if w.Archived() {
		v.Archived = r.at(w.ArchivedAt, r.now)
	} else if r.may(identity.ActWorkWrite) {
		v.New = at + "/new"
	}
	n, err := r.Work.CountTasks(r.tx, r.me(), w.ID)
	if err != nil {
		return err
	}
	for _, s := range work.Statuses() {
		v.Total += int(n[s])
	}
	if v.Spaces, err = r.spaces(w); err != nil {
		return err
	}
	if v.List {
		return r.taskList(v, w, n, q)
	}
	return r.columns(v, w, n, work.Status(q.Get("col")))
}

// columns reads the board. Templates have a column only while there are some:
// nobody moves one by hand.
func (r *reader) columns(v *ui.BoardView, w work.Workspace, n map[work.Status]int64, shown work.Status) error {
	if !shown.Valid() || shown == work.Cron && n[work.Cron] == 0 {
		shown = work.NotStarted
	}
	f := r.workFacts(w)
	for _, s := range work.Statuses() {
		if s == work.Cron && n[s] == 0 {
			continue
		}
		col := ui.Column{Status: string(s), Label: statusWord(s), Glyph: statusGlyph(s), Count: int(n[s]), On: s == shown, Href: v.BoardHref + "?col=" + string(s)}
		rows, err := r.Work.ListTasks(r.tx, r.me(), work.TaskQuery{Workspace: w.ID, Statuses: []work.Status{s}, Board: true, Limit: tasksPerColumn}, id.Nil)
		if err != nil {
			return err
		}
		for _, t := range rows {
			c := r.card(t, f)
			c.Moves = r.moves(t, f, columnName)
			col.Cards = append(col.Cards, c)
		}
		if col.Count > len(rows) {
			col.More = v.ListHref + "&status=" + string(s)
		}
		v.Columns = append(v.Columns, col)
	}
	return nil
}

// taskList reads a page of the list, newest first.
func (r *reader) taskList(v *ui.BoardView, w work.Workspace, n map[work.Status]int64, q url.Values) error {
	query := work.TaskQuery{Workspace: w.ID, Limit: tasksPerPage + 1}
	only, at := work.Status(q.Get("status")), v.ListHref
	v.Filter = []ui.Tab{{Label: "All", Count: v.Total, Href: at, On: !only.Valid()}}
	for _, s := range work.Statuses() {
		if n[s] > 0 || s == only {
			v.Filter = append(v.Filter, ui.Tab{Label: statusWord(s), Count: int(n[s]), Href: at + "&status=" + string(s), On: s == only})
		}
	}
	if only.Valid() {
		query.Statuses = []work.Status{only}
		at += "&status=" + string(only)
	}
	after, _ := id.Parse(q.Get("after"))
	rows, err := r.Work.ListTasks(r.tx, r.me(), query, after)
	if err != nil {
		return err
	}
	if !after.IsZero() {
		v.Newer = at
	}
	if len(rows) > tasksPerPage {
		rows = rows[:tasksPerPage]
		v.Older = at + "&after=" + rows[len(rows)-1].ID.String()
	}
	f := r.workFacts(w)
	for _, t := range rows {
		v.Rows = append(v.Rows, r.card(t, f))
	}
	return nil
}
