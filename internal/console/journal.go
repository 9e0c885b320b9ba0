package console

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (c *Console) journal(k *call) error {
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	f := readFilter(k.r.URL.Query())
	v := ui.JournalView{}
	if err := c.view(k, func(r *reader) error {
		waits, err := r.queue(held)
		if err != nil {
			return err
		}
		on, err := r.eventAt(k.r.PathValue("id"))
		if err != nil {
			return err
		}
		crumbs := []ui.Crumb{{Text: "Journal", Href: "/journal"}}
		if on.Seq > 0 {
			v.Explicit = true
			if v.Event, err = r.eventPage(k, on); err != nil {
				return err
			}
			crumbs = append(crumbs, ui.Crumb{Text: "#" + grouped(on.Seq)})
		}
		if err := r.streamPage(&v, f, k.r.URL.Query(), on); err != nil {
			return err
		}
		v.Chain = c.chain.view(r)
		v.Shell, err = c.shell(k, r, waits, ui.PlaceJournal, crumbs...)
		return err
	}); err != nil {
		return err
	}
	c.send(k, http.StatusOK, ui.Journal(v))
	return nil
}

// eventAt finds the event that an address names: by its id, or by its number.
func (r *reader) eventAt(name string) (event.Event, error) {
	if name == "" {
		return event.Event{}, nil
	}
	none := fault.New(fault.NotFound, "the journal has no such event")
	if seq, err := strconv.ParseInt(name, 10, 64); err == nil {
		list, err := r.Record.After(r.tx, seq-1, 1)
		if err != nil {
			return event.Event{}, err
		}
		if len(list) == 0 || list[0].Seq != seq {
			return event.Event{}, none
		}
		r.events[list[0].ID] = list[0]
		return list[0], nil
	}
	on, err := id.Parse(name)
	if err != nil {
		return event.Event{}, none
	}
	e, err := r.event(on)
	if err == nil && e.Seq == 0 {
		err = none
	}
	return e, err
}

// streamPage fills the stream. With an event open and no filter it shows the page
// around that event, so that a link is never to something out of sight.
func (r *reader) streamPage(v *ui.JournalView, f filter, q url.Values, on event.Event) error {
	before, after := seqOf(q, "before"), seqOf(q, "after")
	if before == 0 && after == 0 && on.Seq > 0 && f.none() && r.tip.Seq-on.Seq >= eventsPerPage {
		before = on.Seq + eventsPerPage/2
	}
	if before == 0 || before > r.tip.Seq+1 {
		before = r.tip.Seq + 1
	}
	list, more, err := r.page(f, before, after)
	if err != nil {
		return err
	}
	if after > 0 {
		slices.Reverse(list)
	}
	path := "/journal"
	if on.Seq > 0 {
		path = eventPath(on.ID)
	}
	if len(list) > 0 {
		oldest, newest := list[len(list)-1].Seq, list[0].Seq
		if after > 0 && oldest > 1 || after == 0 && more {
			v.Older = f.address(path, func(q url.Values) { q.Set("before", strconv.FormatInt(oldest, 10)) })
		}
		if after > 0 && more || after == 0 && before <= r.tip.Seq && newest < r.tip.Seq {
			v.Newer = f.address(path, func(q url.Values) { q.Set("after", strconv.FormatInt(newest, 10)) })
		}
	}
	for _, e := range list {
		row := r.eventRow(e)
		row.Href = f.address(eventPath(e.ID), func(q url.Values) {
			if b := seqOf(q, "before"); b == 0 && before <= r.tip.Seq && after == 0 {
				q.Set("before", strconv.FormatInt(before, 10))
			}
		})
		row.On = e.ID == on.ID
		row.Path = on.Seq > 0 && e.Correlation == on.Correlation
		v.Rows = append(v.Rows, row)
	}
	v.Filter = ui.Filter{Query: f.text, Type: f.typ, Actor: f.actor, Types: typeChoices(f.typ), Outside: f.outside, Chips: f.chips(),
		Shown: len(list), Total: int(r.tip.Seq)}
	if f.actor != "" {
		v.Filter.Actors = []ui.Choice{{Value: f.actor, Label: f.actor, On: true}}
	}
	return nil
}

func (r *reader) eventRow(e event.Event) ui.EventRow {
	row := ui.EventRow{ID: strconv.FormatInt(r.tip.Epoch, 10) + "-" + strconv.FormatInt(e.Seq, 10), Seq: grouped(e.Seq),
		At: e.RecordedAt.In(r.Zone).Format("15:04:05"), Full: r.full(e.RecordedAt), Type: string(e.Type), Text: r.describe(e)}
	row.Actor, row.Status, row.Icon = r.markOf(e)
	if e.Label.Integrity() == event.Outside {
		row.Label = "outside"
	}
	return row
}

