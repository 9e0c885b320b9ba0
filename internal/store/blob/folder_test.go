package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

var account, other = id.ID{1}, id.ID{2}

func open(t *testing.T) *Folder {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "files"), clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *Folder) read(t testing.TB, a id.ID, digest string) ([]byte, error) {
	t.Helper()
	r, _, err := f.Get(a, digest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// files returns all regular files below the folder.
func (f *Folder) files(t testing.TB) (out []string) {
	t.Helper()
	if err := filepath.WalkDir(f.root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, strings.TrimPrefix(p, f.root))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsPutIsGot(t *testing.T) {
	t.Parallel()
	f := open(t)
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(rt, "content")
		digest, size, err := f.Put(context.Background(), account, bytes.NewReader(want), 5000)
		sum := sha256.Sum256(want)
		if err != nil || size != int64(len(want)) || digest != hex.EncodeToString(sum[:]) {
			rt.Fatalf("%s %d %v", digest, size, err)
		}
		if got, err := f.read(t, account, digest); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("got %d bytes, %v", len(got), err)
		}
		if _, err := f.read(t, other, digest); !fault.Is(err, fault.NotFound) {
			rt.Fatalf("another account reads it: %v", err)
		}
	})
}

func TestTheCapLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := open(t)
	ctx := context.Background()
	if _, n, err := f.Put(ctx, account, strings.NewReader("12345"), 5); err != nil || n != 5 {
		t.Fatalf("at the limit: %d, %v", n, err)
	}
	before := f.files(t)
	if _, _, err := f.Put(ctx, account, strings.NewReader("123456"), 5); !fault.Is(err, fault.Limited) {
		t.Errorf("over the limit: %v", err)
	}
	broken := io.MultiReader(strings.NewReader("abc"), badReader{})
	if _, _, err := f.Put(ctx, account, broken, 50); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a reader that fails: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := f.Put(gone, account, strings.NewReader("abc"), 50); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	if after := f.files(t); len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}
}

type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, errors.New("line broke") }

func TestChangedBytesAreFound(t *testing.T) {
	t.Parallel()
	f := open(t)
	digest, _, err := f.Put(context.Background(), account, strings.NewReader("the truth"), 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path(account, digest), []byte("the truss"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.read(t, account, digest); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v, want corrupt", err)
	}
	if _, _, err := f.Put(context.Background(), account, strings.NewReader("the truth"), 100); err != nil { // comes again
		t.Fatal(err)
	}
	if got, err := f.read(t, account, digest); err != nil || string(got) != "the truth" {
		t.Errorf("not mended: %q, %v", got, err)
	}
}

func TestNoNameBecomesAPath(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, d := range []string{"", "..", "../../etc/passwd", strings.Repeat("a", 63), strings.Repeat("A", 64), strings.Repeat("/", 64), strings.Repeat("..", 32), "\x00" + strings.Repeat("a", 63)} {
		if _, _, err := f.Get(account, d); !fault.Is(err, fault.NotFound) {
			t.Errorf("Get(%q): %v", d, err)
		}
		if err := f.Remove(account, d); !fault.Is(err, fault.NotFound) {
			t.Errorf("Remove(%q): %v", d, err)
		}
	}
}

func TestManyPutTheSameAtOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			d, _, err := f.Put(context.Background(), account, strings.NewReader("same"), 10)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := f.read(t, account, d); err != nil || string(got) != "same" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	if n := len(f.files(t)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

func TestSweepTouchesItsOwnOldTemporaryFilesOnly(t *testing.T) {
	t.Parallel()
	f := open(t)
	digest, _, err := f.Put(context.Background(), account, strings.NewReader("kept"), 10)
	if err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(f.root, tmpDir)
	outside := filepath.Join(filepath.Dir(f.root), "put-outside")
	old := time.Now().Add(-48 * time.Hour)
	for _, p := range []string{filepath.Join(tmp, "put-old"), filepath.Join(tmp, "foreign"), outside, filepath.Join(f.root, "put-misplaced")} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tmp, "put-young"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(tmp, "put-link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tmp, "put-dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Sweep(24 * time.Hour); n != 1 || err != nil {
		t.Errorf("removed %d, %v; want 1", n, err)
	}
	if _, err := os.Stat(filepath.Join(tmp, "put-old")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the abandoned file is still there")
	}
	for _, p := range []string{outside, filepath.Join(tmp, "put-young"), filepath.Join(tmp, "foreign"), filepath.Join(f.root, "put-misplaced"), filepath.Join(tmp, "put-dir")} {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("it touched %s: %v", filepath.Base(p), err)
		}
	}
	if _, err := f.read(t, account, digest); err != nil {
		t.Error(err)
	}
}

func TestActiveContentIsNeverServed(t *testing.T) {
	t.Parallel()
	for _, d := range []string{"text/html", "TEXT/HTML; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml",
		"application/javascript", "text/javascript", "text/css", "multipart/mixed", "message/rfc822", "x", "", "text/html\x00", "image/png, text/html", "application/x-shockwave-flash"} {
		if got, inline := SafeMediaType(d); got != "application/octet-stream" || inline {
			t.Errorf("%q is served as %q, inline %v", d, got, inline)
		}
	}
	for d, want := range map[string]string{"image/png": "image/png", "IMAGE/JPEG": "image/jpeg", "text/plain; charset=utf-16": "text/plain; charset=utf-8"} {
		if got, inline := SafeMediaType(d); got != want || !inline {
			t.Errorf("%q is served as %q, inline %v", d, got, inline)
		}
	}
	if got, inline := SafeMediaType("application/pdf"); got != "application/pdf" || inline {
		t.Errorf("a PDF is a download: %q, %v", got, inline)
	}
}
