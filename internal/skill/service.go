package skill

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Config holds what a Service works with. Every field without "optional" is
// required.
type Config struct {
	Journal    event.Journal
	Store      Store
	Decider    Decider
	Asker      Asker
	Holdings   Holdings
	Deliveries Deliveries
	People     People
	Purse      Purse // optional: without it a skill that costs money is refused
	Vault      Vault // optional: without it no secret can be read
	// Executables by kind; a kind without one is refused.
	Executables map[manifest.Kind]Executables
	// Permissions are what this installation grants to skills.
	Permissions []manifest.Permission
	// Origin may say skill.result, effect.changed, effect.settled and
	// catalogue.changed.
	Origin event.Origin
	Clock  clock.Clock
	Log    *slog.Logger

	MaxAttempts int           // optional: attempts at one effect; 5
	Backoff     time.Duration // optional: wait after the first attempt, doubled each time; 1 s
	MaxBackoff  time.Duration // optional: the longest wait; 1 min
	Grace       time.Duration // optional: how long a call may return late after its timeout; 2 s
	MaxStrays   int           // optional: hanging calls of one skill before it takes no more; 2
}

// Service is the catalogue and the executor. It is safe for concurrent use.
type Service struct {
	c    Config
	acts *acts

	mu       sync.Mutex
	prepared map[preparedKey]*prepared // guarded by mu; bounded by maxPrepared
	flying   map[id.ID]bool            // skill.invoke events whose effects this process carries out now; guarded by mu
}

// preparedKey names a manifest in an account; manifests are immutable by hash.
type preparedKey struct {
	account id.ID
	hash    string
}

type prepared struct {
	entry    manifest.Entry
	contract *manifest.Contract
}

const maxPrepared = 2048

// New returns a service. It starts nothing.
func New(c Config) (*Service, error) {
	for name, missing := range map[string]bool{
		"Journal": c.Journal == nil, "Store": c.Store == nil, "Decider": c.Decider == nil, "Asker": c.Asker == nil,
		"Holdings": c.Holdings == nil, "Deliveries": c.Deliveries == nil, "People": c.People == nil,
		"Clock": c.Clock == nil, "Log": c.Log == nil, "Origin": c.Origin.Source() == "",
	} {
		if missing {
			return nil, fault.New(fault.Internal, "skill: Config.%s is required", name)
		}
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 5
	}
	if c.Backoff == 0 {
		c.Backoff = time.Second
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = time.Minute
	}
	if c.Grace == 0 {
		c.Grace = 2 * time.Second
	}
	if c.MaxStrays == 0 {
		c.MaxStrays = 2
	}
	return &Service{c: c, acts: newActs(c.Grace, c.Log), prepared: map[preparedKey]*prepared{}, flying: map[id.ID]bool{}}, nil
}

// Close waits for the calls that are under way, until ctx ends; then its error
// names the skills that still run. The worker pool must have stopped.
func (s *Service) Close(ctx context.Context) error { return s.acts.wait(ctx) }

// Strays counts, by skill, the calls that hang past their timeout.
func (s *Service) Strays() map[string]int { return s.acts.all() }

func (s *Service) granted(p manifest.Permission) bool { return slices.Contains(s.c.Permissions, p) }

// take reserves the effect of a skill.invoke for one goroutine of this process: the engine lets a
// node claim again what it holds, so that a restart of the pool finds its work.
func (s *Service) take(invoke id.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flying[invoke] {
		return false
	}
	s.flying[invoke] = true
	return true
}

func (s *Service) land(invoke id.ID) { s.mu.Lock(); delete(s.flying, invoke); s.mu.Unlock() }

// prepare returns a manifest of the catalogue with its compiled schemas.
func (s *Service) prepare(tx event.Tx, hash string) (*prepared, error) {
	k := preparedKey{tx.Account(), hash}
	s.mu.Lock()
	p := s.prepared[k]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	e, err := s.c.Store.GetEntry(tx, hash)
	if err != nil {
		return nil, err
	}
	contract, err := e.Manifest.Contract()
	if err != nil {
		return nil, err
	}
	p = &prepared{entry: e, contract: contract}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.prepared) >= maxPrepared {
		clear(s.prepared)
	}
	s.prepared[k] = p
	return p, nil
}

// backoff returns the wait after an attempt: doubled each time, spread by the
// effect's key so that retries of many effects do not fall together. It is the
// same on every node.
func (s *Service) backoff(attempt int, key string) time.Duration {
	d := s.c.Backoff << min(max(attempt-1, 0), 20)
	if d <= 0 || d > s.c.MaxBackoff {
		d = s.c.MaxBackoff
	}
	if len(key) > 0 {
		d += d * time.Duration(key[len(key)-1]%16) / 64
	}
	return d
}
