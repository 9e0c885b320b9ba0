package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Rule is one line of policy, and also the form of a guardrail. A condition
// that is left out holds for every call. Lists are alternatives.
//
// A call can have several targets, recipients and argument values. An ALLOW
// rule holds only if all of them meet its condition; a DENY or ASK rule holds
// if any does: one foreign cc is enough.
type Rule struct {
	ID     int    `json:"id"`
	Effect Effect `json:"effect"`

	Who       []string          `json:"who,omitempty"`       // globs over the actor: agent:*, agent:scribe
	Workspace []id.ID           `json:"workspace,omitempty"` //
	Skill     []string          `json:"skill,omitempty"`     // globs
	Target    []string          `json:"target,omitempty"`    // globs
	Arguments map[string]string `json:"arguments,omitempty"` // JSON pointer to glob over the values at and under it
	During    *Window           `json:"during,omitempty"`

	For            []string      `json:"for,omitempty"` // globs over the requester
	Access         []Access      `json:"access,omitempty"`
	Risk           []Risk        `json:"risk,omitempty"`
	Recipient      []string      `json:"recipient,omitempty"`      // requester, account, outside
	Sensitivity    []Sensitivity `json:"sensitivity,omitempty"`    //
	Why            []string      `json:"why,omitempty"`            // integrities: outside, known, house, person
	Trust          *Range        `json:"trust,omitempty"`          // of the requester
	RecipientTrust *Range        `json:"recipientTrust,omitempty"` // of the recipients
	Note           string        `json:"note,omitempty"`           // why the rule is there
}

// Range is a stretch of trust in micro-units, 0 to 1,000,000.
type Range struct {
	AtLeast int32 `json:"atLeast,omitempty"`
	Below   int32 `json:"below,omitempty"` // 0 means no upper end
}

func (r *Range) holds(v int32) bool { return v >= r.AtLeast && (r.Below == 0 || v < r.Below) }

type recipientClass uint8

const (
	toRequester recipientClass = iota + 1 // an answer on the requester's own channel
	toAccount                             // people, agents, workers and workspaces of the account
	toOutside                             // everybody else: a third party
)

var recipientNames = [...]string{"", "requester", "account", "outside"}

// rule is a Rule that is ready to be matched.
type rule struct {
	Rule
	ref         string // "rule 3", "guardrail 1"
	who, forWho []Glob
	skill       []Glob
	target      []Glob
	arguments   []argumentGlob
	during      *window
	recipient   []recipientClass
	why         []event.Integrity
	scope       int // specificity of who and workspace
	conditions  int // of the second block
}

type argumentGlob struct {
	pointer string
	glob    Glob
}

// Scope ranks: account < a sort of actor < workspace < one actor; a rule that
// names a workspace and an actor is narrower than either.
const (
	scopeSort      = 1
	scopeWorkspace = 2
	scopeActor     = 4
)

