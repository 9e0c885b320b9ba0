package console

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// undoSpan is for the ring only; policy's EffectiveAt decides.
const undoSpan = 5

// denyReasons are the chips of Deny.
func denyReasons() []string {
	return []string{"Not now", "Wrong target", "Wrong content", "I do not know why"}
}

// approvalCard fills the card of an approval, in whatever state it is.
func (x *item) approvalCard(a policy.Approval, v *ui.InboxView) error {
	card, err := x.approval(a)
	if err != nil {
		return err
	}
	x.name = a.Key
	entry, err := x.entry(a.Request.Manifest)
	if err != nil {
		return err
	}
	if card.State == ui.StateOpen {
		if err := x.offers(a, entry, &card); err != nil {
			return err
		}
	}
	card.Next = x.next(a.ID)
	card.Error = x.press.err
	if s := x.press.stale; s != nil && card.State == ui.StateOpen {
		card.Stale = x.stale(s, a)
	} else if s != nil {
		card.Error = "Your press changed nothing: it was answered already, or has expired."
	}
	v.Approval = &card
	if v.Index == 0 && x.query.Get("kind") == "" {
		group := decidedRow(card, a)
		v.Groups = append(v.Groups, ui.QueueGroup{Name: "Decided", Items: []ui.QueueItem{group}})
	}
	return nil
}

// decidedRow keeps a decided item in place until the person moves on.
func decidedRow(card ui.Approval, a policy.Approval) ui.QueueItem {
	it := ui.QueueItem{ID: card.ID, Href: "/inbox/" + card.ID, Title: card.Title, Actor: card.Actor, On: true, Decided: card.Answer}
	switch card.State {
	case ui.StateDenied:
		it.Status = ui.StatusDenied
	case ui.StateConfirmed:
		it.Status = ui.StatusProven
	case ui.StateFailed:
		it.Status = ui.StatusFailed
	case ui.StateUnknown:
		it.Status = ui.StatusUnknown
	case ui.StateRunning:
		it.Status = ui.StatusRunning
	case ui.StateExpired, ui.StateWithdrawn:
		it.Status = ui.StatusIdle
	case ui.StateHalted:
		it.Status = ui.StatusBlocked
	case ui.StateOpen, ui.StateUndo:
		it.Status = ui.StatusAllowed
	}
	if it.Decided.Text == "" {
		it.Why = string(a.State)
	}
	return it
}

// approval is the card as everybody sees it, without what this person may do. The
// chat shows the same.
func (r *reader) approval(a policy.Approval) (ui.Approval, error) {
	card := ui.Approval{ID: a.ID.String(), Key: a.Key, Version: a.Revision, Digest: a.Digest, Actor: r.people.actor(a.Request.Actor),
		Skill: a.Request.Skill, Risk: riskOf(a), Reasons: denyReasons()}
	entry, err := r.entry(a.Request.Manifest)
	if err != nil {
		return card, err
	}
	card.Title = title(entry, a.Request.Skill, a.Request.Arguments)
	if a.Erased {
		card.Title = a.Request.Skill + ", its data were erased"
	}
	if a.State == policy.StateOpen {
		card.ExpiresIn = span(a.ExpiresAt.Sub(r.now))
	}
	round, err := r.round(a.Requested.Correlation)
	if err != nil {
		return card, err
	}
	invoke, err := r.event(callOf(a))
	if err != nil {
		return card, err
	}
	if requested, err := r.event(a.Requested.ID); err != nil {
		return card, err
	} else if requested.Seq > 0 {
		card.Journal = eventPath(requested.ID)
	}
	card.For = r.purpose(round)
	if card.Args, err = r.args(a, invoke); err != nil {
		return card, err
	}
	if !slices.ContainsFunc(card.Args, func(g ui.Arg) bool { return g.Outside }) && len(card.Args) > 0 {
		card.CallNote = "no outside bytes in it"
	}
	card.CallJSON = string(a.Request.Arguments)
	if err := r.changes(a, &card); err != nil {
		return card, err
	}
	if card.Taint, err = r.taint(a, invoke, &card); err != nil {
		return card, err
	}
	if a.Words != "" {
		card.Says = &ui.Claim{Text: a.Words}
	}
	card.Before, card.BeforeNote = r.before(round, invoke)
	if !a.Requested.Correlation.IsZero() {
		card.BeforeHref = "/journal?q=round%3A" + a.Requested.Correlation.String()
	}
	card.RiskReasons = riskReasons(entry.Manifest, a)
	if card.Rule, err = r.rule(a); err != nil {
		return card, err
	}
	card.WillHappen = consequences(entry.Manifest, a)
	return card, r.fate(a, round, &card)
}

