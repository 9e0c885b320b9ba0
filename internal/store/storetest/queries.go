package storetest

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // registers the driver

	"github.com/witan-run/witan/internal/store"
)

// Queries prepares every named query on both engines, so that a wrong column
// or a text of one dialect only is found by a test, and checks that each names
// its account (INV-9).
func Queries(t *testing.T, q *store.Queries) {
	t.Helper()
	t.Run("names its account", func(t *testing.T) {
		t.Parallel()
		for _, n := range q.Names() {
			for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
				text := q.Text(n, d)
				if text != "" && !strings.Contains(text, "account_id") && !q.CrossAccount(n) {
					t.Errorf("%s (%s) names no account_id", n, d)
				}
			}
		}
	})
	t.Run("prepares on sqlite", func(t *testing.T) {
		t.Parallel()
		d := OpenSQLite(t)
		c, err := sql.Open("sqlite", filepath.Join(d.Options.Dir, "witan.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, n := range q.Names() {
			s, err := c.Prepare(q.Text(n, store.SQLite))
			if err != nil {
				t.Errorf("%s: %v", n, err)
				continue
			}
			_ = s.Close()
		}
	})
	t.Run("prepares on postgres", func(t *testing.T) {
		t.Parallel()
		d := OpenPostgres(t)
		c, err := pgx.Connect(context.Background(), d.Options.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		for _, n := range q.Names() {
			if _, err := c.Prepare(context.Background(), n, q.Text(n, store.Postgres)); err != nil {
				t.Errorf("%s: %v", n, err)
			}
		}
	})
}
