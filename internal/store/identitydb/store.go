// Package identitydb keeps identity's rows in the database: it implements
// identity.Store on both engines.
//
// Invariants: every query names its account, but for the two that look accounts
// up; every change that a race can spoil is one conditional statement, whose row
// count says who won.
//
// It imports store, identity, event and kit. It holds no state and starts no
// goroutine.
package identitydb

import (
	_ "embed"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

var q = store.MustQueries(sqlText) //nolint:gochecknoglobals // the parsed text, never changed

// Store implements identity.Store.
type Store struct{}

var _ identity.Store = (*Store)(nil)

// New returns the store.
func New() *Store { return &Store{} }

// AfterCommit implements identity.Store.
func (*Store) AfterCommit(tx event.Tx, f func()) { store.AfterCommit(tx, f) }

// scanner reads one row.
type scanner func(dest ...any) error

// us is a time column on its way in.
func us(t time.Time) int64 { return clock.Micros(t) }

// when is a time column on its way out: a microsecond count scanned into at.
type when struct {
	us int64
	to *time.Time
}

// whens scans time columns; set fills the times after the scan.
type whens []*when

func (w *whens) of(t *time.Time) *int64 {
	x := &when{to: t}
	*w = append(*w, x)
	return &x.us
}

func (w whens) set() {
	for _, x := range w {
		*x.to = clock.FromMicros(x.us)
	}
}

// found turns NotFound into false.
func found(err error) (bool, error) {
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// one reports whether a conditional statement touched a row.
func one(n int64, err error) (bool, error) { return n > 0, err }

// row reads one row with f.
func row[T any](tx event.Tx, name string, args []any, f func(scanner) (T, error)) (T, error) {
	var out T
	seen := false
	err := q.Each(tx, name, args, func(scan func(...any) error) (err error) {
		out, err = f(scan)
		seen = true
		return err
	})
	if err == nil && !seen {
		err = fault.New(fault.NotFound, "there is no such row")
	}
	return out, err
}

// rows reads all rows with f.
func rows[T any](tx event.Tx, name string, args []any, f func(scanner) (T, error)) ([]T, error) {
	var out []T
	err := q.Each(tx, name, args, func(scan func(...any) error) error {
		v, err := f(scan)
		if err == nil {
			out = append(out, v)
		}
		return err
	})
	return out, err
}

// Queries returns the named SQL, for the test that prepares it on both engines.
func Queries() *store.Queries { return q }