// fate says what became of the approval: its state, who answered, what came of it.
func (r *reader) fate(a policy.Approval, round []event.Event, card *ui.Approval) error {
	effect, err := r.effectOf(a)
	if err != nil {
		return err
	}
	card.State = r.state(a, effect)
	if card.State == ui.StateUndo {
		left := a.EffectiveAt.Sub(r.now)
		card.Undo = &ui.Undo{Left: int((left + time.Second - 1) / time.Second), Total: undoSpan}
	}
	var answered, closed event.Event
	for _, e := range round {
		switch p := e.Payload.(type) {
		case event.ApprovalAnswered:
			if p.ApprovalID == a.ID && p.Answer != string(policy.AnswerEdit) {
				answered = e
			}
		case event.ApprovalWithdrawn:
			if p.ApprovalID == a.ID {
				answered = event.Event{}
			}
		case event.ApprovalClosed:
			if p.ApprovalID == a.ID {
				closed = e
			}
		default: // says nothing about how the approval ended
		}
	}
	switch {
	case card.State == ui.StateOpen:
	case answered.Seq > 0:
		who := r.people.person(a.AnsweredBy)
		card.AnswerBy, card.Elsewhere = who, a.AnsweredBy != r.who.PersonID
		card.Answer = ui.Fact{Text: who.Name + " " + answerWord(a) + " at " + r.at(a.AnsweredAt, r.now) + ".", Ref: ref(answered)}
		card.Journal = eventPath(answered.ID)
		if !a.Request.Run.IsZero() && card.State != ui.StateUndo {
			card.Replay = eventPath(answered.ID)
		}
	case closed.Seq > 0:
		card.Answer = ui.Fact{Text: closedWord(closed) + " at " + r.at(closed.RecordedAt, r.now) + ". Nothing ran.", Ref: ref(closed)}
		card.Journal = eventPath(closed.ID)
	}
	if effect == nil || effect.Result.IsZero() {
		if card.State == ui.StateDenied {
			card.Outcome = ui.Fact{Text: "Nothing ran.", Ref: card.Answer.Ref}
		}
		return nil
	}
	result, err := r.event(effect.Result)
	if err != nil {
		return err
	}
	card.Outcome = ui.Fact{Text: outcomeWord(effect.State, result), Ref: ref(result)}
	return nil
}

func answerWord(a policy.Approval) string {
	switch {
	case a.Answer == policy.AnswerDeny:
		return "denied it"
	case a.Scope == policy.ScopeGrant:
		return "allowed it within a scope"
	case a.Scope == policy.ScopeSession:
		return "allowed it for this run"
	}
	return "allowed it once"
}

func closedWord(e event.Event) string {
	p, _ := e.Payload.(event.ApprovalClosed)
	switch p.How {
	case "expired":
		return "It expired"
	case "cancelled":
		return "Its asker went away"
	}
	return "It was superseded"
}

func outcomeWord(s skill.State, result event.Event) string {
	p, _ := result.Payload.(event.SkillResult)
	switch s {
	case skill.Confirmed:
		return "Confirmed in " + took(time.Duration(p.TookUS)*time.Microsecond) + "."
	case skill.Failed:
		return "It failed" + after(": ", p.Error) + "."
	case skill.Refused:
		return "It was refused at execution" + after(": ", p.Error) + "."
	case skill.Denied:
		return "Nothing ran."
	case skill.Unknown:
		return "Nobody can tell whether it happened."
	case skill.Asked, skill.Intended, skill.Dispatching, skill.Held:
	}
	return ""
}

