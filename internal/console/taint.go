package console

import (
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// farthest bounds a walk up the parents: a chain that is longer is told as far as
// it was walked.
const farthest = 60

// taint finds the way of outside bytes into a call: from where they came in, over
// what kept them, to the arguments. The label says only that there is one; the
// chain is found by walking parents, when somebody asks (architecture §7).
func (r *reader) taint(a policy.Approval, invoke event.Event, card *ui.Approval) ([]ui.TaintStep, error) {
	why, known := a.Request.Why.Get()
	if !known || why.Integrity() != event.Outside || invoke.Seq == 0 {
		return nil, nil
	}
	path, err := r.wayIn(invoke)
	if err != nil {
		return nil, err
	}
	var out []ui.TaintStep
	for _, e := range path {
		if s, ok := r.taintStep(e); ok {
			out = append(out, s)
		}
	}
	if len(path) > 0 {
		card.Alarm = r.alarm(path[0], card)
	}
	var names []string
	for _, g := range card.Args {
		if g.Outside {
			names = append(names, g.Name)
		}
	}
	switch len(names) {
	case 0:
		out = append(out, ui.TaintStep{Icon: "corner-down-right", Kind: "Context", Name: "no argument holds them", Note: "but they were read before this call", Inside: true})
	case 1:
		out = append(out, ui.TaintStep{Icon: "corner-down-right", Kind: "Argument", Name: names[0], Note: "label kept"})
	default:
		out = append(out, ui.TaintStep{Icon: "corner-down-right", Kind: "Arguments", Name: strings.Join(names, ", "), Note: "label kept"})
	}
	return out, nil
}

// alarm is the one computed fact: an argument with a single source outside.
func (r *reader) alarm(first event.Event, card *ui.Approval) *ui.Alarm {
	i := slices.IndexFunc(card.Args, func(g ui.Arg) bool { return g.Outside })
	if i < 0 {
		return nil
	}
	text := "Whoever wrote those bytes could have chosen it."
	return &ui.Alarm{Head: ui.Fact{Text: "Outside bytes may have written “" + card.Args[i].Name + "”: they came in by " + r.nameOf(first) + ".", Ref: ref(first)}, Text: text}
}

// wayIn walks the parents of a call, nearest first, to the event through which
// outside bytes came in, and returns the path from there, the call left out.
func (r *reader) wayIn(from event.Event) ([]event.Event, error) {
	came := map[id.ID]id.ID{from.ID: id.Nil} // event to the one nearer to the call
	todo := []id.ID{from.ID}
	var door id.ID
	for n := 0; len(todo) > 0 && n < farthest; n++ {
		at := todo[0]
		todo = todo[1:]
		e, err := r.event(at)
		if err != nil {
			return nil, err
		}
		if e.Seq == 0 || e.Label.Integrity() != event.Outside {
			continue
		}
		parents := e.Parents
		if !e.Causation.IsZero() {
			parents = append([]id.ID{e.Causation}, parents...)
		}
		tainted := false
		for _, p := range parents {
			pe, err := r.event(p)
			if err != nil {
				return nil, err
			}
			if pe.Seq == 0 || pe.Label.Integrity() != event.Outside {
				continue
			}
			tainted = true
			if _, ok := came[p]; !ok {
				came[p] = at
				todo = append(todo, p)
			}
		}
		if !tainted {
			door = at // nothing above it is outside: here they came in
			break
		}
	}
	if door.IsZero() {
		return nil, nil
	}
	var path []event.Event
	for at := door; !at.IsZero() && at != from.ID; at = came[at] {
		path = append(path, r.events[at])
	}
	return path, nil
}

// taintStep draws one stop; steps that only carry are left out.
func (r *reader) taintStep(e event.Event) (ui.TaintStep, bool) {
	s := ui.TaintStep{Href: eventPath(e.ID), Note: "#" + grouped(e.Seq)}
	switch p := e.Payload.(type) {
	case event.InboundMessage:
		s.Icon, s.Kind, s.Name = "mail", "Message", clip(p.Sender, 60)
		s.Note = p.Channel + ", proof " + p.Proof
	case event.SkillResult:
		s.Icon, s.Kind, s.Name = "plug", "Result", p.Skill
	case event.MemoryStored:
		s.Icon, s.Kind, s.Name = "database", "Memory", clip(p.Title, 60)
	case event.MemoryRetrieved:
		s.Icon, s.Kind, s.Name = "database", "Recall", plural(len(p.Hits), "memory", "memories")
	case event.PanoSaved:
		s.Icon, s.Kind, s.Name = "file-text", "Document", p.Path
	case event.ThreadSummarised:
		s.Icon, s.Kind, s.Name = "layers", "Summary", "of this thread"
	case event.LLMResponse:
		s.Icon, s.Kind, s.Name = "sparkles", "Model", "read as data"
	default:
		return s, false
	}
	return s, true
}
