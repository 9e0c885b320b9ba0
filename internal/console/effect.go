package console

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// effectTitle is the sentence of an effect's call.
func (r *reader) effectTitle(e skill.Effect) (string, error) {
	entry, err := r.entry(e.Manifest)
	if err != nil {
		return "", err
	}
	arguments, _, err := r.effectCall(e)
	return title(entry, e.Skill, arguments), err
}

// effectCall returns the arguments that ran, or were to run: a person's, if one
// edited the call.
func (r *reader) effectCall(e skill.Effect) (json.RawMessage, event.Event, error) {
	cause, err := r.event(e.Cause)
	if err != nil {
		return nil, cause, err
	}
	call, _ := cause.Payload.(event.SkillInvoke)
	if !e.Edit.IsZero() {
		edit, err := r.event(e.Edit)
		if err != nil {
			return nil, cause, err
		}
		if p, ok := edit.Payload.(event.ApprovalAnswered); ok && len(p.Arguments) > 0 {
			return p.Arguments, cause, nil
		}
	}
	return call.Arguments, cause, nil
}

// effectWhy is the one reason why an effect waits for a person.
func effectWhy(e skill.Effect) string {
	if e.State == skill.Held {
		return "kept back after a restore"
	}
	return "its outcome is not known"
}

// effectCard fills the card of an effect that nobody can tell the end of, or that
// was kept back after a restore.
func (x *item) effectCard(e skill.Effect, steps []skill.Step, v *ui.InboxView) error {
	entry, err := x.entry(e.Manifest)
	if err != nil {
		return err
	}
	arguments, cause, err := x.effectCall(e)
	if err != nil {
		return err
	}
	call, _ := cause.Payload.(event.SkillInvoke)
	card := ui.Effect{ID: e.ID.String(), Key: "EF-" + short(e.ID.String()), Version: e.Version, State: ui.StatusUnknown, Word: "Unknown effect",
		Title: title(entry, e.Skill, arguments), Actor: x.people.actor(e.Actor), Skill: e.Skill, Digest: e.Call, Args: x.argsOf(call, arguments, e.Label),
		Next: x.next(e.ID), Note: effectNote(e)}
	if e.State == skill.Held {
		card.State, card.Word = ui.StatusWaiting, "Was going to happen"
		if e.Before == skill.Dispatching || e.Before == skill.Unknown {
			card.State, card.Word = ui.StatusUnknown, "May have happened"
		}
	}
	x.name = card.Key
	for _, s := range steps {
		text := string(s.State) + " " + s.At.In(x.Zone).Format("15:04:05")
		if s.Attempt > 1 {
			text += ", attempt " + strconv.Itoa(s.Attempt)
		}
		card.Steps = append(card.Steps, ui.FlowStep{Status: resultStatus(string(s.State)), Text: text, Dotted: s.State == skill.Unknown})
		said, err := x.refTo(s.EventID)
		if err != nil {
			return err
		}
		if s.State == skill.Dispatching {
			card.Knows = append(card.Knows, ui.Fact{Text: "The first byte may have left at " + s.At.In(x.Zone).Format("15:04:05") + ".", Ref: said})
		}
		if said.Known() {
			card.Journal = said.Href
		}
	}
	if cause.Seq > 0 && card.Journal == "" {
		card.Journal = eventPath(cause.ID)
	}
	card.ReadBack = e.Class == manifest.ClassReconcilable
	if !card.ReadBack {
		card.ReadBackOff = "not offered by the target"
	}
	card.Retry = e.State == skill.Held && e.Before != skill.Dispatching && e.Before != skill.Unknown
	card.IfNot = "It is closed as failed, and " + card.Actor.Name + " is told so. It may ask again; that is a new call."
	card.Facts = []ui.KV{{Key: "Class", Value: string(e.Class)}, {Key: "Key", Value: short(e.Key), Mono: true}, {Key: "Attempts", Value: strconv.Itoa(e.Attempt)}}
	if e.State != skill.Unknown && e.State != skill.Held {
		if card.Settled, err = x.settled(e, cause, steps); err != nil {
			return err
		}
	}
	v.Effect = &card
	return x.refusedEffect(&card)
}

// refusedEffect says on the page why a press was refused.
func (x *item) refusedEffect(card *ui.Effect) error {
	if x.press.err == "" {
		return nil
	}
	x.banner = &ui.Banner{Kind: ui.BannerStale}
	if card.Journal != "" {
		x.banner.Door = ui.Link{Text: "In the journal", Href: card.Journal}
	}
	return nil
}

// settled says how an effect ended, and who said so.
func (x *item) settled(e skill.Effect, cause event.Event, steps []skill.Step) (ui.Fact, error) {
	round, err := x.round(cause.Correlation)
	if err != nil {
		return ui.Fact{}, err
	}
	for i := len(round) - 1; i >= 0; i-- {
		if p, ok := round[i].Payload.(event.EffectSettled); ok && p.EffectID == e.ID {
			return ui.Fact{Text: x.people.person(p.PersonID).Name + " said: " + settledWord(p.Outcome) + ".", Ref: ref(round[i])}, nil
		}
	}
	result, err := x.event(e.Result)
	if err != nil || result.Seq == 0 {
		if len(steps) == 0 {
			return ui.Fact{}, err
		}
		last, err := x.refTo(steps[len(steps)-1].EventID)
		return ui.Fact{Text: capital(string(e.State)) + ".", Ref: last}, err
	}
	return ui.Fact{Text: capital(string(e.State)) + ".", Ref: ref(result)}, nil
}

