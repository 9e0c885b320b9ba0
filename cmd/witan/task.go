package main

import (
	"fmt"
	"net/url"
	"strings"
)

// taskCmd is about tasks.
type taskCmd struct {
	List    taskListCmd    `cmd:"" help:"List tasks, newest first, and why each is not running."`
	Create  taskCreateCmd  `cmd:"" help:"Make a task."`
	Show    taskShowCmd    `cmd:"" help:"Show a task and its thread."`
	Move    taskMoveCmd    `cmd:"" help:"Move a task to another status."`
	Say     taskSayCmd     `cmd:"" help:"Say something in a task's thread."`
	Wait    taskWaitCmd    `cmd:"" help:"Let a task wait until another is completed."`
	History taskHistoryCmd `cmd:"" help:"Show all that was done about a task, in order."`
	Delete  taskDeleteCmd  `cmd:"" help:"Remove a task with its thread; its history stays."`
}

type taskView struct {
	ID          string `json:"id"`
	Key         string `json:"key"`
	WorkspaceID string `json:"workspaceId"`
	Status      string `json:"status"`
	Title       string `json:"title"`
	Body        string `json:"body"`
	Assignee    string `json:"assignee"`
	WhyText     string `json:"whyText"`
	Holder      *struct {
		By    string `json:"by"`
		Until string `json:"until"`
	} `json:"holder"`
}

type oneTask struct {
	Task taskView `json:"task"`
}

func (t taskView) path(rest string) string {
	return "/api/v1/workspaces/" + url.PathEscape(t.WorkspaceID) + "/tasks/" + url.PathEscape(t.ID) + rest
}

// findTask returns the task of a key.
func findTask(s *session, key string) (taskView, error) {
	c, err := s.client()
	if err != nil {
		return taskView{}, err
	}
	var v oneTask
	err = c.Do(s.ctx, "GET", "/api/v1/tasks/"+url.PathEscape(strings.ToUpper(key)), nil, &v)
	return v.Task, err
}

// onTask asks something of the task of a key.
func onTask[T any](s *session, key, method, rest string, in any, show func(T) error) error {
	t, err := findTask(s, key)
	if err != nil {
		return err
	}
	return call(s, method, t.path(rest), in, show)
}

type taskListCmd struct {
	Workspace string `help:"Only those of this workspace: key prefix, name or id." placeholder:"WORKSPACE"`
	Status    string `help:"Only those that stand here; several joined by commas." placeholder:"STATUS"`
	Limit     int    `help:"How many." default:"50"`
}

// Run implements the command.
func (c *taskListCmd) Run(s *session) error {
	path := "/api/v1/tasks"
	if c.Workspace != "" {
		w, err := findWorkspace(s, c.Workspace)
		if err != nil {
			return err
		}
		path = "/api/v1/workspaces/" + url.PathEscape(w) + "/tasks"
	}
	path += fmt.Sprintf("?limit=%d&status=%s", c.Limit, url.QueryEscape(c.Status))
	return call(s, "GET", path, nil, func(v struct {
		Tasks []taskView `json:"tasks"`
	}) error {
		var rows [][]string
		for _, t := range v.Tasks {
			rows = append(rows, []string{t.Key, t.Status, clip(t.Title, 60), t.WhyText})
		}
		return s.table("No tasks.", []string{"KEY", "STATUS", "TITLE", "WHY"}, rows)
	})
}

type taskCreateCmd struct {
	Workspace string   `arg:"" help:"Key prefix, name or id of the workspace."`
	Title     string   `arg:"" help:"What is to be done, in a line."`
	Body      string   `help:"What is to be done, at length." placeholder:"TEXT"`
	Assignee  string   `help:"human or agent." enum:"human,agent" default:"agent"`
	Parent    string   `help:"The larger task that it belongs to." placeholder:"KEY"`
	After     []string `help:"Tasks that must be completed first." placeholder:"KEY"`
}

// Run implements the command.
func (c *taskCreateCmd) Run(s *session) error {
	w, err := findWorkspace(s, c.Workspace)
	if err != nil {
		return err
	}
	in := map[string]any{"title": c.Title, "body": c.Body, "assignee": c.Assignee}
	if c.Parent != "" {
		p, err := findTask(s, c.Parent)
		if err != nil {
			return err
		}
		in["parentId"] = p.ID
	}
	var blockers []string
	for _, key := range c.After {
		b, err := findTask(s, key)
		if err != nil {
			return err
		}
		blockers = append(blockers, b.ID)
	}
	if blockers != nil {
		in["blockers"] = blockers
	}
	return call(s, "POST", "/api/v1/workspaces/"+url.PathEscape(w)+"/tasks", map[string]any{"task": in}, func(v oneTask) error {
		return s.say("%s  %s", v.Task.Key, v.Task.WhyText)
	})
}

