package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

func (a *API) taskThreadRoutes() []Route {
	const one = "/api/v1/workspaces/{workspace}/tasks/{task}"
	return []Route{
		on("GET", one+"/messages", identity.ActWorkRead, "The thread of a task, oldest first; with newest, from its end.", a.listTaskMessages),
		on("POST", one+"/reply", identity.ActWorkWrite, "Say something in the thread of a task.", a.reply, status(http.StatusCreated)),
		on("POST", one+"/permission", identity.ActWorkWrite, "Answer a question in the thread of a task, once.", a.answerTask),
		on("GET", one+"/history", identity.ActWorkRead, "All that was said and done about a task, in order.", a.taskHistory),
	}
}

type taskMessageView struct {
	ID          id.ID                 `json:"id"`
	TaskID      id.ID                 `json:"taskId"`
	Number      int64                 `json:"number"`
	Sender      string                `json:"sender"` // human, agent, or the name of a channel
	Author      string                `json:"author"` // principal
	Label       string                `json:"label"`
	Text        string                `json:"text"` // "" once its subject was erased
	Attachments []taskFileView        `json:"attachments,omitempty"`
	Metadata    event.MessageMetadata `json:"metadata"`
	CreatedAt   time.Time             `json:"createdAt"`
}

func viewTaskMessage(m work.Message) taskMessageView {
	return taskMessageView{ID: m.ID, TaskID: m.TaskID, Number: m.Number, Sender: m.Sender, Author: m.Author, Label: m.Label.String(), Text: m.Text,
		Attachments: viewFiles(m.Attachments), Metadata: m.Metadata, CreatedAt: m.At}
}

type oneTaskMessageView struct {
	Message taskMessageView `json:"message"`
}

type taskMessagesView struct {
	Messages []taskMessageView `json:"messages"`
	Next     string            `json:"next,omitempty" doc:"what after (or before, with newest) of the next page is"`
}

type taskMessagesIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	After     int64 `query:"after" doc:"numbers above this one"`
	Before    int64 `query:"before" doc:"numbers below this one"`
	Newest    bool  `query:"newest"`
	Limit     int   `query:"limit"`
}

func (a *API) listTaskMessages(ctx context.Context, c *call, in taskMessagesIn) (taskMessagesView, error) {
	n, err := page(in.Limit)
	if err != nil {
		return taskMessagesView{}, err
	}
	rows, err := see(ctx, a, func(tx event.Tx) ([]work.Message, error) {
		return a.Work.ListMessages(tx, c.actor(), work.MessagePage{Workspace: in.Workspace, Task: in.Task, After: in.After, Before: in.Before, Newest: in.Newest, Limit: n})
	})
	out := taskMessagesView{Messages: listOf(rows, viewTaskMessage).Items}
	if len(rows) == n {
		out.Next = strconv.FormatInt(rows[n-1].Number, 10)
	}
	return out, err
}

type replyIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		Reply struct {
			Text string `json:"text"`
		} `json:"reply" required:"true"`
	}
}

func (a *API) reply(ctx context.Context, c *call, in replyIn) (oneTaskMessageView, error) {
	m, err := write(ctx, a, func(tx event.Tx) (work.Message, error) {
		return a.Work.AddMessage(tx, c.actor(), work.NewMessage{Workspace: in.Workspace, Task: in.Task, Text: in.Body.Reply.Text})
	})
	return oneTaskMessageView{viewTaskMessage(m)}, err
}

type answerTaskIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	Body      struct {
		RequestID string `json:"requestId" required:"true"`
		Behavior  string `json:"behavior" required:"true" doc:"allow or deny"`
	}
}

func (a *API) answerTask(ctx context.Context, c *call, in answerTaskIn) (oneTaskMessageView, error) {
	m, err := write(ctx, a, func(tx event.Tx) (work.Message, error) {
		return a.Work.AnswerMessage(tx, c.actor(), in.Workspace, in.Task, in.Body.RequestID, in.Body.Behavior)
	})
	return oneTaskMessageView{viewTaskMessage(m)}, err
}

type historyIn struct {
	Workspace id.ID `path:"workspace"`
	Task      id.ID `path:"task"`
	After     int64 `query:"after" doc:"the seq that the page before ended with"`
	Limit     int   `query:"limit"`
}

func (a *API) taskHistory(ctx context.Context, c *call, in historyIn) (list[eventView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[eventView]{}, err
	}
	rows, err := see(ctx, a, func(tx event.Tx) ([]event.Event, error) {
		return a.Work.History(tx, c.actor(), in.Workspace, in.Task, in.After, n)
	})
	out := listOf(rows, viewEvent)
	if len(rows) == n {
		out.Next = strconv.FormatInt(rows[n-1].Seq, 10)
	}
	return out, err
}
