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

func (a *API) triggerRoutes() []Route {
	const all, one = oneSignalPath + "/triggers", oneSignalPath + "/triggers/{trigger}"
	return []Route{
		on("GET", all, identity.ActWorkRead, "All that happens when a signal is published.", a.listTriggers),
		on("POST", all, identity.ActSignalManage, "Let each publish of a signal make a task in a workspace.", a.createTrigger, status(http.StatusCreated)),
		on("GET", one, identity.ActWorkRead, "One trigger.", a.getTrigger),
		on("PATCH", one, identity.ActSignalManage, "Change fields of a trigger; what is left out stays.", a.updateTrigger),
		on("DELETE", one, identity.ActSignalManage, "Remove a trigger; its signal and its tasks stay.", a.deleteTrigger),
	}
}

type triggerView struct {
	ID               id.ID     `json:"id"`
	EventID          id.ID     `json:"eventId"`
	WorkspaceID      id.ID     `json:"workspaceId"`
	Title            string    `json:"title"`
	Body             string    `json:"body"`
	Assignee         string    `json:"assignee"` // human, agent
	AssigneeRef      string    `json:"assigneeRef,omitempty"`
	AllowAllCommands bool      `json:"allowAllCommands"`
	EmitEventID      id.ID     `json:"emitEventId,omitzero"`
	Enabled          bool      `json:"enabled"`
	CreatedBy        string    `json:"createdBy"`
	Label            string    `json:"label"`
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
	Revision         int64     `json:"revision"`
}

func viewTrigger(g work.Trigger) triggerView {
	return triggerView{ID: g.ID, EventID: g.SignalID, WorkspaceID: g.WorkspaceID, Title: g.Title, Body: g.Body, Assignee: string(g.Assignee),
		AssigneeRef: g.AssigneeRef, AllowAllCommands: g.AllowAllCommands, EmitEventID: g.EmitID, Enabled: g.Enabled, CreatedBy: g.CreatedBy,
		Label: g.Label.String(), CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt, Revision: g.Revision}
}

type oneTriggerView struct {
	Trigger triggerView `json:"trigger"`
}

func wrapTrigger(g work.Trigger, err error) (oneTriggerView, error) {
	return oneTriggerView{viewTrigger(g)}, err
}

type triggersView struct {
	Triggers []triggerView `json:"triggers"`
}

func (a *API) listTriggers(ctx context.Context, c *call, in signalIn) (triggersView, error) {
	rows, err := see(ctx, a, func(tx event.Tx) ([]work.Trigger, error) { return a.Work.ListTriggers(tx, c.actor(), in.Signal) })
	return triggersView{listOf(rows, viewTrigger).Items}, err
}

type createTriggerIn struct {
	Signal id.ID `path:"signal"`
	Body   struct {
		Trigger struct {
			WorkspaceID      id.ID  `json:"workspaceId" required:"true"`
			Title            string `json:"title" required:"true" doc:"of the tasks, as it stands"`
			Body             string `json:"body,omitempty" doc:"of the tasks; {{EVENT_PAYLOAD}} and {{EVENT_FAQ}} are filled in"`
			Assignee         string `json:"assignee,omitempty" doc:"human or agent; agent, if left out"`
			AssigneeRef      string `json:"assigneeRef,omitempty" doc:"person:ID, agent:NAME or worker:NAME"`
			AllowAllCommands bool   `json:"allowAllCommands,omitempty"`
			EmitEventID      id.ID  `json:"emitEventId,omitzero" doc:"the signal that the tasks are to publish when they are done"`
			Disabled         bool   `json:"disabled,omitempty"`
		} `json:"trigger" required:"true"`
	}
}

func (a *API) createTrigger(ctx context.Context, c *call, in createTriggerIn) (oneTriggerView, error) {
	b := in.Body.Trigger
	return wrapTrigger(write(ctx, a, func(tx event.Tx) (work.Trigger, error) {
		return a.Work.CreateTrigger(tx, c.actor(), work.NewTrigger{Signal: in.Signal, Workspace: b.WorkspaceID, Title: b.Title, Body: b.Body,
			Assignee: work.Assignee(b.Assignee), AssigneeRef: b.AssigneeRef, AllowAllCommands: b.AllowAllCommands, Emit: b.EmitEventID, Disabled: b.Disabled})
	}))
}

type triggerIn struct {
	Signal  id.ID `path:"signal"`
	Trigger id.ID `path:"trigger"`
}

func (a *API) getTrigger(ctx context.Context, c *call, in triggerIn) (oneTriggerView, error) {
	return wrapTrigger(see(ctx, a, func(tx event.Tx) (work.Trigger, error) {
		return a.Work.GetTrigger(tx, c.actor(), in.Signal, in.Trigger)
	}))
}

type updateTriggerIn struct {
	Signal  id.ID `path:"signal"`
	Trigger id.ID `path:"trigger"`
	Body    struct {
		Trigger struct {
			WorkspaceID      *id.ID  `json:"workspaceId,omitempty"`
			Title            *string `json:"title,omitempty"`
			Body             *string `json:"body,omitempty"`
			Assignee         *string `json:"assignee,omitempty"`
			AssigneeRef      *string `json:"assigneeRef,omitempty"`
			AllowAllCommands *bool   `json:"allowAllCommands,omitempty"`
			EmitEventID      *string `json:"emitEventId,omitempty" doc:"empty ends the chain"`
			Enabled          *bool   `json:"enabled,omitempty"`
		} `json:"trigger" required:"true"`
		Revision int64 `json:"revision,omitempty" doc:"the one that was shown; a field that was changed since is refused by name"`
	}
}

func (a *API) updateTrigger(ctx context.Context, c *call, in updateTriggerIn) (oneTriggerView, error) {
	b := in.Body.Trigger
	emit, err := idOrNone("trigger.emitEventId", b.EmitEventID)
	if err != nil {
		return oneTriggerView{}, err
	}
	return wrapTrigger(write(ctx, a, func(tx event.Tx) (work.Trigger, error) {
		return a.Work.UpdateTrigger(tx, c.actor(), in.Signal, in.Trigger, work.TriggerChange{Seen: in.Body.Revision, Workspace: b.WorkspaceID, Title: b.Title,
			Body: b.Body, Assignee: (*work.Assignee)(b.Assignee), AssigneeRef: b.AssigneeRef, AllowAllCommands: b.AllowAllCommands, Emit: emit, Enabled: b.Enabled})
	}))
}

func (a *API) deleteTrigger(ctx context.Context, c *call, in triggerIn) (none, error) {
	return write(ctx, a, func(tx event.Tx) (none, error) {
		return none{}, a.Work.DeleteTrigger(tx, c.actor(), in.Signal, in.Trigger)
	})
}
