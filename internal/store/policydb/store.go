// Package policydb keeps policy's rows in the database: it implements
// policy.Store on both engines.
//
// Invariants: every query names its account (INV-9); every change that a race
// can spoil is one conditional statement, whose row count says who won.
//
// It imports store, policy, event and kit. It holds no state and starts no
// goroutine.
package policydb

import (
	_ "embed"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

var q = store.MustQueries(sqlText) //nolint:gochecknoglobals // the parsed text, never changed

// Store implements policy.Store.
type Store struct{}

var _ policy.Store = (*Store)(nil)

// New returns the store.
func New() *Store { return &Store{} }

// scanner reads one row.
type scanner func(dest ...any) error

// us is a time column on its way in.
func us(t time.Time) int64 { return clock.Micros(t) }

// changed reports whether a conditional statement touched its row.
func changed(rows int64, err error) (bool, error) { return rows == 1, err }

// found turns "no row" into false.
func found(err error) (bool, error) {
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// list collects the rows of a query.
func list[T any](tx event.Tx, name string, args []any, read func(scanner) (T, error)) (out []T, err error) {
	err = q.Each(tx, name, args, func(scan func(...any) error) error {
		v, err := read(scan)
		if err == nil {
			out = append(out, v)
		}
		return err
	})
	return out, err
}

// Now implements policy.Store.
func (*Store) Now(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

// SetTimer implements policy.Store.
func (*Store) SetTimer(tx event.Tx, kind, key string, at time.Time) error {
	return store.SetTimer(tx, kind, key, at)
}

// CancelTimer implements policy.Store.
func (*Store) CancelTimer(tx event.Tx, kind, key string) error {
	return store.CancelTimer(tx, kind, key)
}

// Stop implements policy.Store.
func (*Store) Stop(tx event.Tx, scope string) error { return store.Stop(tx, scope) }

// Unstop implements policy.Store.
func (*Store) Unstop(tx event.Tx, scope string) error { return store.Unstop(tx, scope) }

// Stops implements policy.Store.
func (*Store) Stops(tx event.Tx) ([]policy.Stop, error) {
	rows, err := store.Stops(tx)
	if err != nil {
		return nil, err
	}
	out := make([]policy.Stop, len(rows))
	for i, r := range rows {
		out[i] = policy.Stop{Scope: r.Scope, Since: r.Since}
	}
	return out, nil
}

// GetHead implements policy.Store.
func (*Store) GetHead(tx event.Tx) (h policy.Head, err error) {
	err = q.Row(tx, "get_head", []any{tx.Account()}, &h.Version, &h.Digest)
	return h, err
}

func scanVersion(scan scanner) (v policy.Version, err error) {
	var at int64
	var text string
	err = scan(&v.Number, &text, &v.Person, &at)
	v.Document, v.At = []byte(text), clock.FromMicros(at)
	return v, err
}

// GetVersion implements policy.Store.
func (*Store) GetVersion(tx event.Tx, n int) (v policy.Version, err error) {
	v, err = scanVersion(func(dest ...any) error {
		return q.Row(tx, "get_version", []any{tx.Account(), n}, dest...)
	})
	return v, err
}

// ListVersions implements policy.Store.
func (*Store) ListVersions(tx event.Tx) ([]policy.Version, error) {
	return list(tx, "list_versions", []any{tx.Account()}, scanVersion)
}

// AppendVersion implements policy.Store.
func (*Store) AppendVersion(tx event.Tx, v policy.Version, digest string) (bool, error) {
	var ok bool
	var err error
	if v.Number == 1 {
		ok, err = changed(q.Exec(tx, "first_head", tx.Account(), v.Number, digest))
	} else {
		ok, err = changed(q.Exec(tx, "move_head", v.Number, digest, tx.Account(), v.Number-1))
	}
	if err != nil || !ok {
		return false, err
	}
	_, err = q.Exec(tx, "append_version", tx.Account(), v.Number, string(v.Document), v.Person, us(v.At))
	return err == nil, err
}

// FindAutonomy implements policy.Store.
func (*Store) FindAutonomy(tx event.Tx, actor string) (account, own *int, err error) {
	err = q.Each(tx, "find_dials", []any{tx.Account(), actor}, func(scan func(...any) error) error {
		var scope string
		var value int
		if err := scan(&scope, &value); err != nil {
			return err
		}
		if scope == "account" {
			account = &value
		}
		if scope == actor {
			own = &value
		}
		return nil
	})
	return account, own, err
}

// SaveAutonomy implements policy.Store.
func (*Store) SaveAutonomy(tx event.Tx, m policy.AutonomyMove) error {
	if _, err := q.Exec(tx, "save_dial", tx.Account(), m.Scope, m.Value, m.Person, us(m.At)); err != nil {
		return err
	}
	_, err := q.Exec(tx, "append_move", tx.Account(), tx.NewID(), m.Scope, m.Value, m.Person, us(m.At))
	return err
}

func scanMove(scan scanner) (m policy.AutonomyMove, err error) {
	var at int64
	err = scan(&m.Scope, &m.Value, &m.Person, &at)
	m.At = clock.FromMicros(at)
	return m, err
}

// ListAutonomy implements policy.Store.
func (*Store) ListAutonomy(tx event.Tx) ([]policy.AutonomyMove, error) {
	return list(tx, "list_dials", []any{tx.Account()}, scanMove)
}

// ListAutonomyHistory implements policy.Store.
func (*Store) ListAutonomyHistory(tx event.Tx, scope string) ([]policy.AutonomyMove, error) {
	return list(tx, "list_moves", []any{tx.Account(), scope}, scanMove)
}

// ListEndorsements implements policy.Store.
func (*Store) ListEndorsements(tx event.Tx, run id.ID) ([]policy.Endorsement, error) {
	return list(tx, "list_endorsements", []any{tx.Account(), run}, func(scan scanner) (e policy.Endorsement, err error) {
		var label string
		if err = scan(&e.ID, &e.Run, &e.Skill, &e.Targets, &label); err == nil {
			e.Label, err = event.ParseLabel(label)
		}
		return e, err
	})
}

// SaveEndorsement implements policy.Store.
func (*Store) SaveEndorsement(tx event.Tx, e policy.Endorsement, person, approval id.ID, at time.Time) error {
	_, err := q.Exec(tx, "add_endorsement", tx.Account(), e.ID, e.Run, e.Skill, e.Targets, e.Label.String(), person, approval, us(at))
	return err
}

// DropEndorsement implements policy.Store.
func (*Store) DropEndorsement(tx event.Tx, endorsement id.ID) error {
	_, err := q.Exec(tx, "drop_endorsement", tx.Account(), endorsement)
	return err
}
