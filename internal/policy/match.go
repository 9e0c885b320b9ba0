package policy

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// specificity orders the rules that hold for one call; it is compared from the
// left. Rules never tie with a number: at equal specificity the stricter wins.
type specificity [6]int

// The places of a specificity.
const (
	byScope = iota
	bySkill
	byTarget
	byArguments
	byTime
	byConditions
)

func (s specificity) compare(t specificity) int { return slices.Compare(s[:], t[:]) }

// facts are the parts of a request that matching needs, worked out once.
type facts struct {
	*Request
	leaves     []leaf
	readLeaves bool
	leavesErr  error
	classes    []recipientClass
}

func (f *facts) values() ([]leaf, error) {
	if !f.readLeaves {
		f.leaves, f.leavesErr = leaves(f.Arguments)
		f.readLeaves = true
	}
	return f.leaves, f.leavesErr
}

// answer is what a condition says of a call.
type answer uint8

const (
	no answer = iota
	yes
	unknown
)

func yesIf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// fit is how a rule lies on a call.
type fit struct {
	s      specificity
	failed string // the first condition that does not hold; "" if all do
	sure   bool   // false if an unknown input had a part in it
}

// match reports whether the rule holds for the call, and how specific it is. An
// unknown input meets a condition of a DENY or ASK rule and fails one of an
// ALLOW rule.
func (r *rule) match(f *facts) fit {
	strict := r.Effect != Allow
	out := fit{sure: true}
	if len(r.who) > 0 && best(r.who, f.Actor, strict) < 0 {
		out.failed = "who"
		return out
	}
	out.s[byScope] = r.scope
	if len(r.skill) > 0 {
		if out.s[bySkill] = best(r.skill, f.Skill, strict); out.s[bySkill] < 0 {
			out.failed = "skill"
			return out
		}
	}
	// holds notes one condition and reports whether to go on.
	holds := func(name string, a answer) bool {
		if a == unknown {
			out.sure = false
		}
		if a == no || a == unknown && !strict {
			out.failed = name
			out.sure = a == no
		}
		return out.failed == ""
	}
	if len(r.Workspace) > 0 && !holds("workspace", ask(f.Workspace, func(w id.ID) bool { return slices.Contains(r.Workspace, w) })) {
		return out
	}
	if len(r.Access) > 0 && !holds("access", ask(f.Access, func(a Access) bool { return slices.Contains(r.Access, a) })) {
		return out
	}
	if len(r.Risk) > 0 && !holds("risk", ask(f.Risk, func(k Risk) bool { return slices.Contains(r.Risk, k) })) {
		return out
	}
	if len(r.forWho) > 0 && !holds("for", ask(f.Requester, func(p string) bool { return best(r.forWho, p, strict) >= 0 })) {
		return out
	}
	if len(r.Sensitivity) > 0 && !holds("sensitivity", ask(f.Sensitivity, func(v Sensitivity) bool { return slices.Contains(r.Sensitivity, v) })) {
		return out
	}
	if len(r.why) > 0 && !holds("why", ask(f.Why, func(l event.Label) bool { return slices.Contains(r.why, l.Integrity()) })) {
		return out
	}
	if r.Trust != nil && !holds("trust", ask(f.Trust, r.Trust.holds)) {
		return out
	}
	if len(r.recipient) > 0 && !holds("recipient", f.recipientsIn(r.recipient, strict)) {
		return out
	}
	if r.RecipientTrust != nil && !holds("recipientTrust", f.recipientTrust(r.RecipientTrust, strict)) {
		return out
	}
	if r.during != nil {
		if !holds("during", ask(f.Now, r.during.holds)) {
			return out
		}
		out.s[byTime] = 1
	}
	out.s[byConditions] = r.conditions
	if len(r.target) > 0 {
		rank, a := f.targets(r.target, strict)
		if !holds("target", a) {
			return out
		}
		out.s[byTarget] = rank
	}
	for i := range r.arguments {
		g := &r.arguments[i]
		if !holds("arguments", f.argument(g, strict)) {
			out.failed += g.pointer
			return out
		}
		out.s[byArguments] += argumentRank + g.glob.rank
	}
	return out
}

