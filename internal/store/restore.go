package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// RestoreSQLite copies a backup into an empty data folder. The keyring lies at
// keyringPath; one that is there already is joined, so that its erasures hold.
func RestoreSQLite(ctx context.Context, from, dataDir, keyringPath string, extra map[string]string) error {
	m, err := ReadBackup(from)
	if err != nil {
		return err
	}
	if m.Engine != SQLite.String() {
		return fault.New(fault.Invalid, "the backup was made on %s", m.Engine).On("from").WithFix("give --database to restore it there")
	}
	if _, err := os.Stat(filepath.Join(dataDir, dbFile)); err == nil {
		return fault.New(fault.Conflict, "the data folder holds a database already").On("data").WithFix("move it away first; a restore never overwrites")
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return err
	}
	if err := RestoreKeys(from, keyringPath); err != nil {
		return err
	}
	for name, to := range extra {
		if err := copyTree(ctx, filepath.Join(from, name), to); err != nil {
			return fault.Wrap(fault.Unavailable, err, "restore "+name)
		}
	}
	// The database last: without it the folder is still empty, and a second try can go on.
	tmp := filepath.Join(dataDir, "restoring-"+dbFile)
	if err := copyFile(filepath.Join(from, dbFile), tmp); err != nil {
		return fault.Wrap(fault.Unavailable, err, "copy the database")
	}
	if err := holdPast(ctx, tmp); err != nil {
		return fault.Wrap(fault.Unavailable, err, "hold the work of the past")
	}
	if err := os.Rename(tmp, filepath.Join(dataDir, dbFile)); err != nil {
		return fault.Wrap(fault.Unavailable, err, "place the database")
	}
	return fault.Wrap(fault.Unavailable, syncDir(dataDir), "place the database")
}

// pastHeld takes the work and the timers of a copy out of every worker's hands
// before the copy has its name: should the epoch never begin, because the restore
// is cut off or the configuration is wrong, a plain start repeats nothing.
func pastHeld() []string {
	return []string{
		`UPDATE work SET state = 'held', reason = 'restore', node_id = NULL, fence = fence + 1 WHERE state <> 'held'`,
		`UPDATE timers SET held = 1 WHERE held = 0`,
	}
}

func holdPast(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, false, 0))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	for _, text := range append(pastHeld(), "PRAGMA wal_checkpoint(TRUNCATE)") {
		if _, err := db.ExecContext(ctx, text); err != nil {
			_ = db.Close()
			return err
		}
	}
	if err := db.Close(); err != nil { // the last connection removes the log
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// RestoreKeys joins the keys of a backup to a keyring; erasures of both hold.
func RestoreKeys(from, keyringPath string) error {
	k, err := secret.OpenOrCreate(keyringPath, secret.Options{})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the keyring")
	}
	return fault.Wrap(fault.Unavailable, k.Import(filepath.Join(from, keyringFile)), "take over the backup's keys")
}

