package skill

import (
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Registration ties an executable to the manifest that it was written for.
type Registration struct {
	Manifest manifest.Manifest
	Exec     Executable
}

// Registry is a fixed set of executables: the built-in skills. It is read-only
// once made, and implements Executables.
type Registry struct {
	byName map[string]registered
}

type registered struct {
	entry manifest.Entry
	exec  Executable
}

// NewRegistry returns a registry of built-in skills. A manifest that is no good,
// of another kind, or that promises a read-back its executable does not have is
// fault.Invalid; so is a name that stands twice.
func NewRegistry(regs ...Registration) (*Registry, error) {
	r := &Registry{byName: map[string]registered{}}
	for _, g := range regs {
		m := g.Manifest
		if err := m.Validate(); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "skill "+m.Name)
		}
		_, reads := g.Exec.(Reconciler)
		switch {
		case m.Kind != manifest.Builtin:
			return nil, fault.New(fault.Invalid, "skill %s is of kind %s, not builtin", m.Name, m.Kind)
		case g.Exec == nil:
			return nil, fault.New(fault.Invalid, "skill %s has no executable", m.Name)
		case m.Class == manifest.ClassReconcilable && !reads:
			return nil, fault.New(fault.Invalid, "skill %s is reconcilable but cannot read back", m.Name)
		case r.byName[m.Name].exec != nil:
			return nil, fault.New(fault.Invalid, "skill %s is registered twice", m.Name)
		}
		hash, err := m.Hash()
		if err != nil {
			return nil, err
		}
		r.byName[m.Name] = registered{
			entry: manifest.Entry{Manifest: m, Hash: hash, Label: event.NewLabel(event.House, event.AccountWide())},
			exec:  g.Exec,
		}
	}
	return r, nil
}

// Find implements Executables.
func (r *Registry) Find(name string) (Executable, string, bool) {
	g, ok := r.byName[name]
	return g.exec, g.entry.Hash, ok
}

// Entries returns the manifests, sorted by name: what Seed takes.
func (r *Registry) Entries() []manifest.Entry {
	out := make([]manifest.Entry, 0, len(r.byName))
	for _, g := range r.byName {
		out = append(out, g.entry)
	}
	slices.SortFunc(out, func(a, b manifest.Entry) int { return strings.Compare(a.Manifest.Name, b.Manifest.Name) })
	return out
}
