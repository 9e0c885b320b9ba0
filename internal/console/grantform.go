package console

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// usesAtFirst is how many uses the composer starts with.
const usesAtFirst = 5

// between stands between several targets in one field.
const between = " | "

// ends are the ends that a composer offers.
func ends() []ui.Choice {
	return []ui.Choice{{Value: "1d", Label: "1 day"}, {Value: "7d", Label: "7 days"}, {Value: "30d", Label: "30 days"}}
}

func endOf(value string) (time.Duration, bool) {
	days, err := strconv.Atoi(strings.TrimSuffix(value, "d"))
	if err != nil || !slices.ContainsFunc(ends(), func(c ui.Choice) bool { return c.Value == value }) {
		return 0, false
	}
	return time.Duration(days) * 24 * time.Hour, true
}

// grantForm is the composer: the narrowest grant that covers the call, or what
// was typed, read back as one sentence.
func (x *item) grantForm(a policy.Approval, m manifest.Manifest) (*ui.GrantForm, error) {
	narrow, err := policy.NarrowestGrant(a.Request)
	if err != nil {
		return nil, err
	}
	g := &ui.GrantForm{TargetName: targetName(m), Uses: usesAtFirst, Open: x.query.Get("do") == "scope", Error: x.press.scope}
	typed := x.press.grant
	if typed == nil && g.Open {
		typed = x.query
	}
	spec := narrow
	spec.Uses = usesAtFirst
	until := "7d"
	if typed.Has("skill") {
		if v := typed.Get("until"); v != "" {
			until = v
		}
		got, err := grantSpec(narrow, targetPointer(a.Request, narrow), typed, x.now)
		if err != nil {
			if g.Error == "" {
				msg, _, fix := fault.Public(err)
				g.Error = sentence(msg) + after(" ", sentence(fix))
			}
		} else {
			spec = got
			if g.Error == "" && !spec.Covers(a.Request) {
				g.Error = "This scope does not cover the call that asks."
			}
		}
		g.Skill, g.Target = typed.Get("skill"), typed.Get("target")
	} else {
		g.Skill, g.Target = spec.Skill, strings.Join(spec.Targets, between)
	}
	g.Uses = max(spec.Uses, 1)
	g.Targets = wider(narrow.Targets)
	var exact []string
	for _, p := range slices.Sorted(maps.Keys(narrow.Arguments)) {
		if p == targetPointer(a.Request, narrow) {
			continue // one field stands for both: the target is this argument
		}
		name := strings.TrimPrefix(p, "/")
		if spec.Arguments[p] == narrow.Arguments[p] {
			exact = append(exact, name)
		}
		v := narrow.Arguments[p]
		if typed.Has("arg." + name) {
			v = typed.Get("arg." + name)
		}
		g.Args = append(g.Args, ui.GrantArg{Name: name, Glob: v})
	}
	for _, e := range ends() {
		e.On = e.Value == until
		g.Until = append(g.Until, e)
	}
	if spec.ExpiresAt == 0 {
		life, _ := endOf("7d")
		spec.ExpiresAt = clock.Micros(x.now.Add(life))
	}
	g.Sentence = policy.Grant{Holder: a.Request.Actor, Spec: spec}.Sentence()
	if len(exact) > 0 {
		g.StillAsks = "Only with " + strings.Join(exact, " and ") + " as " + theyAre(len(exact)) + " now. "
	}
	g.StillAsks += "Anything that it does not name still asks, and so do outside bytes and guardrails."
	return g, nil
}

// grantSpec reads the composer: what was typed over the narrowest grant.
func grantSpec(narrow policy.GrantSpec, target string, f url.Values, now time.Time) (policy.GrantSpec, error) {
	out := narrow
	out.Skill = strings.TrimSpace(f.Get("skill"))
	if strings.Contains(out.Skill, "*") {
		out.Manifest = "" // several skills have no one version
	}
	out.Targets = nil
	for _, t := range strings.Split(f.Get("target"), between) {
		if t = strings.TrimSpace(t); t != "" {
			out.Targets = append(out.Targets, t)
		}
	}
	out.Arguments = map[string]string{}
	for p, v := range narrow.Arguments {
		if p == target && len(out.Targets) == 1 {
			v = out.Targets[0]
		} else if name := "arg." + strings.TrimPrefix(p, "/"); f.Has(name) {
			v = unbreak(f.Get(name))
		}
		out.Arguments[p] = v
	}
	uses, err := strconv.Atoi(f.Get("uses"))
	if err != nil || uses < 1 || uses > 1000 {
		return out, fault.New(fault.Invalid, "a grant has 1 to 1,000 uses").On("uses")
	}
	out.Uses = uses
	life, ok := endOf(f.Get("until"))
	if !ok {
		return out, fault.New(fault.Invalid, "a grant ends").On("until").WithFix("choose 1, 7 or 30 days")
	}
	out.ExpiresAt = clock.Micros(now.Add(life))
	return out, nil
}

// targetPointer is the argument that is the one target, byte for byte; "" if there
// is none or more than one. Its glob is typed once.
func targetPointer(call policy.Request, narrow policy.GrantSpec) string {
	targets, _ := call.Targets.Get()
	if len(targets) != 1 || len(narrow.Targets) != 1 || narrow.Arguments[targets[0].Pointer] != narrow.Targets[0] {
		return ""
	}
	return targets[0].Pointer
}

func theyAre(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

// unbreak undoes what forms do to line ends (CRLF).
func unbreak(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// targetName is the word for what is acted on: the argument that names it.
func targetName(m manifest.Manifest) string {
	if len(m.Target) == 1 {
		return capital(strings.TrimPrefix(m.Target[0], "/"))
	}
	return ""
}

// wider offers wider targets, one step each: the folder, the kind, anything.
func wider(narrow []string) []string {
	if len(narrow) != 1 {
		return nil
	}
	var out []string
	t := narrow[0]
	if i := strings.LastIndex(t, "/"); i > 0 && !strings.Contains(t, "://") {
		out = append(out, t[:i]+"/*")
	}
	if i := strings.LastIndex(t, "."); i > 0 && !strings.Contains(t, "://") && !strings.Contains(t, "@") {
		out = append(out, "*"+t[i:])
	}
	if i := strings.LastIndex(t, "@"); i > 0 {
		out = append(out, "*"+t[i:])
	}
	return out
}
