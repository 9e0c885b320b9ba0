package console

import (
	"encoding/hex"
	"net/http"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// eventPage is one event: its record, its tree, and the replay of its run.
func (r *reader) eventPage(k *call, e event.Event) (*ui.EventView, error) {
	round, err := r.round(e.Correlation)
	if err != nil {
		return nil, err
	}
	v := &ui.EventView{ID: e.ID.String(), Seq: grouped(e.Seq), Type: string(e.Type), Title: r.eventTitle(e), BodyOutside: e.Label.Integrity() == event.Outside}
	if e.Erased {
		v.BodyGone = "Erased: the key of its subject was destroyed. The hash above still proves that it stood here."
	} else {
		v.Body = body(e)
	}
	var before event.Event
	if prev, err := r.Record.Before(r.tx, e.Seq, 1); err != nil {
		return nil, err
	} else if len(prev) > 0 {
		before = prev[0]
	}
	v.Header = r.header(e, before)
	v.Tree = r.tree(round, e)
	decision := r.decisionOf(round, e)
	if decision != nil {
		v.Status, v.Word, v.Key, v.Said, v.Door = decision.status, decision.word, decision.key, decision.said, decision.door
		v.Of = decision.of
		v.Parts = r.parts(round, decision.invoke)
		if call, ok := decision.invoke.Payload.(event.SkillInvoke); ok && !e.Erased {
			entry, err := r.entry(call.Manifest)
			if err != nil {
				return nil, err
			}
			v.Title = title(entry, call.Skill, call.Arguments)
		}
	}
	if run := runOf(round, e); !run.IsZero() {
		if v.Replay, err = r.replayBar(k, run, round, e); err != nil {
			return nil, err
		}
	}
	if r.Facts.Demo && v.Replay != nil && v.Replay.Label != ui.ReplayNone {
		if _, err := k.r.Cookie(doorsCookie); err != nil {
			v.Doors, v.DoorsSkip = r.doors(), "/doors/skip"
		}
	}
	return v, nil
}

// eventTitle is the headline: what happened, in our words.
func (r *reader) eventTitle(e event.Event) string {
	if e.Summary != "" && e.Label.Integrity() != event.Outside {
		return clip(e.Summary, 160)
	}
	if row, ok := event.Lookup(e.Type); ok && row.Doc != "" {
		return row.Doc
	}
	return string(e.Type)
}

// decided is the decision that an event belongs to.
type decided struct {
	invoke event.Event
	status ui.Status
	word   string
	key    string
	of     string
	said   ui.Fact
	door   ui.Link
}

// decisionOf finds the call that an event is about, and what was said to it.
func (r *reader) decisionOf(round []event.Event, on event.Event) *decided {
	invoke := invokeOf(on)
	if invoke.IsZero() {
		return nil
	}
	d := &decided{}
	for _, e := range round {
		if e.ID == invoke {
			d.invoke = e
		}
		switch p := e.Payload.(type) {
		case event.ApprovalRequested:
			if p.InvokeID == invoke {
				d.key = p.Key
				d.door = ui.Link{Text: "Open " + p.Key, Href: "/inbox/" + p.ApprovalID.String()}
				if d.word == "" {
					d.word, d.status = "Asked", ui.StatusDone
					if r.open[p.ApprovalID] {
						d.status = ui.StatusNeed
					}
				}
			}
		case event.ApprovalAnswered:
			if p.InvokeID != invoke || p.Answer == "edit" {
				continue
			}
			who := r.people.person(p.PersonID).Name
			d.word, d.status = "Allowed once", ui.StatusAllowed
			text := who + " allowed it at " + r.at(e.RecordedAt, r.now) + "."
			if p.Scope == "grant" {
				d.word = "Allowed within a scope"
			}
			if p.Answer == "deny" {
				d.word, d.status = "Denied", ui.StatusDenied
				text = who + " denied it at " + r.at(e.RecordedAt, r.now) + ". Nothing ran."
			}
			d.said = ui.Fact{Text: text, Ref: ref(e)}
		case event.PolicyDecision:
			if p.InvokeID == invoke && d.word == "" && !p.Execution {
				switch p.Effect {
				case "allow":
					d.word, d.status = "Allowed by "+p.Rule, ui.StatusAllowed
				case "deny":
					d.word, d.status = "Denied by "+p.Rule, ui.StatusDenied
				}
				d.said = ui.Fact{Text: capital(p.Rule) + " decided at " + r.at(e.RecordedAt, r.now) + ".", Ref: ref(e)}
			}
		default: // no part of the decision
		}
	}
	if d.invoke.Seq == 0 {
		return nil
	}
	for _, e := range round {
		if m, ok := e.Payload.(event.InboundMessage); ok && m.PersonID == r.who.PersonID {
			d.of = "your message"
		}
	}
	return d
}

// invokeOf is the skill.invoke that an event is about; Nil for none.
func invokeOf(e event.Event) id.ID {
	switch p := e.Payload.(type) {
	case event.SkillInvoke:
		return e.ID
	case event.PolicyDecision:
		return p.InvokeID
	case event.ApprovalRequested:
		return p.InvokeID
	case event.ApprovalAnswered:
		return p.InvokeID
	case event.ApprovalClosed:
		return p.InvokeID
	case event.ApprovalWithdrawn:
		return p.InvokeID
	default: // about no call
	}
	return id.Nil
}

// parts are the inputs of a decision, each by its content.
func (r *reader) parts(round []event.Event, invoke event.Event) []ui.Part {
	call, ok := invoke.Payload.(event.SkillInvoke)
	if !ok {
		return nil
	}
	var out []ui.Part
	add := func(icon, kind, name, hash string, outside bool, href string) {
		if hash != "" {
			out = append(out, ui.Part{Icon: icon, Kind: kind, Name: name, Hash: hash, Outside: outside, Href: href})
		}
	}
	add("plug", "Call", call.Skill, hex.EncodeToString(invoke.BodyCommit[:]), invoke.Label.Integrity() == event.Outside, eventPath(invoke.ID))
	add("layers", "Manifest", call.Skill, call.Manifest, false, "")
	for _, e := range round {
		switch p := e.Payload.(type) {
		case event.LLMResponse:
			if p.RunID == call.RunID && p.Step == call.Step {
				add("sparkles", "Model reply", "step "+grouped(int64(p.Step)), p.Digest, e.Label.Integrity() == event.Outside, eventPath(e.ID))
			}
		case event.LLMRequest:
			if p.RunID == call.RunID && p.Step == call.Step {
				add("file-text", "Prompt", p.Prompt, p.Rendered, false, eventPath(e.ID))
			}
		case event.PolicyDecision:
			if p.InvokeID == invoke.ID && !p.Execution {
				add("shield", "Policy", "v"+grouped(int64(p.Version))+", "+p.Rule, p.Digest, false, eventPath(e.ID))
			}
		default: // no input of the decision
		}
	}
	return out
}

// runOf is the run whose replay proves an event: its own, or the one of its round.
func runOf(round []event.Event, on event.Event) id.ID {
	if run := runIn(on); !run.IsZero() {
		return run
	}
	for _, e := range round {
		if p, ok := e.Payload.(event.RunStarted); ok {
			return p.RunID
		}
	}
	return id.Nil
}

func runIn(e event.Event) id.ID {
	switch p := e.Payload.(type) {
	case event.RunStarted:
		return p.RunID
	case event.RunFinished:
		return p.RunID
	case event.RunCancelled:
		return p.RunID
	case event.SkillInvoke:
		return p.RunID
	case event.SkillResult:
		return p.RunID
	case event.PolicyDecision:
		return p.RunID
	case event.ApprovalRequested:
		return p.RunID
	case event.ApprovalAnswered:
		return p.RunID
	case event.AgentResponse:
		return p.RunID
	case event.LLMRequest:
		return p.RunID
	case event.LLMResponse:
		return p.RunID
	default: // of no run
	}
	return id.Nil
}

// tree draws the round trip: cause above effect. A second cause is named beside
// the event; it stands elsewhere in the tree.
func (r *reader) tree(round []event.Event, on event.Event) []ui.TreeNode {
	kids := map[id.ID][]event.Event{}
	in := map[id.ID]bool{}
	for _, e := range round {
		in[e.ID] = true
	}
	var roots []event.Event
	for _, e := range round {
		if in[e.Causation] && e.Causation != e.ID {
			kids[e.Causation] = append(kids[e.Causation], e)
		} else {
			roots = append(roots, e)
		}
	}
	var draw func(e event.Event, depth int) ui.TreeNode
	draw = func(e event.Event, depth int) ui.TreeNode {
		n := ui.TreeNode{ID: e.ID.String(), Type: string(e.Type), Text: r.describe(e), Seq: grouped(e.Seq), Href: eventPath(e.ID), On: e.ID == on.ID,
			Outside: e.Label.Integrity() == event.Outside}
		n.Actor, n.Status, n.Icon = r.markOf(e)
		if len(e.Parents) > 0 {
			if other, ok := r.events[e.Parents[0]]; ok && other.Seq > 0 {
				n.Also, n.AlsoNote, n.AlsoOutside = ref(other), string(other.Type), other.Label.Integrity() == event.Outside
			}
		}
		for _, c := range kids[e.ID] {
			if depth < treeDepth {
				n.Children = append(n.Children, draw(c, depth+1))
			}
		}
		return n
	}
	var out []ui.TreeNode
	for _, e := range roots {
		out = append(out, flatten(draw(e, 0)))
	}
	return out
}

// treeDepth bounds the drawing of a long chain of causes.
const treeDepth = 200

// flatten draws a chain of only children beside, not inside, each other: a tree
// that is forty levels deep and one wide is a list.
func flatten(n ui.TreeNode) ui.TreeNode {
	for i := range n.Children {
		n.Children[i] = flatten(n.Children[i])
	}
	if len(n.Children) == 1 && len(n.Children[0].Children) > 0 {
		only := n.Children[0]
		rest := only.Children
		only.Children = nil
		n.Children = append([]ui.TreeNode{only}, rest...)
	}
	return n
}

// replayBar is the run of an event as dots, with the last replay's label.
func (r *reader) replayBar(k *call, run id.ID, round []event.Event, on event.Event) (*ui.Replay, error) {
	got, err := r.Agents.Store.GetRun(r.tx, run)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // no resident agent's run: nothing to replay
	}
	if err != nil {
		return nil, err
	}
	b := &ui.Replay{Action: eventPath(on.ID) + "/replay"}
	records, err := r.Agents.Store.LoadRecords(r.tx, run)
	if err != nil {
		return nil, err
	}
	if got.State != agent.Finished {
		b.Off = "This run goes on; it can be replayed when it has ended."
	}
	played, ok := r.plays.get(run)
	if ok {
		b.Label, b.Took = ui.ReplayLabel(played.report.Verdict), took(played.took)
		b.Exact, b.Total = played.report.Checked, played.report.Records
		b.Ref = ref(on)
		if d := played.report.First; d != nil {
			b.First = &ui.Divergence{Step: string(d.Kind), Byte: max(d.Byte, 0), Want: d.Recorded, Got: d.Produced}
			if d.Recorded == "" && d.Produced == "" {
				b.First.Want, b.First.Got = d.What, d.Reason
			}
			if d.Record >= 0 && d.Record < len(records) {
				if e, ok := r.events[records[d.Record].EventID]; ok {
					b.First.WantOrigin = "#" + grouped(e.Seq)
				}
			}
		}
	} else {
		b.Total = len(records)
	}
	for _, rec := range records {
		s := ui.ReplayStep{Name: stepName(rec.Kind), Href: eventPath(rec.EventID), On: rec.EventID == on.ID}
		if ok {
			switch {
			case rec.N < played.report.Checked:
				s.State = ui.ReplayExact
				if played.report.Verdict == agent.Approximate {
					s.State = ui.ReplayApproximate
				}
			case played.report.First != nil && played.report.First.Record == rec.N:
				s.State = ui.ReplayDivergent
			}
		}
		b.Steps = append(b.Steps, s)
	}
	return b, nil
}

