package agent

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// step is one model request of a run with all that came of it.
type step struct {
	n       int
	role    string
	request *Record
	reply   *Record
	answer  llm.Response // decoded reply; zero on an error
	failed  event.LLMResponse
	calls   []Record // in the order in which they were made
	results map[string]Record
	summary *Record
}

// progress is a run's log, sorted by step.
type progress struct {
	steps  []*step
	folded *Record // the summary that was made before the first step, without a model
	budget *Record
	answer *Record
	last   int // N of the newest record
}

// readLog sorts records into steps. The records are in the order of N and hold
// their events; Corrupt names the one that cannot be where it stands.
func readLog(records []Record) (*progress, error) {
	p := &progress{last: -1}
	for i := range records {
		r := records[i]
		bad := func(format string, args ...any) error {
			return fault.New(fault.Corrupt, "run %s, record %d (%s, step %d): "+format, append([]any{r.RunID, r.N, r.Kind, r.Step}, args...)...)
		}
		p.last = r.N
		if r.Event.Payload == nil || r.Event.Payload.EventType() != r.Kind.eventType() {
			return p, bad("its event is erased or of another type")
		}
		if r.Kind == RecordStart {
			if i != 0 {
				return p, bad("a run starts once")
			}
			continue
		}
		var s *step
		if n := len(p.steps); n > 0 {
			s = p.steps[n-1]
		}
		if r.Kind == RecordRequest || r.Kind == RecordCall && (s == nil || s.n != r.Step) {
			if r.Step != len(p.steps)+1 {
				return p, bad("a step is missing before it")
			}
			s = &step{n: r.Step, results: map[string]Record{}}
			p.steps = append(p.steps, s)
		}
		switch v := r.Event.Payload.(type) {
		case event.LLMRequest:
			s.request, s.role = &r, v.Role
		case event.LLMResponse:
			if s == nil || s.request == nil || s.reply != nil || s.n != r.Step {
				return p, bad("a reply to no request")
			}
			s.reply, s.failed = &r, v
			if v.ErrorKind == "" {
				if err := json.Unmarshal(v.Response, &s.answer); err != nil {
					return p, bad("the reply is no JSON: %v", err)
				}
			}
		case event.SkillInvoke:
			s.calls = append(s.calls, r)
		case event.SkillResult:
			if s = p.at(r.Step); s == nil || !s.made(r.CallID) {
				return p, bad("a result of no call")
			}
			s.results[r.CallID] = r
		case event.ThreadSummarised:
			if s == nil {
				p.folded = &r
			} else {
				s.summary = &r
			}
		case event.BudgetMet:
			p.budget = &r
		case event.AgentResponse:
			p.answer = &r
		default: // a record of another kind moves nothing on
		}
	}
	return p, nil
}

func (p *progress) at(n int) *step {
	if n < 1 || n > len(p.steps) {
		return nil
	}
	return p.steps[n-1]
}

func (s *step) made(callID string) bool {
	for _, c := range s.calls {
		if c.CallID == callID {
			return true
		}
	}
	return false
}

// open lists the calls of a step that have no result yet.
func (s *step) open() []string {
	var out []string
	for _, c := range s.calls {
		if _, ok := s.results[c.CallID]; !ok {
			out = append(out, c.CallID)
		}
	}
	return out
}

// results lists all results of the run in the order of their calls; one that is
// not there yet leaves its number free.
func (p *progress) results() []result {
	var out []result
	n := 0
	for _, s := range p.steps {
		for _, c := range s.calls {
			n++
			if r, ok := s.results[c.CallID]; ok {
				out = append(out, result{name: "r" + itoa(n), label: r.Label, event: r.EventID,
					call: c.Event.Payload.(event.SkillInvoke), is: r.Event.Payload.(event.SkillResult)})
			}
		}
	}
	return out
}

// why is the label of everything that stands in the context now.
func (in Inputs) why(p *progress) event.Label {
	labels := []event.Label{in.StartLabel}
	if t := in.folded(p); t != nil {
		labels = append(labels, t.Label)
	}
	for _, r := range p.results() {
		if in.shown(r.label) {
			labels = append(labels, r.label)
		}
	}
	return event.Join(labels...)
}

// sources lists what the run's context offers to draw values from, to arguments
// of the label why. The words of a message are looked at only where quoting one
// can raise an argument's label.
func (in Inputs) sources(p *progress, why event.Label) []source {
	var out []source
	for i := len(in.Turns) - 1; i >= 0; i-- {
		if t := in.Turns[i]; t.Role == TurnUser {
			s := messageSource(in.turnName(i), t)
			if raises(s.label, why) {
				s.fields = typedWords(s.fields, t.Text)
			}
			out = append(out, s)
		}
	}
	for _, r := range p.results() {
		out = append(out, in.resultSource(r))
	}
	return out
}
