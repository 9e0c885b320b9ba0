package main

import (
	"fmt"

	"github.com/witan-run/witan/internal/app"
)

// serveCmd runs Witan.
type serveCmd struct {
	Listen    string `help:"Address to serve; loopback unless you say otherwise." placeholder:"HOST:PORT" env:"WITAN_LISTEN"`
	PublicURL string `help:"Address that people open, if another." placeholder:"URL" env:"WITAN_PUBLIC_URL"`
}

func (c *serveCmd) Help() string {
	return `Without flags Witan keeps everything in one folder (SQLite) and listens on
127.0.0.1:7420. The first start prints a link: whoever opens it becomes the owner.

  witan serve
  witan serve --data ./data --listen 127.0.0.1:7421
  witan serve --database postgres://witan@db/witan`
}

// Run implements the command.
func (c *serveCmd) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if c.Listen != "" {
		cfg.Listen = c.Listen
	}
	if c.PublicURL != "" {
		cfg.PublicURL = c.PublicURL
	}
	a, err := app.New(s.ctx, cfg, app.Deps{LogTo: s.err})
	if err != nil {
		return err
	}
	if err := a.Announce(s.ctx, s.out); err != nil {
		a.Close()
		return err
	}
	return a.Run(s.ctx)
}

// migrateCmd brings the schema up to date.
type migrateCmd struct{}

// Run implements the command.
func (c *migrateCmd) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if err := app.Migrate(s.ctx, cfg, app.Deps{LogTo: s.err}); err != nil {
		return err
	}
	return s.say("The schema is up to date.")
}

// versionCmd prints what this is.
type versionCmd struct{}

// Run implements the command.
func (c *versionCmd) Run(s *session) error {
	if s.globals.JSON {
		return s.printJSON([]byte(fmt.Sprintf("{%q:%q,%q:%q}", "version", app.Version(), "code", app.Code())))
	}
	return s.say("witan %s\n%s", app.Version(), app.Code())
}
