package api

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
)

func (a *API) inboxRoutes() []Route {
	return []Route{on("GET", "/api/v1/inbox", identity.ActInboxRead, "All that waits for a person: requests to act, held messages, effects in doubt, parked streams, messages that did not arrive.", a.inbox)}
}

// inboxMost bounds each part of the inbox.
const inboxMost = 100

type inboxView struct {
	Approvals   []approvalView `json:"approvals"` // open ones
	Held        []heldView     `json:"held"`
	HeldInAll   int64          `json:"heldInAll"`
	Effects     []effectView   `json:"effects"` // unknown, or held after a restore
	Work        []HeldWork     `json:"work"`    // other work held after a restore
	Parked      []parkedView   `json:"parked"`
	Undelivered []deliveryView `json:"undelivered"`
	Halts       []haltView     `json:"halts"`
	// Waiting is how many things the lists hold.
	Waiting int `json:"waiting"`
}

func (a *API) inbox(ctx context.Context, _ *call, _ none) (inboxView, error) {
	v, err := see(ctx, a, a.inboxRows)
	if err != nil {
		return inboxView{}, err
	}
	held, all, err := a.Dispatch.HeldMessages(ctx, a.Account, id.Nil, inboxMost)
	if err != nil {
		return inboxView{}, err
	}
	v.Held, v.HeldInAll = listOf(held, viewHeld).Items, all
	v.Undelivered = []deliveryView{}
	for _, s := range []dispatch.DeliveryState{dispatch.Unknown, dispatch.Failed} {
		rows, err := a.Dispatch.Undelivered(ctx, a.Account, s, id.Nil, inboxMost)
		if err != nil {
			return inboxView{}, err
		}
		v.Undelivered = append(v.Undelivered, listOf(rows, viewDelivery).Items...)
	}
	v.Waiting = len(v.Approvals) + len(v.Held) + len(v.Effects) + len(v.Work) + len(v.Parked) + len(v.Undelivered)
	return v, nil
}

func (a *API) inboxRows(tx event.Tx) (v inboxView, err error) {
	v = inboxView{Effects: []effectView{}, Work: []HeldWork{}}
	open, err := a.Policy.ListApprovals(tx, policy.ApprovalFilter{State: policy.StateOpen, Limit: inboxMost})
	if err != nil {
		return v, err
	}
	if v.Approvals, err = a.titled(tx, open...); err != nil {
		return v, err
	}
	for _, s := range []skill.State{skill.Unknown, skill.Held} {
		rows, err := a.Skills.Effects(tx, skill.Filter{State: s, Limit: inboxMost})
		if err != nil {
			return v, err
		}
		v.Effects = append(v.Effects, listOf(rows, viewEffect).Items...)
	}
	work, err := a.Record.Held(tx)
	if err != nil {
		return v, err
	}
	for _, w := range work {
		if w.Kind != string(event.WorkEffect) { // those stand above, with what they are
			v.Work = append(v.Work, w)
		}
	}
	parked, err := a.Record.Parked(tx, inboxMost)
	if err != nil {
		return v, err
	}
	v.Parked = listOf(parked, viewParked).Items
	stops, err := a.Policy.Halts(tx)
	v.Halts = listOf(stops, viewHalt).Items
	return v, err
}

// parkedView is a reaction that failed twice: later events of its stream wait.
type parkedView struct {
	Subscriber string `json:"subscriber"`
	Stream     id.ID  `json:"stream"`
	EventID    id.ID  `json:"eventId"`
	Seq        int64  `json:"seq"`
	Tries      int    `json:"tries"`
	ErrorKind  string `json:"errorKind"`
	Error      string `json:"error"`
}

func viewParked(d bus.Deferred) parkedView {
	return parkedView{Subscriber: d.Subscriber, Stream: d.Stream, EventID: d.Event, Seq: d.Seq, Tries: d.Tries, ErrorKind: d.ErrorKind, Error: d.Error}
}

func (a *API) parkedRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/parked", identity.ActInboxRead, "Reactions that wait for a person, oldest first.", a.listParked),
		on("POST", "/api/v1/parked/unpark", identity.ActJournalUnpark, "Let a parked stream go on.", a.unpark),
		on("POST", "/api/v1/held-work/release", identity.ActJournalUnpark, "After a restore, let the runs, deliveries and timers of the past go on; effects wait for their own answers.", a.release),
	}
}

func (a *API) listParked(ctx context.Context, _ *call, _ none) (list[parkedView], error) {
	rows, err := see(ctx, a, func(tx event.Tx) ([]bus.Deferred, error) { return a.Record.Parked(tx, pageMost) })
	return listOf(rows, viewParked), err
}

type unparkIn struct {
	Body struct {
		Subscriber string `json:"subscriber" required:"true"`
		Stream     id.ID  `json:"stream" required:"true"`
		Skip       bool   `json:"skip,omitempty" doc:"give the failing event up"`
	}
}

func (a *API) unpark(ctx context.Context, c *call, in unparkIn) (none, error) {
	return none{}, a.Deps.Unpark(ctx, a.Account, c.who.By(), in.Body.Subscriber, in.Body.Stream, in.Body.Skip)
}

type releasedView struct {
	Work   int64 `json:"work"`   // runs and deliveries
	Timers int64 `json:"timers"` // schedules
}

func (a *API) release(ctx context.Context, c *call, _ none) (releasedView, error) {
	work, timers, err := a.Audit.Release(ctx, a.Account, c.who.By())
	return releasedView{work, timers}, err
}

// haltView is a stop in force.
type haltView struct {
	Scope string    `json:"scope"` // account, workspace:ID, agent:NAME
	Since time.Time `json:"since"`
}

func viewHalt(s policy.Stop) haltView { return haltView{s.Scope, s.Since} }

func (a *API) haltRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/halts", identity.ActAccountRead, "The stops in force.", a.listHalts),
		on("POST", "/api/v1/halt", identity.ActHaltSet, "Halt everything, a workspace or an agent.", a.halt),
		on("DELETE", "/api/v1/halt", identity.ActHaltClear, "Resume.", a.resume),
	}
}

func (a *API) listHalts(ctx context.Context, _ *call, _ none) (list[haltView], error) {
	stops, err := see(ctx, a, a.Policy.Halts)
	return listOf(stops, viewHalt), err
}

type haltIn struct {
	Body struct {
		Scope  string `json:"scope,omitempty" doc:"account (if left out), workspace:ID, agent:NAME"`
		Reason string `json:"reason,omitempty"`
	} `optional:"true"`
}

func (a *API) halt(ctx context.Context, c *call, in haltIn) (list[haltView], error) {
	or(&in.Body.Scope, "account")
	if err := a.Policy.Halt(ctx, a.Account, c.who.By(), in.Body.Scope, in.Body.Reason); err != nil {
		return list[haltView]{}, err
	}
	return a.listHalts(ctx, c, none{})
}

type resumeIn struct {
	Scope string `query:"scope" doc:"account, if left out"`
}

func (a *API) resume(ctx context.Context, c *call, in resumeIn) (list[haltView], error) {
	or(&in.Scope, "account")
	if err := a.Policy.Resume(ctx, a.Account, c.who.PersonID, in.Scope); err != nil {
		return list[haltView]{}, err
	}
	return a.listHalts(ctx, c, none{})
}
