package console

import (
	"net/http"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

// How many workspaces a page lists, and the switch of a board.
const (
	workspacesPerPage = 30
	workspacesInMenu  = 12
)

// workHome goes to the board, or says how to begin.
func (c *Console) workHome(k *call) error {
	var first id.ID
	if err := c.Journal.View(k.ctx, c.Account, func(tx event.Tx) error {
		list, err := c.Work.ListWorkspaces(tx, worker(k.who), false, id.Nil, 1)
		if len(list) > 0 {
			first = list[0].ID
		}
		return err
	}); err != nil {
		return err
	}
	if !first.IsZero() {
		k.see(workspacePath(first))
		return nil
	}
	return c.workspacesPage(k, http.StatusOK, ui.WorkspaceForm{})
}

func (c *Console) workspaces(k *call) error {
	return c.workspacesPage(k, http.StatusOK, ui.WorkspaceForm{})
}

// workspacesPage lists the workspaces; what was typed stands in the form again.
func (c *Console) workspacesPage(k *call, status int, typed ui.WorkspaceForm) error {
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	after, _ := id.Parse(k.r.URL.Query().Get("after"))
	var v ui.WorkspacesView
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		list, err := c.Work.ListWorkspaces(r.tx, r.me(), true, after, workspacesPerPage)
		if err != nil {
			return err
		}
		if len(list) == workspacesPerPage {
			v.Older = "/workspaces?after=" + list[len(list)-1].ID.String()
		}
		for _, w := range list {
			n, err := c.Work.CountTasks(r.tx, r.me(), w.ID)
			if err != nil {
				return err
			}
			row := ui.WorkspaceRow{ID: w.ID.String(), Name: w.Name, Prefix: w.Prefix, Href: workspacePath(w.ID), Counts: counted(n),
				CanArchive: r.may(identity.ActWorkspaceManage), Outside: outside(w.Label)}
			if w.Archived() {
				row.Archived = r.at(w.ArchivedAt, r.now)
			}
			v.List = append(v.List, row)
		}
		if r.may(identity.ActWorkspaceManage) {
			v.Form = &typed
		}
		v.Shell, err = c.shell(k, r, waits, ui.PlaceWork, ui.Crumb{Text: "Work", Href: "/work"}, ui.Crumb{Text: "Workspaces"})
		if k.r.Method == http.MethodPost {
			v.Shell.Path = "/workspaces"
		}
		return err
	}); err != nil {
		return err
	}
	c.send(k, status, ui.Workspaces(v))
	return nil
}

// createWorkspace makes a workspace of one field.
func (c *Console) createWorkspace(k *call) error {
	name := strings.TrimSpace(k.r.PostForm.Get("name"))
	var made work.Workspace
	err := c.change(k.ctx, func(tx event.Tx) (err error) {
		made, err = c.Work.CreateWorkspace(tx, worker(k.who), work.NewWorkspace{Name: name})
		return err
	})
	if err != nil && refused(err) {
		why := msgOf(err)
		if name == "" {
			why = "give it a name"
		}
		return c.workspacesPage(k, fault.EdgeOf(fault.KindOf(err)).HTTP, ui.WorkspaceForm{Name: name, Error: sentence(why)})
	}
	if err != nil {
		return err
	}
	k.see(workspacePath(made.ID))
	return nil
}

func (c *Console) archiveWorkspace(k *call) error { return c.setArchived(k, c.Work.ArchiveWorkspace) }

func (c *Console) unarchiveWorkspace(k *call) error {
	return c.setArchived(k, c.Work.UnarchiveWorkspace)
}

func (c *Console) setArchived(k *call, set func(event.Tx, work.Actor, id.ID) (work.Workspace, error)) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	if err := c.change(k.ctx, func(tx event.Tx) error {
		_, err := set(tx, worker(k.who), on)
		return err
	}); err != nil {
		return err
	}
	k.see("/workspaces")
	return nil
}

// spaces are the workspaces that a board's menu offers.
func (r *reader) spaces(on work.Workspace) ([]ui.WorkspaceLink, error) {
	list, err := r.Work.ListWorkspaces(r.tx, r.me(), false, id.Nil, workspacesInMenu)
	var out []ui.WorkspaceLink
	for _, w := range list {
		out = append(out, ui.WorkspaceLink{Name: w.Name, Href: workspacePath(w.ID), On: w.ID == on.ID})
	}
	return out, err
}
