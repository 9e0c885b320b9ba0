package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/witan-run/witan/internal/kit/fault"
)

// classify turns a driver error into a fault that says what was being done.
func (db *DB) classify(err error, name string) error {
	var f *fault.Error
	var re *reactionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &re):
		return err
	case errors.As(err, &f):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case db.dialect == SQLite:
		return classifySQLite(err, name)
	}
	return classifyPostgres(err, name)
}

func pgCode(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

func classifyPostgres(err error, name string) error {
	switch code := pgCode(err); {
	case code == "":
		return fault.New(fault.Unavailable, "%s: the database does not answer: %w", name, err)
	case code[:2] == "23":
		return fault.New(fault.Conflict, "%s: %w", name, err)
	case code[:2] == "53", code[:2] == "57", code[:2] == "58", code == "40001", code == "40P01":
		return fault.New(fault.Unavailable, "%s: %w", name, err)
	}
	return fault.Wrap(fault.Internal, err, name)
}
