package secret

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func fresh(t *testing.T) *Keyring {
	t.Helper()
	k, err := Create(filepath.Join(t.TempDir(), "keys", "keyring.json"), Options{
		Now: func() time.Time { return time.UnixMicro(1_800_000_000_000_000) },
	})
	return must(t, k, err)
}

func reopen(t *testing.T, k *Keyring) *Keyring {
	t.Helper()
	again, err := Open(k.Path(), Options{})
	return must(t, again, err)
}

func TestCreateMakesAClosedFileAndNeverOverwrites(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	for path, want := range map[string]os.FileMode{k.Path(): 0o600, filepath.Dir(k.Path()): 0o700} {
		if info := must2(os.Stat(path))(t); info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
	before := must2(os.ReadFile(k.Path()))(t)
	if _, err := Create(k.Path(), Options{}); !errors.Is(err, ErrExists) {
		t.Fatalf("second Create: %v", err)
	}
	if after := must2(os.ReadFile(k.Path()))(t); !bytes.Equal(before, after) {
		t.Fatal("the keyring was overwritten")
	}
	again, err := OpenOrCreate(k.Path(), Options{})
	if err != nil || !slices.Equal(again.Keys(), k.Keys()) {
		t.Fatalf("OpenOrCreate made new keys: %v", err)
	}
	var purposes []Purpose
	for _, info := range k.Keys() {
		purposes = append(purposes, info.Purpose)
		if !info.Current || info.Created.UnixMicro() != 1_800_000_000_000_000 {
			t.Errorf("key info %+v", info)
		}
	}
	if !slices.Equal(purposes, Purposes()) {
		t.Fatalf("purposes %v", purposes)
	}
}

// must2 lets a two-valued call stand inside an expression.
func must2[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T { t.Helper(); return must(t, v, err) }
}

func TestLooserPermissionsAreRefusedWithTheFix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mode os.FileMode
		file bool
	}{
		{"group may read the file", 0o640, true},
		{"others may read the file", 0o604, true},
		{"others may enter the folder", 0o701, false},
		{"group may list the folder", 0o750, false},
	} {
		k := fresh(t)
		path, fix := k.Path(), "chmod 0600 "+k.Path()
		if !c.file {
			path, fix = filepath.Dir(path), "chmod 0700 "+filepath.Dir(path)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(k.Path(), Options{})
		var p *PermissionError
		if !errors.As(err, &p) || !errors.Is(err, ErrPermissions) || !strings.Contains(err.Error(), fix) {
			t.Errorf("%s: %v, want the fix %q", c.name, err, fix)
		}
		if _, err := OpenOrCreate(k.Path(), Options{}); !errors.Is(err, ErrPermissions) {
			t.Errorf("%s: OpenOrCreate: %v", c.name, err)
		}
	}
	if _, err := Create(filepath.Join(looseFolder(t), "keyring.json"), Options{}); !errors.Is(err, ErrPermissions) {
		t.Errorf("Create in a folder open to others: %v", err)
	}
}

func looseFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRotationKeepsOldKeysOpening(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	aad := []byte("account 1")
	old := must2(k.Seal(PurposeVault, []byte("s3cret"), aad))(t)
	sig := must2(k.Sign(PurposeCheckpoint, []byte("head")))(t)
	mac := must2(k.MAC(PurposeToken, []byte("token")))(t)
	published := k.PublicKeys(PurposeCheckpoint)
	for _, p := range Purposes() {
		if _, err := k.Rotate(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Rotate("nonsense"); !errors.Is(err, ErrPurpose) {
		t.Fatalf("rotate an unknown purpose: %v", err)
	}
	for _, ring := range []*Keyring{k, reopen(t, k)} {
		if got, err := ring.Open(PurposeVault, old, aad); err != nil || string(got) != "s3cret" {
			t.Fatalf("old envelope: %q, %v", got, err)
		}
		if err := ring.Verify(PurposeCheckpoint, []byte("head"), sig); err != nil {
			t.Fatalf("old signature: %v", err)
		}
		if !ring.VerifyMAC(PurposeToken, []byte("token"), mac) {
			t.Fatal("old MAC")
		}
		if !ring.Stale(PurposeVault, old) || !ring.Stale(PurposeToken, mac) {
			t.Fatal("rotated away, yet not stale")
		}
		fresh := must2(ring.Seal(PurposeVault, []byte("s3cret"), aad))(t)
		if ring.Stale(PurposeVault, fresh) || bytes.Equal(fresh[1:9], old[1:9]) {
			t.Fatal("the new key is not used")
		}
		macs := must2(ring.MACs(PurposeToken, []byte("token")))(t)
		if len(macs) != 2 || bytes.Equal(macs[0], mac) || !bytes.Equal(macs[1], mac) {
			t.Fatal("MACs must give the current one first, then the old one")
		}
		next := must2(ring.Sign(PurposeCheckpoint, []byte("head")))(t)
		if err := VerifyWith(published, []byte("head"), next); !errors.Is(err, ErrNoKey) {
			t.Fatalf("a key that was not published: %v", err)
		}
		if err := VerifyWith(published, []byte("head"), sig); err != nil {
			t.Fatalf("published key: %v", err)
		}
	}
}

func TestErasedSubjectsAreKeptOnDiskAndThroughImport(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	backup := filepath.Join(filepath.Dir(k.Path()), "copy.json")
	if err := k.MarkErased([16]byte{9}); err != nil {
		t.Fatal(err)
	}
	if err := k.Export(backup); err != nil {
		t.Fatal(err)
	}
	for _, s := range [][16]byte{{5}, {1}, {5}} {
		if err := k.MarkErased(s); err != nil {
			t.Fatal(err)
		}
	}
	newer := must2(k.Rotate(PurposeAccount))(t)
	// An older copy brings nothing back and takes nothing away.
	if err := k.Import(backup); err != nil {
		t.Fatal(err)
	}
	want := [][16]byte{{1}, {5}, {9}}
	for _, ring := range []*Keyring{k, reopen(t, k)} {
		if !slices.Equal(ring.Erased(), want) || !ring.IsErased([16]byte{5}) || ring.IsErased([16]byte{2}) {
			t.Fatalf("erased = %v, want %v", ring.Erased(), want)
		}
		keys := ring.Keys()
		if last := keys[len(keys)-1]; last.ID != newer || !last.Current || len(keys) != len(Purposes())+1 {
			t.Fatalf("keys after import: %+v", keys)
		}
	}
}

func TestImportBringsTheKeysOfALostMachine(t *testing.T) {
	t.Parallel()
	lost, here := fresh(t), fresh(t)
	aad := []byte("a")
	sealed := must2(lost.Seal(PurposeAccount, []byte("data key"), aad))(t)
	if _, err := here.Open(PurposeAccount, sealed, aad); !errors.Is(err, ErrNoKey) {
		t.Fatalf("before import: %v", err)
	}
	own := must2(here.Seal(PurposeAccount, []byte("x"), aad))(t)
	if err := here.Import(lost.Path()); err != nil {
		t.Fatal(err)
	}
	if got, err := reopen(t, here).Open(PurposeAccount, sealed, aad); err != nil || string(got) != "data key" {
		t.Fatalf("after import: %q, %v", got, err)
	}
	if here.Stale(PurposeAccount, own) {
		t.Fatal("import replaced the current key")
	}
	if err := here.Import(filepath.Join(looseFolder(t), "keyring.json")); !errors.Is(err, ErrPermissions) {
		t.Fatalf("a copy that lies open: %v", err)
	}
}

func TestAFailedWriteChangesNothing(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	before := must2(os.ReadFile(k.Path()))(t)
	if err := os.RemoveAll(filepath.Dir(k.Path())); err != nil {
		t.Fatal(err)
	}
	if err := k.MarkErased([16]byte{1}); err == nil || k.IsErased([16]byte{1}) {
		t.Fatalf("erasure was acknowledged without a file: %v", err)
	}
	if _, err := k.Rotate(PurposeVault); err == nil || len(k.Keys()) != len(Purposes()) {
		t.Fatalf("rotation was acknowledged without a file: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(k.Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.Path(), before, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.MarkErased([16]byte{1}); err != nil || !reopen(t, k).IsErased([16]byte{1}) {
		t.Fatalf("after the folder is back: %v", err)
	}
	if left := must2(os.ReadDir(filepath.Dir(k.Path())))(t); len(left) != 1 {
		t.Fatalf("temporary files were left: %v", left)
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	k := fresh(t)
	good := string(must2(os.ReadFile(k.Path()))(t))
	for name, bad := range map[string]string{
		"empty":           "",
		"cut":             good[:len(good)/2],
		"unknown field":   strings.Replace(good, `"format"`, `"new": 1, "format"`, 1),
		"later format":    strings.Replace(good, format, "witan-keyring/2", 1),
		"trailing":        good + "{}",
		"short key":       strings.Replace(good, `"material": "`, `"material": "AAAA", "x": "`, 1),
		"unknown purpose": strings.Replace(good, `"vault"`, `"valt"`, 1),
		"repeated id":     strings.Replace(good, k.Keys()[1].ID.String(), k.Keys()[0].ID.String(), 1),
		"bad id":          strings.Replace(good, k.Keys()[1].ID.String(), "xyz", 1),
		"bad erased":      strings.Replace(good, `"erased": []`, `"erased": ["12"]`, 1),
	} {
		if err := os.WriteFile(k.Path(), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(k.Path(), Options{}); !errors.Is(err, ErrBadKeyring) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := OpenOrCreate(k.Path(), Options{}); !errors.Is(err, ErrBadKeyring) {
			t.Errorf("%s: OpenOrCreate must not replace a damaged keyring: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(filepath.Dir(k.Path()), "none.json"), Options{}); !errors.Is(err, ErrNoKeyring) {
		t.Errorf("missing file: %v", err)
	}
}
