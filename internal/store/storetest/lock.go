package storetest

import (
	"context"
	"database/sql"
	"path/filepath"
)

// LockSQLite takes the write lock of a data folder's database, as a foreign
// program that opened the file would, and returns what gives it back.
func LockSQLite(dir string) (release func(), err error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "witan.db")+"?_pragma=busy_timeout(30000)")
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	return func() {
		_, _ = c.ExecContext(context.Background(), "ROLLBACK")
		_ = c.Close()
		_ = db.Close()
	}, nil
}
