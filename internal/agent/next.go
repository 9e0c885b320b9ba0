package agent

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

// Bounds of a run's patience.
const (
	maxBadReplies    = 3  // replies in a row of which no call could be made
	maxContinuations = 3  // of an answer that the model's limit cut
	maxCallsPerReply = 16 // tool calls that one reply may make
	maxAnswerBytes   = 64 << 10
)

// Move is what a run does next: exactly one field but Label is set.
type Move struct {
	Ask     *Ask
	Calls   []event.SkillInvoke // made together; the run waits for all results
	Wait    []string            // calls without a result
	Summary *Summary
	Answer  *Answer
	Done    bool // the answer is recorded
	// Label is that of everything the move was computed from.
	Label event.Label
}

// Ask is one request to a model. Request.Model is for the route to fill.
type Ask struct {
	Step    int
	CallID  id.ID
	Role    string
	Prompt  string // NAME@N
	Request llm.Request
	// Asked is true when the request is recorded and only its reply is missing.
	Asked bool
}

// Summary is the text that stands for old turns from now on.
type Summary struct {
	Step  int
	Text  string
	By    string // model, or extract
	Turns int    // all that it stands for
	Label event.Label
}

// Answer ends a run.
type Answer struct {
	Text      string
	Outcome   string // Answered, Failed, OverSpent
	ErrorKind string // of a failure: a fault kind, or refusal, empty, steps, max_tokens, context, no_agent, channel
	Bindings  []event.Binding
	Skills    []string
}

// Next computes the next move of a run from what it was given and what is
// recorded. It is pure: the same records give the same move, on any machine, at
// any time (INV-13). The error is Corrupt, for a log that no run can have made.
func Next(in Inputs, records []Record) (Move, error) {
	p, err := readLog(records)
	if err != nil {
		return Move{}, err
	}
	label := in.why(p)
	if p.answer != nil {
		return Move{Done: true, Label: label}, nil
	}
	if m, ok := in.refused(p); ok {
		m.Label = label
		return m, nil
	}
	var m Move
	if in.Start.Brain == BrainPlain {
		m, err = in.nextPlain(p)
	} else {
		m, err = in.nextModel(p)
	}
	if m.Label.IsZero() {
		m.Label = label
	}
	return m, err
}

// refused ends a run that cannot begin, or whose money is spent.
func (in Inputs) refused(p *progress) (Move, bool) {
	switch {
	case in.Start.AgentVersion == 0:
		return in.fail(p, "no_agent", "There is no agent named "+in.Run.Agent+" here. Nothing was done."), true
	case !in.Definition.AnswersOn(in.Task.Channel):
		return in.fail(p, "channel", in.Run.Agent+" does not answer on this channel. Nothing was done."), true
	case in.Start.Brain == BrainModel && in.Start.Prompt == "":
		return in.fail(p, "no_prompt", "I cannot work: the prompt "+in.Definition.Prompt+" of agent "+in.Run.Agent+" does not exist. Nothing was done."), true
	case p.budget != nil:
		b, _ := p.budget.Event.Payload.(event.BudgetMet)
		if b.Scope == scopeUnpriced {
			m := in.fail(p, "budget", "I stopped here: the price of the model is not known, so that no budget of money can be kept.")
			m.Answer.Outcome = OverSpent
			return m, true
		}
		unit := "tokens"
		if b.Unit == "usd_micro" {
			unit = "millionths of a US dollar"
		}
		m := in.fail(p, "budget", "I stopped here: the budget "+scopeWord(b.Scope)+" is used up ("+
			itoa(int(b.Spent))+" of "+itoa(int(b.Limit))+" "+unit+", and the next step may take "+itoa(int(b.Asked))+").")
		m.Answer.Outcome = OverSpent
		return m, true
	}
	return Move{}, false
}

// scopeUnpriced stands in a budget.met for a model whose price nobody gave.
const scopeUnpriced = "price:unknown"

func scopeWord(scope string) string {
	switch kind, _, _ := strings.Cut(scope, ":"); kind {
	case "run":
		return "of this run"
	case "agent":
		return "of this agent"
	}
	return "of the day"
}

// fail is an honest answer for a run that could not be carried through.
func (in Inputs) fail(p *progress, kind, text string) Move {
	a := &Answer{Outcome: Failed, ErrorKind: kind, Skills: p.skills()}
	a.Text = clipText(text+in.undone(p), maxAnswerBytes)
	return Move{Answer: a}
}

func (p *progress) skills() []string {
	var out []string
	for _, s := range p.steps {
		for _, c := range s.calls {
			out = append(out, c.Event.Payload.(event.SkillInvoke).Skill)
		}
	}
	return out
}

