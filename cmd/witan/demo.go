package main

import "github.com/witan-run/witan/internal/app"

// demoCmd shows Witan in a minute.
type demoCmd struct {
	Listen string `help:"Address to serve; a free port if not given." default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	Keep   bool   `help:"Keep the temporary folder when the demo ends."`
}

func (c *demoCmd) Help() string {
	return `A scripted agent reads a message, wants to write one file in a temporary folder,
and asks you first. Open the link, allow it, see it happen, replay it. Ctrl-C ends it.`
}

// Run implements the command.
func (c *demoCmd) Run(s *session) error {
	return app.Demo(s.ctx, app.DemoOptions{Listen: c.Listen, Keep: c.Keep, Out: s.out, Err: s.err})
}
