package console

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// member is one member of a JSON object, in the order in which it stands there.
type member struct {
	name  string
	value json.RawMessage
}

// members reads the top level of canonical arguments. Nothing is reformatted: the
// bytes shown are the bytes that run.
func members(raw json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return out
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return out
		}
		name, _ := key.(string)
		out = append(out, member{name: name, value: v})
	}
	return out
}

// callOf is the skill.invoke that an approval answers. It stands here because a
// file that knows package skill may not speak of invoking (arch_test).
func callOf(a policy.Approval) id.ID { return a.Invoke }

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// args draws every argument of the exact call with where it came from.
func (r *reader) args(a policy.Approval, invoke event.Event) ([]ui.Arg, error) {
	call, _ := invoke.Payload.(event.SkillInvoke)
	why, _ := a.Request.Why.Get()
	out := r.argsOf(call, a.Request.Arguments, why)
	// What is acted on stands first; the bytes of each argument stay as they run.
	targets, _ := a.Request.Targets.Get()
	rank := func(g ui.Arg) int {
		i := slices.IndexFunc(targets, func(t policy.Target) bool { return t.Pointer == "/"+escapePointer(g.Name) })
		if i < 0 {
			return len(targets)
		}
		return i
	}
	slices.SortStableFunc(out, func(x, y ui.Arg) int { return rank(x) - rank(y) })
	if len(a.Original) == 0 {
		return out, nil
	}
	first := map[string]string{}
	for _, m := range members(a.Original) {
		first[m.name] = string(m.value)
	}
	for i := range out {
		if was, ok := first[out[i].Name]; !ok || was != out[i].Value {
			out[i].Origin, out[i].Outside, out[i].Label = "edited by a person", false, ""
		}
	}
	return out, nil
}

// argsOf draws the arguments of a call, by what its invoke says of each leaf. A
// leaf of which nothing is said has the label of the whole context.
func (r *reader) argsOf(call event.SkillInvoke, arguments json.RawMessage, why event.Label) []ui.Arg {
	actor := r.people.actor(call.Actor).Name
	var out []ui.Arg
	for _, m := range members(arguments) {
		g := ui.Arg{Name: m.name, Value: string(m.value), Origin: actor, Outside: why.Integrity() == event.Outside}
		at := "/" + escapePointer(m.name)
		found, lowest := false, event.Person
		for _, w := range call.What {
			if w.Pointer != at && !strings.HasPrefix(w.Pointer, at+"/") {
				continue
			}
			l, err := event.ParseLabel(w.Label)
			if err != nil {
				continue
			}
			if !found || l.Integrity() < lowest {
				lowest = l.Integrity()
				g.Origin = r.origin(w, actor)
			}
			found = true
		}
		if found {
			g.Outside = lowest == event.Outside
		}
		if g.Outside {
			g.Label = "outside"
		}
		out = append(out, g)
	}
	return out
}

// origin says in words how one leaf came to be.
func (r *reader) origin(w event.Argument, actor string) string {
	from := ""
	if e, ok := r.events[w.From]; ok {
		from = r.nameOf(e)
	}
	switch w.How {
	case "handle":
		if from != "" {
			return from + after(", ", w.Field)
		}
		return w.Handle
	case "quote":
		if from == "" {
			from = "a record"
		}
		return "quoted from " + from + after(", ", w.Field)
	}
	return actor
}

// nameOf is what people call an event as a source of bytes.
func (r *reader) nameOf(e event.Event) string {
	switch p := e.Payload.(type) {
	case event.InboundMessage:
		switch {
		case p.PersonID == r.who.PersonID && !p.PersonID.IsZero():
			return "your message"
		case !p.PersonID.IsZero():
			return "a message of " + r.people.person(p.PersonID).Name
		}
		return "a message by " + p.Channel
	case event.AgentTask:
		return "the task"
	case event.SkillResult:
		return p.Skill
	case event.ThreadSummarised:
		return "the thread's summary"
	default: // by its type, below
	}
	return string(e.Type)
}

// indent lays JSON out for reading; bytes that are no JSON stay as they are.
func indent(raw []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}
