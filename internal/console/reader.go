package console

import (
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// reader is one page's view of the record: everything is read in one snapshot.
type reader struct {
	*Console
	tx      event.Tx
	who     identity.Principal
	now     time.Time
	people  people
	tip     bus.Tip
	hash    [32]byte
	stops   []policy.Stop
	events  map[id.ID]event.Event
	rounds  map[id.ID][]event.Event
	open    map[id.ID]bool           // approvals that the queue holds
	latest  []event.Event            // newest first, once asked for
	effects map[id.ID][]skill.Effect // by run, once asked for
	answers []policy.Approval        // answered ones, newest first, once asked for
}

// view opens the snapshot of a page.
func (c *Console) view(k *call, f func(r *reader) error) error {
	names, err := c.people(k)
	if err != nil {
		return err
	}
	return c.Journal.View(k.ctx, c.Account, func(tx event.Tx) error {
		r := &reader{Console: c, tx: tx, who: k.who, now: k.now, people: names, events: map[id.ID]event.Event{}, rounds: map[id.ID][]event.Event{}, open: map[id.ID]bool{}, effects: map[id.ID][]skill.Effect{}}
		if r.tip, r.hash, err = c.Record.Head(tx); err != nil {
			return err
		}
		if r.stops, err = c.Policy.Halts(tx); err != nil {
			return err
		}
		return f(r)
	})
}

// may reports whether the person of this page may do an act.
func (r *reader) may(a identity.Act) bool { return identity.Allowed(r.who.Role, a) }

// event reads one event once. One that is not there any more is the zero Event.
func (r *reader) event(e id.ID) (event.Event, error) {
	if got, ok := r.events[e]; ok || e.IsZero() {
		return got, nil
	}
	got, err := r.Record.Get(r.tx, e)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return event.Event{}, err
	}
	r.events[e] = got
	return got, nil
}

// most is how many events of one round trip a page reads.
const most = 500

// round reads the events of one round trip, in order, and remembers them.
func (r *reader) round(correlation id.ID) ([]event.Event, error) {
	if got, ok := r.rounds[correlation]; ok || correlation.IsZero() {
		return got, nil
	}
	list, err := r.Record.OfRound(r.tx, correlation, most)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		r.events[e.ID] = e
	}
	r.rounds[correlation] = list
	return list, nil
}

// ref is how a page names an event.
func ref(e event.Event) ui.Ref {
	if e.Seq == 0 {
		return ui.Ref{}
	}
	return ui.Ref{Seq: grouped(e.Seq), Href: eventPath(e.ID)}
}

func eventPath(e id.ID) string { return "/journal/" + e.String() }

// refTo names an event by its id; an unknown one supports nothing.
func (r *reader) refTo(e id.ID) (ui.Ref, error) {
	got, err := r.event(e)
	return ref(got), err
}

// entry returns a skill's manifest by its hash. It never changes, so it is read
// from the database once.
func (r *reader) entry(hash string) (manifest.Entry, error) {
	if got, ok := r.entries.get(hash); ok {
		return got, nil
	}
	e, err := r.Skills.Entry(r.tx, hash)
	if fault.Is(err, fault.NotFound) {
		return manifest.Entry{}, nil
	}
	if err != nil {
		return e, err
	}
	r.entries.put(hash, e)
	return e, nil
}

// title is the sentence of a call by its manifest's template.
func title(e manifest.Entry, skillName string, arguments []byte) string {
	if e.Hash == "" {
		return skillName
	}
	return e.Manifest.RenderTitle(arguments)
}

// halted reports whether a stop holds this actor.
func (r *reader) halted(actor string) bool {
	for _, s := range r.stops {
		if s.Scope == "account" || s.Scope == actor {
			return true
		}
	}
	return false
}
