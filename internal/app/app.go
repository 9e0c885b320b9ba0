package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/console"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/lifecycle"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// App is one Witan, built and not yet running.
type App struct {
	config  Config
	deps    Deps
	parts   *parts
	handler http.Handler
	tcp     net.Listener
	local   net.Listener
	api     *api.API
	face    *console.Console
	traces  *traces
	ready   chan struct{}
}

// New checks the configuration, opens the store, connects the parts and binds
// the addresses. Run serves them; Close gives everything back without running.
func New(ctx context.Context, c Config, d Deps) (a *App, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if d, err = d.fill(c); err != nil {
		return nil, err
	}
	a = &App{config: c, deps: d, ready: make(chan struct{})}
	// The address first: a port that is taken is the most common mistake, and
	// opening the store for nothing would only lengthen the wait for the message.
	if a.tcp, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Listen); err != nil {
		return nil, fault.New(fault.Unavailable, "listen on %s: %w", c.Listen, err).On("listen").WithFix("is another Witan running? use --listen 127.0.0.1:PORT")
	}
	a.config.PublicURL = withPort(c.PublicURL, a.tcp.Addr())
	if a.parts, err = build(ctx, a.config, d); err != nil {
		_ = a.tcp.Close()
		return nil, err
	}
	if a.local, err = listenLocal(ctx, Paths{c.Data}.Socket()); err != nil {
		a.Close()
		return nil, err
	}
	if a.traces, err = newTraces(ctx, c.Telemetry); err != nil {
		a.Close()
		return nil, err
	}
	if a.handler, err = a.web(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// withPort puts the port that the system chose into an address with port 0.
func withPort(address string, bound net.Addr) string {
	u, err := url.Parse(address)
	tcp, ok := bound.(*net.TCPAddr)
	if err != nil || !ok || u.Port() != "0" {
		return address
	}
	u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(tcp.Port))
	return u.String()
}

// listenLocal opens the socket of the data folder: whoever may open the file
// acts as the owner, so it is closed to everybody else.
func listenLocal(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > 100 { // sun_path holds 108 bytes: a deep folder has no socket, and the command line needs WITAN_URL
		return nil, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fault.New(fault.Unavailable, "remove the old socket: %w", err).On("data")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "open the local socket: %w", err).On("data")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fault.New(fault.Unavailable, "close the local socket to others: %w", err).On("data")
	}
	return l, nil
}

// Addr is the address that is served.
func (a *App) Addr() string { return a.tcp.Addr().String() }

// Account is the account of this installation.
func (a *App) Account() id.ID { return a.parts.account }

// Commits returns how many durable commits were made, for measuring.
func (a *App) Commits() int64 { return a.parts.db.Commits() }

// Close gives back what New took, for an App that is not run.
func (a *App) Close() {
	if a.tcp != nil {
		_ = a.tcp.Close()
	}
	if a.local != nil {
		_ = a.local.Close()
	}
	if a.parts != nil {
		a.parts.db.Close()
	}
}

// SetupLink makes the one-time link of the first start and puts its code into a
// file that only the owner of the data folder can read. It returns "" once the
// account has an owner.
func (a *App) SetupLink(ctx context.Context) (string, error) {
	l, err := a.parts.identity.NewSetupLink(ctx, a.parts.account)
	path := Paths{a.config.Data}.SetupCode()
	if fault.Is(err, fault.Conflict) {
		_ = os.Remove(path)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(l.Code.Reveal()+"\n"), 0o600); err != nil {
		return "", fault.New(fault.Unavailable, "write the setup code: %w", err).On("data")
	}
	return a.config.PublicURL + "/setup?code=" + l.Code.Reveal(), nil
}

// Announce prints where Witan is and, before there is an owner, the setup link.
func (a *App) Announce(ctx context.Context, w io.Writer) error {
	link, err := a.SetupLink(ctx)
	if err != nil {
		return err
	}
	if link == "" {
		fmt.Fprintf(w, "Witan is at %s\n", a.config.PublicURL)
		return nil
	}
	fmt.Fprintf(w, "Witan is ready. Open this link once to become its owner:\n\n  %s\n\nThe code is also in %s and works for 24 hours.\n",
		link, filepath.Join(a.config.Data, "setup-code"))
	return nil
}

// gcPercent lets the heap grow to four times what is live before it is collected.
// What is live is small, 10 MiB when idle, so that collecting at twice of it took
// a fifth of the processor under load. GOGC overrides it.
const gcPercent = 300

// Run serves until ctx ends, then stops in order: no new requests, workers
// finish their step, the store closes last.
func (a *App) Run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	p := a.parts
	g := lifecycle.NewGroup(lifecycle.Options{Logger: a.deps.Log})
	g.Add("router", lifecycle.Func(p.router.Run))
	g.Add("timers", lifecycle.Func(p.timers.Run))
	g.Add("workers", lifecycle.Func(p.pool.Run))
	g.Add("resting runs", lifecycle.Func(a.wakeResting))
	g.Add("disk", lifecycle.Func(p.disk.Run))
	g.Add("housekeeping", lifecycle.Func(a.keepHouse))
	g.Add("http", lifecycle.Func(func(ctx context.Context) error { return a.serve(ctx, a.tcp, false) }))
	if a.local != nil {
		g.Add("socket", lifecycle.Func(func(ctx context.Context) error { return a.serve(ctx, a.local, true) }))
	}
	close(a.ready)
	err := g.Run(ctx)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = p.skills.Close(stop)
	_ = a.face.Close(stop)
	a.traces.close(stop)
	p.db.Close()
	return err
}

// serve runs an HTTP server on a listener. Streams end when ctx does.
func (a *App) serve(ctx context.Context, l net.Listener, local bool) error {
	s := &http.Server{Handler: a.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(a.deps.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context {
			if local {
				return markLocal(ctx)
			}
			return ctx
		}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }() // ends with Shutdown below
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = a.api.Close(stop) // streams first: Shutdown waits for requests
	err := s.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	if ended := <-done; err == nil && !errors.Is(ended, http.ErrServerClosed) {
		err = ended
	}
	return err
}

// keepHouse does what must be done now and then: attachments that no message
// names leave, definitions in the agents' folder that changed are taken up.
func (a *App) keepHouse(ctx context.Context) error {
	t := time.NewTicker(time.Hour)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if n, err := a.parts.blobs.Sweep(24 * time.Hour); err != nil {
				a.deps.Log.WarnContext(ctx, "sweep attachments", slog.Any("error", err))
			} else if n > 0 {
				a.deps.Log.InfoContext(ctx, "unfinished attachments removed", slog.Int("files", n))
			}
		}
	}
}

// readAgents reads the folder of agent definitions.
func readAgents(dir string) ([]agent.Source, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fault.New(fault.NotFound, "read the agents: %w", err).On("agents")
	}
	return agent.ReadDir(os.DirFS(dir), ".")
}

// permissions are what this installation grants to skills.
func permissions() []manifest.Permission {
	return []manifest.Permission{manifest.PermitNet, manifest.PermitFiles, manifest.PermitPano, manifest.PermitMemory, manifest.PermitMessage, manifest.PermitWork}
}

// newDialer guards what a webhook may connect to.
func newDialer(loopback bool) httpin.Dialer {
	g := httpin.Guard{}
	if loopback {
		g.Allow = append([]netip.Prefix(nil), httpin.Loopback()...)
	}
	return g
}
