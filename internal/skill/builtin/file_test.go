package builtin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/builtin"
)

// folder is a bench with a files folder; dir is the account's part of it.
type folder struct {
	*bench
	dir string
}

func open(t *testing.T) *folder {
	t.Helper()
	base := t.TempDir()
	f, err := builtin.OpenFiles(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	b := setup(t, builtin.Config{Files: f})
	dir := filepath.Join(base, b.Account.String())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &folder{b, dir}
}

func sum(text string) string {
	d := sha256.Sum256([]byte(text))
	return hex.EncodeToString(d[:])
}

func (f *folder) write(t *testing.T, path, text, expect string, change ...func(*skill.Call)) error {
	t.Helper()
	got, _, err := f.run(t, "file.write", map[string]any{"path": path, "text": text, "expect": expect}, change...)
	if err == nil && (got["sha256"] != sum(text) || got["size"] != float64(len(text))) {
		t.Errorf("wrote %v", got)
	}
	return err
}

func (f *folder) put(t *testing.T, path, text string) {
	t.Helper()
	full := filepath.Join(f.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) disk(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAFileIsWrittenOnWhatWasRead(t *testing.T) {
	t.Parallel()
	f := open(t)
	if err := f.write(t, "a/b/c.txt", "one", "new"); err != nil {
		t.Fatal(err)
	}
	got, l, err := f.run(t, "file.read", map[string]any{"path": "a/b/c.txt"})
	if err != nil || got["text"] != "one" || got["sha256"] != sum("one") || got["cut"] != false || l.String() != "h:a" {
		t.Fatalf("%v with label %s: %v", got, l, err)
	}
	if err := os.Chmod(filepath.Join(f.dir, "a/b/c.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := f.write(t, "a/b/c.txt", "two", sum("one")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(f.dir, "a/b/c.txt")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	for name, expect := range map[string]string{"what was there before": sum("one"), "nothing": "new"} {
		if err := f.write(t, "a/b/c.txt", "three", expect); !fault.Is(err, fault.Conflict) {
			t.Errorf("expecting %s: %v", name, err)
		}
	}
	wantKind(t, f.write(t, "none.txt", "x", sum("one")), fault.Conflict)
	if f.disk(t, "a/b/c.txt") != "two" {
		t.Error("a refused write changed the file")
	}
}

// TestAWriteThatWasCutOffIsRepeated runs the same call again, as after a crash
// at any moment: before the file, beside a half of it, and after it.
func TestAWriteThatWasCutOffIsRepeated(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.put(t, "a.txt", "one")
	f.put(t, ".witan-"+f.call.Key[:32], "tw") // what the attempt before left
	for range 3 {
		if err := f.write(t, "a.txt", "two", sum("one")); err != nil {
			t.Fatal(err)
		}
		if err := f.write(t, "b.txt", "new text", "new"); err != nil {
			t.Fatal(err)
		}
	}
	if f.disk(t, "a.txt") != "two" || f.disk(t, "b.txt") != "new text" {
		t.Error("not what was written")
	}
	names, err := os.ReadDir(f.dir)
	if err != nil || len(names) != 2 {
		t.Errorf("%v is left: %v", names, err)
	}
}

func TestOfManyNewFilesOneIsMade(t *testing.T) {
	t.Parallel()
	f := open(t)
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			errs[w] = f.write(t, "a.txt", fmt.Sprintf("by %d", w), "new", func(c *skill.Call) { c.Key = fmt.Sprintf("%064d", w) })
		})
	}
	wg.Wait()
	made := 0
	for w, err := range errs {
		switch {
		case err == nil:
			made++
			if got := f.disk(t, "a.txt"); got != fmt.Sprintf("by %d", w) {
				t.Errorf("writer %d was told yes, the file is %q", w, got)
			}
		case !fault.Is(err, fault.Conflict):
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d writers made the file", made)
	}
}

func TestNoPathLeavesTheFolder(t *testing.T) {
	t.Parallel()
	f := open(t)
	outside := filepath.Join(filepath.Dir(f.dir), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.put(t, "real.txt", "real")
	f.put(t, "dir/x.txt", "x")
	for link, target := range map[string]string{"out.txt": "../secret.txt", "abs.txt": outside, "up": "..", "in.txt": "real.txt", "self": ".", "indir": "dir"} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"out.txt", "abs.txt", "up/secret.txt", "in.txt", "self/real.txt", "indir/x.txt"} {
		_, _, err := f.run(t, "file.read", map[string]any{"path": path})
		wantKind(t, err, fault.Denied)
		wantKind(t, f.write(t, path, "x", sum("real")), fault.Denied)
		wantKind(t, f.write(t, path, "x", "new"), fault.Denied)
	}
	for _, path := range []string{"../secret.txt", "a/../../secret.txt", outside, "..", ".", "./real.txt", "a//b", "/real.txt", "real.txt/", "..\\secret.txt",
		"a\x00b", "c:secret.txt", ".witan/labels/x", ".Witan-x", "nul", "a/con.txt", "a\u202eb", " a", "a.", strings.Repeat("a/", 20) + "b", strings.Repeat("a", 300)} {
		_, _, err := f.run(t, "file.read", map[string]any{"path": strings.ReplaceAll(path, "\x00", "\x01")})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("read %q: %v", path, err)
		}
		if err := f.write(t, strings.ReplaceAll(path, "\x00", "\x01"), "x", "new"); !fault.Is(err, fault.Invalid) {
			t.Errorf("write %q: %v", path, err)
		}
	}
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "secret" || f.disk(t, "real.txt") != "real" {
		t.Errorf("%q %v", raw, err)
	}
}

func TestAccountsDoNotShareFiles(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.put(t, "a.txt", "ours")
	other := f.NewAccount(t)
	_, _, err := f.run(t, "file.read", map[string]any{"path": "a.txt"}, func(c *skill.Call) { c.Account = other })
	wantKind(t, err, fault.NotFound)
}

func TestOnlyTextFilesAreRead(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.put(t, "bin", "a\xffb")
	f.put(t, "nul", "x")
	f.put(t, "zero.txt", "a\x00b")
	f.put(t, "big", strings.Repeat("x", 16<<20+1))
	for path, kind := range map[string]fault.Kind{"bin": fault.Invalid, "zero.txt": fault.Invalid, "big": fault.Limited, "none": fault.NotFound, "bin/x": fault.Invalid} {
		_, _, err := f.run(t, "file.read", map[string]any{"path": path})
		if !fault.Is(err, kind) {
			t.Errorf("%s: %v", path, err)
		}
	}
	f.put(t, "d/x", "")
	_, _, err := f.run(t, "file.read", map[string]any{"path": "d"})
	wantKind(t, err, fault.Invalid)
	wantKind(t, f.write(t, "d", "x", "new"), fault.Invalid)
	msg, _, _ := fault.Public(err)
	if strings.Contains(msg, f.dir) {
		t.Errorf("the message shows a path of the machine: %s", msg)
	}
}

func TestALongFileIsReadInParts(t *testing.T) {
	t.Parallel()
	f := open(t)
	text := strings.Repeat("äöü 日本 ", 40_000)
	f.put(t, "long.txt", text)
	var all strings.Builder
	for parts := 0; ; parts++ {
		got, _, err := f.run(t, "file.read", map[string]any{"path": "long.txt", "offset": all.Len()})
		if err != nil || parts > 10 {
			t.Fatalf("part %d: %v", parts, err)
		}
		all.WriteString(got["text"].(string))
		if got["cut"] == false {
			break
		}
	}
	if all.String() != text {
		t.Error("the parts are not the whole")
	}
	_, _, err := f.run(t, "file.read", map[string]any{"path": "long.txt", "offset": 1})
	wantKind(t, err, fault.Invalid)
}

func TestListsAreInOrderAndHideWhatIsOurs(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.put(t, "b.txt", "12")
	f.put(t, "a/x", "")
	f.put(t, ".witan-half", "x")
	if err := os.Symlink("b.txt", filepath.Join(f.dir, "c")); err != nil {
		t.Fatal(err)
	}
	got, l, err := f.run(t, "file.list", map[string]any{})
	want := map[string]any{"more": false, "entries": []any{
		map[string]any{"name": "a", "kind": "directory", "size": 0.0}, map[string]any{"name": "b.txt", "kind": "file", "size": 2.0}, map[string]any{"name": "c", "kind": "link", "size": 0.0},
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil || l.String() != "h:a" {
		t.Errorf("label %s, %v: %s", l, err, d)
	}
	if got, _, err = f.run(t, "file.list", map[string]any{"path": "a"}); err != nil || len(got["entries"].([]any)) != 1 {
		t.Errorf("%v: %v", got, err)
	}
	for path, kind := range map[string]fault.Kind{"b.txt": fault.Invalid, "none": fault.NotFound, "c": fault.Denied, "..": fault.Invalid} {
		_, _, err := f.run(t, "file.list", map[string]any{"path": path})
		if !fault.Is(err, kind) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestATaintedFileDoesNotComeBackClean is INV-8 for files: what a run with a low
// label writes keeps that label, as content and as a name.
func TestATaintedFileDoesNotComeBackClean(t *testing.T) {
	t.Parallel()
	f := open(t)
	low := func(l event.Label) func(*skill.Call) { return func(c *skill.Call) { c.Label = l } }
	if err := f.write(t, "d/evil.txt", "do as I say", "new", low(label(event.Outside))); err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		_, l, err := f.run(t, "file.read", map[string]any{"path": path})
		if err != nil {
			return err.Error()
		}
		return l.String()
	}
	if got := read("d/evil.txt"); got != "o:a" {
		t.Errorf("read with label %s", got)
	}
	f.put(t, "copy.txt", "do as I say") // the same content under another name
	if got := read("copy.txt"); got != "o:a" {
		t.Errorf("a copy has label %s", got)
	}
	// Writing the same text again with a clean label does not lift it.
	if err := f.write(t, "clean.txt", "do as I say", "new"); err != nil {
		t.Fatal(err)
	}
	if got := read("clean.txt"); got != "o:a" {
		t.Errorf("written again it has label %s", got)
	}
	for path, want := range map[string]string{"": "o:a", "d": "o:a"} { // the names d and evil.txt are the stranger's
		if _, l, err := f.run(t, "file.list", map[string]any{"path": path}); err != nil || l.String() != want {
			t.Errorf("list of %q has label %s: %v", path, l, err)
		}
	}
	f.put(t, "own.txt", "mine")
	if got := read("own.txt"); got != "h:a" {
		t.Errorf("an own file has label %s", got)
	}
	if err := f.write(t, "private.txt", "for p1", "new", low(label(event.House, "person:p1", "agent:coordinator"))); err != nil {
		t.Fatal(err)
	}
	if got := read("private.txt"); got != "h:=agent:coordinator,person:p1" {
		t.Errorf("a private file has label %s", got)
	}
	other := func(c *skill.Call) { c.Requester, c.Recipient = "person:p2", "person:p2" }
	_, _, err := f.run(t, "file.read", map[string]any{"path": "private.txt"}, other)
	wantKind(t, err, fault.Denied)
	if got, _, err := f.run(t, "file.list", map[string]any{}, other); err != nil || strings.Contains(fmt.Sprint(got), "private.txt") {
		t.Errorf("%v: %v", got, err)
	}
	labels, err := filepath.Glob(filepath.Join(f.dir, ".witan", "labels", "content-"+sum("do as I say")))
	if err != nil || len(labels) != 1 {
		t.Fatalf("%v: %v", labels, err)
	}
	if err := os.WriteFile(labels[0], []byte("clean"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.run(t, "file.read", map[string]any{"path": "copy.txt"})
	wantKind(t, err, fault.Corrupt)
}
