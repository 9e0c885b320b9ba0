package agent

import (
	"regexp"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// citation is how a model says which result a sentence rests on.
var citation = regexp.MustCompile(`[ \t]*\[r([0-9]{1,4})\]`)

// finish makes the answer of a run from what its model wrote.
func (in Inputs) finish(p *progress, text string) Move {
	a := &Answer{Outcome: Answered, Skills: p.skills()}
	a.Text, a.Bindings = bind(text, in.confirmed(p))
	a.Text = clipText(a.Text, maxAnswerBytes)
	a.Bindings = slices.DeleteFunc(a.Bindings, func(b event.Binding) bool { return b.To > len(a.Text) })
	a.Text += in.undone(p)
	return Move{Answer: a}
}

// confirmed maps the numbers of results that happened to their events.
func (in Inputs) confirmed(p *progress) map[string]id.ID {
	out := map[string]id.ID{}
	for _, r := range p.results() {
		if r.is.State == stateConfirmed {
			out[r.name] = r.event
		}
	}
	return out
}

// bind takes the citations out of a text. One that names a result of this run
// that was confirmed ties its sentence to that event; any other ties nothing, so
// that a model can claim a record only where there is one.
func bind(text string, events map[string]id.ID) (string, []event.Binding) {
	var b strings.Builder
	var out []event.Binding
	at := 0
	for _, m := range citation.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > 0 && m[0] == m[2]-2 && wordByte(text[m[0]-1]) {
			continue // "list[r1]": code, not a citation
		}
		b.WriteString(text[at:m[0]])
		at = m[1]
		if ev, ok := events["r"+text[m[2]:m[3]]]; ok {
			from := sentenceStart(b.String())
			if n := len(out); n > 0 && out[n-1].From == from && out[n-1].EventID == ev || from == b.Len() {
				continue
			}
			out = append(out, event.Binding{From: from, To: b.Len(), EventID: ev})
		}
	}
	b.WriteString(text[at:])
	whole := strings.TrimRight(b.String(), " \t\n")
	kept := out[:0]
	for _, x := range out {
		x.To = min(x.To, len(whole))
		if strings.TrimSpace(whole[min(x.From, x.To):x.To]) != "" {
			kept = append(kept, x)
		}
	}
	return whole, kept
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == ']' || c == ')'
}

// sentenceStart returns where the last sentence of a text begins: after the
// last end of a sentence that something follows.
func sentenceStart(s string) int {
	body := strings.TrimRight(s, " \t\n.!?")
	best := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\n':
			best = i + 1
		case '.', '!', '?':
			if i+1 < len(body) && (body[i+1] == ' ' || body[i+1] == '\n') {
				best = i + 2
			}
		}
	}
	for best < len(body) && (body[best] == ' ' || body[best] == '\n' || body[best] == '\t') {
		best++
	}
	return best
}

// undone is a paragraph of ours that names what a run wanted and did not get: no
// answer may pass over it. Those outside the house are told no names.
func (in Inputs) undone(p *progress) string {
	results := p.results()
	var lines []string
	inside := in.TaskEvent.Label.Integrity() >= event.House
	for i, r := range results {
		again := slices.ContainsFunc(results[i+1:], func(l result) bool {
			return l.call.Skill == r.call.Skill && l.is.State == stateConfirmed
		})
		line := ""
		switch r.is.State {
		case "denied", "refused":
			line = "Not done: " + r.call.Skill + ", " + r.is.State
			if r.is.Error != "" {
				line += " (" + firstLine(r.is.Error) + ")"
			}
			line += "."
		case "failed":
			if !again {
				line = "Not done: " + r.call.Skill + " failed (" + r.is.ErrorKind + ")."
			}
		case "unknown":
			line = "In doubt: " + r.call.Skill + " may have happened or not; a person has to look."
		}
		if line != "" && !inside {
			line = "Part of this was not done."
		}
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, s := range p.steps {
		if n := len(s.open()); n > 0 {
			lines = append(lines, itoa(n)+" calls were still open.")
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(lines, "\n")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return clipText(s, 200)
}
