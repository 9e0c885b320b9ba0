package console

import (
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// talk draws the turns of one thread from the events of their runs.
type talk struct {
	*reader
	thread *ui.Thread
	runs   map[id.ID]agent.Run
	labels []event.Label // of everything that was read for it
	door   event.Event   // the first one from outside
	seen   []string      // principals, in the order of their first word
}

// said is what the record of one run says, read from its round trip.
type said struct {
	round  []event.Event
	calls  []event.Event                    // skill.invoke, in order
	result map[string]event.Event           // by call id
	policy map[id.ID]event.PolicyDecision   // first decision by invoke
	answer map[id.ID]event.ApprovalAnswered // by invoke
	start  *event.RunStarted
	reply  *event.AgentResponse
	end    event.Event // run.finished
	last   event.Event // the newest event of the run
}

// said reads the round trip that an event belongs to, for one run.
func (x *talk) said(of id.ID, run id.ID) (said, error) {
	s := said{result: map[string]event.Event{}, policy: map[id.ID]event.PolicyDecision{}, answer: map[id.ID]event.ApprovalAnswered{}}
	e, err := x.event(of)
	if err != nil || e.Seq == 0 {
		return s, err
	}
	if s.round, err = x.round(e.Correlation); err != nil {
		return s, err
	}
	for _, e := range s.round {
		mine := false
		switch p := e.Payload.(type) {
		case event.RunStarted:
			if mine = p.RunID == run; mine {
				s.start = &p
			}
		case event.SkillInvoke:
			if mine = p.RunID == run; mine {
				s.calls = append(s.calls, e)
			}
		case event.SkillResult:
			if mine = p.RunID == run; mine {
				s.result[p.CallID] = e
			}
		case event.PolicyDecision:
			if _, ok := s.policy[p.InvokeID]; !ok && p.RunID == run {
				s.policy[p.InvokeID] = p
			}
		case event.ApprovalAnswered:
			if p.RunID == run && p.Answer != string(policy.AnswerEdit) {
				s.answer[p.InvokeID] = p
			}
		case event.AgentResponse:
			if mine = p.RunID == run; mine {
				s.reply = &p
			}
		case event.RunFinished:
			if mine = p.RunID == run; mine {
				s.end = e
			}
		default: // not shown in the talk
		}
		if mine {
			s.last = e
			x.labels = append(x.labels, e.Label)
			if x.door.Seq == 0 && e.Label.Integrity() == event.Outside {
				x.door = e
			}
		}
	}
	return s, nil
}

func (x *talk) meet(principal string) {
	for _, p := range x.seen {
		if p == principal {
			return
		}
	}
	x.seen = append(x.seen, principal)
	note := ""
	if kind, _, _ := strings.Cut(principal, ":"); kind == "agent" {
		note = "agent"
	}
	if principal == x.who.By() {
		note = "you"
	}
	x.thread.People = append(x.thread.People, ui.Participant{Actor: x.people.actor(principal), Note: note})
}

// turn adds one entry of the thread's history.
func (x *talk) turn(t agent.Turn) error {
	e := ui.Entry{ID: strconv.Itoa(t.Seq)}
	switch t.Role {
	case agent.TurnUser:
		x.meet(t.Author)
		if x.door.Seq == 0 && t.Label.Integrity() == event.Outside {
			door, err := x.event(t.EventID)
			if err != nil {
				return err
			}
			x.door = door
		}
		e.Turn = &ui.Turn{Actor: x.people.actor(t.Author), At: x.at(t.At, x.now), Full: x.full(t.At), Text: t.Text, Outside: t.Label.Integrity() == event.Outside}
		if t.Text == "" {
			e.Turn.State = "erased"
		}
		if t.Sender != "" && e.Turn.Outside {
			e.Turn.Actor = ui.Actor{Kind: ui.ActorPerson, Name: t.Sender}
		}
	case agent.TurnAssistant:
		x.meet(t.Author)
		s, err := x.said(t.EventID, t.RunID)
		if err != nil {
			return err
		}
		turn := ui.Turn{Actor: x.people.actor(t.Author), At: x.at(t.At, x.now), Full: x.full(t.At)}
		if !t.RunID.IsZero() {
			turn.Run, turn.RunHref = "r-"+short(t.RunID.String()), runHref(s, t.EventID)
		}
		if turn.Calls, err = x.calls(s); err != nil {
			return err
		}
		turn.Says = x.sentences(t, s)
		if s.reply != nil && s.reply.IsError {
			turn.State = strings.ReplaceAll(s.reply.ErrorKind, "_", " ")
		}
		e.Turn = &turn
	case agent.TurnNote:
		said, err := x.refTo(t.EventID)
		if err != nil {
			return err
		}
		e.Line = &ui.SystemLine{Icon: "info", Fact: ui.Fact{Text: t.Text, Ref: said}, At: x.at(t.At, x.now), Full: x.full(t.At)}
	case agent.TurnSummary:
		said, err := x.refTo(t.EventID)
		if err != nil {
			return err
		}
		e.Line = &ui.SystemLine{Icon: "layers", Fact: ui.Fact{Text: plural(t.Covers, "older turn is", "older turns are") + " given to models as a summary.", Ref: said}, At: x.at(t.At, x.now), Full: x.full(t.At)}
	}
	x.thread.Entries = append(x.thread.Entries, e)
	return nil
}

func runHref(s said, otherwise id.ID) string {
	if s.end.Seq > 0 {
		return eventPath(s.end.ID)
	}
	return eventPath(otherwise)
}

// sentences binds what an agent said to the events of its run. What it said and
// what left can differ; only what left is shown, and only what was bound is proven.
func (x *talk) sentences(t agent.Turn, s said) []ui.Sentence {
	var bound []event.Binding
	if s.reply != nil && s.reply.Text == t.Text {
		bound = s.reply.Bindings
	}
	var out []ui.Sentence
	for _, one := range agent.Sentences(t.Text, bound) {
		line := ui.Sentence{Text: one.Text}
		if e, ok := x.events[one.EventID]; ok && !one.EventID.IsZero() {
			line.Ref = ref(e)
		}
		// Words that no record supports stand together: one edge, one line.
		if n := len(out); n > 0 && !line.Ref.Known() && !out[n-1].Ref.Known() {
			out[n-1].Text += "\n" + line.Text
			continue
		}
		out = append(out, line)
	}
	return out
}

// calls draws a run's calls: skill, what it was about, rule, what became of it.
func (x *talk) calls(s said) ([]ui.CallRow, error) {
	var out []ui.CallRow
	for _, e := range s.calls {
		call, _ := e.Payload.(event.SkillInvoke)
		entry, err := x.entry(call.Manifest)
		if err != nil {
			return nil, err
		}
		arguments := call.Arguments
		if a, ok := s.answer[e.ID]; ok && len(a.Arguments) > 0 {
			arguments = a.Arguments
		}
		row := ui.CallRow{Icon: skillIcon(call.Skill), Skill: call.Skill, Text: title(entry, call.Skill, arguments), Href: eventPath(e.ID)}
		row.Policy = x.policyStep(s, e.ID)
		if r, ok := s.result[call.CallID]; ok {
			p, _ := r.Payload.(event.SkillResult)
			row.Effect = ui.FlowStep{Status: resultStatus(p.State), Text: p.State, Dotted: p.State == "unknown"}
			row.Outside = r.Label.Integrity() == event.Outside
		} else if row.Effect, err = x.effectStep(call.RunID, e.ID); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

func (x *talk) policyStep(s said, invoke id.ID) ui.FlowStep {
	if a, ok := s.answer[invoke]; ok {
		who := x.people.person(a.PersonID).Name
		if a.Answer == string(policy.AnswerDeny) {
			return ui.FlowStep{Status: ui.StatusDenied, Text: "denied by " + who}
		}
		return ui.FlowStep{Status: ui.StatusAllowed, Text: "allowed by " + who}
	}
	d, ok := s.policy[invoke]
	if !ok {
		return ui.FlowStep{}
	}
	switch d.Effect {
	case "allow":
		return ui.FlowStep{Status: ui.StatusAllowed, Text: d.Rule}
	case "deny":
		return ui.FlowStep{Status: ui.StatusDenied, Text: d.Rule}
	}
	return ui.FlowStep{Status: ui.StatusWaiting, Text: "asks, " + d.Rule}
}

// effectStep is where a call without a result stands in the ledger.
func (x *talk) effectStep(run, invoke id.ID) (ui.FlowStep, error) {
	e, err := x.effectOf(policy.Approval{Invoke: invoke, Request: policy.Request{Run: run}})
	if err != nil || e == nil {
		return ui.FlowStep{}, err
	}
	return ui.FlowStep{Status: resultStatus(string(e.State)), Text: string(e.State), Dotted: true}, nil
}

func skillIcon(name string) string {
	family, _, _ := strings.Cut(name, ".")
	switch family {
	case "file", "pano":
		return "file-text"
	case "memory":
		return "database"
	case "message":
		return "mail"
	case "http":
		return "external-link"
	case "time", "reminder":
		return "timer"
	case "inbox":
		return "inbox"
	}
	return "plug"
}

// open adds the turn of a run that has not answered yet: what it did so far, and
// what it asks.
func (x *talk) open(run agent.Run) error {
	x.meet("agent:" + run.Agent)
	s, err := x.said(run.Task, run.ID)
	if err != nil {
		return err
	}
	turn := &ui.Turn{Actor: x.people.actor("agent:" + run.Agent), Run: "r-" + short(run.ID.String()), RunHref: eventPath(run.Task), StepNote: runWord(run)}
	turn.At, turn.Full = x.at(run.Created, x.now), x.full(run.Created)
	turn.Writing = run.State == agent.Thinking || run.State == agent.Ready
	if turn.Calls, err = x.calls(s); err != nil {
		return err
	}
	open, err := x.Policy.ListApprovals(x.tx, policy.ApprovalFilter{Run: run.ID, Limit: 20})
	if err != nil {
		return err
	}
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].State != policy.StateOpen && open[i].State != policy.StateAllowed {
			continue
		}
		if turn.Ask, err = x.ask(open[i]); err != nil {
			return err
		}
	}
	x.thread.Entries = append(x.thread.Entries, ui.Entry{ID: "run-" + run.ID.String(), Turn: turn})
	return nil
}

// ask is the Inbox card without its history.
func (x *talk) ask(a policy.Approval) (*ui.Ask, error) {
	card, err := x.approval(a)
	if err != nil {
		return nil, err
	}
	if x.may(identity.ActApprovalAnswer) && card.State == ui.StateOpen {
		card.Can = ui.Can{Allow: true, Deny: true}
	}
	k := &ui.Ask{Approval: card}
	k.Why, _ = whyCare(a)
	if card.State != ui.StateOpen && card.State != ui.StateUndo {
		status := ui.StatusAllowed
		if card.State == ui.StateDenied {
			status = ui.StatusDenied
		}
		if card.Answer.Known() {
			k.Flow = append(k.Flow, ui.FlowStep{Status: status, Text: strings.TrimSuffix(card.Answer.Text, ".")})
		}
		k.Flow = append(k.Flow, ui.FlowStep{Status: ui.StatusRunning, Text: string(card.State), Dotted: true})
	}
	return k, nil
}

func runWord(run agent.Run) string {
	switch run.State {
	case agent.Queued:
		return "waits for the run before it"
	case agent.Ready:
		return "begins"
	case agent.Thinking:
		return "step " + strconv.Itoa(run.Steps+1)
	case agent.Waiting:
		return "waits for its calls"
	case agent.Resting:
		return "waits for a model"
	case agent.Finished:
	}
	return run.Outcome
}

// facts fills the right pane with the newest run.
func (x *talk) facts(run agent.Run) error {
	s, err := x.said(run.Task, run.ID)
	if err != nil {
		return err
	}
	d, _, err := x.Agents.Definition(x.tx, run.Agent)
	if err != nil {
		d = agent.Definition{} // it is defined no more; its run stays
	}
	f := &ui.Run{Key: "r-" + short(run.ID.String())}
	f.Status, f.Word = runStatus(run, x.thread)
	steps := strconv.Itoa(run.Steps)
	if d.Budgets.Steps > 0 {
		steps += " of at most " + strconv.Itoa(d.Budgets.Steps)
	}
	f.Facts = []ui.KV{{Key: "Steps", Value: steps}, {Key: "Agent", Value: run.Agent}}
	if s.start != nil {
		f.Facts = append(f.Facts, ui.KV{Key: "Brain", Value: s.start.Brain}, ui.KV{Key: "Prompt", Value: s.start.Prompt}, ui.KV{Key: "Policy", Value: "v" + strconv.Itoa(s.start.Policy)})
		x.thread.Reads = given(s.start.Given)
	}
	f.Facts = append(f.Facts, ui.KV{Key: "Tokens", Value: grouped(run.TokensIn) + " in, " + grouped(run.TokensOut) + " out"})
	if run.CostKnown && run.Cost > 0 {
		f.Spent = money(run.Cost)
		if limit := d.Budgets.USDMicro; limit > 0 {
			f.Cap, f.Permille = money(limit), int(run.Cost*1000/limit)
		}
	}
	x.thread.Run = f
	x.thread.With = run.Agent
	if run.State == agent.Finished && s.end.Seq > 0 {
		x.thread.Replay = ui.Link{Text: "Replay this run offline", Href: eventPath(s.end.ID)}
	}
	return nil
}

func runStatus(run agent.Run, t *ui.Thread) (ui.Status, string) {
	switch run.State {
	case agent.Finished:
		switch run.Outcome {
		case "answered":
			return ui.StatusDone, "answered"
		case "cancelled":
			return ui.StatusBlocked, "cancelled"
		}
		return ui.StatusFailed, run.Outcome
	case agent.Waiting:
		for _, e := range t.Entries {
			if e.Turn != nil && e.Turn.Ask != nil && e.Turn.Ask.Approval.State == ui.StateOpen {
				return ui.StatusNeed, "waits for you"
			}
		}
		return ui.StatusWaiting, "waits for its calls"
	case agent.Resting:
		return ui.StatusWaiting, "waits for a model"
	case agent.Queued:
		return ui.StatusWaiting, "queued"
	case agent.Ready, agent.Thinking:
	}
	return ui.StatusRunning, "running"
}

func given(g event.Given) []ui.KV {
	var out []ui.KV
	add := func(what string, tokens int) {
		if tokens > 0 {
			out = append(out, ui.KV{Key: what, Value: grouped(int64(tokens)) + " tok"})
		}
	}
	add("Instructions", g.Instructions)
	add("Skills", g.Tools)
	add("Turns in full", g.Turns)
	add("Summary of older ones", g.Summary)
	return out
}
