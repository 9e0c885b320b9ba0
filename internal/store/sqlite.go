package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

const dbFile = "witan.db"

// sqliteEngine is one database file, locked by this process.
type sqliteEngine struct {
	dir     string
	lock    *os.File
	write   *sql.DB // one connection, used by the lane only
	readers *sql.DB
	slots   chan struct{}    // one per view in progress
	idle    chan *sqliteExec // reader connections with their prepared statements
	lane    *lane
	stop    context.CancelFunc
	done    chan struct{}

	ex     *sqliteExec // the lane's connection; only the lane's goroutine
	inject func(text string) (before, after error)

	mu       sync.Mutex
	deferred map[id.ID]int // rows of deferred per account; guarded by mu

	walPages atomic.Int64 // bytes of the WAL file when last looked at
	scrub    atomic.Bool  // something was erased: the log must be emptied
}

// openSQLite locks the folder, opens the file and starts the lane.
func (db *DB) openSQLite(ctx context.Context) error {
	if err := os.MkdirAll(db.opts.Dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, "make the data folder: %w", err).On("data")
	}
	lock, err := lockFolder(db.opts.Dir)
	if err != nil {
		return err
	}
	if _, err := sqlite.Fdatasync(true); err != nil { // half the cost of a full fsync, same durability of data
		db.log.WarnContext(ctx, "fdatasync is off", slog.Any("error", err))
	}
	path := filepath.Join(db.opts.Dir, dbFile)
	e := &sqliteEngine{dir: db.opts.Dir, lock: lock, done: make(chan struct{}), deferred: map[id.ID]int{}}
	if e.write, err = sql.Open("sqlite", dsn(path, false, db.opts.MaxPages)); err != nil {
		return fault.Wrap(fault.Unavailable, err, "open "+dbFile)
	}
	e.write.SetMaxOpenConns(1)
	e.write.SetMaxIdleConns(1)
	if err := migrate(ctx, e.write, SQLite, db.log); err != nil {
		e.closeFiles()
		return err
	}
	if e.readers, err = sql.Open("sqlite", dsn(path, true, 0)); err != nil {
		e.closeFiles()
		return fault.Wrap(fault.Unavailable, err, "open "+dbFile)
	}
	e.allow(max(4, runtime.GOMAXPROCS(0)))
	if err := e.loadDeferred(ctx); err != nil {
		e.closeFiles()
		return err
	}
	db.lite = e
	e.lane = newLane(db, e)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	go func() { defer close(e.done); e.lane.run(run) }() // owned by close
	return nil
}

// dsn sets every pragma with its reason.
func dsn(path string, readOnly bool, maxPages int) string {
	q := url.Values{}
	add := func(k, v string) { q.Add("_pragma", k+"("+v+")") }
	add("busy_timeout", "5000")                    // a backup or a checkpoint may hold a lock for a moment
	add("journal_mode", "WAL")                     // readers never wait for the writer
	add("synchronous", "FULL")                     // NORMAL may lose the last commits at a power cut
	add("foreign_keys", "1")                       // off by default
	add("secure_delete", "1")                      // an erased key must not stay in a free page
	add("wal_autocheckpoint", "0")                 // checkpoints run outside the lane
	add("journal_size_limit", fmt.Sprint(walSoft)) // a log that had to grow, beside a backup for example, shrinks when it starts over
	add("temp_store", "2")                         // no temp files beside the data
	add("mmap_size", "268435456")                  // reads of a large journal without copies
	add("cache_size", "-32768")                    // 32 MiB per connection at the most
	if readOnly {
		add("query_only", "1")
	}
	if maxPages > 0 {
		add("max_page_count", fmt.Sprint(maxPages))
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// lockFolder makes sure that one process has the folder: the lane caches the
// tips of the chain, and two caches would part ways.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "witan.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "open the lock of the data folder: %w", err).On("data")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fault.New(fault.Conflict, "the data folder is in use by another Witan").On("data").
			WithFix("stop it, or let this command talk to it (WITAN_URL)")
	}
	return f, nil
}

