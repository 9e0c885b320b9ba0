package agentdb

import (
	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func readRun(scan scanner) (r agent.Run, err error) {
	var state string
	var due, created, started, ended int64
	err = scan(&r.ID, &r.Thread, &r.Agent, &r.Ord, &state, &r.Task, &r.Turn, &r.Message, &r.Requester, &r.Subject, &r.Records, &r.Delays, &due,
		&r.TokensIn, &r.TokensOut, &r.Cost, &r.CostKnown, &r.Outcome, &r.Steps, &r.Digest, &created, &started, &ended)
	r.State, r.Due = agent.State(state), clock.FromMicros(due)
	r.Created, r.Started, r.Ended = clock.FromMicros(created), clock.FromMicros(started), clock.FromMicros(ended)
	return r, err
}

// AddRun implements agent.Store.
func (*Store) AddRun(tx event.Tx, r agent.Run) error {
	_, err := q.Exec(tx, "add_run", tx.Account(), r.ID, r.Thread, r.Agent, r.Ord, string(r.State), r.Task, r.Turn, r.Message, r.Requester, r.Subject,
		r.Records, r.Delays, us(r.Due), r.TokensIn, r.TokensOut, r.Cost, r.CostKnown, r.Outcome, r.Steps, r.Digest,
		us(r.Created), us(r.Started), us(r.Ended))
	return err
}

// GetRun implements agent.Store.
func (*Store) GetRun(tx event.Tx, run id.ID) (agent.Run, error) {
	return one(tx, "get_run", []any{tx.Account(), run}, readRun)
}

// LockRun implements agent.Store.
func (*Store) LockRun(tx event.Tx, run id.ID) (agent.Run, error) {
	return one(tx, "lock_run", []any{tx.Account(), run}, readRun)
}

// SaveRun implements agent.Store.
func (*Store) SaveRun(tx event.Tx, r agent.Run) error {
	n, err := q.Exec(tx, "save_run", string(r.State), r.Records, r.Delays, us(r.Due), r.TokensIn, r.TokensOut, r.Cost, r.CostKnown,
		r.Outcome, r.Steps, r.Digest, us(r.Started), us(r.Ended), tx.Account(), r.ID)
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "run %s is not there", r.ID)
	}
	return err
}

// FindQueued implements agent.Store.
func (*Store) FindQueued(tx event.Tx, thread id.ID) (agent.Run, bool, error) {
	r, err := one(tx, "find_queued", []any{tx.Account(), thread}, readRun)
	if fault.Is(err, fault.NotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}

// ListRuns implements agent.Store.
func (*Store) ListRuns(tx event.Tx, thread id.ID, before, limit int) ([]agent.Run, error) {
	return list(tx, "list_runs", []any{tx.Account(), thread, before, limit}, readRun)
}

// ListResting implements agent.Store.
func (*Store) ListResting(tx event.Tx, limit int) ([]agent.Run, error) {
	return list(tx, "list_resting", []any{tx.Account(), limit}, readRun)
}

// ListUnfinished implements agent.Store.
func (*Store) ListUnfinished(tx event.Tx, limit int) ([]agent.Run, error) {
	return list(tx, "list_unfinished", []any{tx.Account(), limit}, readRun)
}
