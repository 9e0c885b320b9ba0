package api

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

type createTaskIn struct {
	Workspace id.ID `path:"workspace"`
	Body      struct {
		Task struct {
			Title            string  `json:"title" required:"true"`
			Body             string  `json:"body,omitempty"`
			CreatedBy        string  `json:"createdBy,omitempty" doc:"what the caller is anyhow: human"`
			Assignee         string  `json:"assignee,omitempty" doc:"human or agent; human, if left out"`
			AssigneeRef      string  `json:"assigneeRef,omitempty" doc:"person:ID, agent:NAME or worker:NAME"`
			CronSchedule     string  `json:"cronSchedule,omitempty" doc:"five fields; makes a template of it"`
			ParentID         id.ID   `json:"parentId,omitzero"`
			EventID          id.ID   `json:"eventId,omitzero"`
			AllowAllCommands bool    `json:"allowAllCommands,omitempty"`
			Blockers         []id.ID `json:"blockers,omitempty" doc:"tasks that must be completed first"`
		} `json:"task" required:"true"`
	}
}

func (a *API) createTask(ctx context.Context, c *call, in createTaskIn) (oneTaskView, error) {
	b := in.Body.Task
	if b.CreatedBy != "" && work.Assignee(b.CreatedBy) != work.Human { // older clients say it; who it was is never theirs to say
		return oneTaskView{}, fault.New(fault.Invalid, "who comes through this door is a human").On("task.createdBy").WithFix("leave it out")
	}
	return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) {
		return a.Work.CreateTask(tx, c.actor(), work.NewTask{Workspace: in.Workspace, Title: b.Title, Body: b.Body, Assignee: work.Assignee(b.Assignee),
			AssigneeRef: b.AssigneeRef, CronSchedule: b.CronSchedule, ParentID: b.ParentID, EventID: b.EventID, AllowAllCommands: b.AllowAllCommands,
			Blockers: b.Blockers})
	})
}

type updateTaskIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		Task struct {
			Title            *string    `json:"title,omitempty"`
			Body             *string    `json:"body,omitempty"`
			Assignee         *string    `json:"assignee,omitempty"`
			AssigneeRef      *string    `json:"assigneeRef,omitempty"`
			CronSchedule     *string    `json:"cronSchedule,omitempty" doc:"empty makes a task of a template"`
			ParentID         *string    `json:"parentId,omitempty" doc:"empty takes it out of its parent"`
			EventID          *string    `json:"eventId,omitempty" doc:"empty means none"`
			SortOrder        *sortOrder `json:"sortOrder,omitempty"`
			AllowAllCommands *bool      `json:"allowAllCommands,omitempty"`
		} `json:"task" required:"true"`
		Revision int64 `json:"revision,omitempty" doc:"the one that was shown; a field that was changed since is refused by name"`
	}
}

func (a *API) updateTask(ctx context.Context, c *call, in updateTaskIn) (oneTaskView, error) {
	b := in.Body.Task
	ch := work.TaskChange{Seen: in.Body.Revision, Title: b.Title, Body: b.Body, Assignee: (*work.Assignee)(b.Assignee), AssigneeRef: b.AssigneeRef,
		CronSchedule: b.CronSchedule, SortOrder: (*int64)(b.SortOrder), AllowAllCommands: b.AllowAllCommands}
	var err error
	if ch.ParentID, err = idOrNone("task.parentId", b.ParentID); err != nil {
		return oneTaskView{}, err
	}
	if ch.EventID, err = idOrNone("task.eventId", b.EventID); err != nil {
		return oneTaskView{}, err
	}
	return a.change(ctx, c, in.Workspace, in.Task, ch)
}

// idOrNone reads an id that may be taken away by an empty text.
func idOrNone(field string, s *string) (*id.ID, error) {
	if s == nil || *s == "" {
		if s == nil {
			return nil, nil //nolint:nilnil // left out is no error
		}
		return &id.ID{}, nil
	}
	i, err := id.Parse(*s)
	if err != nil {
		return nil, fault.New(fault.Invalid, "it must be an id, or empty").On(field)
	}
	return &i, nil
}

func (a *API) change(ctx context.Context, c *call, workspace, task id.ID, ch work.TaskChange) (oneTaskView, error) {
	return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) { return a.Work.UpdateTask(tx, c.actor(), workspace, task, ch) })
}

