package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/kit/id"
)

// rows is what both drivers' results have in common.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// executor runs statements on one open transaction.
type executor interface {
	exec(ctx context.Context, text string, args []any) (int64, error)
	query(ctx context.Context, text string, args []any) (rows, error)
}

// bind turns our argument types into what both drivers take the same way.
// It works in place: callers pass a slice of their own.
func bind(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case id.ID:
			if v == id.Nil {
				args[i] = nil
			} else {
				args[i] = v[:]
			}
		case bool:
			if v {
				args[i] = int64(1)
			} else {
				args[i] = int64(0)
			}
		case int:
			args[i] = int64(v)
		case int32:
			args[i] = int64(v)
		}
	}
	return args
}

// boolDest scans the stored 0 or 1 into a bool.
type boolDest struct{ b *bool }

// Scan implements sql.Scanner.
func (d boolDest) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return errors.New("scan bool: want an integer 0 or 1")
	}
	*d.b = n != 0
	return nil
}

func dests(in []any) []any {
	for i, d := range in {
		if b, ok := d.(*bool); ok {
			in[i] = boolDest{b}
		}
	}
	return in
}

// sqliteExec runs on one connection with a cache of prepared statements.
// It is used by one goroutine at a time.
type sqliteExec struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	// inject, set by tests only, makes a statement fail as a driver would:
	// before it ran, or (after) once it had run.
	inject func(text string) (before, after error)
}

func (e *sqliteExec) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if s, ok := e.stmts[text]; ok {
		return s, nil
	}
	s, err := e.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	e.stmts[text] = s
	return s, nil
}

func (e *sqliteExec) exec(ctx context.Context, text string, args []any) (int64, error) {
	if e.inject == nil {
		return e.plainExec(ctx, text, args)
	}
	before, after := e.inject(text)
	if before != nil {
		return 0, before
	}
	n, err := e.plainExec(ctx, text, args)
	return n, errors.Join(err, after)
}

func (e *sqliteExec) plainExec(ctx context.Context, text string, args []any) (int64, error) {
	s, err := e.stmt(ctx, text)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

type sqliteRows struct{ *sql.Rows }

func (r sqliteRows) Close() { _ = r.Rows.Close() }

func (e *sqliteExec) query(ctx context.Context, text string, args []any) (rows, error) {
	s, err := e.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, args...) //nolint:rowserrcheck,sqlclosecheck // the caller closes and checks
	if err != nil {
		return nil, err
	}
	return sqliteRows{r}, nil
}

// pgExec runs on one PostgreSQL transaction.
type pgExec struct{ tx pgx.Tx }

func (e pgExec) exec(ctx context.Context, text string, args []any) (int64, error) {
	t, err := e.tx.Exec(ctx, text, args...)
	return t.RowsAffected(), err
}

func (e pgExec) query(ctx context.Context, text string, args []any) (rows, error) {
	return e.tx.Query(ctx, text, args...)
}
