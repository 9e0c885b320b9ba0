package main

import (
	"net/url"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

// workspaceCmd is about workspaces.
type workspaceCmd struct {
	List      workspaceListCmd    `cmd:"" help:"List the workspaces."`
	Create    workspaceCreateCmd  `cmd:"" help:"Make a workspace."`
	Archive   workspaceArchiveCmd `cmd:"" help:"Freeze a workspace: it refuses every write."`
	Unarchive workspaceThawCmd    `cmd:"" help:"Let an archived workspace go on."`
	Fork      workspaceForkCmd    `cmd:"" help:"Make a fork: a queue and workers of its own, the settings of its parent."`
	Merge     workspaceMergeCmd   `cmd:"" help:"End a fork: its tasks, all done, go back to its parent."`
	Token     workspaceTokenCmd   `cmd:"" help:"Give a workspace a new token for its workers; the old one ends."`
}

type workspaceView struct {
	ID            string `json:"id"`
	Prefix        string `json:"prefix"`
	Name          string `json:"name"`
	Description   string `json:"description"`
	ArchivedAt    string `json:"archivedAt"`
	ForkOfID      string `json:"forkOfId"`
	MergedAt      string `json:"mergedAt"`
	TokenLastFour string `json:"tokenLastFour"`
}

type oneWorkspace struct {
	Workspace workspaceView `json:"workspace"`
}

type workspaceListCmd struct {
	Archived bool `help:"Archived ones too."`
}

// Run implements the command.
func (c *workspaceListCmd) Run(s *session) error {
	path := "/api/v1/workspaces?limit=200"
	if c.Archived {
		path += "&archived=true"
	}
	return call(s, "GET", path, nil, func(v struct {
		Workspaces []workspaceView `json:"workspaces"`
	}) error {
		var rows [][]string
		for _, w := range v.Workspaces {
			state := "open"
			switch {
			case w.MergedAt != "":
				state = "merged"
			case w.ArchivedAt != "":
				state = "archived"
			case w.ForkOfID != "":
				state = "fork"
			}
			rows = append(rows, []string{w.Prefix, w.Name, state, clip(w.Description, 60)})
		}
		return s.table("No workspaces yet: witan workspace create NAME", []string{"KEY", "NAME", "STATE", "WHAT FOR"}, rows)
	})
}

type workspaceCreateCmd struct {
	Name        string `arg:"" help:"Name of the workspace."`
	Prefix      string `help:"Prefix of the keys of its tasks; from the name if not given." placeholder:"KEY"`
	Description string `help:"What it is for: the brief of its workers." placeholder:"TEXT"`
	Note        string `help:"What every worker is told with its task." placeholder:"TEXT"`
}

// Run implements the command.
func (c *workspaceCreateCmd) Run(s *session) error {
	in := map[string]any{"name": c.Name, "prefix": c.Prefix, "description": c.Description, "selfLearningLoopNote": c.Note}
	return call(s, "POST", "/api/v1/workspaces", map[string]any{"workspace": in}, func(v oneWorkspace) error {
		return s.say("%s is there; its tasks are %s-1, %s-2 and so on.", v.Workspace.Name, v.Workspace.Prefix, v.Workspace.Prefix)
	})
}

type workspaceArchiveCmd struct {
	Workspace string `arg:"" help:"Key prefix, name or id."`
}

// Run implements the command.
func (c *workspaceArchiveCmd) Run(s *session) error {
	return onWorkspace(s, c.Workspace, "/archive", func(v oneWorkspace) error { return s.say("%s is archived.", v.Workspace.Name) })
}

type workspaceThawCmd struct {
	Workspace string `arg:"" help:"Key prefix, name or id."`
}

// Run implements the command.
func (c *workspaceThawCmd) Run(s *session) error {
	return onWorkspace(s, c.Workspace, "/unarchive", func(v oneWorkspace) error { return s.say("%s goes on.", v.Workspace.Name) })
}

type workspaceForkCmd struct {
	Workspace string `arg:"" help:"Key prefix, name or id."`
}

// Run implements the command.
func (c *workspaceForkCmd) Run(s *session) error {
	return onWorkspace(s, c.Workspace, "/fork", func(v oneWorkspace) error {
		return s.say("%s is there; its tasks are %s-1 and so on.", v.Workspace.Name, v.Workspace.Prefix)
	})
}

type workspaceMergeCmd struct {
	Workspace string `arg:"" help:"Key prefix, name or id of the fork."`
}

// Run implements the command.
func (c *workspaceMergeCmd) Run(s *session) error {
	return onWorkspace(s, c.Workspace, "/merge", func(v oneWorkspace) error {
		return s.say("Its tasks are in %s now, under the keys they have.", v.Workspace.Name)
	})
}

type workspaceTokenCmd struct {
	Workspace string `arg:"" help:"Key prefix, name or id."`
}

// Run implements the command.
func (c *workspaceTokenCmd) Run(s *session) error {
	return onWorkspace(s, c.Workspace, "/token", func(v struct {
		Token string `json:"token"`
	}) error {
		return s.say("Shown this once:\n\n  %s", v.Token)
	})
}

func onWorkspace[T any](s *session, word, act string, show func(T) error) error {
	w, err := findWorkspace(s, word)
	if err != nil {
		return err
	}
	return call(s, "POST", "/api/v1/workspaces/"+url.PathEscape(w)+act, nil, show)
}

// findWorkspace returns the id of the workspace that a word means.
func findWorkspace(s *session, word string) (string, error) {
	c, err := s.client()
	if err != nil {
		return "", err
	}
	var found []string
	for after := ""; ; {
		var v struct {
			Workspaces []workspaceView `json:"workspaces"`
			Next       string          `json:"next"`
		}
		if err := c.Do(s.ctx, "GET", "/api/v1/workspaces?archived=true&limit=200&after="+url.QueryEscape(after), nil, &v); err != nil {
			return "", err
		}
		for _, w := range v.Workspaces {
			if w.ID == word || strings.EqualFold(w.Prefix, word) {
				return w.ID, nil
			}
			if strings.EqualFold(w.Name, word) {
				found = append(found, w.ID)
			}
		}
		if after = v.Next; after == "" {
			break
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fault.New(fault.NotFound, "there is no workspace %q", word).WithFix("witan workspace list shows them")
	}
	return "", fault.New(fault.Conflict, "%d workspaces have that name", len(found)).WithFix("give the key prefix")
}