func (a *API) deleteTask(ctx context.Context, c *call, in taskIn) (none, error) {
	return write(ctx, a, func(tx event.Tx) (none, error) {
		return none{}, a.Work.DeleteTask(tx, c.actor(), in.Workspace, in.Task)
	})
}

type statusIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		Status struct {
			Value string `json:"value" doc:"notstarted, ongoing, completed, rejected, blocked"`
		} `json:"status" required:"true"`
		Revision int64      `json:"revision,omitempty"`
		Publish  *tellingIn `json:"publish,omitempty" doc:"with completed: what the signal of the task is to tell, in the same commit"`
	}
}

// tellingIn is what a publish tells.
type tellingIn struct {
	Payload string     `json:"payload"`
	FAQ     []event.QA `json:"faq,omitempty"`
}

func (a *API) setStatus(ctx context.Context, c *call, in statusIn) (oneTaskView, error) {
	if p := in.Body.Publish; p != nil {
		if in.Body.Status.Value != string(work.Completed) {
			return oneTaskView{}, fault.New(fault.Invalid, "only what is completed publishes").On("publish")
		}
		return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) {
			t, _, err := a.Work.CompleteTask(tx, c.actor(), work.Completion{Workspace: in.Workspace, Task: in.Task, Seen: in.Body.Revision, Payload: p.Payload, FAQ: p.FAQ})
			return t, err
		})
	}
	return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) {
		return a.Work.MoveTask(tx, c.actor(), work.Move{Workspace: in.Workspace, Task: in.Task, To: work.Status(in.Body.Status.Value), Seen: in.Body.Revision})
	})
}

type orderIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		Order struct {
			Value sortOrder `json:"value"`
		} `json:"order" required:"true"`
		Revision int64 `json:"revision,omitempty"`
	}
}

func (a *API) setOrder(ctx context.Context, c *call, in orderIn) (oneTaskView, error) {
	v := int64(in.Body.Order.Value)
	return a.change(ctx, c, in.Workspace, in.Task, work.TaskChange{Seen: in.Body.Revision, SortOrder: &v})
}

type placeIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		Behind id.ID `json:"behind,omitzero" doc:"the task before it; left out, it comes on top"`
	}
}

func (a *API) placeTask(ctx context.Context, c *call, in placeIn) (oneTaskView, error) {
	return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) {
		return a.Work.PlaceTask(tx, c.actor(), in.Workspace, in.Task, in.Body.Behind)
	})
}

type assigneeIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		Assignee struct {
			Value string  `json:"value" doc:"human or agent"`
			Ref   *string `json:"ref,omitempty" doc:"person:ID, agent:NAME or worker:NAME"`
		} `json:"assignee" required:"true"`
		Revision int64 `json:"revision,omitempty"`
	}
}

func (a *API) setAssignee(ctx context.Context, c *call, in assigneeIn) (oneTaskView, error) {
	v := work.Assignee(in.Body.Assignee.Value)
	return a.change(ctx, c, in.Workspace, in.Task, work.TaskChange{Seen: in.Body.Revision, Assignee: &v, AssigneeRef: in.Body.Assignee.Ref})
}

type allowAllIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		AllowAll struct {
			Value *bool `json:"value"`
		} `json:"allowAll" required:"true"`
		Revision int64 `json:"revision,omitempty"`
	}
}

func (a *API) setAllowAll(ctx context.Context, c *call, in allowAllIn) (oneTaskView, error) {
	return a.change(ctx, c, in.Workspace, in.Task, work.TaskChange{Seen: in.Body.Revision, AllowAllCommands: in.Body.AllowAll.Value})
}

type blockerIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Blocker   id.ID `path:"blocker"`
}

func (a *API) addBlocker(ctx context.Context, c *call, in blockerIn) (oneTaskView, error) {
	return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) {
		return a.Work.AddBlocker(tx, c.actor(), in.Workspace, in.Task, in.Blocker)
	})
}

func (a *API) dropBlocker(ctx context.Context, c *call, in blockerIn) (oneTaskView, error) {
	return a.taskOf(ctx, write, func(tx event.Tx) (work.Task, error) {
		return a.Work.DropBlocker(tx, c.actor(), in.Workspace, in.Task, in.Blocker)
	})
}