func stepName(k agent.RecordKind) string {
	switch k {
	case agent.RecordStart:
		return "start"
	case agent.RecordRequest:
		return "request"
	case agent.RecordReply:
		return "reply"
	case agent.RecordBudget:
		return "budget"
	case agent.RecordSummary:
		return "summary"
	case agent.RecordCall:
		return "call"
	case agent.RecordResult:
		return "result"
	case agent.RecordAnswer:
		return "answer"
	case agent.RecordGaveUp:
		return "gave up"
	}
	return string(k)
}

// replay runs the run of an event again, from its record.
func (c *Console) replay(k *call) error {
	var on event.Event
	var run id.ID
	if err := c.view(k, func(r *reader) (err error) {
		if on, err = r.eventAt(k.r.PathValue("id")); err != nil {
			return err
		}
		round, err := r.round(on.Correlation)
		run = runOf(round, on)
		return err
	}); err != nil {
		return err
	}
	if run.IsZero() {
		return fault.New(fault.NotFound, "this event belongs to no run")
	}
	watch := clock.StartStopwatch()
	var report agent.Report
	if err := c.Journal.View(k.ctx, c.Account, func(tx event.Tx) (err error) {
		report, err = c.Replay(tx, run)
		return err
	}); err != nil {
		return err
	}
	c.plays.put(run, played{report: report, took: watch.Elapsed()})
	k.see(eventPath(on.ID) + "#replayed")
	return nil
}

const doorsCookie = "witan_doors"

// doors are the ways on from the demo: those that exist.
func (r *reader) doors() []ui.Door {
	return []ui.Door{
		{Icon: "sparkles", Title: "Add a model", Text: "Any compatible one, on this machine or elsewhere. Keys stay in the environment or a file.", Command: r.Facts.Config},
		{Icon: "play", Title: "Start for real", Text: "A fresh Witan in a folder that stays. Nothing of the demo comes along.", Command: "witan serve"},
	}
}

func (c *Console) skipDoors(k *call) error {
	http.SetCookie(k.w, &http.Cookie{Name: doorsCookie, Value: "closed", Path: "/", MaxAge: 400 * 24 * 3600, Secure: c.https(k.r), HttpOnly: true, SameSite: http.SameSiteLaxMode})
	back := refererPath(k.r)
	if !isEventPath(back) {
		back = "/journal"
	}
	k.see(back)
	return nil
}
