package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

const (
	tmpDir    = "tmp"
	tmpPrefix = "put-"
	dirMode   = 0o700
)

// Folder is content-addressed storage in one folder. It is safe for concurrent
// use, also by several processes.
type Folder struct {
	root  string
	clock clock.Clock
}

// Open makes the folder if it is not there.
func Open(dir string, c clock.Clock) (*Folder, error) {
	if err := os.MkdirAll(filepath.Join(dir, tmpDir), dirMode); err != nil {
		return nil, fault.New(fault.Unavailable, "make the folder for files: %w", err)
	}
	return &Folder{root: dir, clock: c}, nil
}

// Put stores what r yields and returns its digest and its size in bytes. More
// than limit bytes is fault.Limited; nothing is left behind. A failing reader's
// error is returned as it is, if it is classified.
func (f *Folder) Put(ctx context.Context, account id.ID, r io.Reader, limit int64) (digest string, size int64, err error) {
	tmp, err := os.CreateTemp(filepath.Join(f.root, tmpDir), tmpPrefix)
	if err != nil {
		return "", 0, fault.New(fault.Unavailable, "store a file: %w", err)
	}
	defer func() {
		_ = tmp.Close()
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(tmp, h), io.LimitReader(ctxReader{ctx, r}, limit+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return "", 0, context.Cause(ctx)
	case err != nil:
		return "", 0, fault.Wrap(fault.Unavailable, err, "store a file")
	case size > limit:
		return "", 0, fault.New(fault.Limited, "the file holds more than %d bytes", limit).On("attachments")
	}
	digest = hex.EncodeToString(h.Sum(nil))
	return digest, size, f.place(tmp, account, digest)
}

// place syncs the temporary file and renames it to its name.
func (f *Folder) place(tmp *os.File, account id.ID, digest string) error {
	fail := func(err error) error { return fault.New(fault.Unavailable, "store a file: %w", err) }
	if err := tmp.Sync(); err != nil {
		return fail(err)
	}
	path := f.path(account, digest)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fail(err)
	}
	// A file that is there already is replaced: a crash may have left bad bytes
	// behind its good name, and the new ones are known to be right.
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fail(err)
	}
	for d := dir; strings.HasPrefix(d, f.root); d = filepath.Dir(d) { // each new folder lives in its parent
		if err := syncDir(d); err != nil {
			return fail(err)
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

// Get opens content for reading. The reader hashes what it reads and returns
// fault.Corrupt instead of io.EOF if the bytes are not those of the digest. A
// digest that is not there, or none, is fault.NotFound.
func (f *Folder) Get(account id.ID, digest string) (io.ReadCloser, int64, error) {
	if !isDigest(digest) {
		return nil, 0, fault.New(fault.NotFound, "there is no such file").On("digest")
	}
	file, err := os.Open(f.path(account, digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fault.New(fault.NotFound, "there is no such file").On("digest")
	}
	if err != nil {
		return nil, 0, fault.New(fault.Unavailable, "open a file: %w", err)
	}
	st, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, fault.New(fault.Unavailable, "open a file: %w", err)
	}
	return &verified{file: file, hash: sha256.New(), want: digest}, st.Size(), nil
}

// Remove deletes content. The caller knows that nothing names it any more.
// Removing what is not there is no error.
func (f *Folder) Remove(account id.ID, digest string) error {
	if !isDigest(digest) {
		return fault.New(fault.NotFound, "there is no such file").On("digest")
	}
	if err := os.Remove(f.path(account, digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, "remove a file: %w", err)
	}
	return nil
}

// Sweep removes temporary files that are older than age: what a crash left of
// an unfinished Put. It looks into its own folder of temporary files, at
// regular files with its own prefix, and at nothing else.
func (f *Folder) Sweep(age time.Duration) (removed int, err error) {
	dir := filepath.Join(f.root, tmpDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fault.New(fault.Unavailable, "sweep temporary files: %w", err)
	}
	old := f.clock.Now().Add(-age)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), tmpPrefix) || !info.ModTime().Before(old) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err == nil {
			removed++
		}
	}
	return removed, nil
}

func (f *Folder) path(account id.ID, digest string) string {
	return filepath.Join(f.root, account.String(), digest[:2], digest[2:4], digest)
}

func isDigest(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// verified hashes what is read and checks it at the end.
type verified struct {
	file *os.File
	hash hash.Hash
	want string
}

// Read implements io.Reader.
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.file.Read(p)
	v.hash.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(v.hash.Sum(nil)) != v.want {
		return n, fault.New(fault.Corrupt, "the file's bytes do not match its digest").On("digest")
	}
	return n, err
}

// Close implements io.Closer.
func (v *verified) Close() error { return v.file.Close() }

// ctxReader stops reading when nobody waits for it any more.
type ctxReader struct {
	ctx context.Context //nolint:containedctx // Read takes none, and the reader lives for one call
	r   io.Reader
}

// Read implements io.Reader.
func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