// allow sets how many views may be open at once; one more connection is left
// for checkpoints and backups.
func (e *sqliteEngine) allow(n int) {
	e.readers.SetMaxOpenConns(n + 2)
	e.readers.SetMaxIdleConns(2)
	e.slots, e.idle = make(chan struct{}, n), make(chan *sqliteExec, n)
}

func (e *sqliteEngine) loadDeferred(ctx context.Context) error {
	r, err := e.readers.QueryContext(ctx, `SELECT account_id, count(*) FROM deferred GROUP BY account_id`)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "read deferred reactions")
	}
	defer r.Close()
	for r.Next() {
		var a id.ID
		var n int
		if err := r.Scan(&a, &n); err != nil {
			return err
		}
		e.deferred[a] = n
	}
	return r.Err()
}

// mayDefer reports whether the account has deferred rows at all; without any,
// the lane needs no query to know that nothing waits.
func (e *sqliteEngine) mayDefer(a id.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deferred[a] > 0
}

func (e *sqliteEngine) noteDeferred(x *tx) {
	if d := len(x.deferred) - x.undeferred; d != 0 {
		e.mu.Lock()
		e.deferred[x.Account()] += d
		e.mu.Unlock()
	}
}

// begin opens the lane's transaction. The write lock is taken at once: a
// deferred BEGIN would fail later, in the middle of a member.
func (e *sqliteEngine) begin() (executor, error) {
	ctx := context.Background()
	if e.ex == nil {
		c, err := e.write.Conn(ctx)
		if err != nil {
			return nil, err
		}
		e.ex = &sqliteExec{conn: c, stmts: map[string]*sql.Stmt{}, inject: e.inject}
	}
	if _, err := e.ex.exec(ctx, "BEGIN IMMEDIATE", nil); err != nil {
		return nil, err
	}
	return e.ex, nil
}

func (e *sqliteEngine) commit() error {
	failpoint.Hit("journal.before_commit")
	_, err := e.ex.exec(context.Background(), "COMMIT", nil)
	if err == nil {
		failpoint.Hit("journal.after_commit")
	}
	return err
}

func (e *sqliteEngine) rollback() error {
	if e.ex == nil {
		return nil
	}
	_, err := e.ex.exec(context.Background(), "ROLLBACK", nil)
	return err
}

// discard throws the lane's connection away: after an engine error nobody
// knows what state it is in.
func (e *sqliteEngine) discard() {
	if e.ex == nil {
		return
	}
	e.ex.drop()
	e.ex = nil
}

// view runs f on a snapshot of a reader connection. The connections keep their
// prepared statements: compiling one costs more than most reads.
func (e *sqliteEngine) view(ctx context.Context, db *DB, account id.ID, f func(event.Tx) error) error {
	r, err := e.reader(ctx)
	if err != nil {
		return db.classify(err, "view")
	}
	keep := false
	defer func() { e.giveBack(r, keep) }()
	background := context.Background()
	if _, err := r.exec(background, "BEGIN DEFERRED", nil); err != nil {
		return db.classify(err, "view")
	}
	x := db.newTx(ctx, account, r, false)
	err = guarded(func() error { return f(x) })
	_, rerr := r.exec(background, "ROLLBACK", nil)
	keep = rerr == nil && x.fatal == nil
	return err
}

