package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
)

// The kinds of the queue, as they stand in the address.
const (
	kindApproval = "approval"
	kindHeld     = "held"
	kindFailure  = "failure"
)

// The groups of the queue: by consequence, not by type.
const (
	groupClose = iota
	groupRoutine
	groupHeld
)

// perKind is how many things of one kind the queue holds; there can be more.
const perKind = 100

// waiting is one thing that needs a person. One of the pointers is set.
type waiting struct {
	id    id.ID
	kind  string
	group int
	rank  int // within the group: higher first
	at    time.Time

	approval *policy.Approval
	effect   *skill.Effect
	delivery *dispatch.Delivery
	held     *dispatch.HeldMessage
	parked   *bus.Deferred
}

// queue is everything that needs a person, in the order of the page.
type queue struct {
	list []waiting
	more int // that are not in the list
}

func (q queue) count() int { return len(q.list) + q.more }

func (q queue) of(kind string) (n int) {
	for _, w := range q.list {
		if w.kind == kind {
			n++
		}
	}
	if kind == kindHeld {
		n += q.more
	}
	return n
}

// outsideRows is what dispatch lists by itself, outside the page's snapshot.
type outsideRows struct {
	held    []dispatch.HeldMessage
	heldAll int64
	unknown []dispatch.Delivery
}

func (c *Console) outside(k *call) (o outsideRows, err error) {
	if o.held, o.heldAll, err = c.Dispatch.HeldMessages(k.ctx, c.Account, id.Nil, perKind); err != nil {
		return o, err
	}
	o.unknown, err = c.Dispatch.Undelivered(k.ctx, c.Account, dispatch.Unknown, id.Nil, perKind)
	return o, err
}

// queue reads what needs a person.
func (r *reader) queue(o outsideRows) (queue, error) {
	var q queue
	open, err := r.Policy.ListApprovals(r.tx, policy.ApprovalFilter{State: policy.StateOpen, Limit: perKind})
	if err != nil {
		return q, err
	}
	for _, a := range open {
		if !a.ExpiresAt.After(r.now) {
			continue // its timer is about to fire
		}
		r.open[a.ID] = true
		w := waiting{id: a.ID, kind: kindApproval, group: groupRoutine, rank: int(a.Risk.Or(policy.RiskCritical)), at: a.AskedAt, approval: &a}
		if riskOf(a).High() {
			w.group = groupClose
		}
		q.list = append(q.list, w)
	}
	for _, s := range []skill.State{skill.Unknown, skill.Held} {
		list, err := r.Skills.Effects(r.tx, skill.Filter{State: s, Limit: perKind})
		if err != nil {
			return q, err
		}
		for _, e := range list {
			q.list = append(q.list, waiting{id: e.ID, kind: kindFailure, group: groupClose, at: e.ChangedAt, effect: &e})
		}
	}
	for _, d := range o.unknown {
		q.list = append(q.list, waiting{id: d.ID, kind: kindFailure, group: groupClose, at: d.At, delivery: &d})
	}
	parked, err := r.Record.Parked(r.tx, perKind)
	if err != nil {
		return q, err
	}
	for _, p := range parked {
		q.list = append(q.list, waiting{id: p.Event, kind: kindFailure, group: groupClose, at: r.now, parked: &p})
	}
	for _, h := range o.held {
		q.list = append(q.list, waiting{id: h.ID, kind: kindHeld, group: groupHeld, at: h.At, held: &h})
	}
	q.more = max(0, int(o.heldAll)-len(o.held))
	slices.SortStableFunc(q.list, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(b.rank, a.rank), a.at.Compare(b.at))
	})
	return q, nil
}

// riskOf is the risk as a page draws it; not known counts as critical.
func riskOf(a policy.Approval) ui.Risk {
	return ui.Risk(a.Risk.Or(policy.RiskCritical).String())
}

// row draws one line of the queue.
func (r *reader) row(w waiting) (ui.QueueItem, error) {
	it := ui.QueueItem{ID: w.id.String(), Href: "/inbox/" + w.id.String(), Age: age(w.at, r.now)}
	switch {
	case w.approval != nil:
		a := *w.approval
		e, err := r.entry(a.Request.Manifest)
		if err != nil {
			return it, err
		}
		it.Risk, it.Actor = riskOf(a), r.people.actor(a.Request.Actor)
		it.Title = title(e, a.Request.Skill, a.Request.Arguments)
		it.Where = r.where(a)
		it.Why, it.Outside = whyCare(a)
	case w.effect != nil:
		text, err := r.effectTitle(*w.effect)
		if err != nil {
			return it, err
		}
		it.Status, it.Title, it.Actor, it.Why = ui.StatusUnknown, "Did it happen? "+text, r.people.actor(w.effect.Actor), effectWhy(*w.effect)
		if w.effect.State == skill.Held {
			it.Status, it.Title = ui.StatusWaiting, text
		}
	case w.delivery != nil:
		it.Status, it.Title, it.Where = ui.StatusUnknown, "Did the message arrive?", w.delivery.Channel
		it.Actor, it.Why = r.people.actor("agent:"+w.delivery.Agent), "its outcome is not known"
	case w.parked != nil:
		it.Status, it.Title, it.Where = ui.StatusFailed, "A reaction stands still: "+w.parked.Subscriber, "event "+grouped(w.parked.Seq)
		it.Why, it.Age = "later events of its stream wait behind it", ""
	case w.held != nil:
		it.Icon, it.Title, it.Where = "mail", heldTitle(*w.held), w.held.Channel
		it.Why, it.Outside = heldWhy(w.held.Reason), true
	}
	return it, nil
}

// where says what a call touches, for the row.
func (r *reader) where(a policy.Approval) string {
	targets, _ := a.Request.Targets.Get()
	if len(targets) == 0 {
		return ""
	}
	return clip(targets[0].Value, 40)
}

// whyCare is the one reason to look: what came from outside before all else.
func whyCare(a policy.Approval) (string, bool) {
	if why, ok := a.Request.Why.Get(); ok && why.Integrity() == event.Outside {
		return "led by outside bytes", true
	}
	for _, reason := range a.Reasons {
		switch reason.Code {
		case policy.ReasonFloor, policy.ReasonAudience, policy.ReasonUnknown, policy.ReasonGuardrail:
			return reason.Sentence(), false
		}
	}
	return capital(a.Rule) + " asks", false
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]&^0x20) + s[1:]
}

// groups draws the queue, the open item on.
func (r *reader) groups(q queue, kind string, on id.ID) ([]ui.QueueGroup, error) {
	out := []ui.QueueGroup{{Name: "Look closely"}, {Name: "Routine"}, {Name: "Questions and held messages"}}
	for _, w := range q.list {
		if kind != "" && w.kind != kind {
			continue
		}
		it, err := r.row(w)
		if err != nil {
			return nil, err
		}
		it.On = w.id == on
		out[w.group].Items = append(out[w.group].Items, it)
	}
	return slices.DeleteFunc(out, func(g ui.QueueGroup) bool { return len(g.Items) == 0 }), nil
}
