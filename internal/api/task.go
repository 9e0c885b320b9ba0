package api

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

func (a *API) taskRoutes() []Route {
	const all, one = "/api/v1/workspaces/{workspace}/tasks", "/api/v1/workspaces/{workspace}/tasks/{task}"
	return []Route{
		on("GET", "/api/v1/tasks", identity.ActWorkRead, "Tasks of all workspaces, newest first.", a.listTasks),
		on("GET", "/api/v1/tasks/{key}", identity.ActWorkRead, "The task of a short key, as BIL-142.", a.getTaskByKey),
		on("GET", all, identity.ActWorkRead, "Tasks of a workspace, newest first; with board, one column in its order.", a.listTasksHere),
		on("POST", all, identity.ActWorkWrite, "Make a task, at the end of the queue.", a.createTask, status(http.StatusCreated)),
		on("GET", all+"/counts", identity.ActWorkRead, "How many tasks of a workspace stand where.", a.countTasks),
		on("GET", one, identity.ActWorkRead, "One task.", a.getTask),
		on("PATCH", one, identity.ActWorkWrite, "Change fields of a task; what is left out stays.", a.updateTask),
		on("DELETE", one, identity.ActWorkWrite, "Remove a task with its thread; its history stays.", a.deleteTask),
		on("PATCH", one+"/status", identity.ActWorkWrite, "Move a task along the status graph.", a.setStatus),
		on("PATCH", one+"/order", identity.ActWorkWrite, "Give a task a number in the queue.", a.setOrder),
		on("POST", one+"/place", identity.ActWorkWrite, "Put a task behind another of its column, or on top.", a.placeTask),
		on("PATCH", one+"/assignee", identity.ActWorkWrite, "Give a task to a human or an agent.", a.setAssignee),
		on("PATCH", one+"/allow_all", identity.ActWorkWrite, "Let a task's worker run every command of its own, or not.", a.setAllowAll),
		on("PUT", one+"/scheduled", identity.ActWorkWrite, "Change a template; what is left out stays.", a.updateTask),
		on("GET", one+"/blockers", identity.ActWorkRead, "The tasks that must be completed first.", a.listBlockers),
		on("PUT", one+"/blockers/{blocker}", identity.ActWorkWrite, "Let a task wait for another.", a.addBlocker),
		on("DELETE", one+"/blockers/{blocker}", identity.ActWorkWrite, "Let a task wait for another no more.", a.dropBlocker),
	}
}

// sortOrder is a place in a queue as clients see it: a number, where 1 is the
// distance of two tasks that were made one after the other.
type sortOrder int64

// MarshalJSON implements json.Marshaler.
func (o sortOrder) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(o)/work.Place, 'f', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *sortOrder) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(b), 64)
	if v = math.Round(v * work.Place); err != nil || math.Abs(v) >= 1<<52 {
		return fault.New(fault.Invalid, "it must be a number between -2^32 and 2^32").On("sortOrder")
	}
	*o = sortOrder(v)
	return nil
}

type holderView struct {
	By    string    `json:"by"` // principal
	Fence int64     `json:"fence"`
	Until time.Time `json:"until"`
}

// taskFileView is an attachment: its content is at /api/v1/attachments/DIGEST.
type taskFileView struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"` // bytes
	Digest string `json:"digest"`
}

func viewFiles(files []event.Attachment) (out []taskFileView) {
	for _, f := range files {
		out = append(out, taskFileView(f))
	}
	return out
}

type taskView struct {
	ID               id.ID          `json:"id"`
	Key              string         `json:"key"`
	WorkspaceID      id.ID          `json:"workspaceId"`
	CreatedBy        string         `json:"createdBy"` // human, agent
	Author           string         `json:"author"`    // principal
	Label            string         `json:"label"`
	Assignee         string         `json:"assignee"` // human, agent
	AssigneeRef      string         `json:"assigneeRef,omitempty"`
	Status           string         `json:"status"`
	Why              string         `json:"why" doc:"why it is not running: a word of a closed list"`
	WhyText          string         `json:"whyText"`
	Title            string         `json:"title"`
	Body             string         `json:"body"`
	Attachments      []taskFileView `json:"attachments,omitempty"`
	CronSchedule     string         `json:"cronSchedule,omitempty"`
	ParentID         id.ID          `json:"parentId,omitzero"`
	TriggerID        id.ID          `json:"triggerId,omitzero"`
	EventID          id.ID          `json:"eventId,omitzero"`
	SortOrder        sortOrder      `json:"sortOrder"`
	AllowAllCommands bool           `json:"allowAllCommands"`
	Waits            int            `json:"waits" doc:"tasks that must be completed first"`
	Pending          int            `json:"pending" doc:"questions in its thread that wait for an answer"`
	Messages         int64          `json:"messages"`
	Holder           *holderView    `json:"holder,omitempty"`
	CreatedAt        time.Time      `json:"createdAt"`
	UpdatedAt        time.Time      `json:"updatedAt"`
	StatusAt         time.Time      `json:"statusAt"`
	Revision         int64          `json:"revision"`
}

