package agent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// The two brains of a run, as run.started names them.
const (
	BrainModel = "model"
	BrainPlain = "plain" // the commands that need no model
)

// Names of what ships with the program.
const (
	summarisePrompt = "summarise"
	summariseRole   = llm.Summarise
)

// Inputs is all that a run computes from: what its first record pins, read back.
// Replay reads the same, so nothing here may come from a clock, a random source
// or the newest version of anything.
type Inputs struct {
	Run        Run
	Task       event.AgentTask
	TaskEvent  event.Event
	Definition Definition
	Start      event.RunStarted
	StartLabel event.Label
	Summary    *Turn
	Fold       []Turn // turns to be summarised first, in order
	Turns      []Turn // in full, in order; the last is the task's
	System     llm.Instruction
	Summariser llm.Instruction
	Tools      []manifest.Entry // those that the agent holds and the catalogue has
}

// callID is the id of a model call: derived, so that a request that was asked
// before a crash and is asked again is one call.
func (in Inputs) callID(step int) id.ID {
	return id.Derive(in.Run.Created, []byte("witan/model-call"), in.Run.ID[:], []byte{byte(step >> 8), byte(step)})
}

// answerID is the id of the message that answers the task.
func (in Inputs) answerID() id.ID {
	return id.Derive(in.Run.Created, []byte("witan/answer"), in.Run.ID[:])
}

// summaryID is the id of the turn that this run's fold makes.
func (in Inputs) summaryID() id.ID {
	return id.Derive(in.Run.Created, []byte("witan/summary"), in.Run.ID[:])
}

// roleOf is the role that a step asks: the first one summarises, if anything is
// to be folded and there is a prompt for it.
func (in Inputs) roleOf(step int) string {
	if step == 1 && len(in.Fold) > 0 && in.Start.Summariser != "" {
		return summariseRole
	}
	return in.Start.Role
}

func (in Inputs) now() time.Time { return clock.FromMicros(in.Start.At) }

// tool finds a skill that the agent holds.
func (in Inputs) tool(name string) (manifest.Entry, bool) {
	for _, t := range in.Tools {
		if t.Manifest.Name == name {
			return t, true
		}
	}
	return manifest.Entry{}, false
}

// shown reports whether a text of this label stands in the context. An agent
// marked split sees no text that is less trusted than its requester.
func (in Inputs) shown(l event.Label) bool {
	return !in.Definition.Split || l.Integrity() >= in.TaskEvent.Label.Integrity()
}

// ours reports whether a skill's own text is the program's or the owner's. Like
// the prompt, such a text lowers nothing and is never withheld.
func ours(l event.Label) bool { return l.IsZero() || l.Integrity() >= event.House }

// startLabel is the label of the run's first context: the join of the task, of
// every turn and of every skill description that is shown. It also counts the
// turns that are withheld.
func (in Inputs) startLabel() (label event.Label, withheld int) {
	labels := []event.Label{in.TaskEvent.Label}
	turns := in.Turns
	if in.Summary != nil {
		turns = append([]Turn{*in.Summary}, turns...)
	}
	for _, t := range turns {
		if !in.shown(t.Label) {
			withheld++
			continue
		}
		labels = append(labels, t.Label)
	}
	for _, t := range in.Tools {
		if !ours(t.Label) && in.shown(t.Label) {
			labels = append(labels, t.Label)
		}
	}
	return event.Join(labels...), withheld
}

// given counts what the first request is made from.
func (in Inputs) given() event.Given {
	g := event.Given{Instructions: tokensOf(in.System.String()), Unavailable: len(in.Definition.Skills) - len(in.Tools), Folded: len(in.Fold)}
	for _, t := range in.Tools {
		g.Tools += tokensOf(t.Manifest.Name) + tokensOf(t.Manifest.Description) + tokensOf(string(t.Manifest.Input)) + tokensOf(string(t.Content))
	}
	for _, t := range in.Turns {
		g.Turns += t.tokens()
	}
	if in.Summary != nil {
		g.Summary = tokensOf(in.Summary.Text)
		g.Folded += in.Summary.Covers
	}
	_, g.Withheld = in.startLabel()
	return g
}

// result is a skill result with its place in the run.
type result struct {
	name  string // r1, r2, … in the order of the calls
	label event.Label
	event id.ID
	call  event.SkillInvoke
	is    event.SkillResult
}

// content renders a result for the model: JSON is its own fence.
func (in Inputs) content(r result) string {
	type shape struct {
		Data    string          `json:"data"`
		Label   string          `json:"label"`
		State   string          `json:"state"`
		Handles []string        `json:"handles,omitempty"`
		Output  json.RawMessage `json:"output,omitempty"`
		Cut     bool            `json:"truncated,omitempty"`
		Held    string          `json:"withheld,omitempty"`
		Kind    string          `json:"errorKind,omitempty"`
		Error   string          `json:"error,omitempty"`
	}
	s := shape{Data: r.name, Label: r.label.Integrity().String(), State: r.is.State, Cut: r.is.Truncated, Kind: r.is.ErrorKind}
	s.Handles = in.resultSource(r).handles(16)
	if in.shown(r.label) {
		s.Output, s.Error = r.is.Output, r.is.Error
	} else {
		s.Held = "the text is less trusted than the one you work for; use its handles"
	}
	out, err := encode(s)
	if err != nil { // a RawMessage that is no JSON: the journal holds none
		return `{"data":"` + r.name + `","state":"` + r.is.State + `"}`
	}
	return string(out)
}

func (in Inputs) resultSource(r result) source {
	schema := ""
	if t, ok := in.tool(r.call.Skill); ok {
		schema = string(t.Manifest.Output)
	}
	return resultSource(r.name, r.is, r.label, r.event, schema)
}

// promptRef renders NAME@N.
func promptRef(name string, number int) string {
	if number == 0 {
		return ""
	}
	return name + "@" + itoa(number)
}

func promptName(ref string) (string, int) {
	name, n, _ := strings.Cut(ref, "@")
	return name, atoi(n)
}
