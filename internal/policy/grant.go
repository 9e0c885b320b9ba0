package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// GrantSpec is what a grant covers: a call must meet every line of it. Unlike a
// rule it is closed: an argument that it does not name is not covered, and its
// wildcards stand for no white space, shell metacharacter or ".." (see Glob);
// the value "**" of an argument is any value, and only a person writes it.
type GrantSpec struct {
	Skill     string            `json:"skill"`               // glob
	Manifest  string            `json:"manifest,omitempty"`  // with an exact skill: this version of it only
	Targets   []string          `json:"targets,omitempty"`   // globs, alternatives; none covers calls without a target
	Arguments map[string]string `json:"arguments,omitempty"` // JSON pointer to glob over the values at and under it
	Access    []Access          `json:"access"`
	MaxRisk   Risk              `json:"maxRisk"`
	Workspace id.ID             `json:"workspace,omitzero"` // Nil is any
	Run       id.ID             `json:"run,omitzero"`       // a session grant: this run only
	Uses      int               `json:"uses"`               // 0 is no count
	ExpiresAt int64             `json:"expiresAt"`          // microseconds
}

// Grant is a person's scoped, expiring permission to one actor. It only ever
// answers an ASK of a rule or of the autonomy dial.
type Grant struct {
	ID     id.ID
	Holder string // principal
	Spec   GrantSpec

	skill     Glob
	targets   []Glob
	arguments []argumentGlob
}

const (
	maxGrantUses = 1_000_000
	maxGrantLife = 366 * 24 * time.Hour
	maxGrantArgs = 256
)

// newGrant checks a grant and makes it ready for matching.
func newGrant(grant id.ID, holder string, spec GrantSpec) (Grant, error) {
	g := Grant{ID: grant, Holder: holder, Spec: spec}
	if kind, name, ok := strings.Cut(holder, ":"); !ok || kind == "" || name == "" {
		return Grant{}, fault.New(fault.Invalid, "%q is no principal", holder).On("holder")
	}
	var err error
	if g.skill, err = CompileGlob(spec.Skill); err != nil {
		return Grant{}, on(err, "skill", -1)
	}
	if spec.Manifest != "" && !g.skill.Exact() {
		return Grant{}, fault.New(fault.Invalid, "only a grant for one skill can name its version").On("manifest")
	}
	if g.targets, err = compileGlobs("targets", spec.Targets); err != nil {
		return Grant{}, err
	}
	if len(spec.Arguments) > maxGrantArgs || len(spec.Targets) > maxGrantArgs {
		return Grant{}, fault.New(fault.Limited, "a grant names at most %d arguments and targets", maxGrantArgs).On("arguments")
	}
	for _, p := range slices.Sorted(maps.Keys(spec.Arguments)) {
		if !validPointer(p) {
			return Grant{}, fault.New(fault.Invalid, "%q is no JSON pointer to an argument", p).On("arguments").WithFix(`write it as "/to"`)
		}
		glob, err := compileValue(spec.Arguments[p])
		if err != nil {
			return Grant{}, on(err, "arguments."+p, -1)
		}
		g.arguments = append(g.arguments, argumentGlob{p, glob})
	}
	if len(spec.Access) == 0 || slices.ContainsFunc(spec.Access, func(a Access) bool { return a.String() == "" }) {
		return Grant{}, fault.New(fault.Invalid, "a grant names the accesses that it covers").On("access")
	}
	if spec.MaxRisk.String() == "" {
		return Grant{}, fault.New(fault.Invalid, "a grant names the highest risk that it covers").On("maxRisk")
	}
	if spec.Uses < 0 || spec.Uses > maxGrantUses {
		return Grant{}, fault.New(fault.Invalid, "a grant has 0 to %d uses", maxGrantUses).On("uses")
	}
	if spec.ExpiresAt <= 0 {
		return Grant{}, fault.New(fault.Invalid, "a grant has an end").On("expiresAt")
	}
	return g, nil
}

