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

// Signals keep the peer's word in bodies, where they are events; their paths do
// not, because /api/v1/events is the journal.
const (
	signalsPath   = "/api/v1/signals"
	oneSignalPath = signalsPath + "/{signal}"
)

func (a *API) signalRoutes() []Route {
	return []Route{
		on("GET", signalsPath, identity.ActWorkRead, "Signals, in the order in which they were made.", a.listSignals),
		on("POST", signalsPath, identity.ActSignalManage, "Make a signal.", a.createSignal, status(http.StatusCreated)),
		on("GET", oneSignalPath, identity.ActWorkRead, "One signal.", a.getSignal),
		on("PATCH", oneSignalPath, identity.ActSignalManage, "Change fields of a signal; what is left out stays, and so does its name.", a.updateSignal),
		on("DELETE", oneSignalPath, identity.ActSignalManage, "Remove a signal with its triggers; its tasks stay.", a.deleteSignal),
		on("POST", oneSignalPath+"/archive", identity.ActSignalManage, "Let a signal rest: it is published no more.", a.archiveSignal),
		on("POST", oneSignalPath+"/unarchive", identity.ActSignalManage, "Let an archived signal go on.", a.unarchiveSignal),
		on("GET", oneSignalPath+"/tasks", identity.ActWorkRead, "The tasks that publishes of a signal made, newest first.", a.listSignalTasks),
	}
}

type signalView struct {
	ID                id.ID      `json:"id"`
	Name              string     `json:"name"`
	Description       string     `json:"description"`
	PayloadGuidelines string     `json:"payloadGuidelines"`
	FAQ               []event.QA `json:"faq"`
	ArchivedAt        *time.Time `json:"archivedAt,omitempty"`
	CreatedBy         string     `json:"createdBy"`
	Label             string     `json:"label"`
	CreatedAt         time.Time  `json:"createdAt"`
	UpdatedAt         time.Time  `json:"updatedAt"`
	Revision          int64      `json:"revision"`
}

func viewSignal(g work.Signal) signalView {
	return signalView{ID: g.ID, Name: g.Name, Description: g.Description, PayloadGuidelines: g.PayloadGuidelines, FAQ: append([]event.QA{}, g.FAQ...),
		ArchivedAt: given(g.ArchivedAt), CreatedBy: g.CreatedBy, Label: g.Label.String(), CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt, Revision: g.Revision}
}

type oneSignalView struct {
	Event signalView `json:"event"`
}

func wrapSignal(g work.Signal, err error) (oneSignalView, error) {
	return oneSignalView{viewSignal(g)}, err
}

type signalsView struct {
	Events []signalView `json:"events"`
	Next   string       `json:"next,omitempty"`
}

type signalsIn struct {
	Archived bool  `query:"archived" doc:"archived ones too"`
	After    id.ID `query:"after"`
	Limit    int   `query:"limit"`
}

func (a *API) listSignals(ctx context.Context, c *call, in signalsIn) (signalsView, error) {
	n, err := page(in.Limit)
	if err != nil {
		return signalsView{}, err
	}
	rows, err := see(ctx, a, func(tx event.Tx) ([]work.Signal, error) {
		return a.Work.ListSignals(tx, c.actor(), in.Archived, in.After, n)
	})
	out := signalsView{Events: listOf(rows, viewSignal).Items}
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}

type createSignalIn struct {
	Body struct {
		Event struct {
			Name              string     `json:"name" required:"true" doc:"a small letter, then small letters, digits and underscores"`
			Description       string     `json:"description,omitempty"`
			PayloadGuidelines string     `json:"payloadGuidelines,omitempty" doc:"what a payload should say, for who publishes"`
			FAQ               []event.QA `json:"faq,omitempty" doc:"goes to {{EVENT_FAQ}}, before the answers of a publish"`
		} `json:"event" required:"true"`
	}
}

func (a *API) createSignal(ctx context.Context, c *call, in createSignalIn) (oneSignalView, error) {
	return wrapSignal(write(ctx, a, func(tx event.Tx) (work.Signal, error) {
		return a.Work.CreateSignal(tx, c.actor(), work.NewSignal(in.Body.Event))
	}))
}

type signalIn struct {
	Signal id.ID `path:"signal"`
}

func (a *API) getSignal(ctx context.Context, c *call, in signalIn) (oneSignalView, error) {
	return wrapSignal(see(ctx, a, func(tx event.Tx) (work.Signal, error) { return a.Work.GetSignal(tx, c.actor(), in.Signal) }))
}

type updateSignalIn struct {
	Signal id.ID `path:"signal"`
	Body   struct {
		Event struct {
			Description       *string     `json:"description,omitempty"`
			PayloadGuidelines *string     `json:"payloadGuidelines,omitempty"`
			FAQ               *[]event.QA `json:"faq,omitempty"`
		} `json:"event" required:"true"`
		Revision int64 `json:"revision,omitempty" doc:"the one that was shown; a field that was changed since is refused by name"`
	}
}

func (a *API) updateSignal(ctx context.Context, c *call, in updateSignalIn) (oneSignalView, error) {
	b := in.Body.Event
	return wrapSignal(write(ctx, a, func(tx event.Tx) (work.Signal, error) {
		return a.Work.UpdateSignal(tx, c.actor(), in.Signal, work.SignalChange{Seen: in.Body.Revision, Description: b.Description,
			PayloadGuidelines: b.PayloadGuidelines, FAQ: b.FAQ})
	}))
}

func (a *API) deleteSignal(ctx context.Context, c *call, in signalIn) (none, error) {
	return write(ctx, a, func(tx event.Tx) (none, error) { return none{}, a.Work.DeleteSignal(tx, c.actor(), in.Signal) })
}

func (a *API) archiveSignal(ctx context.Context, c *call, in signalIn) (oneSignalView, error) {
	return wrapSignal(write(ctx, a, func(tx event.Tx) (work.Signal, error) { return a.Work.ArchiveSignal(tx, c.actor(), in.Signal) }))
}

func (a *API) unarchiveSignal(ctx context.Context, c *call, in signalIn) (oneSignalView, error) {
	return wrapSignal(write(ctx, a, func(tx event.Tx) (work.Signal, error) { return a.Work.UnarchiveSignal(tx, c.actor(), in.Signal) }))
}

func (a *API) listSignalTasks(ctx context.Context, c *call, in signalPageIn) (tasksView, error) {
	n, err := page(in.Limit)
	if err != nil {
		return tasksView{}, err
	}
	return see(ctx, a, func(tx event.Tx) (tasksView, error) {
		rows, err := a.Work.TasksOfSignal(tx, c.actor(), in.Signal, in.After, n)
		if err != nil {
			return tasksView{}, err
		}
		out, err := a.viewTasks(tx, rows)
		if len(rows) == n {
			out.Next = rows[n-1].ID.String()
		}
		return out, err
	})
}
