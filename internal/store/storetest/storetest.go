package storetest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store"
)

// Start is the moment at which every test's clock stands first.
var Start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// DB is an engine opened for one test, with everything that came in from outside.
type DB struct {
	*store.DB
	Journal event.Journal
	Account id.ID // an account whose first event is committed
	Clock   *clock.Fake
	IDs     *id.Source
	Options store.Options
}

// Each runs f on SQLite and on PostgreSQL, as two subtests.
func Each(t *testing.T, f func(t *testing.T, db *DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, OpenSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, OpenPostgres(t)) })
}

// OpenSQLite opens a fresh SQLite store.
func OpenSQLite(t testing.TB) *DB {
	t.Helper()
	return open(t, store.Options{Dir: filepath.Join(t.TempDir(), "data")})
}

var (
	templateOnce sync.Once //nolint:gochecknoglobals // one template per test process
	templateErr  error     //nolint:errname // not a sentinel
)

// OpenPostgres opens a fresh database on the test process's PostgreSQL.
func OpenPostgres(t testing.TB) *DB {
	t.Helper()
	s := Postgres(t)
	templateOnce.Do(func() {
		var url string
		if url, templateErr = s.create(""); templateErr != nil {
			return
		}
		o := fill(t, store.Options{URL: url})
		var db *store.DB
		if db, templateErr = store.Open(context.Background(), o); templateErr == nil {
			db.Close()
		}
	})
	if templateErr != nil {
		t.Fatal(templateErr)
	}
	url, err := s.create("t1")
	if err != nil {
		t.Fatal(err)
	}
	return open(t, store.Options{URL: url})
}

func fill(t testing.TB, o store.Options) store.Options {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.NewFake(Start)
	}
	if o.IDs == nil {
		o.IDs = id.NewSource(o.Clock.Now, nil)
	}
	if o.Keyring == nil {
		dir := filepath.Join(t.TempDir(), "keys")
		k, err := secret.OpenOrCreate(filepath.Join(dir, "keyring"), secret.Options{Now: o.Clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		o.Keyring = k
	}
	if o.Log == nil {
		level := slog.LevelError
		if os.Getenv("WITAN_TEST_LOG") != "" {
			level = slog.LevelDebug
		}
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	}
	o.VirtualClock = true
	return o
}

func open(t testing.TB, o store.Options) *DB {
	t.Helper()
	o = fill(t, o)
	d := &DB{Clock: o.Clock.(*clock.Fake), IDs: o.IDs, Options: o}
	d.Reopen(t)
	t.Cleanup(func() { d.DB.Close() })
	d.Account = d.NewAccount(t)
	return d
}

// Reopen closes the engine, if it is open, and opens it again: a restart.
func (d *DB) Reopen(t testing.TB) {
	t.Helper()
	if d.DB != nil {
		d.DB.Close()
	}
	db, err := store.Open(context.Background(), d.Options)
	if err != nil {
		t.Fatal(err)
	}
	d.DB, d.Journal = db, db
}

// Second opens another node on the same PostgreSQL database.
func (d *DB) Second(t testing.TB) *DB {
	t.Helper()
	if d.Options.URL == "" {
		t.Fatal("only PostgreSQL takes a second node")
	}
	n := &DB{Clock: d.Clock, IDs: d.IDs, Options: d.Options, Account: d.Account}
	n.Reopen(t)
	t.Cleanup(func() { n.DB.Close() })
	return n
}

// NewAccount makes another account.
func (d *DB) NewAccount(t testing.TB) id.ID {
	t.Helper()
	o := Origin(t, event.LayerDispatch, event.ClassIdentity, "identity", "account.created")
	a := d.IDs.New()
	if err := d.Journal.Do(context.Background(), a, func(tx event.Tx) error {
		_, err := tx.Emit(o, event.Draft{Payload: event.AccountCreated{Name: "Test"}, Label: House(), Summary: "The account begins."})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return a
}

// React installs reactions.
func (d *DB) React(r store.Reactor) { d.DB.SetReactor(r) }

// Do runs f in a transaction of the test's account and fails the test on error.
func (d *DB) Do(t testing.TB, f func(tx event.Tx) error) {
	t.Helper()
	if err := d.Journal.Do(context.Background(), d.Account, f); err != nil {
		t.Fatal(err)
	}
}

// See runs f in a view of the test's account and fails the test on error.
func (d *DB) See(t testing.TB, f func(tx event.Tx) error) {
	t.Helper()
	if err := d.Journal.View(context.Background(), d.Account, f); err != nil {
		t.Fatal(err)
	}
}

// Events returns all events of the test's account, in order.
func (d *DB) Events(t testing.TB) (out []event.Event) {
	t.Helper()
	d.See(t, func(tx event.Tx) (err error) {
		out, err = store.EventsAfter(tx, 0, 100_000)
		return err
	})
	return out
}

// House is the label of what our own code says, for the whole account.
func House() event.Label { return event.NewLabel(event.House, event.AccountWide()) }

// Origin makes an origin for a test.
func Origin(t testing.TB, l event.Layer, c event.Class, source string, types ...event.Type) event.Origin {
	t.Helper()
	o, err := event.NewOrigin(l, c, source, types...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Reactions is a Reactor made of functions, for tests.
type Reactions []Reaction

// Reaction is one subscriber.
type Reaction struct {
	Name string
	On   []event.Type
	Run  func(tx event.Tx, e event.Event) error
}

// Subscribers implements store.Reactor.
func (r Reactions) Subscribers(t event.Type) (out []string) {
	for _, x := range r {
		for _, on := range x.On {
			if on == t {
				out = append(out, x.Name)
			}
		}
	}
	return out
}

// React implements store.Reactor.
func (r Reactions) React(tx event.Tx, name string, e event.Event) error {
	for _, x := range r {
		if x.Name == name {
			return x.Run(tx, e)
		}
	}
	return nil
}