// effectOf finds the ledger row that an approval answers; nil for none.
func (r *reader) effectOf(a policy.Approval) (*skill.Effect, error) {
	if a.Request.Run.IsZero() {
		return nil, nil //nolint:nilnil // an approval of another asker has no effect here
	}
	list, ok := r.effects[a.Request.Run]
	if !ok {
		var err error
		if list, err = r.Skills.Effects(r.tx, skill.Filter{Run: a.Request.Run, Limit: 200}); err != nil {
			return nil, err
		}
		r.effects[a.Request.Run] = list
	}
	for i := range list {
		if list[i].Approval == a.ID || list[i].Cause == callOf(a) {
			return &list[i], nil
		}
	}
	return nil, nil //nolint:nilnil // the effect is of another time than the page
}

// state is where an approval stands, as its card shows it.
func (r *reader) state(a policy.Approval, e *skill.Effect) ui.ApprovalState {
	switch a.State {
	case policy.StateOpen:
		if !a.ExpiresAt.After(r.now) {
			return ui.StateExpired
		}
		return ui.StateOpen
	case policy.StateDenied:
		return ui.StateDenied
	case policy.StateExpired:
		return ui.StateExpired
	case policy.StateCancelled, policy.StateSuperseded:
		return ui.StateWithdrawn
	case policy.StateAllowed:
		if a.EffectiveAt.After(r.now) {
			return ui.StateUndo
		}
		if r.halted(a.Request.Actor) && (e == nil || e.State == skill.Intended) {
			return ui.StateHalted
		}
	case policy.StateUsed:
	}
	if e == nil {
		return ui.StateRunning
	}
	switch e.State {
	case skill.Confirmed:
		return ui.StateConfirmed
	case skill.Failed, skill.Refused, skill.Denied:
		return ui.StateFailed
	case skill.Unknown, skill.Held:
		return ui.StateUnknown
	case skill.Asked, skill.Intended, skill.Dispatching:
	}
	return ui.StateRunning
}

// purpose is the message that the call serves.
func (r *reader) purpose(round []event.Event) ui.Link {
	for _, e := range round {
		m, ok := e.Payload.(event.InboundMessage)
		if !ok {
			continue
		}
		whose := "a message by " + m.Channel
		if m.PersonID == r.who.PersonID {
			whose = "your message"
		} else if !m.PersonID.IsZero() {
			whose = "the message of " + r.people.person(m.PersonID).Name
		}
		return ui.Link{Text: whose + " “" + clip(m.Text, 90) + "”", Href: "/chat/" + m.ThreadID.String()}
	}
	return ui.Link{}
}

// rule is the line of policy that asked, by the version that was in force then.
func (r *reader) rule(a policy.Approval) (ui.Rule, error) {
	out := ui.Rule{Name: capital(a.Rule), Version: "policy v" + grouped(int64(a.Version))}
	table, err := r.table(a.Version)
	if err != nil {
		return out, err
	}
	if rule, ok := table.Rule(a.Rule); ok {
		out.Text = rule.Text()
		if rule.Note != "" {
			out.Text += "\n  (" + rule.Note + ")"
		}
		return out, nil
	}
	out.Text = strings.ToUpper(table.Document().Default.String()) + " everything that no rule names"
	return out, nil
}

// table returns a compiled version of the policy; versions never change.
func (r *reader) table(version int) (*policy.Table, error) {
	if t, ok := r.tables.get(version); ok {
		return t, nil
	}
	now, err := r.Policy.Current(r.tx)
	if err != nil {
		return nil, err
	}
	if now.Version() != version {
		v, err := r.Policy.GetVersion(r.tx, version)
		if err != nil {
			return nil, err
		}
		doc, err := policy.Parse(v.Document)
		if err != nil {
			return nil, fault.New(fault.Corrupt, "policy %d cannot be read: %w", version, err)
		}
		if now, err = policy.Compile(version, doc); err != nil {
			return nil, err
		}
	}
	r.tables.put(version, now)
	return now, nil
}

