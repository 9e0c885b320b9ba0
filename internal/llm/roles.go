package llm

import (
	"maps"
	"regexp"
	"slices"

	"github.com/witan-run/witan/internal/kit/fault"
)

// The roles that Witan itself asks models in. A role says what an answer is for;
// who answers is configuration.
const (
	Respond     = "respond"     // speak with people and act through tools
	Classify    = "classify"    // choose one of a closed set
	Extract     = "extract"     // take typed values out of a text, without tools
	Summarise   = "summarise"   // shorten
	Hypothesise = "hypothesise" // propose what could explain something
	Narrate     = "narrate"     // put a record into words
	Judge       = "judge"       // compare a text with a criterion
	Embed       = "embed"       // turn texts into vectors
)

// RoleSpec describes a role, for configuration and docs.
type RoleSpec struct {
	Name  string
	About string // one sentence
}

// BuiltinRoles returns the roles that are always there.
func BuiltinRoles() []RoleSpec {
	return []RoleSpec{
		{Respond, "Speaks with people and acts through skills."},
		{Classify, "Chooses one of a closed set."},
		{Extract, "Takes typed values out of a text, without tools."},
		{Summarise, "Shortens a conversation or a document."},
		{Hypothesise, "Proposes what could explain an observation."},
		{Narrate, "Puts a record into words for people."},
		{Judge, "Compares a text with a criterion."},
		{Embed, "Turns texts into vectors."},
	}
}

// Target is one choice of who answers a role.
type Target struct {
	Provider          string // a name in RegistryConfig.Models, or Embedders for Embed
	Model             string
	TemperatureMicros *int64
	Seed              *int64
}

// DefaultRole routes every role but Embed that has no route of its own.
const DefaultRole = "default"

// RegistryConfig says who answers what.
type RegistryConfig struct {
	Roles     []RoleSpec // further ones, of packages
	Models    map[string]Model
	Embedders map[string]Embedder
	// Routes lists the choices of a role: the first, then its fallbacks.
	Routes map[string][]Target
	// Validate checks an answer that was asked for by a JSON schema. Without it an
	// answer has to be JSON, and no more is known.
	Validate func(schema, document string) error
}

// Registry maps roles to models. It does not change and is safe for concurrent use.
type Registry struct {
	roles     []RoleSpec
	models    map[string]Model
	embedders map[string]Embedder
	routes    map[string][]Target
	validate  func(schema, document string) error
}

var roleName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// maxFallbacks bounds a route: each choice may take the whole time of a call.
const maxFallbacks = 4

// NewRegistry returns a registry, or an Invalid error that names the setting.
func NewRegistry(c RegistryConfig) (*Registry, error) {
	g := &Registry{
		roles: slices.Concat(BuiltinRoles(), c.Roles), models: maps.Clone(c.Models), embedders: maps.Clone(c.Embedders),
		routes: map[string][]Target{}, validate: c.Validate,
	}
	known := map[string]bool{DefaultRole: true}
	for _, r := range g.roles {
		if known[r.Name] || !roleName.MatchString(r.Name) {
			return nil, fault.New(fault.Invalid, "role %q is there twice or is no name", r.Name).On("roles")
		}
		known[r.Name] = true
	}
	for _, role := range slices.Sorted(maps.Keys(c.Routes)) {
		field := "routes." + role
		targets := c.Routes[role]
		switch {
		case !known[role]:
			return nil, fault.New(fault.Invalid, "no role is called %q", role).On(field)
		case len(targets) == 0 || len(targets) > maxFallbacks:
			return nil, fault.New(fault.Invalid, "want 1 to %d choices", maxFallbacks).On(field)
		case role == Embed && len(targets) > 1:
			return nil, fault.New(fault.Invalid, "embed has no fallback: vectors of two models cannot be compared").On(field)
		}
		for _, t := range targets {
			_, ok := c.Models[t.Provider]
			if role == Embed {
				_, ok = c.Embedders[t.Provider]
			}
			if !ok || t.Model == "" {
				return nil, fault.New(fault.Invalid, "want a configured provider and a model, not %q %q", t.Provider, t.Model).On(field)
			}
		}
		g.routes[role] = slices.Clone(targets)
	}
	return g, nil
}

// Roles returns every role, for docs and settings.
func (g *Registry) Roles() []RoleSpec { return slices.Clone(g.roles) }

// Route returns who answers a role: the first choice and its fallbacks. It
// reports false when no model is configured; Witan then works without one.
func (g *Registry) Route(role string) ([]Target, bool) {
	t, ok := g.routes[role]
	if !ok && role != Embed {
		t, ok = g.routes[DefaultRole]
	}
	return slices.Clone(t), ok
}

// Embedder returns who answers the role embed, and the model to name.
func (g *Registry) Embedder() (e Embedder, model string, ok bool) {
	t, ok := g.routes[Embed]
	if !ok {
		return nil, "", false
	}
	return g.embedders[t[0].Provider], t[0].Model, true
}
