package dispatch

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// The kinds of routes, most specific first.
const (
	RouteThread  = "thread"
	RouteContact = "contact"
	RouteChannel = "channel"
)

// Route says which agent serves a thread, a contact or a channel. Key is the
// id of the thread or contact, or the channel's name.
type Route struct {
	Kind  string
	Key   string
	Agent string
}

// SaveRoute sets a route for a person. An agent that is not there is
// fault.NotFound, a kind or key that is none fault.Invalid.
func (d *Dispatcher) SaveRoute(ctx context.Context, account, by id.ID, r Route) error {
	if err := d.checkRoute(r); err != nil {
		return err
	}
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actRouting); err != nil {
			return err
		}
		ok, err := d.ports.Agents.Serves(tx, r.Agent)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.NotFound, "there is no agent %q", r.Agent).On("agent")
		}
		return d.saveRoute(tx, r, person(by), id.Nil)
	})
}

func (d *Dispatcher) checkRoute(r Route) error {
	switch r.Kind {
	case RouteThread, RouteContact:
		if k, err := id.Parse(r.Key); err != nil || k.IsZero() {
			return fault.New(fault.Invalid, "%q is no id", r.Key).On("key")
		}
		return nil
	case RouteChannel:
		if _, ok := d.ports.Outlet.Trust(r.Key); !ok {
			return fault.New(fault.NotFound, "there is no channel %q", r.Key).On("key")
		}
		return nil
	}
	return fault.New(fault.Invalid, "%q is not thread, contact or channel", r.Kind).On("kind")
}

func (d *Dispatcher) saveRoute(tx event.Tx, r Route, by string, stream id.ID, causes ...event.Ref) error {
	if err := d.store.SaveRoute(tx, r); err != nil {
		return err
	}
	draft := event.Draft{
		Payload: event.RouteSaved{Kind: r.Kind, Key: r.Key, Agent: r.Agent, By: by},
		Summary: r.Agent + " serves this " + r.Kind + ".", Stream: stream, Causes: causes,
	}
	if len(causes) == 0 {
		draft.Label = said()
	}
	_, err := tx.Emit(d.origin, draft)
	return err
}

// DropRoute removes a route for a person; fault.NotFound if there is none.
func (d *Dispatcher) DropRoute(ctx context.Context, account, by id.ID, kind, key string) error {
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := d.may(tx, by, actRouting); err != nil {
			return err
		}
		if err := d.store.DropRoute(tx, kind, key); err != nil {
			return err
		}
		_, err := tx.Emit(d.origin, event.Draft{
			Payload: event.RouteSaved{Kind: kind, Key: key, By: person(by)},
			Summary: "A " + kind + " is served by its default again.", Label: said(),
		})
		return err
	})
}

// Routes lists all routes by kind and key.
func (d *Dispatcher) Routes(ctx context.Context, account id.ID) (out []Route, err error) {
	err = d.journal.View(ctx, account, func(tx event.Tx) error {
		out, err = d.store.ListRoutes(tx)
		return err
	})
	return out, err
}
