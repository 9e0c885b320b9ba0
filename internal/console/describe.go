package console

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/work"
)

// describe is an event as one short sentence, made here from its payload, so that
// web, search and tree say the same. What people or strangers wrote stands in
// quotes. Types without a case say their own summary.
func (r *reader) describe(e event.Event) string {
	if e.Erased {
		return "erased"
	}
	name := func(principal string) string { return r.people.actor(principal).Name }
	quote := func(s string) string { return "“" + clip(s, 100) + "”" }
	switch p := e.Payload.(type) {
	case event.InboundMessage:
		return quote(p.Text)
	case event.OutboundMessage:
		return "to " + p.Channel + ", " + quote(p.Text)
	case event.AgentTask:
		return "dispatch gave it to " + p.Agent
	case event.RunStarted:
		return p.Agent + ", " + p.Brain + after(", prompt ", p.Prompt)
	case event.RunFinished:
		return p.Outcome + ", " + plural(p.Steps, "step", "steps")
	case event.LLMRequest:
		return p.Provider + "/" + p.Model + ", prompt " + p.Prompt
	case event.LLMResponse:
		if p.ErrorKind != "" {
			return "failed: " + p.ErrorKind
		}
		return stopWord(p.Stop) + ", " + grouped(p.TokensIn) + " tokens in, " + grouped(p.TokensOut) + " out"
	case event.SkillInvoke:
		return name(p.Actor) + " wants to run " + p.Skill
	case event.PolicyDecision:
		s := strings.ToUpper(p.Effect) + " by " + p.Rule + " of policy v" + grouped(int64(p.Version))
		if p.Execution {
			return s + ", again before it runs"
		}
		return s
	case event.ApprovalRequested:
		return p.Key + ", " + name(p.Actor) + " asks to run " + p.Skill
	case event.ApprovalAnswered:
		return name("person:"+p.PersonID.String()) + ": " + p.Answer + answerScope(p)
	case event.ApprovalWithdrawn:
		return name("person:"+p.PersonID.String()) + " took it back"
	case event.ApprovalClosed:
		return p.How
	case event.EffectChanged:
		s := p.Skill + " " + p.State
		if p.Attempt > 1 {
			s += ", attempt " + grouped(int64(p.Attempt))
		}
		return s
	case event.SkillResult:
		return p.Skill + " " + p.State + after(", ", p.ErrorKind)
	case event.AgentResponse:
		return quote(p.Text)
	case event.HaltSet:
		return name(p.By) + " halted " + p.Scope
	case event.HaltCleared:
		return name(p.By) + " resumed " + p.Scope
	case event.MessageHeld:
		return "by " + p.Channel + ", " + heldWhy(p.Reason)
	case event.EffectSettled:
		return name("person:"+p.PersonID.String()) + ": " + settledWord(p.Outcome)
	case event.PersonSaved:
		return p.Name + ", " + p.Role
	case event.SessionChanged:
		return name("person:"+p.PersonID.String()) + ", " + p.Action + after(", ", p.How)
	case event.WorkspaceCreated:
		return name(p.By) + " made the workspace " + quote(p.Name)
	case event.TaskCreated:
		return name(p.Author) + " made " + p.Key + ", " + quote(p.Title)
	case event.TaskUpdated:
		return name(p.By) + " changed " + p.Key + ": " + changedFields(p.Changes)
	case event.StatusUpdated:
		return statusMove(p, name)
	case event.TaskLinked:
		if p.Linked {
			return name(p.By) + " let " + p.Key + " wait for another task"
		}
		return name(p.By) + " let " + p.Key + " wait no more for another task"
	case event.MessageCreated:
		return name(p.Author) + " in " + p.Key + ": " + quote(p.Text)
	default: // by its own summary, below
	}
	return clip(e.Summary, 140)
}

func stopWord(stop string) string {
	switch stop {
	case "tool_use", "toolUse":
		return "wants a call"
	case "end", "end_turn":
		return "answered"
	}
	return strings.ReplaceAll(stop, "_", " ")
}

func answerScope(p event.ApprovalAnswered) string {
	switch p.Scope {
	case "grant":
		return " within a scope"
	case "session":
		return " for this run"
	case "once":
		if p.Answer == "allow" {
			return " once"
		}
	}
	return ""
}

// changedFields names what was written, never with which words.
func changedFields(in []event.FieldChange) string {
	names := make([]string, len(in))
	for i, c := range in {
		names[i] = c.Field
	}
	return strings.Join(names, ", ")
}

// statusMove is a change of status or of hands, with its cause where that says more.
func statusMove(p event.StatusUpdated, name func(string) string) string {
	to := strings.ToLower(statusWord(work.Status(p.To)))
	switch p.Cause {
	case work.CauseClaimed, work.CauseResumed:
		return name(p.Claimant) + " took " + p.Key
	case work.CauseLapsed, work.CauseLost:
		return name(p.Claimant) + " lost " + p.Key + ": the lease ran out"
	case work.CauseRevoked, work.CauseReassigned:
		return name(p.By) + " took " + p.Key + " from " + name(p.Claimant) + ": " + to
	case work.CauseReleased:
		return name(p.Claimant) + " gave " + p.Key + " back"
	case work.CauseHeld:
		return p.Key + " was held by a restore"
	}
	return name(p.By) + " moved " + p.Key + " from " + strings.ToLower(statusWord(work.Status(p.From))) + " to " + to
}
