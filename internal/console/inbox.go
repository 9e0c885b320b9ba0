package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// pressed is a form of the open item that was refused: what its page says again.
type pressed struct {
	status int
	on     id.ID
	err    string
	fields map[string]string // of an edit: argument to refusal
	args   map[string]string // of an edit: argument to what was typed
	grant  url.Values        // of a grant: what was typed
	scope  string            // of a grant: why it was refused
	stale  *staleness
}

// staleness says that a press named what no longer stands.
type staleness struct {
	saw int64 // version
	old policy.Approval
}

func (c *Console) inbox(k *call) error { return c.inboxPage(k, pressed{status: http.StatusOK}) }

// inboxPage draws the queue and the item that the address names, or the first.
func (c *Console) inboxPage(k *call, p pressed) error {
	on := p.on
	if k.r.PathValue("id") != "" && on.IsZero() {
		var err error
		if on, err = k.pathID(); err != nil {
			return err
		}
	}
	kind := k.r.URL.Query().Get("kind")
	if !slices.Contains([]string{"", kindApproval, kindHeld, kindFailure}, kind) {
		kind = ""
	}
	held, err := c.outside(k)
	if err != nil {
		return err
	}
	v := ui.InboxView{Explicit: !on.IsZero()}
	if err := c.view(k, func(r *reader) error {
		q, err := r.queue(held)
		if err != nil {
			return err
		}
		crumbs := []ui.Crumb{{Text: "Inbox", Href: "/inbox"}}
		v.Tabs = tabs(q, kind)
		if on.IsZero() {
			if i := slices.IndexFunc(q.list, func(w waiting) bool { return kind == "" || w.kind == kind }); i >= 0 {
				on = q.list[i].id
			}
		}
		v.Index, v.Total = 1+slices.IndexFunc(q.list, func(w waiting) bool { return w.id == on }), q.count()
		if v.Groups, err = r.groups(q, kind, on); err != nil {
			return err
		}
		x := item{reader: r, queue: q, press: p, query: k.r.URL.Query()}
		if err := x.open(on, &v); err != nil {
			return err
		}
		if v.Explicit {
			crumbs = append(crumbs, ui.Crumb{Text: x.name})
		}
		v.Shell, err = c.shell(k, r, q, ui.PlaceInbox, crumbs...)
		if x.banner != nil && v.Shell.Banner != nil {
			v.Shell.Banner = ui.ChooseBanner(*x.banner, *v.Shell.Banner)
		} else if x.banner != nil {
			v.Shell.Banner = x.banner
		}
		if k.r.Method == http.MethodPost {
			v.Shell.Path = "/inbox/" + on.String()
		}
		return err
	}); err != nil {
		return err
	}
	// Asked outside the snapshot: a view within a view would hold two connections.
	if a := v.Approval; a != nil && a.StepUp != "" {
		if a.StepUp, err = c.stepUpWay(k); err != nil {
			return err
		}
	}
	if v.Held != nil {
		if v.Held.Contacts, err = c.contactChoices(k); err != nil {
			return err
		}
	}
	c.send(k, p.status, ui.Inbox(v))
	return nil
}

func tabs(q queue, on string) []ui.Tab {
	if q.count() == 0 {
		return nil
	}
	out := []ui.Tab{{Label: "All", Count: q.count(), Href: "/inbox", On: on == ""}}
	for _, t := range []struct{ kind, label string }{{kindApproval, "Approvals"}, {kindHeld, "Held"}, {kindFailure, "Failures"}} {
		if n := q.of(t.kind); n > 0 || on == t.kind {
			out = append(out, ui.Tab{Label: t.label, Count: n, Href: "/inbox?kind=" + t.kind, On: on == t.kind})
		}
	}
	if len(out) == 2 && on == "" {
		return nil // one kind only: a filter would say nothing
	}
	return out
}

// item opens one thing of the Inbox.
type item struct {
	*reader
	queue  queue
	press  pressed
	query  url.Values
	name   string // for the path in the top bar
	banner *ui.Banner
}

// open fills the view with the item of this id, whether it still waits or not.
func (x *item) open(on id.ID, v *ui.InboxView) error {
	if on.IsZero() {
		quiet, err := x.quiet()
		v.Quiet = quiet
		return err
	}
	if i := slices.IndexFunc(x.queue.list, func(w waiting) bool { return w.id == on }); i >= 0 {
		w := x.queue.list[i]
		switch {
		case w.parked != nil:
			return x.parkedCard(*w.parked, v)
		case w.delivery != nil:
			return x.deliveryCard(*w.delivery, v)
		case w.held != nil:
			return x.heldCard(*w.held, v)
		}
	}
	a, err := x.Policy.GetApproval(x.tx, on)
	if err == nil {
		return x.approvalCard(a, v)
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	e, steps, err := x.Skills.Effect(x.tx, on)
	if err == nil {
		return x.effectCard(e, steps, v)
	}
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "this was settled, or was never here").WithFix("the journal has what became of it")
	}
	return err
}

// next is the address of what to look at after this item.
func (x *item) next(on id.ID) string {
	i := slices.IndexFunc(x.queue.list, func(w waiting) bool { return w.id == on })
	for j := range x.queue.list {
		if w := x.queue.list[(i+1+j)%len(x.queue.list)]; w.id != on {
			return "/inbox/" + w.id.String()
		}
	}
	return ""
}
