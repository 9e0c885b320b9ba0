package store_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// column is a column as both engines agree on it.
type column struct {
	Type    string // blob, integer, text
	NotNull bool
}

func sqliteSchema(t *testing.T, db *storetest.DB) map[string]column {
	t.Helper()
	c, err := sql.Open("sqlite", filepath.Join(db.Options.Dir, "witan.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Query(`SELECT m.name, p.name, p.type, p."notnull" FROM sqlite_master m, pragma_table_info(m.name) p
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]column{}
	for r.Next() {
		var table, name, typ string
		var notNull bool
		if err := r.Scan(&table, &name, &typ, &notNull); err != nil {
			t.Fatal(err)
		}
		out[table+"."+name] = column{strings.ToLower(typ), notNull}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func postgresSchema(t *testing.T, db *storetest.DB) map[string]column {
	t.Helper()
	c, err := pgx.Connect(context.Background(), db.Options.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	r, err := c.Query(context.Background(), `SELECT table_name, column_name, data_type, is_nullable = 'NO' FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	words := map[string]string{"bytea": "blob", "bigint": "integer", "text": "text"}
	out := map[string]column{}
	for r.Next() {
		var table, name, typ string
		var notNull bool
		if err := r.Scan(&table, &name, &typ, &notNull); err != nil {
			t.Fatal(err)
		}
		out[table+"."+name] = column{words[typ], notNull}
	}
	return out
}

func TestBothSchemasAreTheSame(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(sqliteSchema(t, storetest.OpenSQLite(t)), postgresSchema(t, storetest.OpenPostgres(t))); d != "" {
		t.Fatalf("schemas differ (-sqlite +postgres):\n%s", d)
	}
}

// TestEveryTextColumnIsClassified walks the schema: each text or blob column is
// an id, structural, or a subject's data that an erasure purges; and whatever
// holds such data holds its label too.
func TestEveryTextColumnIsClassified(t *testing.T) {
	t.Parallel()
	structural, erasable, own, err := store.Directives()
	if err != nil {
		t.Fatal(err)
	}
	schema := sqliteSchema(t, storetest.OpenSQLite(t))
	purged := map[string]bool{} // table or table.column
	for _, e := range erasable {
		if c, ok := schema[e.Table+"."+e.Subject]; !ok || c.Type != "blob" {
			t.Errorf("erasable %s: subject column %s is no id column", e.Table, e.Subject)
		}
		if e.Blank == nil {
			purged[e.Table] = true
		}
		for _, b := range e.Blank {
			if schema[e.Table+"."+b].Type != "text" {
				t.Errorf("erasable %s: column %s is no text column", e.Table, b)
			}
			purged[e.Table+"."+b] = true
		}
		if _, ok := schema[e.Table+".label"]; !ok && own[e.Table] == "" {
			t.Errorf("%s holds a subject's text and has no label column", e.Table)
		}
	}
	for name := range structural {
		if _, ok := schema[name]; !ok {
			t.Errorf("structural names %s, which does not exist", name)
		}
	}
	for name, c := range schema {
		table, col, _ := strings.Cut(name, ".")
		isID := c.Type == "blob" && (col == "id" || strings.HasSuffix(col, "_id"))
		if c.Type == "integer" || isID || structural[name] || purged[table] || purged[name] {
			continue
		}
		t.Errorf("%s (%s) is neither structural nor erasable: say which in its migration", name, c.Type)
	}
}

func TestEveryTableNamesItsAccount(t *testing.T) {
	t.Parallel()
	without := []string{"nodes"} // a process belongs to all accounts
	schema := sqliteSchema(t, storetest.OpenSQLite(t))
	tables := map[string]bool{}
	for name := range schema {
		table, _, _ := strings.Cut(name, ".")
		tables[table] = true
	}
	for table := range tables {
		if c, ok := schema[table+".account_id"]; (!ok || !c.NotNull) && !slices.Contains(without, table) {
			t.Errorf("%s has no account_id NOT NULL", table)
		}
	}
}

func TestNodesThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	url, err := storetest.Postgres(t).Create()
	if err != nil {
		t.Fatal(err)
	}
	template := storetest.OpenPostgres(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			o := template.Options
			o.URL = url
			db, err := store.Open(context.Background(), o)
			if err != nil {
				t.Error(err)
				return
			}
			db.Close()
		})
	}
	wg.Wait()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	var rows, versions int
	if err := c.QueryRow(context.Background(), "SELECT count(*), count(DISTINCT version_id) FROM goose_db_version").Scan(&rows, &versions); err != nil {
		t.Fatal(err)
	}
	if rows != versions {
		t.Fatalf("%d rows for %d versions: a migration ran twice", rows, versions)
	}
}
