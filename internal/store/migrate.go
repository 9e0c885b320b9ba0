package store

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/witan-run/witan/internal/kit/fault"
)

//go:embed migrations/*.sql
var migrationFS embed.FS

// Migrations returns the migration files rendered for one dialect. One text
// serves both, so that the two schemas cannot drift apart: BLOB, INTEGER, TEXT
// and STRICT become their PostgreSQL words, blocks between "-- sqlite:begin"
// and "-- sqlite:end" (or postgres) stand for one engine only, and
// "-- append_only: TABLE" becomes the triggers that refuse UPDATE and DELETE.
func Migrations(d Dialect) (fs.FS, error) {
	out := fstest.MapFS{}
	names, err := fs.Glob(migrationFS, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		b, err := migrationFS.ReadFile(n)
		if err != nil {
			return nil, err
		}
		text, err := render(string(b), d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		out[strings.TrimPrefix(n, "migrations/")] = &fstest.MapFile{Data: []byte(text)}
	}
	return out, nil
}

var words = regexp.MustCompile(`\b(BLOB|INTEGER|TEXT)\b|\)\s*(WITHOUT ROWID, STRICT|STRICT, WITHOUT ROWID|STRICT);`)

func render(text string, d Dialect) (string, error) {
	var b strings.Builder
	skip := ""
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		switch {
		case skip != "":
			if t == "-- "+skip+":end" {
				skip = ""
			}
			continue
		case t == "-- sqlite:begin" || t == "-- postgres:begin":
			if t != "-- "+d.String()+":begin" {
				skip = strings.TrimSuffix(strings.TrimPrefix(t, "-- "), ":begin")
			}
			continue
		case strings.HasPrefix(t, "-- append_only:"):
			for _, table := range strings.FieldsFunc(strings.TrimPrefix(t, "-- append_only:"), func(r rune) bool { return r == ',' || r == ' ' }) {
				b.WriteString(appendOnly(table, d))
			}
			continue
		case strings.HasPrefix(t, "--") && !strings.HasPrefix(t, "-- +goose"):
			continue
		}
		b.WriteString(line)
	}
	if skip != "" {
		return "", fault.New(fault.Internal, "block %s:begin has no end", skip)
	}
	if d == SQLite {
		return b.String(), nil
	}
	return words.ReplaceAllStringFunc(b.String(), func(w string) string {
		switch {
		case w == "BLOB":
			return "BYTEA"
		case w == "INTEGER":
			return "BIGINT"
		case w == "TEXT":
			return `TEXT COLLATE "C"`
		}
		return ");"
	}), nil
}

// appendOnly returns the triggers that refuse changes to a table's rows.
// ABORT, never ROLLBACK: a rollback inside the lane would void other members.
func appendOnly(table string, d Dialect) string {
	if d == SQLite {
		return fmt.Sprintf(`-- +goose StatementBegin
CREATE TRIGGER %[1]s_no_update BEFORE UPDATE ON %[1]s BEGIN SELECT RAISE(ABORT, '%[1]s is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER %[1]s_no_delete BEFORE DELETE ON %[1]s BEGIN SELECT RAISE(ABORT, '%[1]s is append-only'); END;
-- +goose StatementEnd
`, table)
	}
	return fmt.Sprintf(`-- +goose StatementBegin
CREATE TRIGGER %[1]s_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %[1]s FOR EACH STATEMENT EXECUTE FUNCTION witan_append_only();
-- +goose StatementEnd
`, table)
}

// migrate brings the schema up to date. On PostgreSQL a session lock makes N
// nodes that start at once migrate once.
func migrate(ctx context.Context, db *sql.DB, d Dialect, log *slog.Logger) error {
	files, err := Migrations(d)
	if err != nil {
		return err
	}
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	dialect := goose.DialectSQLite3
	if d == Postgres {
		dialect = goose.DialectPostgres
		l, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120))
		if err != nil {
			return err
		}
		opts = append(opts, goose.WithSessionLocker(l))
	}
	p, err := goose.NewProvider(dialect, db, files, opts...)
	if err != nil {
		return fault.New(fault.Internal, "read migrations: %w", err)
	}
	done, err := p.Up(ctx)
	if err != nil {
		return fault.New(fault.Unavailable, "migrate the database: %w", err)
	}
	if len(done) > 0 {
		log.InfoContext(ctx, "schema migrated", slog.Int("applied", len(done)), slog.String("engine", d.String()))
	}
	return nil
}

// Directives returns the classification comments of all migrations: structural
// columns, what an erasure does, and tables whose text people wrote of themselves.
func Directives() (structural map[string]bool, erasable []Erasable, own map[string]string, err error) {
	structural, own = map[string]bool{}, map[string]string{}
	names, err := fs.Glob(migrationFS, "migrations/*.sql")
	if err != nil {
		return nil, nil, nil, err
	}
	for _, n := range names {
		b, err := migrationFS.ReadFile(n)
		if err != nil {
			return nil, nil, nil, err
		}
		for line := range bytes.Lines(b) {
			t := strings.TrimSpace(string(line))
			if rest, ok := strings.CutPrefix(t, "-- structural:"); ok {
				for _, c := range strings.Split(rest, ",") {
					structural[strings.TrimSpace(c)] = true
				}
			}
			if rest, ok := strings.CutPrefix(t, "-- erasable:"); ok {
				e, err := parseErasable(rest)
				if err != nil {
					return nil, nil, nil, fmt.Errorf("%s: %w", n, err)
				}
				erasable = append(erasable, e)
			}
			if rest, ok := strings.CutPrefix(t, "-- own:"); ok {
				table, why, _ := strings.Cut(strings.TrimSpace(rest), " ")
				own[table] = why
			}
		}
	}
	return structural, erasable, own, nil
}

// Erasable says what erasing a subject does to one table: delete its rows, or
// blank some columns.
type Erasable struct {
	Table   string
	Subject string   // the column with the subject's id
	Blank   []string // nil means delete the rows
}

func parseErasable(s string) (Erasable, error) {
	f := strings.Fields(s)
	if len(f) != 3 || !strings.HasPrefix(f[1], "subject=") {
		return Erasable{}, fault.New(fault.Internal, "bad directive erasable:%s", s)
	}
	e := Erasable{Table: f[0], Subject: strings.TrimPrefix(f[1], "subject=")}
	if cols, ok := strings.CutPrefix(f[2], "blank="); ok {
		e.Blank = strings.Split(cols, ",")
	} else if f[2] != "delete" {
		return Erasable{}, fault.New(fault.Internal, "bad directive erasable:%s", s)
	}
	return e, nil
}