func viewTask(t work.Task, why work.Reason) taskView {
	v := taskView{ID: t.ID, Key: t.Key(), WorkspaceID: t.WorkspaceID, CreatedBy: string(t.CreatedBy), Author: t.Author, Label: t.Label.String(),
		Assignee: string(t.Assignee), AssigneeRef: t.AssigneeRef, Status: string(t.Status), Why: string(why), WhyText: why.Sentence(), Title: t.Title,
		Body: t.Body, Attachments: viewFiles(t.Attachments), CronSchedule: t.CronSchedule, ParentID: t.ParentID, TriggerID: t.TriggerID, EventID: t.EventID,
		SortOrder: sortOrder(t.SortOrder), AllowAllCommands: t.AllowAllCommands, Waits: t.Waits, Pending: t.Pending, Messages: t.Messages,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, StatusAt: t.StatusAt, Revision: t.Revision}
	if t.Claim.Claimant != "" {
		v.Holder = &holderView{By: t.Claim.Claimant, Fence: t.Claim.Fence, Until: t.Claim.Until}
	}
	return v
}

func (a *API) viewTasks(tx event.Tx, rows []work.Task) (tasksView, error) {
	whys, err := a.Work.Whys(tx, rows)
	out := tasksView{Tasks: []taskView{}}
	for i := range whys {
		out.Tasks = append(out.Tasks, viewTask(rows[i], whys[i]))
	}
	return out, err
}

// oneTask, with its name on the wire as the seed's clients have it.
type oneTaskView struct {
	Task taskView `json:"task"`
}

// taskOf reads or writes one task and shows it as it is then.
func (a *API) taskOf(ctx context.Context, run func(context.Context, *API, func(tx event.Tx) (taskView, error)) (taskView, error), f func(tx event.Tx) (work.Task, error)) (oneTaskView, error) {
	v, err := run(ctx, a, func(tx event.Tx) (taskView, error) {
		t, err := f(tx)
		if err != nil {
			return taskView{}, err
		}
		why, err := a.Work.Why(tx, t)
		return viewTask(t, why), err
	})
	return oneTaskView{v}, err
}

type tasksView struct {
	Tasks []taskView `json:"tasks"`
	Next  string     `json:"next,omitempty"`
}

type tasksIn struct {
	Status string `query:"status" doc:"words of the status list, joined by commas"`
	Filter string `query:"filter" doc:"pending_approval: only tasks with a question that waits for an answer"`
	After  id.ID  `query:"after" doc:"the task that the page before ended with"`
	Limit  int    `query:"limit"`
}

func (a *API) listTasks(ctx context.Context, c *call, in tasksIn) (tasksView, error) {
	return a.tasks(ctx, c, work.TaskQuery{}, in.Status, in.Filter, in.After, in.Limit)
}

type tasksHereIn struct {
	Workspace id.ID  `path:"workspace"`
	Status    string `query:"status" doc:"words of the status list, joined by commas"`
	Filter    string `query:"filter" doc:"pending_approval: only tasks with a question that waits for an answer"`
	Board     bool   `query:"board" doc:"one column, in the order of its queue"`
	After     id.ID  `query:"after" doc:"the task that the page before ended with"`
	Limit     int    `query:"limit"`
}

func (a *API) listTasksHere(ctx context.Context, c *call, in tasksHereIn) (tasksView, error) {
	return a.tasks(ctx, c, work.TaskQuery{Workspace: in.Workspace, Board: in.Board}, in.Status, in.Filter, in.After, in.Limit)
}

func (a *API) tasks(ctx context.Context, c *call, q work.TaskQuery, statuses, filter string, after id.ID, limit int) (tasksView, error) {
	n, err := page(limit)
	if err != nil {
		return tasksView{}, err
	}
	q.Limit = n
	for _, s := range strings.FieldsFunc(statuses, func(r rune) bool { return r == ',' }) {
		q.Statuses = append(q.Statuses, work.Status(s))
	}
	switch filter {
	case "":
	case "pending_approval":
		q.Pending = true
	default:
		return tasksView{}, fault.New(fault.Invalid, "there is no such filter").On("filter").WithFix("write pending_approval")
	}
	return see(ctx, a, func(tx event.Tx) (tasksView, error) {
		rows, err := a.Work.ListTasks(tx, c.actor(), q, after)
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

type keyIn struct {
	Key string `path:"key"`
}

func (a *API) getTaskByKey(ctx context.Context, c *call, in keyIn) (oneTaskView, error) {
	return a.taskOf(ctx, see, func(tx event.Tx) (work.Task, error) { return a.Work.TaskByKey(tx, c.actor(), in.Key) })
}

type countsView struct {
	Counts map[string]int64 `json:"counts"`
}

func (a *API) countTasks(ctx context.Context, c *call, in workspaceIn) (countsView, error) {
	counts, err := see(ctx, a, func(tx event.Tx) (map[work.Status]int64, error) {
		return a.Work.CountTasks(tx, c.actor(), in.Workspace)
	})
	out := countsView{Counts: map[string]int64{}}
	for _, s := range work.Statuses() {
		out.Counts[string(s)] = counts[s]
	}
	return out, err
}

type taskIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
}

func (a *API) getTask(ctx context.Context, c *call, in taskIn) (oneTaskView, error) {
	return a.taskOf(ctx, see, func(tx event.Tx) (work.Task, error) { return a.Work.GetTask(tx, c.actor(), in.Workspace, in.Task) })
}

func (a *API) listBlockers(ctx context.Context, c *call, in taskIn) (tasksView, error) {
	return see(ctx, a, func(tx event.Tx) (tasksView, error) {
		rows, err := a.Work.Blockers(tx, c.actor(), in.Workspace, in.Task)
		if err != nil {
			return tasksView{}, err
		}
		return a.viewTasks(tx, rows)
	})
}
