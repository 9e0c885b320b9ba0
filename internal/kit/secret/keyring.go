package secret

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Options of a keyring. The zero value is ready for use.
type Options struct {
	Random io.Reader        // where keys and nonces come from; nil means crypto/rand
	Now    func() time.Time // stamps new keys; nil leaves them without a date
}

// Keyring holds the keys of an installation in a file outside the database.
type Keyring struct {
	path string
	opts Options

	mu   sync.RWMutex
	ring *ring // guarded by mu; the value behind it is never changed
}

// Create makes a keyring with one key for every purpose, and the folder around
// it. It returns ErrExists if there is one, and never overwrites it.
func Create(path string, o Options) (*Keyring, error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("make keyring folder: %w", err)
	}
	if err := closed(filepath.Dir(path), folderMode); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrExists, path)
	}
	k := attach(path, o, &ring{})
	r := &ring{}
	for _, p := range Purposes() {
		key, err := newKey(k.opts.Random, p, k.stamp())
		if err != nil {
			return nil, err
		}
		r = r.withKey(key)
	}
	if err := k.replace(func(*ring) (*ring, error) { return r, nil }); err != nil {
		return nil, err
	}
	return k, nil
}

// Open reads the keyring at path. It returns ErrNoKeyring if there is none, and
// *PermissionError if group or others may read the file or enter its folder.
func Open(path string, o Options) (*Keyring, error) {
	r, err := read(path)
	if err != nil {
		return nil, err
	}
	return attach(path, o, r), nil
}

// OpenOrCreate opens the keyring, or makes it if there is none.
func OpenOrCreate(path string, o Options) (*Keyring, error) {
	k, err := Open(path, o)
	if errors.Is(err, ErrNoKeyring) {
		return Create(path, o)
	}
	return k, err
}

func attach(path string, o Options, r *ring) *Keyring {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Keyring{path: path, opts: o, ring: r}
}

func (k *Keyring) stamp() int64 {
	if k.opts.Now == nil {
		return 0
	}
	return k.opts.Now().UnixMicro()
}

// Path returns where the keyring lies.
func (k *Keyring) Path() string { return k.path }

func (k *Keyring) load() *ring { k.mu.RLock(); defer k.mu.RUnlock(); return k.ring }

// replace writes a changed ring to the file, and only then uses it.
func (k *Keyring) replace(change func(*ring) (*ring, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next, err := change(k.ring)
	if err != nil || next == k.ring {
		return err
	}
	if err := write(k.path, next); err != nil {
		return err
	}
	k.ring = next
	return nil
}

// Rotate makes a new current key for a purpose and returns its id. Older keys
// stay, so that what they sealed or signed is still good.
func (k *Keyring) Rotate(p Purpose) (KeyID, error) {
	var id KeyID
	err := k.replace(func(r *ring) (*ring, error) {
		key, err := newKey(k.opts.Random, p, k.stamp())
		if err != nil {
			return nil, err
		}
		id = key.id
		return r.withKey(key), nil
	})
	return id, err
}

// KeyInfo describes a key without its material.
type KeyInfo struct {
	ID      KeyID
	Purpose Purpose
	Created time.Time // zero if unknown
	Current bool
}

// Keys lists the keys, oldest first.
func (k *Keyring) Keys() []KeyInfo {
	r := k.load()
	out := make([]KeyInfo, len(r.keys))
	last := map[Purpose]int{}
	for i, key := range r.keys {
		out[i] = KeyInfo{ID: key.id, Purpose: key.purpose}
		if key.created != 0 {
			out[i].Created = time.UnixMicro(key.created).UTC()
		}
		last[key.purpose] = i
	}
	for _, i := range last {
		out[i].Current = true
	}
	return out
}

// MarkErased puts a subject on the list of erasures. When it returns nil the
// list is on disk: call it before the subject's key row is deleted, so that a
// restored backup cannot bring the subject back.
func (k *Keyring) MarkErased(subject [16]byte) error {
	return k.replace(func(r *ring) (*ring, error) {
		if _, ok := slices.BinarySearchFunc(r.erased, subject, compareIDs); ok {
			return r, nil
		}
		return r.withErased(subject), nil
	})
}

// Erased returns the list of erased subjects, in ascending order.
func (k *Keyring) Erased() [][16]byte { return slices.Clone(k.load().erased) }

// IsErased reports whether a subject is on the list.
func (k *Keyring) IsErased(subject [16]byte) bool {
	_, ok := slices.BinarySearchFunc(k.load().erased, subject, compareIDs)
	return ok
}

// Export writes a copy of the keyring for a backup, 0600 in a folder that must
// be closed to others too. The copy opens everything: guard it like the keys.
func (k *Keyring) Export(path string) error {
	if err := closed(filepath.Dir(path), folderMode); err != nil {
		return err
	}
	return write(path, k.load())
}

// Import takes over the keys and erasures of a copy that Export made. Nothing
// that is here is lost: the copy's keys are put before our own, so that our
// current keys stay current, and the erasures are joined. A copy that holds
// another key under one of our ids is refused.
func (k *Keyring) Import(path string) error {
	from, err := read(path)
	if err != nil {
		return err
	}
	return k.replace(func(r *ring) (*ring, error) {
		var fresh []*key
		for _, theirs := range from.keys {
			ours, err := r.find(theirs.purpose, theirs.id)
			switch {
			case err != nil:
				fresh = append(fresh, theirs)
			case !slices.Equal(ours.material, theirs.material):
				return nil, fmt.Errorf("%w: key %s of the copy differs from ours", ErrBadKeyring, theirs.id)
			}
		}
		next := &ring{keys: append(fresh, r.keys...), erased: r.erased}
		return next.withErased(from.erased...), nil
	})
}