// markOf draws who or what an event is of.
func (r *reader) markOf(e event.Event) (ui.Actor, ui.Status, string) {
	switch p := e.Payload.(type) {
	case event.InboundMessage:
		if !p.PersonID.IsZero() {
			return r.people.person(p.PersonID), "", ""
		}
		return ui.Actor{}, "", "mail"
	case event.ApprovalAnswered:
		return r.people.person(p.PersonID), "", ""
	case event.ApprovalWithdrawn:
		return r.people.person(p.PersonID), "", ""
	case event.EffectSettled:
		return r.people.person(p.PersonID), "", ""
	case event.PolicyDecision:
		switch p.Effect {
		case "allow":
			return ui.Actor{}, ui.StatusAllowed, ""
		case "deny":
			return ui.Actor{}, ui.StatusDenied, ""
		}
		return ui.Actor{}, ui.StatusDone, ""
	case event.EffectChanged:
		return ui.Actor{}, resultStatus(p.State), ""
	case event.SkillResult:
		return ui.Actor{}, resultStatus(p.State), ""
	case event.SkillInvoke:
		return r.people.actor(p.Actor), "", ""
	case event.AgentResponse:
		return r.people.actor("agent:" + p.Agent), "", ""
	case event.LLMRequest, event.LLMResponse:
		return ui.Actor{}, "", "sparkles"
	case event.AgentTask:
		return ui.Actor{}, "", "corner-down-right"
	case event.OutboundMessage:
		return ui.Actor{}, "", "message-square"
	case event.HaltSet:
		return ui.Actor{}, "", "octagon-pause"
	case event.TimerFired:
		return ui.Actor{}, "", "timer"
	case event.ApprovalRequested:
		if r.open[p.ApprovalID] {
			return ui.Actor{}, ui.StatusNeed, ""
		}
		return ui.Actor{}, ui.StatusDone, ""
	default: // by its source, below
	}
	return source(e.Source), "", ""
}

// header is the event's header, exactly: what the chain covers.
func (r *reader) header(e, before event.Event) []ui.KV {
	mono := func(k, v string) ui.KV { return ui.KV{Key: k, Value: v, Mono: true} }
	out := []ui.KV{mono("id", e.ID.String()), mono("seq", strconv.FormatInt(e.Seq, 10)), mono("type", string(e.Type)), mono("version", strconv.Itoa(e.Version)),
		{Key: "stream", Value: e.Stream.String(), Mono: true, Href: "/journal?q=thread%3A" + e.Stream.String()},
		mono("layer", e.Layer.String()), mono("source", e.Source)}
	if !e.Addressee.IsZero() {
		out = append(out, mono("addressee", e.Addressee.String()))
	}
	if !e.Causation.IsZero() {
		out = append(out, ui.KV{Key: "parent", Value: e.Causation.String(), Mono: true, Href: eventPath(e.Causation)})
	}
	for _, p := range e.Parents {
		out = append(out, ui.KV{Key: "further parent", Value: p.String(), Mono: true, Href: eventPath(p)})
	}
	out = append(out, ui.KV{Key: "correlation", Value: e.Correlation.String(), Mono: true, Href: "/journal?q=round%3A" + e.Correlation.String()},
		mono("occurred", e.OccurredAt.Format("2006-01-02T15:04:05.000000Z")), mono("recorded", e.RecordedAt.Format("2006-01-02T15:04:05.000000Z")),
		mono("label", e.Label.String()), mono("subject", e.Subject.String()),
		mono("body commit", hex.EncodeToString(e.BodyCommit[:])), mono("hash", hex.EncodeToString(e.Hash[:])))
	if before.Seq > 0 {
		out = append(out, ui.KV{Key: "previous hash", Value: hex.EncodeToString(before.Hash[:]), Mono: true, Href: eventPath(before.ID)})
	}
	return out
}

// body is the opened body as indented JSON, whole.
func body(e event.Event) string {
	if e.Payload == nil {
		return ""
	}
	raw, err := json.MarshalIndent(struct {
		Summary string        `json:"summary,omitempty"`
		Payload event.Payload `json:"payload"`
	}{e.Summary, e.Payload}, "", "  ")
	if err != nil {
		return ""
	}
	return string(raw)
}

// patience is how long a form waits for a verification: a short chain is done
// before the page is drawn again, a long one says how far it is.
const patience = time.Second

func (c *Console) verify(k *call) error {
	done := c.chain.start(c)
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
	back := refererPath(k.r)
	if u, err := url.Parse(back); err != nil || u.Path != "/journal" && !isEventPath(u.Path) {
		back = "/journal"
	}
	k.see(back)
	return nil
}

func isEventPath(p string) bool {
	return len(p) > len("/journal/") && p[:len("/journal/")] == "/journal/" && p != "/journal/verify"
}
