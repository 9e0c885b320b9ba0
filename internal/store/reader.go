package store

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// OpenReader opens a database for views only: it takes no lock, migrates
// nothing, starts no goroutine, and works beside a running Witan. It has no
// keyring, so bodies stay sealed; that is all that an audit needs.
func OpenReader(ctx context.Context, dir, url string) (event.Journal, func(), error) {
	c := clock.System{}
	db := &DB{clock: c, ids: id.NewSource(c.Now, nil), log: slog.New(slog.DiscardHandler), keys: newKeyCache(), voids: newVoids(), hub: newHub()}
	if url != "" {
		db.dialect = Postgres
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return nil, nil, fault.New(fault.Invalid, "the database URL cannot be read").On("database")
		}
		if err := pool.Ping(ctx); err != nil {
			pool.Close()
			return nil, nil, fault.Wrap(fault.Unavailable, err, "connect to PostgreSQL")
		}
		db.pg = &pgEngine{pool: pool}
		return db, pool.Close, nil
	}
	path := filepath.Join(dir, dbFile)
	if _, err := os.Stat(path); err != nil {
		return nil, nil, fault.New(fault.NotFound, "there is no database in %s", dir).On("data").WithFix("give the folder that witan serve uses")
	}
	readers, err := sql.Open("sqlite", dsn(path, true, 0))
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, err, "open "+dbFile)
	}
	db.lite = &sqliteEngine{dir: dir, readers: readers}
	db.lite.allow(2)
	return db, func() {
		db.lite.closeReaders()
	}, nil
}