// reader takes an idle reader connection or opens one; at most as many as the
// pool allows are in use at once, the others wait for ctx.
func (e *sqliteEngine) reader(ctx context.Context) (*sqliteExec, error) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case r := <-e.idle:
		return r, nil
	default:
	}
	c, err := e.readers.Conn(ctx)
	if err != nil {
		<-e.slots
		return nil, err
	}
	return &sqliteExec{conn: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (e *sqliteEngine) giveBack(r *sqliteExec, keep bool) {
	if keep {
		select {
		case e.idle <- r:
			<-e.slots
			return
		default:
		}
	}
	r.drop()
	<-e.slots
}

// drop closes a connection for good.
func (e *sqliteExec) drop() {
	for _, s := range e.stmts {
		_ = s.Close()
	}
	_ = e.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = e.conn.Close()
}

// The bounds of the write-ahead log.
const (
	walSoft = 8 << 20  // above it the checkpointer copies pages back
	walHard = 48 << 20 // above it the lane itself lets the log start over
)

func (e *sqliteEngine) walSize() int64 {
	st, err := os.Stat(filepath.Join(e.dir, dbFile+"-wal"))
	if err != nil {
		return 0
	}
	return st.Size()
}

// checkpoint copies committed pages into the file, outside the lane and without
// blocking it.
func (e *sqliteEngine) checkpoint(ctx context.Context) {
	size := e.walSize()
	e.walPages.Store(size)
	if e.scrub.Load() {
		e.lane.nudge()
	}
	if size < walSoft {
		return
	}
	if c, err := e.readers.Conn(ctx); err == nil {
		_, _ = c.ExecContext(ctx, "PRAGMA query_only(0)")
		_, _ = c.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		_, _ = c.ExecContext(ctx, "PRAGMA query_only(1)")
		_ = c.Close()
	}
}

// boundWAL runs between batches, on the lane's goroutine: a log that passive
// checkpoints cannot catch up with is restarted, so that it stays below 64 MiB.
func (e *sqliteEngine) boundWAL() {
	scrub := e.scrub.Load()
	if e.ex == nil || !scrub && e.walPages.Load() < walHard {
		return
	}
	e.walPages.Store(0)
	mode := "PRAGMA wal_checkpoint(RESTART)"
	if scrub {
		mode = "PRAGMA wal_checkpoint(TRUNCATE)"
	}
	var busy int64
	for _, p := range []string{"PRAGMA busy_timeout(0)", mode, "PRAGMA busy_timeout(5000)"} {
		// A reader of an old snapshot (a backup) makes it busy: then the next round tries again.
		r, err := e.ex.query(context.Background(), p, nil)
		if err != nil {
			e.discard()
			return
		}
		for r.Next() {
			if p == mode {
				var pages, moved int64
				if r.Scan(&busy, &pages, &moved) != nil {
					busy = 1
				}
			}
		}
		r.Close()
	}
	if scrub && busy == 0 {
		e.scrub.Store(false)
	}
}

func (e *sqliteEngine) close() {
	e.stop()
	<-e.done
	if e.ex != nil {
		_, _ = e.ex.exec(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)", nil)
		e.discard()
	}
	e.closeFiles()
}

func (e *sqliteEngine) closeReaders() {
	for done := e.idle == nil; !done; {
		select {
		case r := <-e.idle:
			r.drop()
		default:
			done = true
		}
	}
	if e.readers != nil {
		_ = e.readers.Close()
	}
}

func (e *sqliteEngine) closeFiles() {
	e.closeReaders()
	if e.write != nil {
		_ = e.write.Close()
	}
	_ = e.lock.Close() // gives the folder back
}

// sqliteCode returns the primary result code of a driver error, or -1.
func sqliteCode(err error) int {
	var se *sqlite.Error
	if errors.As(err, &se) {
		return se.Code() & 0xff
	}
	return -1
}

func classifySQLite(err error, name string) error {
	switch sqliteCode(err) {
	case sqlitelib.SQLITE_CONSTRAINT:
		return fault.New(fault.Conflict, "%s: %w", name, err)
	case sqlitelib.SQLITE_FULL:
		return fault.New(fault.Unavailable, "the disk is full: %w", err).WithFix("free space; nothing was saved")
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_NOMEM, sqlitelib.SQLITE_READONLY:
		return fault.New(fault.Unavailable, "%s: %w", name, err)
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return fault.New(fault.Corrupt, "%s: %w", name, err)
	}
	return fault.Wrap(fault.Internal, err, name)
}
