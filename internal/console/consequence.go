package console

import (
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// riskReasons says why the risk stands where it does, from the manifest and the
// decision; the rule itself has a place of its own.
func riskReasons(m manifest.Manifest, a policy.Approval) []string {
	var out []string
	switch m.Access {
	case manifest.Write:
		out = append(out, "it writes")
	case manifest.Send:
		out = append(out, "it sends something out")
	case manifest.Spend:
		out = append(out, "it spends money")
	case manifest.Delete:
		out = append(out, "it deletes")
	case manifest.Read:
		out = append(out, "it reads")
	}
	if m.Name != "" && !m.Undoable && m.Access != manifest.Read {
		out = append(out, "it cannot be taken back afterwards")
	}
	for _, r := range a.Reasons {
		switch r.Code {
		case policy.ReasonFloor, policy.ReasonWhy, policy.ReasonAudience, policy.ReasonUnknown, policy.ReasonCommitment:
			s := r.Sentence()
			out = append(out, strings.ToLower(s[:1])+strings.TrimSuffix(s[1:], "."))
		}
	}
	return out
}

// consequences are what will happen, from the manifest: predictions, no facts.
func consequences(m manifest.Manifest, a policy.Approval) []string {
	if m.Name == "" {
		return nil
	}
	var out []string
	on := ""
	if targets, _ := a.Request.Targets.Get(); len(targets) == 1 {
		on = targets[0].Value
	} else if len(targets) > 1 {
		on = plural(len(targets), "target", "targets")
	}
	switch m.Access {
	case manifest.Read:
		out = append(out, "It reads"+after(" ", on)+" and changes nothing.")
	case manifest.Write:
		out = append(out, "It writes"+after(" ", on)+".")
	case manifest.Send:
		out = append(out, "It sends"+after(" to ", on)+". What has left cannot be called back.")
	case manifest.Spend:
		out = append(out, "It spends money"+after(" on ", on)+".")
	case manifest.Delete:
		out = append(out, "It deletes"+after(" ", on)+".")
	}
	if m.Resources.MoneyMicros > 0 {
		out = append(out, "It may cost up to "+money(m.Resources.MoneyMicros)+".")
	}
	if a.Reversible {
		out = append(out, "It starts at once and can be undone afterwards.")
	} else {
		out = append(out, "You can take your answer back for 5 s, before it starts; not after.")
	}
	switch m.Class {
	case manifest.ClassIdempotent:
		out = append(out, "If it is cut off it is tried again: the same key is the same act.")
	case manifest.ClassReconcilable:
		out = append(out, "If it is cut off the target is asked what became of it.")
	case manifest.ClassOnce:
		out = append(out, "If it is cut off nobody can tell; then it waits for a person.")
	case manifest.ClassRead:
	}
	return out
}

// money prints micro-units of the account's currency.
func money(micros int64) string {
	cents := (micros + 5_000) / 10_000
	if micros > 0 && cents == 0 {
		return "under $0.01"
	}
	s := grouped(cents / 100)
	return "$" + s + "." + string(rune('0'+cents%100/10)) + string(rune('0'+cents%10))
}

// before lists what happened in this round trip just before the call.
func (r *reader) before(round []event.Event, invoke event.Event) (out []ui.Step, note string) {
	all := 0
	for _, e := range round {
		if e.Seq >= invoke.Seq && invoke.Seq > 0 {
			break
		}
		s, ok := r.step(e)
		if !ok {
			continue
		}
		all++
		out = append(out, s)
	}
	const shown = 3
	if len(out) > shown {
		out = out[len(out)-shown:]
	}
	switch {
	case all == 0:
	case all <= shown:
		note = "all of this run"
	default:
		note = "the last " + grouped(shown) + " of " + grouped(int64(all))
	}
	return out, note
}

// step draws an event of a run as one line; those that only carry are left out.
func (r *reader) step(e event.Event) (ui.Step, bool) {
	s := ui.Step{At: e.RecordedAt.In(r.Zone).Format("15:04"), Full: r.full(e.RecordedAt), Right: "#" + grouped(e.Seq), Href: eventPath(e.ID)}
	switch p := e.Payload.(type) {
	case event.InboundMessage:
		s.Icon, s.Name, s.Text = "message-square", capital(r.nameOf(e)), "came in by the channel "+p.Channel
	case event.LLMResponse:
		s.Icon, s.Name, s.Text = "sparkles", "Model reply", "recorded, "+grouped(p.TokensIn)+" tokens in, "+grouped(p.TokensOut)+" out"
	case event.SkillResult:
		s.Name, s.Mono, s.Text, s.Status = p.Skill, true, p.State, resultStatus(p.State)
	default:
		return s, false
	}
	return s, true
}

func resultStatus(state string) ui.Status {
	switch state {
	case "confirmed":
		return ui.StatusProven
	case "failed":
		return ui.StatusFailed
	case "denied", "refused":
		return ui.StatusDenied
	case "unknown", "held":
		return ui.StatusUnknown
	case "dispatching":
		return ui.StatusRunning
	case "intended", "asked":
		return ui.StatusWaiting
	}
	return ui.StatusIdle
}