func settledWord(outcome string) string {
	switch outcome {
	case string(skill.ItHappened):
		return "it went out"
	case string(skill.DidNot):
		return "it did not"
	case string(skill.ReadItBack):
		return "read it back"
	case string(skill.Run):
		return "carry it out"
	}
	return outcome
}

func effectNote(e skill.Effect) string {
	if e.State == skill.Held {
		return "The record was restored: what was under way then may have happened since."
	}
	switch e.Class {
	case manifest.ClassReconcilable:
		return "The target was asked and could not tell."
	case manifest.ClassOnce:
		return "The target has no way to ask it, so only a person can tell."
	case manifest.ClassIdempotent, manifest.ClassRead:
		return "Its attempts are used up."
	}
	return ""
}

// deliveryCard is a message whose arrival nobody can tell.
func (x *item) deliveryCard(d dispatch.Delivery, v *ui.InboxView) error {
	out, err := x.event(d.EventID)
	if err != nil {
		return err
	}
	m, _ := out.Payload.(event.OutboundMessage)
	text := m.Text
	if d.From >= 0 && d.From <= d.To && d.To <= len(text) {
		text = text[d.From:d.To]
	}
	to, _ := json.Marshal(m.Address) // a string always encodes
	body, _ := json.Marshal(text)
	card := ui.Effect{ID: d.ID.String(), Key: "MSG-" + short(d.ID.String()), Version: int64(d.Attempts), State: ui.StatusUnknown, Word: "Unknown delivery",
		Title: "Did the message arrive?", Actor: x.people.actor("agent:" + d.Agent), Skill: "by " + d.Channel,
		Args:        []ui.Arg{{Name: "to", Value: string(to), Origin: d.Channel}, {Name: "text", Value: string(body), Origin: d.Agent}},
		Note:        "The medium did not answer, and it does not drop a second message with the same key.",
		ReadBackOff: "the medium has no way to ask", Retry: true, IfNot: "It is given up. Nothing is sent again.",
		Facts: []ui.KV{{Key: "Channel", Value: d.Channel}, {Key: "Part", Value: strconv.Itoa(d.Part) + " of " + strconv.Itoa(max(d.Parts, 1))},
			{Key: "Attempts", Value: strconv.Itoa(d.Attempts)}},
		Next: x.next(d.ID),
	}
	if out.Seq > 0 {
		card.Knows = []ui.Fact{{Text: "It was put into the outbox at " + x.at(d.QueuedAt, x.now) + ".", Ref: ref(out)}}
		card.Journal = eventPath(out.ID)
	}
	x.name = card.Key
	v.Effect = &card
	return x.refusedEffect(&card)
}

// settle takes a person's word on an effect or a delivery.
func (c *Console) settle(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	var e skill.Effect
	err = c.view(k, func(r *reader) (err error) {
		e, _, err = r.Skills.Effect(r.tx, on)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return c.settleDelivery(k, on)
	}
	if err != nil {
		return err
	}
	words := map[string]skill.Word{"read_back": skill.ReadItBack, "retry": skill.Run, "did_not": skill.DidNot, "went_out": skill.ItHappened}
	word, ok := words[k.r.PostForm.Get("outcome")]
	if !ok {
		return fault.New(fault.Invalid, "say read_back, retry, did_not or went_out").On("outcome")
	}
	if k.r.PostForm.Get("version") != strconv.FormatInt(e.Version, 10) {
		return c.inboxPage(k, pressed{status: http.StatusConflict, on: on, err: "It changed meanwhile."})
	}
	if _, err := c.Skills.Settle(k.ctx, c.Account, skill.Settlement{Person: k.who.PersonID, Effect: on, Word: word}); err != nil {
		if fault.Is(err, fault.Conflict) {
			return c.inboxPage(k, pressed{status: http.StatusConflict, on: on, err: sentence(msgOf(err))})
		}
		return err
	}
	k.see("/inbox/" + on.String())
	return nil
}

func (c *Console) settleDelivery(k *call, on id.ID) error {
	var err error
	switch k.r.PostForm.Get("outcome") {
	case "retry":
		err = c.Dispatch.Resend(k.ctx, c.Account, k.who.PersonID, on)
	case "did_not":
		err = c.Dispatch.Settle(k.ctx, c.Account, k.who.PersonID, on, false)
	case "went_out":
		err = c.Dispatch.Settle(k.ctx, c.Account, k.who.PersonID, on, true)
	default:
		err = fault.New(fault.Invalid, "say retry, did_not or went_out").On("outcome")
	}
	if err != nil {
		return err
	}
	k.see("/inbox")
	return nil
}
