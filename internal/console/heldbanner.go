package console

import (
	"strings"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/skill"
)

// heldBanners stand while work of an earlier epoch, or work that failed time
// after time, waits for a person. They say how much of what, and what to do.
func (c *Console) heldBanners(r *reader) (out []ui.Banner, err error) {
	held, err := c.Held(r.tx)
	if err != nil {
		return nil, err
	}
	// An effect keeps waiting for its answer when its row of work is gone.
	effects, err := r.Skills.Effects(r.tx, skill.Filter{State: skill.Held, Limit: look})
	if err != nil {
		return nil, err
	}
	failed := 0
	for _, e := range effects {
		if e.Reason != "restore" {
			failed++
		}
	}
	held.Effects = max(held.Effects, len(effects)-failed)
	held.Failed = max(held.Failed, failed)
	inbox := ui.Link{}
	if len(effects) > 0 {
		inbox = ui.Link{Text: "Look at what is held", Href: "/inbox?kind=failure"}
	}
	recent, err := r.recent()
	if err != nil {
		return nil, err
	}
	if rest := held.Runs + held.Deliveries + held.Others + held.Timers; r.tip.Epoch > 1 && held.Effects+rest > 0 {
		b := ui.Banner{Kind: ui.BannerRestored, Door: inbox, Note: heldNote(held)}
		for _, e := range recent {
			if v, ok := e.Payload.(event.EpochStarted); ok {
				b.Text = "The record was kept to event " + grouped(v.FromSeq) + ". What was on its way then is held back."
				b.Ref = ref(e)
				break
			}
		}
		out = append(out, b)
	}
	if held.Failed > 0 {
		b := ui.Banner{Kind: ui.BannerHeld, Door: inbox, Note: plural(held.Failed, "piece of work", "pieces of work") + " held; try again with: witan release"}
		if failed == held.Failed { // effects are answered one by one
			b.Note = plural(failed, "effect", "effects") + " held; answer in the Inbox"
		}
		for _, e := range recent {
			if v, ok := e.Payload.(event.WorkHeld); ok {
				b.Text = "A " + heldKind(v.Kind) + " failed each time it was tried, and is tried no more."
				b.Ref = ref(e)
				break
			}
		}
		out = append(out, b)
	}
	return out, nil
}

// heldNote counts what a restore holds and says how it goes on.
func heldNote(h HeldWork) string {
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{
		{h.Effects, "effect", "effects"}, {h.Runs, "run", "runs"}, {h.Deliveries, "delivery", "deliveries"},
		{h.Timers, "timer", "timers"}, {h.Others, "other piece of work", "other pieces of work"},
	} {
		if p.n > 0 {
			parts = append(parts, plural(p.n, p.one, p.many))
		}
	}
	note := strings.Join(parts, ", ") + " held"
	switch rest := h.Runs + h.Deliveries + h.Timers + h.Others; {
	case rest == 0:
		return note + "; answer in the Inbox"
	case h.Effects > 0:
		return note + "; answer effects in the Inbox, let the rest go on with: witan release"
	}
	return note + "; let it go on with: witan release"
}

func heldKind(kind string) string {
	switch event.WorkKind(kind) {
	case event.WorkRun, event.WorkEffect, event.WorkDelivery:
		return kind
	case event.WorkCall:
		return "model call"
	}
	return "piece of work"
}
