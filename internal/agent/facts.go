package agent

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Facts is what a turn of an agent shows: its calls, its sentences, and what the
// model was given. Everything is read from the record of the run.
type Facts struct {
	Run     Run
	Start   event.RunStarted // zero until it started
	Why     event.Label      // join of everything that was in the context
	Calls   []CallFact
	Answer  *event.AgentResponse
	Says    []Sentence
	Replies int // of models
}

// CallFact is one call of a run.
type CallFact struct {
	Step   int
	Invoke event.SkillInvoke
	Event  id.ID // the skill.invoke
	Label  event.Label
	// Result is nil while the call is out.
	Result      *event.SkillResult
	ResultEvent id.ID
}

// Sentence is a stretch of an answer. It is bound if a record of the run speaks
// for it; any other is the agent's word only.
type Sentence struct {
	Text    string
	EventID id.ID
}

// Facts reads the facts of a run; what was erased is left out.
func (s *Service) Facts(tx event.Tx, runID id.ID) (Facts, error) {
	out := Facts{}
	var err error
	if out.Run, err = s.Store.GetRun(tx, runID); err != nil {
		return out, err
	}
	records, err := s.Store.LoadRecords(tx, runID)
	if err != nil {
		return out, err
	}
	byCall := map[string]int{}
	labels := make([]event.Label, 0, len(records))
	for _, r := range records {
		labels = append(labels, r.Label)
		switch r.Kind {
		case RecordRequest, RecordBudget, RecordSummary:
			continue
		}
		e, err := s.Store.GetEvent(tx, r.EventID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return out, err
		}
		switch v := e.Payload.(type) {
		case event.RunStarted:
			out.Start = v
		case event.LLMResponse:
			out.Replies++
		case event.SkillInvoke:
			byCall[v.CallID] = len(out.Calls)
			out.Calls = append(out.Calls, CallFact{Step: v.Step, Invoke: v, Event: e.ID, Label: e.Label})
		case event.SkillResult:
			if i, ok := byCall[v.CallID]; ok {
				out.Calls[i].Result, out.Calls[i].ResultEvent = &v, e.ID
			}
		case event.AgentResponse:
			out.Answer = &v
			out.Says = Sentences(v.Text, v.Bindings)
		default: // the other records add nothing to the facts
		}
	}
	out.Why = event.Join(labels...)
	return out, nil
}

// Sentences cuts an answer where its bindings begin and end, and the rest into
// paragraphs and sentences. Joined, the texts are the answer but for blanks.
func Sentences(text string, bindings []event.Binding) []Sentence {
	var out []Sentence
	add := func(part string, ev id.ID) {
		for part != "" {
			n := len(part)
			if ev.IsZero() {
				n = sentenceEnd(part)
			}
			if s := strings.TrimSpace(part[:n]); s != "" {
				out = append(out, Sentence{Text: s, EventID: ev})
			}
			part = part[n:]
		}
	}
	at := 0
	for _, b := range bindings {
		if b.From < at || b.To <= b.From || b.To > len(text) {
			continue // a binding that cannot be read binds nothing
		}
		// The mark that ends the sentence belongs to it.
		to := b.To
		for to < len(text) && strings.IndexByte(".!?", text[to]) >= 0 {
			to++
		}
		add(text[at:b.From], id.Nil)
		add(text[b.From:to], b.EventID)
		at = to
	}
	add(text[at:], id.Nil)
	return out
}

// sentenceEnd returns the length of the first sentence or line of s.
func sentenceEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return i + 1
		case '.', '!', '?':
			if i+1 < len(s) && s[i+1] == ' ' {
				return i + 2
			}
		}
	}
	return len(s)
}