// argumentRank makes naming two arguments count more than naming one exactly.
const argumentRank = 2 * exactRank

// ask evaluates a condition over an input that may be unknown.
func ask[T any](m Maybe[T], holds func(T) bool) answer {
	v, ok := m.Get()
	if !ok {
		return unknown
	}
	return yesIf(holds(v))
}

// best returns the highest rank among the globs that match s, or -1.
func best(globs []Glob, s string, strict bool) int {
	rank := -1
	for i := range globs {
		g := &globs[i]
		if k := g.rank; k > rank && (strict && g.Restricts(s) || !strict && g.Permits(s)) {
			rank = k
		}
	}
	return rank
}

// targets matches the targets: any of them for a strict rule, all for an ALLOW.
// A call that names no target meets no target condition.
func (f *facts) targets(globs []Glob, strict bool) (rank int, a answer) {
	list, ok := f.Targets.Get()
	if !ok { // it may be as specific as its narrowest pattern
		for i := range globs {
			rank = max(rank, globs[i].rank)
		}
		return rank, unknown
	}
	if len(list) == 0 {
		return 0, no
	}
	rank = -1
	for _, t := range list {
		k := best(globs, t.Value, strict)
		switch {
		case k < 0 && !strict:
			return 0, no
		case k < 0:
		case rank < 0, strict && k > rank, !strict && k < rank:
			rank = k // an ALLOW is as specific as its weakest match
		}
	}
	return max(rank, 0), yesIf(rank >= 0)
}

// argument matches the values at and under a pointer. An argument that is not
// there meets no condition.
func (f *facts) argument(g *argumentGlob, strict bool) answer {
	list, err := f.values()
	if err != nil {
		return unknown
	}
	found := false
	for i := range list {
		l := &list[i]
		if !beneath(l.pointer, g.pointer) {
			continue
		}
		switch {
		case strict && g.glob.restricts(l.fold()):
			return yes
		case !strict && !g.glob.Permits(l.text):
			return no
		}
		found = true
	}
	return yesIf(found && !strict)
}

func (f *facts) recipientsIn(want []recipientClass, strict bool) answer {
	list, ok := f.Recipients.Get()
	if !ok {
		return unknown
	}
	open := false
	for i, c := range f.classes {
		if list[i].Stranger { // nobody knows where such a one stands
			open = true
			continue
		}
		in := slices.Contains(want, c)
		// Not knowing who asked, or from where, any recipient, or that person,
		// may be the requester who is being answered.
		if f.Requester.IsZero() || f.Channel.IsZero() && list[i].Principal == f.Requester.Or("") {
			if slices.Contains(want, toRequester) != in {
				open = true
				continue
			}
		}
		if in == strict {
			return yesIf(strict)
		}
	}
	if open {
		return unknown
	}
	return yesIf(!strict && len(f.classes) > 0)
}

func (f *facts) recipientTrust(want *Range, strict bool) answer {
	list, ok := f.Recipients.Get()
	if !ok {
		return unknown
	}
	for _, r := range list {
		v, ok := r.Trust.Get()
		if !ok {
			return unknown
		}
		if want.holds(v) == strict {
			return yesIf(strict)
		}
	}
	return yesIf(!strict && len(list) > 0)
}

// names reports whether the rule names an argument in its own words.
func (r *rule) names(pointer string) bool {
	for _, g := range r.arguments {
		if beneath(pointer, g.pointer) {
			return true
		}
	}
	return false
}

// namesTarget reports whether a target glob of the rule says more than "any".
func (r *rule) namesTarget() bool {
	return len(r.target) > 0 && !slices.ContainsFunc(r.target, func(g Glob) bool { return g.rank == 0 })
}