// offers adds what this person may do about an open call.
func (x *item) offers(a policy.Approval, e manifest.Entry, card *ui.Approval) error {
	card.Pointers = x.Facts.Demo && x.press.err == "" && !x.decidedBefore()
	if !x.may(identity.ActApprovalAnswer) {
		card.Can.AllowOff = "viewers do not decide"
		return nil
	}
	card.Can = ui.Can{Allow: true, Deny: true, Edit: e.Hash != ""}
	if card.Risk.High() {
		card.StepUp = "password" // or the passkey: the page looks later
	}
	last, status, err := x.lastTime(a)
	if err != nil {
		return err
	}
	card.LastTime, card.LastStatus = last, status
	card.Edit = editFields(e.Manifest.Input, a.Request.Arguments, x.press)
	if reason := scopeOff(a); reason != "" {
		card.Can.ScopeOff = reason
		return nil
	}
	form, err := x.grantForm(a, e.Manifest)
	if err != nil {
		card.Can.ScopeOff = "off: not all of this call is known"
		return nil //nolint:nilerr // the reason stands on the button
	}
	card.Can.Scope, card.Grant = true, form
	return nil
}

// scopeOff is why no grant could answer this ASK; "" if one could.
func scopeOff(a policy.Approval) string {
	for _, k := range a.Asks {
		if k == policy.AskGuardrail || k == policy.AskCommitment {
			return "off, no grant answers a " + k.String()
		}
	}
	if !slices.Contains(a.Asks, policy.AskRule) && !slices.Contains(a.Asks, policy.AskAutonomy) {
		return "off, its context came from outside"
	}
	return ""
}

// lastTime tells how the same call was answered before.
func (x *item) lastTime(a policy.Approval) (ui.Fact, ui.Status, error) {
	before, err := x.decided()
	if err != nil {
		return ui.Fact{}, "", err
	}
	for _, b := range before {
		if b.Shape != a.Shape || b.ID == a.ID {
			continue
		}
		said, err := x.refTo(b.Requested.ID)
		if err != nil {
			return ui.Fact{}, "", err
		}
		status := ui.StatusAllowed
		if b.Answer == policy.AnswerDeny {
			status = ui.StatusDenied
		}
		return ui.Fact{Text: x.people.person(b.AnsweredBy).Name + " " + answerWord(b) + " at " + x.at(b.AnsweredAt, x.now) + ", as " + b.Key + ".", Ref: said}, status, nil
	}
	return ui.Fact{}, "", nil
}

// decided lists the newest answered approvals, once a page.
func (x *item) decided() ([]policy.Approval, error) {
	if x.answers != nil {
		return x.answers, nil
	}
	list, err := x.Policy.ListApprovals(x.tx, policy.ApprovalFilter{Limit: perKind})
	if err != nil {
		return nil, err
	}
	x.answers = slices.DeleteFunc(list, func(a policy.Approval) bool { return a.Answer != policy.AnswerAllow && a.Answer != policy.AnswerDeny })
	return x.answers, nil
}

func (x *item) decidedBefore() bool {
	list, err := x.decided()
	return err == nil && len(list) > 0
}

// stale says how the call differs from the one that was shown.
func (x *item) stale(s *staleness, a policy.Approval) *ui.Stale {
	out := &ui.Stale{Saw: s.saw, Now: a.Revision}
	if s.saw == a.Revision {
		out.Saw = 0
	}
	for _, e := range x.rounds[a.Requested.Correlation] {
		if p, ok := e.Payload.(event.ApprovalAnswered); ok && p.ApprovalID == a.ID && p.Answer == string(policy.AnswerEdit) {
			out.Why = ui.Fact{Text: x.people.person(p.PersonID).Name + " edited the call at " + x.at(e.RecordedAt, x.now) + ".", Ref: ref(e)}
		}
	}
	if len(a.Original) > 0 {
		out.Diff = callDiff(a.Original, a.Request.Arguments)
	}
	return out
}

func callDiff(before, now json.RawMessage) *ui.Diff {
	return &ui.Diff{Note: "arguments", Lines: lineDiff(indent(before), indent(now))}
}
