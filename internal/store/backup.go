package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// backupFormat is the number of the folder layout; restore refuses a newer one.
// Since 2 the manifest names the columns of each table.
const backupFormat = 2

const (
	manifestFile = "manifest.json"
	keyringFile  = "keyring"
)

// BackupManifest describes a backup folder; it is signed with the checkpoint key.
type BackupManifest struct {
	Format int               `json:"format"`
	Engine string            `json:"engine"`
	At     time.Time         `json:"at"`
	Files  map[string]string `json:"files"` // name to SHA-256 in hex
	Heads  []Checkpoint      `json:"heads"`
	// Columns are those of each table, in the order in which its rows hold them
	// (PostgreSQL): a table that has more of them by now is loaded all the same.
	Columns   map[string][]string `json:"columns,omitempty"`
	Signature string              `json:"signature,omitempty"`
}

// Backup writes an online backup into a new folder: the database as of one
// moment, the keyring, and the folders in extra (blobs, files). Work goes on
// meanwhile. A folder that is not complete has no manifest and is refused by
// Restore.
func (db *DB) Backup(ctx context.Context, dir string, extra map[string]string) (m BackupManifest, err error) {
	if _, err := os.Stat(dir); err == nil {
		return m, fault.New(fault.Conflict, "%s exists already", filepath.Base(dir)).On("to").WithFix("name a folder that does not exist")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return m, fault.New(fault.Unavailable, "make the backup folder: %w", err).On("to")
	}
	m = BackupManifest{Format: backupFormat, Engine: db.dialect.String(), At: db.clock.Now(), Files: map[string]string{}}
	// The tips before the database and the keyring after it: the copy then holds
	// every event that the manifest names, and every key that the copy needs.
	if m.Heads, err = db.heads(ctx); err != nil {
		return m, err
	}
	if db.lite != nil {
		err = db.lite.backup(ctx, filepath.Join(dir, dbFile))
	} else {
		m.Columns, err = db.pg.backup(ctx, dir)
	}
	if err != nil {
		return m, fault.Wrap(fault.Unavailable, err, "copy the database")
	}
	if err := db.keyring.Export(filepath.Join(dir, keyringFile)); err != nil {
		return m, fault.Wrap(fault.Unavailable, err, "copy the keyring")
	}
	for name, from := range extra {
		if err := copyTree(ctx, from, filepath.Join(dir, name)); err != nil {
			return m, fault.Wrap(fault.Unavailable, err, "copy "+name)
		}
	}
	return m, db.sealManifest(dir, &m)
}

// heads signs the tip of every account, for the manifest.
func (db *DB) heads(ctx context.Context) (out []Checkpoint, err error) {
	accounts, err := Accounts(ctx, db)
	for _, a := range accounts {
		c := Checkpoint{Account: a, At: db.clock.Now()}
		if err = db.View(ctx, a, func(t event.Tx) error {
			tip, hash, err := HeadOf(t)
			c.Epoch, c.Seq, c.Hash = tip.Epoch, tip.Seq, hash
			return err
		}); err != nil {
			return nil, err
		}
		if c.Signature, err = db.keyring.Sign(secret.PurposeCheckpoint, c.message()); err != nil {
			return nil, err
		}
		keys := db.keyring.PublicKeys(secret.PurposeCheckpoint)
		c.Key = keys[len(keys)-1]
		out = append(out, c)
	}
	return out, err
}

func (db *DB) sealManifest(dir string, m *BackupManifest) error {
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		m.Files[filepath.ToSlash(rel)], err = fileDigest(p)
		return err
	})
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	sig, err := db.keyring.Sign(secret.PurposeCheckpoint, body)
	if err != nil {
		return err
	}
	m.Signature = hex.EncodeToString(sig)
	body, err = json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return writeDurably(filepath.Join(dir, manifestFile), body)
}

