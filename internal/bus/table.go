package bus

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Reaction is one line of the subscriptions table.
type Reaction struct {
	Name string // stable: rows of the router name it
	On   []event.Type
	Run  func(tx event.Tx, e event.Event) error
	Doc  string // one sentence for docs/flow.md
}

// Table is the subscriptions table: the whole message flow. Its order is the
// order in which reactions to one event run.
type Table struct {
	rows   []Reaction
	byName map[string]Reaction
	byType map[event.Type][]string
}

// NewTable checks the reactions: known types, unique names, a body each.
func NewTable(rows ...Reaction) (*Table, error) {
	t := &Table{rows: rows, byName: map[string]Reaction{}, byType: map[event.Type][]string{}}
	for _, r := range rows {
		if _, twice := t.byName[r.Name]; r.Name == "" || twice || r.Run == nil || len(r.On) == 0 {
			return nil, fault.New(fault.Internal, "subscription %q is incomplete or stands twice", r.Name)
		}
		t.byName[r.Name] = r
		for _, on := range r.On {
			if _, ok := event.Lookup(on); !ok {
				return nil, fault.New(fault.Internal, "subscription %q names unknown type %q", r.Name, on)
			}
			t.byType[on] = append(t.byType[on], r.Name)
		}
	}
	return t, nil
}

// Rows returns the table, in order.
func (t *Table) Rows() []Reaction { return slices.Clone(t.rows) }

// Subscribers names who reacts to a type, in table order.
func (t *Table) Subscribers(e event.Type) []string { return t.byType[e] }

// React runs one subscriber's reaction.
func (t *Table) React(tx event.Tx, subscriber string, e event.Event) error {
	r, ok := t.byName[subscriber]
	if !ok {
		return fault.New(fault.Internal, "no subscriber %q", subscriber)
	}
	return r.Run(tx, e)
}