// nextModel is Next for a run that a model thinks for.
func (in Inputs) nextModel(p *progress) (Move, error) {
	if len(p.steps) == 0 {
		switch {
		case len(in.Fold) == 0 || p.folded != nil:
			return in.ask(p, 1), nil
		case in.Start.Summariser != "":
			return in.askSummary(1), nil
		}
		return in.extracted(), nil
	}
	s := p.steps[len(p.steps)-1]
	switch {
	case s.request == nil:
		return Move{}, fault.New(fault.Corrupt, "run %s, step %d: calls without a request", in.Run.ID, s.n)
	case s.role == summariseRole && s.reply == nil:
		m := in.askSummary(s.n)
		m.Ask.Asked = true
		return m, nil
	case s.role == summariseRole && s.summary == nil:
		sum := in.summaryOf(s)
		return Move{Summary: &sum, Label: sum.Label}, nil
	case s.role == summariseRole:
		return in.ask(p, s.n+1), nil
	case s.reply == nil:
		m := in.ask(p, s.n)
		m.Ask.Asked = true
		return m, nil
	case s.failed.ErrorKind != "":
		return in.fail(p, s.failed.ErrorKind, "I could not finish: "+modelTrouble(s.failed.ErrorKind)+"."), nil
	}
	calls, bad := in.calls(p, s)
	switch {
	case len(calls) > 0 && len(s.calls) == 0:
		return Move{Calls: calls}, nil
	case len(s.open()) > 0:
		return Move{Wait: s.open()}, nil
	case len(calls)+len(bad) > 0:
		return in.afterCalls(p, s), nil
	}
	return in.afterText(p, s), nil
}

// afterCalls asks again once every call of a step is answered, or ends a run
// whose model cannot make itself understood.
func (in Inputs) afterCalls(p *progress, s *step) Move {
	streak := 0
	for i := len(p.steps) - 1; i >= 0 && p.steps[i].role != summariseRole; i-- {
		if len(p.steps[i].calls) > 0 || len(p.steps[i].answer.Calls()) == 0 {
			break
		}
		streak++
	}
	if streak >= maxBadReplies {
		return in.fail(p, "malformed", "I could not finish: the model made "+itoa(streak)+" replies in a row whose tool calls cannot be carried out.")
	}
	if p.thoughts() >= in.Definition.Budgets.Steps {
		return in.fail(p, "steps", "I stopped here: this run has used its "+itoa(in.Definition.Budgets.Steps)+" steps.")
	}
	return in.ask(p, s.n+1)
}

// thoughts counts the steps that were not spent on a summary.
func (p *progress) thoughts() int {
	n := 0
	for _, s := range p.steps {
		if s.role != summariseRole {
			n++
		}
	}
	return n
}

// afterText deals with a reply that makes no call.
func (in Inputs) afterText(p *progress, s *step) Move {
	text := strings.TrimSpace(s.answer.Text())
	full := strings.TrimSpace(in.written(p))
	spent := p.thoughts() >= in.Definition.Budgets.Steps
	switch s.answer.Stop {
	case llm.StopRefusal:
		said := "The model declined to answer this."
		if text != "" {
			said += " It said: " + text
		}
		return in.fail(p, "refusal", said)
	case llm.StopContext:
		return in.fail(p, "context", "I could not finish: this conversation no longer fits into the model's window.")
	case llm.StopMaxTokens:
		if text != "" && p.continuations() < maxContinuations && !spent {
			return in.ask(p, s.n+1)
		}
		if full == "" {
			return in.fail(p, "max_tokens", "I could not finish: the model met its limit of "+itoa(int(in.Definition.Budgets.Answer))+" tokens before it said anything.")
		}
		m := in.finish(p, full)
		m.Answer.Text += "\n\n(Cut: the model's limit of " + itoa(int(in.Definition.Budgets.Answer)) + " tokens per reply was met.)"
		m.Answer.ErrorKind = "max_tokens"
		return m
	}
	if full == "" {
		if p.empties() < 2 && !spent {
			return in.ask(p, s.n+1)
		}
		return in.fail(p, "empty", "I have no answer: the model replied with nothing.")
	}
	return in.finish(p, full)
}

// continuations counts the replies just now that the limit cut.
func (p *progress) continuations() int {
	n := 0
	for i := len(p.steps) - 1; i >= 0 && p.steps[i].cut(); i-- {
		n++
	}
	return n - 1
}

// cut reports whether a step's reply is the beginning of a longer text.
func (s *step) cut() bool {
	return s.reply != nil && s.answer.Stop == llm.StopMaxTokens && len(s.answer.Calls()) == 0 && strings.TrimSpace(s.answer.Text()) != ""
}

// empties counts the replies just now that said and called nothing.
func (p *progress) empties() int {
	n := 0
	for i := len(p.steps) - 1; i >= 0; i-- {
		a := p.steps[i].answer
		if p.steps[i].reply == nil || strings.TrimSpace(a.Text()) != "" || len(a.Calls()) > 0 {
			break
		}
		n++
	}
	return n
}

// written is the answer's text with the pieces before it that the limit cut.
func (in Inputs) written(p *progress) string {
	i := len(p.steps) - 1
	text := p.steps[i].answer.Text()
	for i--; i >= 0 && p.steps[i].cut(); i-- {
		text = p.steps[i].answer.Text() + text
	}
	return text
}

func modelTrouble(kind string) string {
	switch kind {
	case fault.Limited.String():
		return "the model's provider limits what may be asked"
	case fault.Unauthorized.String():
		return "the model's provider refuses our key"
	case fault.Timeout.String():
		return "the model did not answer in time"
	case fault.NotFound.String():
		return "the model that is configured does not exist"
	case fault.Unavailable.String():
		return "no model could be reached"
	}
	return "the model's reply could not be used (" + kind + ")"
}

// clipText cuts a text at a rune, marking the cut.
func clipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "…"
}
