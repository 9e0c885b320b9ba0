package dispatchdb

import (
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Route implements dispatch.Store.
func (*Store) Route(tx event.Tx, thread, contact id.ID, channel string) (agent string, err error) {
	err = q.Row(tx, "route", []any{tx.Account(), thread.String(), contact.String(), channel}, &agent)
	return agent, err
}

// SaveRoute implements dispatch.Store.
func (*Store) SaveRoute(tx event.Tx, r dispatch.Route) error {
	_, err := q.Exec(tx, "save_route", tx.Account(), r.Kind, r.Key, r.Agent)
	return err
}

// DropRoute implements dispatch.Store.
func (*Store) DropRoute(tx event.Tx, kind, key string) error {
	n, err := q.Exec(tx, "drop_route", tx.Account(), kind, key)
	if err == nil && n == 0 {
		return noRow("route", "key")
	}
	return err
}

// ListRoutes implements dispatch.Store.
func (*Store) ListRoutes(tx event.Tx) (out []dispatch.Route, err error) {
	err = q.Each(tx, "list_routes", []any{tx.Account()}, func(scan func(...any) error) error {
		var r dispatch.Route
		err := scan(&r.Kind, &r.Key, &r.Agent)
		out = append(out, r)
		return err
	})
	return out, err
}
