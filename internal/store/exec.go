package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
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

// pgExec runs one PostgreSQL transaction on its own connection. BEGIN travels
// with the first statement and COMMIT with the last: each trip under load is
// time that a head row stays locked.
type pgExec struct {
	conn  *pgxpool.Conn
	begin string // sent before the first statement; "" once it was
}

func (e *pgExec) exec(ctx context.Context, text string, args []any) (int64, error) {
	if e.begin == "" {
		t, err := e.conn.Exec(ctx, text, args...)
		return t.RowsAffected(), err
	}
	var b pgx.Batch
	b.Queue(e.begin)
	b.Queue(text, args...)
	e.begin = ""
	r := e.conn.SendBatch(ctx, &b)
	if _, err := r.Exec(); err != nil {
		return 0, errors.Join(err, r.Close())
	}
	t, err := r.Exec()
	return t.RowsAffected(), errors.Join(err, r.Close())
}

func (e *pgExec) query(ctx context.Context, text string, args []any) (rows, error) {
	if e.begin != "" {
		if _, err := e.conn.Exec(ctx, e.begin); err != nil {
			return nil, err
		}
		e.begin = ""
	}
	return e.conn.Query(ctx, text, args...)
}

// end sends the last statements and COMMIT in one trip.
func (e *pgExec) end(ctx context.Context, b *pgx.Batch) error {
	if e.begin != "" {
		if b.Len() == 0 {
			return nil // nothing was ever sent
		}
		var all pgx.Batch
		all.Queue(e.begin)
		all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
		b, e.begin = &all, ""
	}
	b.Queue("COMMIT")
	failpoint.Hit("journal.before_commit")
	r := e.conn.SendBatch(ctx, b)
	var tag pgconn.CommandTag
	var err error
	for range b.Len() {
		if tag, err = r.Exec(); err != nil {
			break
		}
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	// PostgreSQL answers COMMIT of a failed transaction with ROLLBACK and no error.
	if tag.String() != "COMMIT" {
		return fault.New(fault.Internal, "the transaction ended with %s", tag)
	}
	failpoint.Hit("journal.after_commit")
	return nil
}

// rollback ends a failed transaction; a connection in doubt is thrown away by
// the pool, which looks at its state.
func (e *pgExec) rollback(ctx context.Context) {
	if e.conn != nil && e.begin == "" {
		_, _ = e.conn.Exec(ctx, "ROLLBACK")
	}
}

// release gives the connection back. It may be called again.
func (e *pgExec) release() {
	if e.conn != nil {
		e.conn.Release()
		e.conn = nil
	}
}