// covers reports whether the grant covers the call. Anything unknown is not
// covered, nor is anything at or after its end.
func (g *Grant) covers(f *facts) bool {
	s := &g.Spec
	if g.Holder != f.Actor || !g.skill.Permits(f.Skill) || s.Manifest != "" && s.Manifest != f.Manifest {
		return false
	}
	if !s.Run.IsZero() && s.Run != f.Run {
		return false
	}
	if now, ok := f.Now.Get(); !ok || clock.Micros(now) >= s.ExpiresAt {
		return false
	}
	if w, ok := f.Workspace.Get(); !s.Workspace.IsZero() && (!ok || w != s.Workspace) {
		return false
	}
	if a, ok := f.Access.Get(); !ok || !slices.Contains(s.Access, a) {
		return false
	}
	if k, ok := f.Risk.Get(); !ok || k > s.MaxRisk {
		return false
	}
	targets, ok := f.Targets.Get()
	if !ok {
		return false
	}
	for _, t := range targets {
		if best(g.targets, t.Value, false) < 0 {
			return false
		}
	}
	values, err := f.values()
	if err != nil {
		return false
	}
	for i := range values {
		glob := g.closest(values[i].pointer)
		if glob == nil || !glob.Permits(values[i].text) {
			return false
		}
	}
	return true
}

// closest returns the glob of the longest pointer at or above p. One exact value
// is one value: a list of such values below its pointer is another call.
func (g *Grant) closest(p string) (found *Glob) {
	long := -1
	for i := range g.arguments {
		a := &g.arguments[i]
		if beneath(p, a.pointer) && len(a.pointer) > long && (len(p) == len(a.pointer) || !a.glob.Exact()) {
			found, long = &a.glob, len(a.pointer)
		}
	}
	return found
}

// Covers reports whether the spec covers the call for its actor, so that a
// composer can refuse a scope that misses the call it was opened for.
func (s GrantSpec) Covers(call Request) bool {
	g, err := newGrant(id.Nil, call.Actor, s)
	return err == nil && g.covers(&facts{Request: &call})
}

// NarrowestGrant returns the narrowest grant that covers the call: this actor,
// this version of this skill, these targets and exactly these arguments, at
// this risk. It holds no wildcard, so it can stretch over no metacharacter and
// no argument that the call does not have. A wider one is a person's to write.
//
// Uses and ExpiresAt are the caller's to set. It returns fault.Invalid for a
// call of which something is not known.
func NarrowestGrant(call Request) (GrantSpec, error) {
	missing := func(what string) (GrantSpec, error) {
		return GrantSpec{}, fault.New(fault.Invalid, "no grant can cover a call whose %s is not known", what).On(what)
	}
	access, ok := call.Access.Get()
	if !ok {
		return missing("access")
	}
	risk, ok := call.Risk.Get()
	if !ok {
		return missing("risk")
	}
	targets, ok := call.Targets.Get()
	if !ok {
		return missing("targets")
	}
	workspace, ok := call.Workspace.Get()
	if !ok {
		return missing("workspace")
	}
	values, err := leaves(call.Arguments)
	if err != nil {
		return GrantSpec{}, err
	}
	out := GrantSpec{Skill: EscapeGlob(call.Skill), Manifest: call.Manifest, Access: []Access{access}, MaxRisk: risk, Workspace: workspace}
	for _, t := range targets {
		if p := EscapeGlob(t.Value); !slices.Contains(out.Targets, p) {
			out.Targets = append(out.Targets, p)
		}
	}
	slices.Sort(out.Targets)
	for _, v := range values {
		if out.Arguments == nil {
			out.Arguments = map[string]string{}
		}
		p := EscapeGlob(v.text)
		switch {
		case len(p) > maxGlob:
			return GrantSpec{}, fault.New(fault.Invalid, "argument %s cannot be written as a pattern", v.pointer).On("arguments").
				WithFix(`widen it to "**", or allow it once`)
		case v.pointer == "" || !validPointer(v.pointer):
			return GrantSpec{}, fault.New(fault.Invalid, "argument %q cannot be named", v.pointer).On("arguments")
		}
		out.Arguments[v.pointer] = p
	}
	return out, nil
}

// Sentence reads the grant back, as a person gave it.
func (g Grant) Sentence() string {
	_, name, _ := strings.Cut(g.Holder, ":")
	out := fmt.Sprintf("%s may call %s", name, g.Spec.Skill)
	if len(g.Spec.Targets) > 0 {
		out += " on " + strings.Join(g.Spec.Targets, ", ")
	}
	switch g.Spec.Uses {
	case 0:
	case 1:
		out += " once"
	default:
		out += fmt.Sprintf(" %d times", g.Spec.Uses)
	}
	out += " until " + clock.FromMicros(g.Spec.ExpiresAt).Format("2 Jan 2006 15:04 MST")
	if !g.Spec.Run.IsZero() {
		out += ", in this run"
	}
	return out + "."
}

// RestoreGrant makes a stored grant ready for matching again; only the store
// calls it. A grant that cannot be read is an error, never a wider grant.
func RestoreGrant(grant id.ID, holder string, spec GrantSpec) (Grant, error) {
	return newGrant(grant, holder, spec)
}
