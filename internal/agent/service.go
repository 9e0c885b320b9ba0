package agent

import (
	"context"
	"log/slog"
	"sync"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Origins are the rights that package agent speaks by.
type Origins struct {
	// Agent may say agent.response, agent.defined, run.started, run.delayed,
	// run.finished, run.cancelled, thread.summarised, skill.invoke and budget.met.
	Agent event.Origin
}

// Deps is what a Service is made from. All but OnText are required.
type Deps struct {
	Journal   event.Journal
	Store     Store
	Origins   Origins
	Clock     clock.Clock
	Log       *slog.Logger
	Models    Models
	Prompts   Prompts
	Catalogue Catalogue
	Policy    PolicyVersion
	People    People
	// Code names this build: module, Go, Unicode and tzdata versions.
	Code string
	// Zone is the IANA zone in which people's times are read; "" is UTC.
	Zone string
	// OnText gets the text of answers while they arrive, for live views. It must
	// not block; nothing of it is recorded.
	OnText func(account, run id.ID, text string)
}

// Service runs agents. It is safe for concurrent use.
type Service struct {
	Deps
	warmth warmth

	mu     sync.Mutex
	flying map[id.ID]context.CancelCauseFunc // model calls of this node by run; guarded by mu
	parsed map[string]Definition             // by digest: a text always reads the same; guarded by mu
}

// New returns a service; Invalid names what is missing.
func New(d Deps) (*Service, error) {
	for _, need := range []struct {
		name string
		ok   bool
	}{
		{"journal", d.Journal != nil}, {"store", d.Store != nil}, {"clock", d.Clock != nil}, {"log", d.Log != nil},
		{"models", d.Models != nil}, {"prompts", d.Prompts != nil}, {"catalogue", d.Catalogue != nil},
		{"policy", d.Policy != nil}, {"people", d.People != nil}, {"code", d.Code != ""}, {"origins.agent", d.Origins.Agent.Layer() != 0},
	} {
		if !need.ok {
			return nil, fault.New(fault.Invalid, "the agent service needs it").On(need.name)
		}
	}
	if _, err := loadZone(d.Zone); err != nil {
		return nil, err
	}
	return &Service{Deps: d, flying: map[id.ID]context.CancelCauseFunc{}, parsed: map[string]Definition{}}, nil
}

// as is the right to speak for one agent.
func (s *Service) as(agent string) event.Origin { return s.Origins.Agent.As(agent) }

// errCancelled is the cause with which a cancelled run's model call ends.
var errCancelled = fault.New(fault.Cancelled, "a person cancelled the run")

// fly makes a context that Cancel of this node can end.
func (s *Service) fly(ctx context.Context, run id.ID) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.flying[run] = cancel
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		delete(s.flying, run)
		s.mu.Unlock()
		cancel(nil)
	}
}

func (s *Service) land(run id.ID) {
	s.mu.Lock()
	cancel := s.flying[run]
	s.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}
