package main

import (
	"net/url"

	"github.com/witan-run/witan/internal/app"
	"github.com/witan-run/witan/internal/kit/fault"
)

// peopleCmd is about the people of the account.
type peopleCmd struct {
	List      peopleListCmd   `cmd:"" help:"List the people."`
	Create    peopleCreateCmd `cmd:"" help:"Add a person; prints the link with which they set a way to sign in."`
	ResetLink peopleResetCmd  `cmd:"" help:"Make a one-time link for a person who cannot sign in."`
}

type peopleListCmd struct{}

// Run implements the command.
func (c *peopleListCmd) Run(s *session) error {
	return call(s, "GET", "/api/v1/people", nil, func(v struct {
		Items []struct {
			ID, Name, SignInName, Role, State string
		} `json:"items"`
	}) error {
		var rows [][]string
		for _, p := range v.Items {
			rows = append(rows, []string{p.ID, p.Name, p.SignInName, p.Role, p.State})
		}
		return s.table("No people yet: open the setup link that witan serve printed.", []string{"ID", "NAME", "SIGN-IN", "ROLE", "STATE"}, rows)
	})
}

type peopleCreateCmd struct {
	SignIn string `arg:"" name:"sign-in" help:"Name to sign in with."`
	Name   string `help:"Name that others see; the sign-in name if not given." placeholder:"NAME"`
	Role   string `help:"owner, operator or viewer." enum:"owner,operator,viewer" default:"operator"`
}

// Run implements the command. Without a running Witan it works on the data
// folder itself.
func (c *peopleCreateCmd) Run(s *session) error {
	if c.Name == "" {
		c.Name = c.SignIn
	}
	if cl, err := s.client(); err == nil {
		var v struct {
			Link string `json:"link"`
		}
		err := cl.Do(s.ctx, "POST", "/api/v1/people", map[string]string{"name": c.Name, "signInName": c.SignIn, "role": c.Role}, &v)
		if !fault.Is(err, fault.Unavailable) || s.globals.URL != "" {
			if err != nil {
				return err
			}
			return s.say("%s was added. Their link, good once and for one hour:\n\n  %s", c.Name, v.Link)
		}
	}
	cfg, err := s.config()
	if err != nil {
		return err
	}
	link, err := app.CreatePerson(s.ctx, cfg, app.Deps{LogTo: s.err}, c.Name, c.SignIn, c.Role)
	if err != nil {
		return err
	}
	return s.say("%s was added. Their link, good once and for one hour after witan serve runs:\n\n  %s", c.Name, link)
}

type peopleResetCmd struct {
	SignIn string `arg:"" name:"sign-in" help:"The person's sign-in name."`
}

// Run implements the command.
func (c *peopleResetCmd) Run(s *session) error {
	if cl, err := s.client(); err == nil {
		var v struct {
			Link string `json:"link"`
		}
		err := cl.Do(s.ctx, "POST", "/api/v1/people/"+url.PathEscape(c.SignIn)+"/reset-link", nil, &v)
		if !fault.Is(err, fault.Unavailable) || s.globals.URL != "" {
			if err != nil {
				return err
			}
			return s.say("Good once and for one hour:\n\n  %s", v.Link)
		}
	}
	cfg, err := s.config()
	if err != nil {
		return err
	}
	link, err := app.ResetLink(s.ctx, cfg, app.Deps{LogTo: s.err}, c.SignIn)
	if err != nil {
		return err
	}
	return s.say("Good once and for one hour:\n\n  %s", link)
}