// LoadPostgres loads a backup into this engine's PostgreSQL database, which
// must hold no journal yet.
func (db *DB) LoadPostgres(ctx context.Context, from string) error {
	m, err := ReadBackup(from)
	if err != nil {
		return err
	}
	if db.pg == nil || m.Engine != Postgres.String() {
		return fault.New(fault.Invalid, "the backup was made on %s, this database is %s", m.Engine, db.dialect).On("from")
	}
	tx, err := db.pg.pool.Begin(ctx)
	if err != nil {
		return db.classify(err, "restore")
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var n int
	if err := tx.QueryRow(ctx, "SELECT count(*) FROM journal_heads").Scan(&n); err != nil {
		return db.classify(err, "restore")
	}
	if n > 0 {
		return fault.New(fault.Conflict, "the database holds a journal already").On("database").WithFix("restore into an empty database")
	}
	// Triggers guard live writes; what is loaded passed them once.
	if _, err := tx.Exec(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
		return fault.New(fault.Denied, "the database user may not load a backup: %w", err).WithFix("restore as a superuser")
	}
	names, err := pgTables(ctx, tx)
	if err != nil {
		return db.classify(err, "restore")
	}
	have, err := pgColumns(ctx, tx)
	if err != nil {
		return db.classify(err, "restore")
	}
	for table, columns := range m.Columns {
		for _, c := range columns {
			if !slices.Contains(have[table], c) {
				return fault.New(fault.Invalid, "the backup holds %s.%s, which this version does not know", table, c).On("from").
					WithFix("restore with the version that made the backup, or a newer one")
			}
		}
	}
	for _, name := range names {
		f, err := os.Open(filepath.Join(from, name+copySuffix))
		if os.IsNotExist(err) {
			continue // a table that is younger than the backup
		}
		if err != nil {
			return err
		}
		table := pgx.Identifier{name}.Sanitize()
		if _, err = tx.Exec(ctx, "DELETE FROM "+table); err == nil {
			_, err = tx.Conn().PgConn().CopyFrom(ctx, f, copyOf(name, m.Columns[name])+" FROM STDIN (FORMAT binary)")
		}
		_ = f.Close()
		if err != nil {
			return fault.New(fault.Unavailable, "load %s: %w", name, err)
		}
	}
	for _, text := range pastHeld() {
		if _, err := tx.Exec(ctx, text); err != nil {
			return db.classify(err, "restore")
		}
	}
	return db.classify(tx.Commit(ctx), "restore")
}

// EpochHook ends what must not survive a restore, inside the transaction that
// begins the epoch: sessions, for example. It returns how many ended.
type EpochHook func(t event.Tx) (ended int, err error)

// BeginEpoch starts a new epoch of an account after a restore or the promotion
// of a replica: leased work and timers of the past wait for a person, sessions
// end, erasures are applied again, and positions of tails are void.
func (db *DB) BeginEpoch(ctx context.Context, account id.ID, backupAt int64, o event.Origin, hooks ...EpochHook) error {
	if err := db.reapplyErasures(ctx, account); err != nil {
		return err
	}
	return db.doAlone(ctx, account, func(t event.Tx) error {
		if _, err := auditSQL.Exec(t, "bump_epoch", account); err != nil {
			return err
		}
		tip, _, err := HeadOf(t)
		if err != nil {
			return err
		}
		if _, err := auditSQL.Exec(t, "hold_work", account); err != nil {
			return err
		}
		if _, err := auditSQL.Exec(t, "hold_timers", account); err != nil {
			return err
		}
		var held, timers int64 // loading a backup may have held them already
		if err := auditSQL.Row(t, "held_in_all", []any{account, account}, &held, &timers); err != nil {
			return err
		}
		sessions := 0
		for _, h := range hooks {
			n, err := h(t)
			if err != nil {
				return err
			}
			sessions += n
		}
		db.headChanged(t)
		_, err = t.Emit(o, event.Draft{
			Payload: event.EpochStarted{Epoch: int(tip.Epoch), FromSeq: tip.Seq, Held: int(held), BackupAt: backupAt,
				Sessions: sessions, Schedules: int(timers)},
			Label: event.NewLabel(event.House, event.AccountWide()), Summary: "A restore began a new epoch; work of the past waits for a person.",
		})
		return err
	})
}

// ReleaseHeld lets go on what a restore held: runs, deliveries and timers; by asked
// for it. Runs and deliveries that failed until they were held are tried again. Effects stay: each may have happened after the backup was made, so each
// waits for its own answer. Conflict means that nothing is held.
func (db *DB) ReleaseHeld(ctx context.Context, account id.ID, by string, o event.Origin) (work, timers int64, err error) {
	err = db.Do(ctx, account, func(t event.Tx) error {
		now, err := DBNow(t)
		if err != nil {
			return err
		}
		if work, err = auditSQL.Exec(t, "release_work", clock.Micros(now), account); err != nil {
			return err
		}
		if timers, err = auditSQL.Exec(t, "release_timers", account); err != nil {
			return err
		}
		if work+timers == 0 {
			return fault.New(fault.Conflict, "no run, delivery or timer is held")
		}
		AfterCommit(t, db.hub.timerSet)
		_, err = t.Emit(o, event.Draft{
			Payload: event.WorkReleased{By: by, Work: int(work), Timers: int(timers)},
			Label:   event.NewLabel(event.Person, event.AccountWide()), Summary: "What a restore held goes on.",
		})
		return err
	})
	return work, timers, err
}

// HeldWork is leased work that waits for a person.
type HeldWork struct {
	Kind   event.WorkKind
	ID     id.ID
	Scope  string
	Reason string
}

// ListHeld lists the held work of the account.
func ListHeld(t event.Tx) (out []HeldWork, err error) {
	err = auditSQL.Each(t, "held_work", []any{t.Account()}, func(scan func(...any) error) error {
		var h HeldWork
		var kind string
		err := scan(&kind, &h.ID, &h.Scope, &h.Reason)
		h.Kind = event.WorkKind(kind)
		out = append(out, h)
		return err
	})
	return out, err
}

// HeldCount counts the held work of one kind and reason.
type HeldCount struct {
	Kind   event.WorkKind
	Reason string // restore, poison
	Count  int64
}

// CountHeld counts what is held in the account: leased work, and timers.
func CountHeld(t event.Tx) (work []HeldCount, timers int64, err error) {
	err = auditSQL.Each(t, "held_counts", []any{t.Account()}, func(scan func(...any) error) error {
		var h HeldCount
		var kind string
		err := scan(&kind, &h.Reason, &h.Count)
		h.Kind = event.WorkKind(kind)
		work = append(work, h)
		return err
	})
	if err == nil {
		err = auditSQL.Row(t, "held_timers", []any{t.Account()}, &timers)
	}
	return work, timers, err
}
