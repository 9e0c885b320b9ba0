package app

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base32"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/channel/console"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// DemoOptions say where the demo runs and prints.
type DemoOptions struct {
	Listen   string
	Keep     bool
	Out, Err io.Writer
}

var (
	//go:embed demo_script.yaml
	demoScript []byte
	//go:embed demo_agent.yaml
	demoAgent []byte
)

const (
	demoMessage = "Write a short hello file for the team"
	demoSignIn  = "you"
)

// Demo runs Witan in a fresh temporary folder with a scripted model: a message
// is there, an agent wants to write one file, and a person is asked. Nothing
// leaves this machine. It ends with ctx and takes its folder along.
func Demo(ctx context.Context, o DemoOptions) (err error) {
	dir, err := os.MkdirTemp("", "witan-demo-")
	if err != nil {
		return fault.New(fault.Unavailable, "make the demo folder: %w", err)
	}
	if !o.Keep {
		defer func() {
			if gone := os.RemoveAll(dir); err == nil {
				err = gone
			}
		}()
	}
	d, err := newDemo(ctx, dir, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "The demo is ready. Open this link; it works once:\n\n  %s\n\nEverything is in %s. Ctrl-C ends it.\n", d.link, dir)
	return d.app.Run(ctx)
}

// demo is a Witan with one message in it and a door for whoever has the link.
type demo struct {
	app      *App
	link     string
	code     string
	password secret.String
	used     atomic.Bool
}

func newDemo(ctx context.Context, dir string, o DemoOptions) (d *demo, err error) {
	c := Default()
	c.Data, c.Listen, c.Account = filepath.Join(dir, "data"), o.Listen, "Demo"
	c.Log.Level = "warn"
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, demoScript, 0o600); err != nil {
		return nil, err
	}
	c.Models.Providers = map[string]Provider{"demo": {Kind: "script", Script: script}}
	c.Models.Roles = map[string][]string{"default": {"demo/scripted"}}
	log, err := NewLogger(o.Err, c.Log)
	if err != nil {
		return nil, err
	}
	scribe, err := agent.ReadSource("scribe.yaml", demoAgent)
	if err != nil {
		return nil, err
	}
	a, err := New(ctx, c, Deps{Log: log, Agents: []agent.Source{scribe}, Demo: true})
	if err != nil {
		return nil, err
	}
	d = &demo{app: a, code: randomText(20), password: secret.New(randomText(30))}
	d.link = a.config.PublicURL + "/demo?code=" + d.code
	if err := d.fill(ctx); err != nil {
		a.Close()
		return nil, err
	}
	inner := a.handler
	a.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/demo" && r.Method == http.MethodGet {
			d.enter(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
	return d, nil
}

func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// fill makes the owner and says the message.
func (d *demo) fill(ctx context.Context) error {
	p := d.app.parts
	l, err := p.identity.NewSetupLink(ctx, p.account)
	if err != nil {
		return err
	}
	in, err := p.identity.ClaimWithPassword(ctx, p.account, identity.Claim{Code: l.Code, Name: demoSignIn, SignIn: demoSignIn}, d.password)
	if err != nil {
		return err
	}
	_, err = p.intake.Accept(ctx, console.Said{Account: p.account, PersonID: in.Principal.PersonID, Name: demoSignIn, Text: demoMessage, Agent: "scribe"}.Inbound())
	return err
}

// enter signs whoever has the one-time link in as the demo's owner.
func (d *demo) enter(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("code")
	if subtle.ConstantTimeCompare([]byte(given), []byte(d.code)) != 1 || d.used.Swap(true) {
		http.Redirect(w, r, "/signin", http.StatusSeeOther)
		return
	}
	p := d.app.parts
	in, err := p.identity.SignIn(r.Context(), p.account, demoSignIn, d.password, identity.Client{Address: r.RemoteAddr, Agent: r.UserAgent()})
	if err != nil {
		d.app.deps.Log.ErrorContext(r.Context(), "open the demo", slog.Any("error", err))
		http.Error(w, "The demo could not be opened; start it again.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Set-Cookie", identity.SessionCookie(false, in, d.app.deps.Clock.Now()).Header())
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, "/inbox", http.StatusSeeOther)
}
