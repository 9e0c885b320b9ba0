package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

func (a *API) workspaceRoutes() []Route {
	const one = "/api/v1/workspaces/{workspace}"
	return []Route{
		on("GET", "/api/v1/workspaces", identity.ActWorkRead, "Workspaces, in the order in which they were made.", a.listWorkspaces),
		on("POST", "/api/v1/workspaces", identity.ActWorkspaceManage, "Make a workspace.", a.createWorkspace, status(http.StatusCreated)),
		on("GET", one, identity.ActWorkRead, "One workspace.", a.getWorkspace),
		on("PATCH", one, identity.ActWorkspaceManage, "Change fields of a workspace; what is left out stays.", a.updateWorkspace),
		on("POST", one+"/archive", identity.ActWorkspaceManage, "Freeze a workspace: it refuses every write from then on.", a.archiveWorkspace),
		on("POST", one+"/unarchive", identity.ActWorkspaceManage, "Let an archived workspace go on.", a.unarchiveWorkspace),
		on("POST", one+"/fork", identity.ActWorkspaceManage, "Make a fork: a queue and workers of its own, the settings of its parent.", a.forkWorkspace, status(http.StatusCreated)),
		on("POST", one+"/merge", identity.ActWorkspaceManage, "End a fork; its tasks go back to its parent, which is answered.", a.mergeFork),
		on("POST", one+"/token", identity.ActWorkspaceToken, "Give a workspace a new token, shown this once; the one before it ends.", a.rotateToken),
	}
}

// actor is the person who is signed in, or the machine in nobody's name.
func (c *call) actor() work.Actor {
	return work.Person(c.who.By(), c.who.PersonID, c.who.Label())
}

type workspaceView struct {
	ID                   id.ID      `json:"id"`
	Prefix               string     `json:"prefix"`
	Name                 string     `json:"name"`
	Description          string     `json:"description"`
	SelfLearningLoopNote string     `json:"selfLearningLoopNote"`
	AllowAllCommands     bool       `json:"allowAllCommands"`
	AutoAllowedTools     []string   `json:"autoAllowedTools"`
	Resident             string     `json:"resident,omitempty" doc:"the resident agent that takes its tasks"`
	TokenLastFour        string     `json:"tokenLastFour,omitempty"`
	TokenAt              *time.Time `json:"tokenAt,omitempty"`
	ArchivedAt           *time.Time `json:"archivedAt,omitempty"`
	ForkOfID             id.ID      `json:"forkOfId,omitzero"`
	MergedAt             *time.Time `json:"mergedAt,omitempty"`
	CreatedBy            string     `json:"createdBy"`
	CreatedAt            time.Time  `json:"createdAt"`
	UpdatedAt            time.Time  `json:"updatedAt"`
	Revision             int64      `json:"revision"`
}

func viewWorkspace(w work.Workspace) workspaceView {
	tools := w.AutoAllowedTools
	if tools == nil {
		tools = []string{}
	}
	return workspaceView{ID: w.ID, Prefix: w.Prefix, Name: w.Name, Description: w.Description, SelfLearningLoopNote: w.SelfLearningLoopNote,
		AllowAllCommands: w.AllowAllCommands, AutoAllowedTools: tools, Resident: w.Resident, TokenLastFour: w.Token.LastFour, TokenAt: given(w.Token.At),
		ArchivedAt: given(w.ArchivedAt), ForkOfID: w.ForkOf, MergedAt: given(w.MergedAt), CreatedBy: w.CreatedBy, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt, Revision: w.Revision}
}

// given is a time, or nil for none.
func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// oneWorkspace, with its name on the wire as the seed's clients have it.
type oneWorkspaceView struct {
	Workspace workspaceView `json:"workspace"`
}

func wrapWorkspace(w work.Workspace, err error) (oneWorkspaceView, error) {
	return oneWorkspaceView{viewWorkspace(w)}, err
}

type workspacesView struct {
	Workspaces []workspaceView `json:"workspaces"`
	Next       string          `json:"next,omitempty"`
}

type workspacesIn struct {
	Archived bool  `query:"archived" doc:"archived ones too"`
	After    id.ID `query:"after"`
	Limit    int   `query:"limit"`
}

func (a *API) listWorkspaces(ctx context.Context, c *call, in workspacesIn) (workspacesView, error) {
	n, err := page(in.Limit)
	if err != nil {
		return workspacesView{}, err
	}
	rows, err := see(ctx, a, func(tx event.Tx) ([]work.Workspace, error) {
		return a.Work.ListWorkspaces(tx, c.actor(), in.Archived, in.After, n)
	})
	out := workspacesView{Workspaces: listOf(rows, viewWorkspace).Items}
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}

