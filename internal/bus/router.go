package bus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// The bounds of the router.
const (
	routerBatch    = 64
	routerAccounts = 8 // worked on at once
)

// Router runs the reactions that were left over: failed inline, too deep, or
// queued behind such a one. It keeps no cursor: the rows of the deferred table
// are its work, and normally there are none.
type Router struct {
	engine Engine
	table  *Table
	origin event.Origin // may say subscriber.parked and subscriber.unparked
	every  time.Duration
	log    *slog.Logger
}

// NewRouter returns a router that looks for left-over work every period.
func NewRouter(e Engine, t *Table, o event.Origin, every time.Duration, log *slog.Logger) *Router {
	return &Router{engine: e, table: t, origin: o, every: every, log: log}
}

// Run works until ctx ends.
func (r *Router) Run(ctx context.Context) error {
	t := time.NewTicker(r.every)
	defer t.Stop()
	for {
		r.Once(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// Once works off what can be worked off now, in all accounts.
func (r *Router) Once(ctx context.Context) {
	accounts, err := r.engine.DeferredAccounts(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.log.WarnContext(ctx, "router: list accounts", slog.Any("error", err))
		}
		return
	}
	slots := make(chan struct{}, routerAccounts)
	var wg sync.WaitGroup
	for _, a := range accounts {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for more := true; more && ctx.Err() == nil; {
				if more, err = r.account(ctx, a); err != nil && ctx.Err() == nil {
					r.log.WarnContext(ctx, "router", slog.String("account", a.String()), slog.Any("error", err))
				}
			}
		})
	}
	wg.Wait()
}

// account works off one batch of an account; more says that there may be more.
func (r *Router) account(ctx context.Context, a id.ID) (more bool, err error) {
	var rows []Deferred
	err = r.engine.View(ctx, a, func(tx event.Tx) (err error) {
		rows, err = r.engine.NextDeferred(tx, routerBatch)
		return err
	})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if r.run(ctx, a, rows) == nil {
		return true, nil
	}
	// One of them fails: alone, each shows whether it is the one.
	failed, progress := map[Deferred]bool{}, false
	for _, d := range rows {
		k := Deferred{Subscriber: d.Subscriber, Stream: d.Stream}
		if failed[k] {
			continue // its stream waits
		}
		cause := r.run(ctx, a, []Deferred{d})
		if cause == nil {
			progress = true
			continue
		}
		failed[k] = true
		if transient(cause) {
			// A database that is full or away says nothing against the reaction:
			// counting it would park every stream that is tried meanwhile.
			r.log.WarnContext(ctx, "a reaction waits for the store", slog.String("subscriber", d.Subscriber), slog.Int64("seq", d.Seq), slog.Any("error", cause))
			continue
		}
		if err := r.fail(ctx, a, d, cause); err != nil {
			return false, err
		}
	}
	return progress, nil
}

// transient reports whether an error may be gone at the next look.
func transient(err error) bool {
	return fault.Is(err, fault.Unavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// run reacts to rows in one transaction.
func (r *Router) run(ctx context.Context, a id.ID, rows []Deferred) error {
	err := r.engine.DoBulk(ctx, a, func(tx event.Tx) error {
		for _, d := range rows {
			ok, err := r.engine.DropDeferred(tx, d)
			if err != nil {
				return err
			}
			if !ok {
				continue // another node was first
			}
			e, err := r.engine.GetEvent(tx, d.Event)
			if err != nil {
				return err
			}
			if e.Erased {
				continue // nothing is left to react to
			}
			if err := r.table.React(tx, d.Subscriber, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for _, d := range rows {
			r.engine.Forget(d.Subscriber, d.Stream)
		}
	}
	return err
}

// fail counts a failure; the second one parks the stream and says so.
func (r *Router) fail(ctx context.Context, a id.ID, d Deferred, cause error) error {
	msg, _, _ := fault.Public(cause)
	r.log.ErrorContext(ctx, "a reaction failed", slog.String("subscriber", d.Subscriber), slog.Int64("seq", d.Seq), slog.Any("error", cause))
	return r.engine.Do(ctx, a, func(tx event.Tx) error {
		parked, err := r.engine.FailDeferred(tx, d, fault.KindOf(cause).String(), msg)
		if err != nil || !parked {
			return err
		}
		e, err := r.engine.GetEvent(tx, d.Event)
		if err != nil {
			return err
		}
		_, err = tx.Emit(r.origin, event.Draft{
			Payload: event.SubscriberParked{Subscriber: d.Subscriber, StreamID: d.Stream, EventID: d.Event,
				ErrorKind: fault.KindOf(cause).String(), Error: msg},
			Causes:  []event.Ref{e.Ref()},
			Summary: "A reaction failed twice; its stream waits for a person.",
		})
		return err
	})
}

// Unpark lets a parked stream go on for a person; skip gives the event up.
func (r *Router) Unpark(ctx context.Context, a id.ID, by, subscriber string, stream id.ID, skip bool) error {
	return r.engine.Do(ctx, a, func(tx event.Tx) error {
		if err := r.engine.Unpark(tx, subscriber, stream, skip); err != nil {
			return err
		}
		_, err := tx.Emit(r.origin, event.Draft{
			Payload: event.SubscriberUnparked{Subscriber: subscriber, StreamID: stream, By: by, Skip: skip},
			Label:   event.NewLabel(event.Person, event.AccountWide()),
			Summary: "A parked stream goes on.",
		})
		return err
	})
}
