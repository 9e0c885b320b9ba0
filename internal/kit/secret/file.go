package secret

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
	format                 = "witan-keyring/1"
)

// document is the file, as JSON: small, readable in an emergency, and the same
// on every machine.
type document struct {
	Format string        `json:"format"`
	Keys   []documentKey `json:"keys"`
	Erased []string      `json:"erased"`
}

type documentKey struct {
	ID       string  `json:"id"`
	Purpose  Purpose `json:"purpose"`
	Created  int64   `json:"createdMicros"`
	Material []byte  `json:"material"`
}

func encode(r *ring) ([]byte, error) {
	doc := document{Format: format, Keys: []documentKey{}, Erased: []string{}}
	for _, k := range r.keys {
		doc.Keys = append(doc.Keys, documentKey{k.id.String(), k.purpose, k.created, k.material})
	}
	for _, s := range r.erased {
		doc.Erased = append(doc.Erased, hex.EncodeToString(s[:]))
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

func decode(raw []byte) (*ring, error) {
	var doc document
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // a newer format must not lose fields by a rewrite
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKeyring, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows its end", ErrBadKeyring)
	}
	if doc.Format != format {
		return nil, fmt.Errorf("%w: format is %q, want %q", ErrBadKeyring, doc.Format, format)
	}
	r := &ring{}
	seen := map[KeyID]bool{}
	for _, dk := range doc.Keys {
		var id KeyID
		if n, err := hex.Decode(id[:], sized(dk.ID, len(id))); err != nil || n != len(id) || seen[id] {
			return nil, fmt.Errorf("%w: bad or repeated key id %q", ErrBadKeyring, dk.ID)
		}
		seen[id] = true
		k, err := loadKey(id, dk.Purpose, dk.Created, dk.Material)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadKeyring, err)
		}
		r.keys = append(r.keys, k)
	}
	for _, s := range doc.Erased {
		var subject [16]byte
		if n, err := hex.Decode(subject[:], sized(s, len(subject))); err != nil || n != len(subject) {
			return nil, fmt.Errorf("%w: bad erased subject %q", ErrBadKeyring, s)
		}
		r = r.withErased(subject)
	}
	return r, nil
}

// sized returns s if it is the hexadecimal form of n bytes, else nothing.
func sized(s string, n int) []byte {
	if len(s) != 2*n {
		return nil
	}
	return []byte(s)
}

// read loads a keyring file after checking who else could.
func read(path string) (*ring, error) {
	if err := closed(filepath.Dir(path), folderMode); err != nil {
		return nil, err
	}
	if err := closed(path, fileMode); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read keyring: %w", err)
	}
	r, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// closed refuses a path that group or others can use in any way.
func closed(path string, want fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w at %s", ErrNoKeyring, path)
	}
	if err != nil {
		return fmt.Errorf("look at keyring: %w", err)
	}
	// Windows keeps no such bits; there the folder's access list decides.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return &PermissionError{Path: path, Mode: info.Mode(), Want: want}
	}
	return nil
}

// write replaces the file so that a crash leaves the old one or the new one:
// write aside, sync, rename, sync the folder. If only the last step fails, the
// new file is in place and the error says so by its text; writing again is safe.
func write(path string, r *ring) error {
	raw, err := encode(r)
	if err != nil {
		return fmt.Errorf("encode keyring: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".keyring-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write keyring: %w", err)
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write keyring: %w", err), os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // a folder cannot be synced there
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