type createWorkspaceIn struct {
	Body struct {
		Workspace struct {
			Name                 string `json:"name" required:"true"`
			Prefix               string `json:"prefix,omitempty" doc:"of the keys of its tasks; from the name, if left out"`
			Description          string `json:"description,omitempty"`
			SelfLearningLoopNote string `json:"selfLearningLoopNote,omitempty"`
			AllowAllCommands     bool   `json:"allowAllCommands,omitempty"`
			Resident             string `json:"resident,omitempty"`
		} `json:"workspace" required:"true"`
	}
}

func (a *API) createWorkspace(ctx context.Context, c *call, in createWorkspaceIn) (oneWorkspaceView, error) {
	b := in.Body.Workspace
	return wrapWorkspace(write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.CreateWorkspace(tx, c.actor(), work.NewWorkspace{Name: b.Name, Prefix: b.Prefix, Description: b.Description,
			SelfLearningLoopNote: b.SelfLearningLoopNote, AllowAllCommands: b.AllowAllCommands, Resident: b.Resident})
	}))
}

type workspaceIn struct {
	Workspace id.ID `path:"workspace"`
}

func (a *API) getWorkspace(ctx context.Context, c *call, in workspaceIn) (oneWorkspaceView, error) {
	return wrapWorkspace(see(ctx, a, func(tx event.Tx) (work.Workspace, error) { return a.Work.GetWorkspace(tx, c.actor(), in.Workspace) }))
}

type updateWorkspaceIn struct {
	Workspace id.ID `path:"workspace"`
	Body      struct {
		Workspace struct {
			Name                 *string `json:"name,omitempty"`
			Description          *string `json:"description,omitempty"`
			SelfLearningLoopNote *string `json:"selfLearningLoopNote,omitempty"`
			AllowAllCommands     *bool   `json:"allowAllCommands,omitempty"`
			Resident             *string `json:"resident,omitempty"`
		} `json:"workspace" required:"true"`
		Revision int64 `json:"revision,omitempty" doc:"the one that was shown; a field that was changed since is refused by name"`
	}
}

func (a *API) updateWorkspace(ctx context.Context, c *call, in updateWorkspaceIn) (oneWorkspaceView, error) {
	b := in.Body.Workspace
	return wrapWorkspace(write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.UpdateWorkspace(tx, c.actor(), in.Workspace, work.WorkspaceChange{Seen: in.Body.Revision, Name: b.Name, Description: b.Description,
			SelfLearningLoopNote: b.SelfLearningLoopNote, AllowAllCommands: b.AllowAllCommands, Resident: b.Resident})
	}))
}

func (a *API) archiveWorkspace(ctx context.Context, c *call, in workspaceIn) (oneWorkspaceView, error) {
	return wrapWorkspace(write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.ArchiveWorkspace(tx, c.actor(), in.Workspace)
	}))
}

func (a *API) unarchiveWorkspace(ctx context.Context, c *call, in workspaceIn) (oneWorkspaceView, error) {
	return wrapWorkspace(write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.UnarchiveWorkspace(tx, c.actor(), in.Workspace)
	}))
}

func (a *API) forkWorkspace(ctx context.Context, c *call, in workspaceIn) (oneWorkspaceView, error) {
	return wrapWorkspace(write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.ForkWorkspace(tx, c.actor(), in.Workspace)
	}))
}

func (a *API) mergeFork(ctx context.Context, c *call, in workspaceIn) (oneWorkspaceView, error) {
	return wrapWorkspace(write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.MergeFork(tx, c.actor(), in.Workspace)
	}))
}

type workspaceTokenView struct {
	Token     string        `json:"token" doc:"shown this once"`
	Workspace workspaceView `json:"workspace"`
}

func (a *API) rotateToken(ctx context.Context, c *call, in workspaceIn) (workspaceTokenView, error) {
	text, token, err := work.MintToken(a.Random)
	if err != nil {
		return workspaceTokenView{}, err
	}
	w, err := write(ctx, a, func(tx event.Tx) (work.Workspace, error) {
		return a.Work.RotateToken(tx, c.actor(), in.Workspace, token)
	})
	if err != nil {
		return workspaceTokenView{}, err
	}
	return workspaceTokenView{text.Reveal(), viewWorkspace(w)}, nil
}
