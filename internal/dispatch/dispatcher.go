package dispatch

import (
	"math"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Origins are the rights of this package.
type Origins struct {
	// Dispatch may say agent.task, outbound.message, outbound.blocked,
	// delivery.receipt, message.held, held.settled, message.rejected,
	// contact.saved and route.saved.
	Dispatch event.Origin
}

// Ports are the others that dispatch needs. Scanners and Filters may be empty;
// a nil Audience means ByLabel.
type Ports struct {
	Outlet   Outlet
	Agents   Agents
	People   People
	Audience Audience
	Scanners []Scanner
	Filters  []Filter
	// Jitter returns a number in [0, n) for the waits between attempts.
	Jitter func(n int64) int64
}

// Dispatcher is the dispatch layer. It never changes after New and is safe for
// concurrent use; its state is rows.
type Dispatcher struct {
	journal event.Journal
	store   Store
	ports   Ports
	origin  event.Origin
	config  Config
}

// New returns the dispatcher.
func New(j event.Journal, s Store, p Ports, o Origins, c Config) (*Dispatcher, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if j == nil || s == nil || p.Outlet == nil || p.Agents == nil || p.People == nil || p.Jitter == nil {
		return nil, fault.New(fault.Internal, "dispatch needs a journal, a store, channels, agents, people and jitter")
	}
	if p.Audience == nil {
		p.Audience = ByLabel{}
	}
	return &Dispatcher{journal: j, store: s, ports: p, origin: o.Dispatch, config: c}, nil
}

// may refuses a person whose role does not allow an act.
func (d *Dispatcher) may(tx event.Tx, by id.ID, act string) error {
	return d.ports.People.May(tx, person(by), act)
}

func person(p id.ID) string  { return "person:" + p.String() }
func contact(c id.ID) string { return "contact:" + c.String() }

// stranger is the principal of an address that is no contact.
const stranger = "contact:none"

// maxReaders leaves room for the contact in a label's audience of 64.
const maxReaders = 60

// audience is who may read what a contact wrote: the contact, and the house.
func (d *Dispatcher) audience(tx event.Tx, c id.ID) (event.Audience, error) {
	who, err := d.ports.People.Readers(tx)
	if err != nil {
		return event.Audience{}, err
	}
	who = who[:min(len(who), maxReaders)]
	return event.Only(append([]string{contact(c)}, who...)...), nil
}

// lower is a label that narrows an audience and leaves integrity alone.
func lower(a event.Audience) event.Label { return event.NewLabel(event.Person, a) }

// risk is the highest risk that a scanner sees.
func (d *Dispatcher) risk(text string) int32 {
	var out int32
	for _, s := range d.ports.Scanners {
		out = max(out, s.Risk(text))
	}
	return min(out, micro)
}

// said is a person's decision.
func said() event.Label { return event.NewLabel(event.Person, event.AccountWide()) }

// pages bounds a list.
func pages(limit int) int {
	const most = 200
	if limit <= 0 {
		return 50
	}
	return min(limit, most, math.MaxInt32)
}
