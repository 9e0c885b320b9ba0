// Package agentdb keeps what package agent owns: definitions, threads, turns,
// runs and their logs. It implements agent.Store on both engines.
//
// It holds no state and starts no goroutine; every method works in the
// transaction it is given.
package agentdb

import (
	_ "embed"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

var q = store.MustQueries(sqlText)

// Store implements agent.Store.
type Store struct{}

// New returns a store.
func New() *Store { return &Store{} }

var _ agent.Store = (*Store)(nil)

type scanner func(dest ...any) error

// one reads one row by a query.
func one[T any](tx event.Tx, name string, args []any, read func(scanner) (T, error)) (out T, err error) {
	found := false
	err = q.Each(tx, name, args, func(scan func(...any) error) error {
		if found {
			return nil
		}
		found = true
		var err error
		out, err = read(scan)
		return err
	})
	if err == nil && !found {
		err = missing(name)
	}
	return out, err
}

// list reads all rows of a query.
func list[T any](tx event.Tx, name string, args []any, read func(scanner) (T, error)) (out []T, err error) {
	err = q.Each(tx, name, args, func(scan func(...any) error) error {
		v, err := read(scan)
		out = append(out, v)
		return err
	})
	return out, err
}

// AppendRecord implements agent.Store.
func (*Store) AppendRecord(tx event.Tx, r agent.Record) error {
	_, err := q.Exec(tx, "append_record", tx.Account(), r.RunID, r.N, string(r.Kind), r.Step, r.CallID, r.EventID, r.Label.String(), r.Digest[:])
	return err
}

// LoadRecords implements agent.Store.
func (*Store) LoadRecords(tx event.Tx, run id.ID) ([]agent.Record, error) {
	return list(tx, "load_records", []any{tx.Account(), run}, func(scan scanner) (agent.Record, error) {
		r := agent.Record{RunID: run}
		var kind, label string
		var digest []byte
		if err := scan(&r.N, &kind, &r.Step, &r.CallID, &r.EventID, &label, &digest); err != nil {
			return r, err
		}
		r.Kind = agent.RecordKind(kind)
		copy(r.Digest[:], digest)
		// A label that cannot be read is no label: the line's digest no longer fits.
		r.Label, _ = event.ParseLabel(label)
		return r, nil
	})
}

// GetEvent implements agent.Store.
func (*Store) GetEvent(tx event.Tx, e id.ID) (event.Event, error) { return store.GetEvent(tx, e) }

// EnqueueRun implements agent.Store.
func (*Store) EnqueueRun(tx event.Tx, r agent.Run) error {
	now, err := store.DBNow(tx)
	if err != nil {
		return err
	}
	return store.Enqueue(tx, event.WorkRun, r.ID, "agent:"+r.Agent, now)
}

// ClaimRun implements agent.Store.
func (*Store) ClaimRun(tx event.Tx, run id.ID) (event.Lease, error) {
	return store.Claim(tx, event.WorkRun, run)
}

// Guard implements agent.Store.
func (*Store) Guard(tx event.Tx, l event.Lease) error { return store.Guard(tx, l) }

// Finish implements agent.Store.
func (*Store) Finish(tx event.Tx, l event.Lease) error { return store.Finish(tx, l) }

// Release implements agent.Store.
func (*Store) Release(tx event.Tx, l event.Lease, due time.Time) error {
	return store.Release(tx, l, due)
}

// Sleep implements agent.Store.
func (*Store) Sleep(tx event.Tx, l event.Lease) error { return store.Wait(tx, l) }

// WakeRun implements agent.Store.
func (*Store) WakeRun(tx event.Tx, run id.ID) error {
	now, err := store.DBNow(tx)
	if err != nil {
		return err
	}
	return store.Wake(tx, event.WorkRun, run, now)
}

// Halted implements agent.Store.
func (*Store) Halted(tx event.Tx, scope string) (bool, error) {
	_, halted, err := store.Stopped(tx, scope)
	return halted, err
}

// Now implements agent.Store.
func (*Store) Now(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

func us(t time.Time) int64 { return clock.Micros(t) }
