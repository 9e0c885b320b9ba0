package storetest

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// Tampered is a SQLite database in the hands of somebody who has the file: it
// reads and writes past the engine, without the triggers that defend it. A test
// proves with it that what was changed behind our back is found.
type Tampered struct {
	t  testing.TB
	db *sql.DB
}

// Tamper opens the database in a folder (of store.Options.Dir) and drops the
// triggers of the append-only tables that are named. The engine may be running.
func Tamper(t testing.TB, dir string, tables ...string) *Tampered {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "witan.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	x := &Tampered{t, db}
	x.Write("PRAGMA busy_timeout = 10000")
	for _, name := range tables {
		x.Write("DROP TRIGGER IF EXISTS " + name + "_no_update")
		x.Write("DROP TRIGGER IF EXISTS " + name + "_no_delete")
	}
	return x
}

// Write runs a statement.
func (x *Tampered) Write(text string, args ...any) {
	x.t.Helper()
	if _, err := x.db.Exec(text, args...); err != nil {
		x.t.Fatalf("%s: %v", text, err)
	}
}

// Read returns the one value of the one row of a query: nil, an int64, a string
// or bytes.
func (x *Tampered) Read(text string, args ...any) (out any) {
	x.t.Helper()
	if err := x.db.QueryRow(text, args...).Scan(&out); err != nil {
		x.t.Fatalf("%s: %v", text, err)
	}
	return out
}