// compile checks a rule; errors name the field within it.
func (r Rule) compile(kind string) (*rule, error) {
	out := &rule{Rule: r, ref: kind + " " + strconv.Itoa(r.ID)}
	if r.ID < 1 {
		return nil, fault.New(fault.Invalid, "a rule has a number of 1 or more").On("id")
	}
	if r.Effect.String() == "" {
		return nil, fault.New(fault.Invalid, "a rule says allow, ask or deny").On("effect")
	}
	var err error
	for _, l := range []struct {
		field string
		in    []string
		out   *[]Glob
	}{{"who", r.Who, &out.who}, {"for", r.For, &out.forWho}, {"skill", r.Skill, &out.skill}, {"target", r.Target, &out.target}} {
		if *l.out, err = compileGlobs(l.field, l.in); err != nil {
			return nil, err
		}
	}
	for i, w := range r.Workspace {
		if w.IsZero() {
			return nil, fault.New(fault.Invalid, "a workspace has an id").On(fmt.Sprintf("workspace[%d]", i))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(r.Arguments)) {
		if !validPointer(p) {
			return nil, fault.New(fault.Invalid, "%q is no JSON pointer to an argument", p).On("arguments").WithFix(`write it as "/to"`)
		}
		g, err := compileValue(r.Arguments[p])
		if err != nil {
			return nil, on(err, "arguments."+p, -1)
		}
		out.arguments = append(out.arguments, argumentGlob{p, g})
	}
	if r.During != nil {
		if out.during, err = r.During.compile(); err != nil {
			return nil, on(err, "during", -1)
		}
	}
	for i, n := range r.Recipient {
		k, err := parseName(recipientNames[:], "recipient", n)
		if err != nil {
			return nil, on(err, "recipient", i)
		}
		out.recipient = append(out.recipient, recipientClass(k))
	}
	for i, n := range r.Why {
		k, ok := event.ParseIntegrity(n)
		if !ok {
			return nil, on(fault.New(fault.Invalid, "%q is no integrity", n).WithFix("use outside, known, house or person"), "why", i)
		}
		out.why = append(out.why, k)
	}
	for field, t := range map[string]*Range{"trust": r.Trust, "recipientTrust": r.RecipientTrust} {
		if t != nil && (t.AtLeast < 0 || t.AtLeast > maxTrust || t.Below < 0 || t.Below > maxTrust || t.Below != 0 && t.Below <= t.AtLeast) {
			return nil, fault.New(fault.Invalid, "a range of trust runs from 0 to 1000000, its lower end first").On(field)
		}
	}
	if len(r.Note) > maxNote {
		return nil, fault.New(fault.Limited, "a note has at most %d bytes", maxNote).On("note")
	}
	out.specify()
	return out, nil
}

const (
	maxTrust = 1_000_000
	maxNote  = 400
)

// specify fixes the parts of the specificity that do not depend on the call.
func (r *rule) specify() {
	switch {
	case len(r.who) == 0 || slices.ContainsFunc(r.who, func(g Glob) bool { return g.rank == 0 }):
	case !slices.ContainsFunc(r.who, func(g Glob) bool { return !g.Exact() }):
		r.scope = scopeActor
	default:
		r.scope = scopeSort
	}
	if len(r.Workspace) > 0 {
		r.scope += scopeWorkspace
	}
	for _, given := range []bool{len(r.For) > 0, len(r.Access) > 0, len(r.Risk) > 0, len(r.Recipient) > 0,
		len(r.Sensitivity) > 0, len(r.Why) > 0, r.Trust != nil, r.RecipientTrust != nil} {
		if given {
			r.conditions++
		}
	}
}

// Text renders the rule as a person reads it: its effect and skill, then one
// condition a line.
func (r Rule) Text() string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(r.Effect.String()) + " " + orAny(r.Skill))
	line := func(word string, list []string) {
		if len(list) > 0 {
			b.WriteString("\n  " + word + " " + strings.Join(list, ", "))
		}
	}
	who := make([]string, len(r.Who))
	for i, w := range r.Who {
		if who[i] = w; strings.HasSuffix(w, ":*") {
			who[i] = strings.TrimSuffix(w, ":*") + "s"
			if w == "person:*" {
				who[i] = "people"
			}
		}
	}
	line("by", who)
	line("in workspace", words(r.Workspace))
	line("on", r.Target)
	for _, p := range slices.Sorted(maps.Keys(r.Arguments)) {
		line("with "+p, []string{r.Arguments[p]})
	}
	line("for", r.For)
	line("access", words(r.Access))
	line("risk", words(r.Risk))
	line("to", r.Recipient)
	line("data", words(r.Sensitivity))
	line("when its context is", r.Why)
	for _, t := range []struct {
		word string
		r    *Range
	}{{"trust", r.Trust}, {"recipient trust", r.RecipientTrust}} {
		if t.r == nil {
			continue
		}
		s := "from " + micro(t.r.AtLeast)
		if t.r.Below != 0 {
			s += " to below " + micro(t.r.Below)
		}
		line(t.word, []string{s})
	}
	if r.During != nil {
		line("during", []string{r.During.String()})
	}
	return b.String()
}

func orAny(list []string) string {
	if len(list) == 0 {
		return "*"
	}
	return strings.Join(list, ", ")
}

func words[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

// micro renders micro-units as a decimal: 750000 is "0.75".
func micro(v int32) string {
	s := fmt.Sprintf("%d.%06d", v/maxTrust, v%maxTrust)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// on puts a field, and an index of 0 or more, before the field of err.
func on(err error, field string, index int) error {
	var e *fault.Error
	if !asFault(err, &e) {
		return err
	}
	if index >= 0 {
		field += fmt.Sprintf("[%d]", index)
	}
	if e.Field != "" {
		field += "." + e.Field
	}
	return e.On(field)
}