func writeDurably(path string, b []byte) error {
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err = os.Rename(path+".tmp", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	return d.Sync()
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyTree copies regular files; anything else (a link, a device) is left out,
// because a restore would follow it. So is a file that goes meanwhile: what is
// being written under a temporary name belongs to no event yet.
func copyTree(ctx context.Context, from, to string) error {
	if _, err := os.Stat(from); os.IsNotExist(err) {
		return nil
	}
	return filepath.WalkDir(from, func(p string, d os.DirEntry, err error) error {
		if p != from && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, p)
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(dst, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		if err := copyFile(p, dst); err != nil && !errors.Is(err, errVanished) {
			return err
		}
		return nil
	})
}

var errVanished = errors.New("the file is gone")

// copyFile copies a file durably under a temporary name and renames it: a copy
// that was cut off is never taken for the file, and a second try replaces it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return errVanished
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	tmp := to + ".tmp"
	out, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return syncDir(filepath.Dir(to))
}

// backup copies the file page by page from one read snapshot; the lane goes on.
func (e *sqliteEngine) backup(ctx context.Context, path string) error {
	c, err := e.readers.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	// Holding the snapshot keeps the copy from starting over at each commit.
	if _, err := c.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return err
	}
	defer func() { _, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	var n int
	if err := c.QueryRowContext(ctx, "SELECT count(*) FROM journal_heads").Scan(&n); err != nil {
		return err
	}
	return c.Raw(func(dc any) error {
		b, err := dc.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup(path)
		if err != nil {
			return err
		}
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				_ = b.Finish()
				return err
			}
			if more, err = b.Step(256); err != nil {
				_ = b.Finish()
				return err
			}
		}
		return b.Finish()
	})
}

// pgTables lists the tables of a backup, in an order that a restore can load.
func pgTables(ctx context.Context, tx pgx.Tx) ([]string, error) {
	r, err := tx.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('goose_db_version', 'nodes') ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(r, pgx.RowTo[string])
	slices.Sort(names)
	return names, err
}

// pgColumns lists the columns of each table in their order, all but those that
// the database computes.
func pgColumns(ctx context.Context, tx pgx.Tx) (map[string][]string, error) {
	r, err := tx.Query(ctx, `SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND is_generated = 'NEVER' ORDER BY table_name, ordinal_position`)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	var table, column string
	_, err = pgx.ForEachRow(r, []any{&table, &column}, func() error {
		out[table] = append(out[table], column)
		return nil
	})
	return out, err
}

// copyOf names a table with its columns, for COPY. Without columns, as in a
// backup of format 1, the table must be as it was.
func copyOf(table string, columns []string) string {
	out := "COPY " + pgx.Identifier{table}.Sanitize()
	if len(columns) == 0 {
		return out
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = pgx.Identifier{c}.Sanitize()
	}
	return out + " (" + strings.Join(names, ", ") + ")"
}

const copySuffix = ".copy"

// backup copies every table from one repeatable-read snapshot. The bulk of the
// journal does not change any more, so the snapshot is short next to its size.
// It returns the columns of each table, as they stand in the files.
func (p *pgEngine) backup(ctx context.Context, dir string) (map[string][]string, error) {
	tx, err := p.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	names, err := pgTables(ctx, tx)
	if err != nil {
		return nil, err
	}
	of, err := pgColumns(ctx, tx)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, n := range names {
		out[n] = of[n]
		f, err := os.OpenFile(filepath.Join(dir, n+copySuffix), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		_, err = tx.Conn().PgConn().CopyTo(ctx, w, copyOf(n, of[n])+" TO STDOUT (FORMAT binary)")
		if err == nil {
			err = w.Flush()
		}
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ReadBackup reads and checks a backup folder: complete, unchanged, not newer
// than this build. It trusts the key in the backup's own keyring.
func ReadBackup(dir string) (m BackupManifest, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return m, fault.New(fault.Invalid, "this is no complete backup: %s is missing", manifestFile).On("from")
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fault.New(fault.Corrupt, "the backup's manifest cannot be read: %w", err).On("from")
	}
	if m.Format < 1 || m.Format > backupFormat {
		return m, fault.New(fault.Invalid, "the backup has format %d, this build reads 1 to %d", m.Format, backupFormat).On("from")
	}
	sig, err := hex.DecodeString(m.Signature)
	if err != nil {
		return m, fault.New(fault.Corrupt, "the manifest's signature cannot be read").On("from")
	}
	k, err := secret.Open(filepath.Join(dir, keyringFile), secret.Options{})
	if err != nil {
		return m, fault.Wrap(fault.Invalid, err, "open the backup's keyring")
	}
	unsigned := m
	unsigned.Signature = ""
	body, err := json.MarshalIndent(unsigned, "", " ")
	if err != nil {
		return m, err
	}
	if err := k.Verify(secret.PurposeCheckpoint, body, sig); err != nil {
		return m, fault.New(fault.Corrupt, "the manifest was changed: %w", err).On("from")
	}
	for name, want := range m.Files {
		if !filepath.IsLocal(name) || strings.Contains(name, `\`) {
			return m, fault.New(fault.Corrupt, "the manifest names a file outside the backup").On("from")
		}
		if got, err := fileDigest(filepath.Join(dir, name)); err != nil || got != want {
			return m, fault.New(fault.Corrupt, "%s is missing or was changed", name).On("from")
		}
	}
	return m, nil
}
