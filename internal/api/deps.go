package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/work"
)

// Deps is what an API is made from. Every field without "optional" is required.
type Deps struct {
	Account id.ID // the account that is served
	// PublicURL is the address people open: its name is accepted as Host, and
	// links begin with it.
	PublicURL string
	Hosts     []string // optional: further names to accept as Host, with their port
	Version   string   // of the program

	Journal event.Journal
	Clock   clock.Clock
	IDs     *id.Source
	Keyring *secret.Keyring // seals the proofs of a step-up
	Log     *slog.Logger

	Identity *identity.Service
	Policy   *policy.Service
	Skills   *skill.Service
	Agents   *agent.Service
	Replay   func(tx event.Tx, run id.ID) (agent.Report, error)
	Dispatch *dispatch.Dispatcher
	Intake   *channel.Intake
	Hub      *channel.Hub
	Speakers map[string]Speaker     // the channels "cli" and "console"
	HTTP     map[string]HTTPChannel // optional: the channels of outside programs
	LLM      llm.Store
	Work     *work.Service
	Random   io.Reader // makes tokens of workspaces

	Record Record
	Audit  Audit
	Tails  *bus.Tails
	// Unpark lets a parked stream go on; bus.Router has it.
	Unpark func(ctx context.Context, account id.ID, by, subscriber string, stream id.ID, skip bool) error
	// Backup makes a backup in a new folder and returns what it holds.
	Backup func(ctx context.Context, dir string) (BackupMade, error)
	// Ready says why the process cannot serve yet, or nil.
	Ready func(ctx context.Context) error

	Files Files // optional: attachments can be fetched
	// Accept puts the built-in skills of this version into the catalogue, for a person.
	Accept   func(ctx context.Context, person id.ID) (manifest.Snapshot, error) // optional
	Commits  func() int64                                                       // optional: durable commits, for metrics
	Registry *prometheus.Registry                                               // optional: where metrics are kept
	Tracer   trace.Tracer                                                       // optional
	Fallback http.Handler                                                       // optional: serves what no route names, behind the same gate
	Limits   Limits                                                             // optional: zero fields take the default
	Remote   func(*http.Request) string                                         // optional: the client's address behind a proxy
}

// Limits bound what one caller can hold.
type Limits struct {
	Body                int64         // bytes of a body; 1 MiB
	Upload              int64         // bytes of a body with files; 72 MiB
	Timeout             time.Duration // of one request; 30 s
	Streams             int           // at once; 2,000
	StreamsPerPrincipal int           // 32
	Heartbeat           time.Duration // between comments, and between looks at the credential; 15 s
	WriteTimeout        time.Duration // of one write to a stream; 10 s
	Wait                time.Duration // the longest wait for an answer; 60 s
}

func (l Limits) withDefaults() Limits {
	or(&l.Body, 1<<20)
	or(&l.Upload, 72<<20)
	or(&l.Timeout, 30*time.Second)
	or(&l.Streams, 2000)
	or(&l.StreamsPerPrincipal, 32)
	or(&l.Heartbeat, 15*time.Second)
	or(&l.WriteTimeout, 10*time.Second)
	or(&l.Wait, time.Minute)
	return l
}

func or[T comparable](p *T, otherwise T) {
	var zero T
	if *p == zero {
		*p = otherwise
	}
}

// check names the first field that is missing, and fills the optional ones.
func (d *Deps) check() (*url.URL, error) {
	for name, missing := range map[string]bool{
		"Account": d.Account.IsZero(), "Journal": d.Journal == nil, "Clock": d.Clock == nil, "IDs": d.IDs == nil,
		"Keyring": d.Keyring == nil, "Log": d.Log == nil, "Identity": d.Identity == nil, "Policy": d.Policy == nil,
		"Skills": d.Skills == nil, "Agents": d.Agents == nil, "Replay": d.Replay == nil, "Dispatch": d.Dispatch == nil,
		"Intake": d.Intake == nil, "Hub": d.Hub == nil, "Speakers": d.Speakers["cli"] == nil || d.Speakers["console"] == nil,
		"LLM": d.LLM == nil, "Work": d.Work == nil, "Random": d.Random == nil, "Record": d.Record == nil, "Audit": d.Audit == nil, "Tails": d.Tails == nil,
		"Unpark": d.Unpark == nil, "Backup": d.Backup == nil, "Ready": d.Ready == nil,
	} {
		if missing {
			return nil, fault.New(fault.Invalid, "the API needs %s", name).On(name)
		}
	}
	public, err := url.Parse(d.PublicURL)
	if err != nil || public.Host == "" || public.Scheme != "http" && public.Scheme != "https" {
		return nil, fault.New(fault.Invalid, "no address that people can open").On("PublicURL").WithFix("write http://HOST:PORT or https://HOST")
	}
	if d.Registry == nil {
		d.Registry = prometheus.NewRegistry()
	}
	if d.Tracer == nil {
		d.Tracer = noop.NewTracerProvider().Tracer("witan")
	}
	d.Limits = d.Limits.withDefaults()
	return public, nil
}
