package api

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// table returns every route, by place.
func (a *API) table() []Route {
	var all []Route
	for _, part := range [][]Route{
		a.healthRoutes(), a.sessionRoutes(), a.passkeyRoutes(), a.inboxRoutes(), a.approvalRoutes(), a.grantRoutes(), a.policyRoutes(),
		a.threadRoutes(), a.messageRoutes(), a.runRoutes(), a.effectRoutes(), a.eventRoutes(), a.streamRoutes(), a.haltRoutes(),
		a.channelRoutes(), a.contactRoutes(), a.heldRoutes(), a.deliveryRoutes(), a.agentRoutes(), a.skillRoutes(), a.peopleRoutes(), a.tokenRoutes(),
		a.auditRoutes(), a.parkedRoutes(), a.usageRoutes(), a.workspaceRoutes(), a.taskRoutes(), a.taskThreadRoutes(), a.signalRoutes(), a.triggerRoutes(), a.publishRoutes(),
	} {
		all = append(all, part...)
	}
	return all
}

// see runs f in a view of the account.
func see[T any](ctx context.Context, a *API, f func(tx event.Tx) (T, error)) (out T, err error) {
	err = a.Journal.View(ctx, a.Account, func(tx event.Tx) (err error) {
		out, err = f(tx)
		return err
	})
	return out, err
}

// write runs f in a transaction of the account.
func write[T any](ctx context.Context, a *API, f func(tx event.Tx) (T, error)) (out T, err error) {
	err = a.Journal.Do(ctx, a.Account, func(tx event.Tx) (err error) {
		out, err = f(tx)
		return err
	})
	return out, err
}

// The sizes of pages.
const (
	pageDefault = 50
	pageMost    = 200
)

func page(limit int) (int, error) {
	switch {
	case limit == 0:
		return pageDefault, nil
	case limit > pageMost:
		return 0, fault.New(fault.Invalid, "at most %d at once", pageMost).On("limit")
	}
	return limit, nil
}

// list is a page of things. Next is what the parameter of the next page is; ""
// when there is none.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

func listOf[S, T any](in []S, f func(S) T) list[T] {
	out := list[T]{Items: make([]T, 0, len(in))}
	for _, s := range in {
		out.Items = append(out.Items, f(s))
	}
	return out
}
