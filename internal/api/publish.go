package api

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

func (a *API) publishRoutes() []Route {
	return []Route{
		on("POST", oneSignalPath+"/publish", identity.ActSignalPublish, "Publish a signal: all of its triggers make their tasks, or none.", a.publishSignal),
		on("GET", oneSignalPath+"/publishes", identity.ActWorkRead, "What was published of a signal and what it made, newest first.", a.listPublishes),
	}
}

type madeView struct {
	TriggerID   id.ID  `json:"triggerId"`
	WorkspaceID id.ID  `json:"workspaceId"`
	TaskID      id.ID  `json:"taskId"`
	Key         string `json:"key"` // of the task
}

type publishView struct {
	ID        id.ID                `json:"id"`
	EventID   id.ID                `json:"eventId"`
	Name      string               `json:"name"`
	TaskID    id.ID                `json:"taskId,omitzero" doc:"the task that it tells of"`
	Author    string               `json:"author"` // principal
	Label     string               `json:"label"`
	Payload   string               `json:"payload"`
	FAQ       []event.QA           `json:"faq"`
	Depth     int                  `json:"depth" doc:"of its chain, from 1"`
	Stopped   string               `json:"stopped,omitempty" doc:"circle or depth: it was recorded and made no tasks"`
	Tasks     []madeView           `json:"tasks"`
	Passed    []event.SignalPassed `json:"passed" doc:"triggers that made no task: archived, disabled, too_long"`
	Repeated  bool                 `json:"repeated" doc:"the first result of the same publish, again"`
	CreatedAt time.Time            `json:"createdAt"`
}

func viewPublish(p work.Published) publishView {
	v := publishView{ID: p.ID, EventID: p.SignalID, Name: p.Name, TaskID: p.TaskID, Author: p.Author, Label: p.Label.String(), Payload: p.Payload,
		FAQ: append([]event.QA{}, p.FAQ...), Depth: len(p.Chain), Stopped: p.Stopped, Tasks: []madeView{}, Passed: append([]event.SignalPassed{}, p.Passed...),
		Repeated: p.Repeated, CreatedAt: p.At}
	for _, m := range p.Tasks {
		v.Tasks = append(v.Tasks, madeView{m.Trigger, m.Workspace, m.Task, m.Key})
	}
	return v
}

type onePublishView struct {
	Publish publishView `json:"publish"`
}

type publishIn struct {
	Signal id.ID  `path:"signal"`
	Key    string `header:"Idempotency-Key" doc:"the same key again is the same publish"`
	Body   struct {
		Publish struct {
			Payload string     `json:"payload,omitempty"`
			FAQ     []event.QA `json:"faq,omitempty"`
			TaskID  id.ID      `json:"taskId,omitzero" doc:"the task that it tells of, which publishes a signal once"`
		} `json:"publish"`
	}
}

func (a *API) publishSignal(ctx context.Context, c *call, in publishIn) (onePublishView, error) {
	b := in.Body.Publish
	p, err := write(ctx, a, func(tx event.Tx) (work.Published, error) {
		return a.Work.PublishSignal(tx, c.actor(), work.Publish{Signal: in.Signal, Payload: b.Payload, FAQ: b.FAQ, Task: b.TaskID, Key: in.Key})
	})
	return onePublishView{viewPublish(p)}, err
}

type signalPageIn struct {
	Signal id.ID `path:"signal"`
	After  id.ID `query:"after" doc:"the one that the page before ended with"`
	Limit  int   `query:"limit"`
}

type publishesView struct {
	Publishes []publishView `json:"publishes"`
	Next      string        `json:"next,omitempty"`
}

func (a *API) listPublishes(ctx context.Context, c *call, in signalPageIn) (publishesView, error) {
	n, err := page(in.Limit)
	if err != nil {
		return publishesView{}, err
	}
	rows, err := see(ctx, a, func(tx event.Tx) ([]work.Published, error) {
		return a.Work.ListPublishes(tx, c.actor(), in.Signal, in.After, n)
	})
	out := publishesView{Publishes: listOf(rows, viewPublish).Items}
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}