type taskShowCmd struct {
	Task string `arg:"" help:"Key of the task, like BIL-142."`
}

// Run implements the command.
func (c *taskShowCmd) Run(s *session) error {
	t, err := findTask(s, c.Task)
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return call(s, "GET", t.path(""), nil, func(oneTask) error { return nil })
	}
	if err := s.say("%s  %s  (%s, %s)\n%s", t.Key, t.Title, t.Status, t.Assignee, t.WhyText); err != nil {
		return err
	}
	if t.Holder != nil {
		if err := s.say("Held by %s until %s.", t.Holder.By, t.Holder.Until); err != nil {
			return err
		}
	}
	if t.Body != "" {
		if err := s.say("\n%s", t.Body); err != nil {
			return err
		}
	}
	return call(s, "GET", t.path("/messages?limit=200"), nil, func(v struct {
		Messages []struct {
			Sender, Text, CreatedAt string
		} `json:"messages"`
	}) error {
		for _, m := range v.Messages {
			if err := s.say("\n%s, %s\n  %s", m.Sender, m.CreatedAt, strings.ReplaceAll(m.Text, "\n", "\n  ")); err != nil {
				return err
			}
		}
		return nil
	})
}

type taskMoveCmd struct {
	Task   string `arg:"" help:"Key of the task, like BIL-142."`
	Status string `arg:"" help:"notstarted, ongoing, completed, rejected or blocked."`
}

// Run implements the command.
func (c *taskMoveCmd) Run(s *session) error {
	in := map[string]any{"status": map[string]any{"value": c.Status}}
	return onTask(s, c.Task, "PATCH", "/status", in, func(v oneTask) error {
		return s.say("%s is %s. %s", v.Task.Key, v.Task.Status, v.Task.WhyText)
	})
}

type taskSayCmd struct {
	Task string `arg:"" help:"Key of the task, like BIL-142."`
	Text string `arg:"" help:"What you say."`
}

// Run implements the command.
func (c *taskSayCmd) Run(s *session) error {
	in := map[string]any{"reply": map[string]any{"text": c.Text}}
	return onTask(s, c.Task, "POST", "/reply", in, func(struct{}) error { return s.say("Said.") })
}

type taskWaitCmd struct {
	Task string `arg:"" help:"Key of the task that is to wait."`
	For  string `arg:"" help:"Key of the task that must be completed first."`
	Not  bool   `help:"Let it wait for that one no more."`
}

// Run implements the command.
func (c *taskWaitCmd) Run(s *session) error {
	b, err := findTask(s, c.For)
	if err != nil {
		return err
	}
	method := "PUT"
	if c.Not {
		method = "DELETE"
	}
	return onTask(s, c.Task, method, "/blockers/"+url.PathEscape(b.ID), nil, func(v oneTask) error {
		return s.say("%s  %s", v.Task.Key, v.Task.WhyText)
	})
}

type taskHistoryCmd struct {
	Task string `arg:"" help:"Key of the task, like BIL-142."`
}

// Run implements the command.
func (c *taskHistoryCmd) Run(s *session) error {
	return onTask(s, c.Task, "GET", "/history?limit=200", nil, func(v struct {
		Items []struct {
			Seq        int64  `json:"seq"`
			RecordedAt string `json:"recordedAt"`
			Type       string `json:"type"`
			Summary    string `json:"summary"`
		} `json:"items"`
	}) error {
		var rows [][]string
		for _, e := range v.Items {
			rows = append(rows, []string{fmt.Sprint(e.Seq), e.RecordedAt, e.Type, e.Summary})
		}
		return s.table("Nothing was done.", []string{"EVENT", "WHEN", "TYPE", "WHAT"}, rows)
	})
}

type taskDeleteCmd struct {
	Task string `arg:"" help:"Key of the task, like BIL-142."`
}

// Run implements the command.
func (c *taskDeleteCmd) Run(s *session) error {
	return onTask(s, c.Task, "DELETE", "", nil, func(struct{}) error { return s.say("%s is gone.", strings.ToUpper(c.Task)) })
}
