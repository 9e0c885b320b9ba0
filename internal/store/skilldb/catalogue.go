package skilldb

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// SaveEntry implements skill.Store.
func (s *Store) SaveEntry(tx event.Tx, e manifest.Entry) error {
	body, err := e.Manifest.Encode()
	if err != nil {
		return err
	}
	if _, err := manifest.Decode(body, e.Hash); err != nil {
		return err
	}
	if e.Label.IsZero() {
		return fault.New(fault.Invalid, "a manifest needs a label").On("label")
	}
	m := e.Manifest
	_, err = q.Exec(tx, "save_entry", tx.Account(), e.Hash, m.Name, m.Version, string(m.Kind), body, e.Content, e.Label.String(), clock.Micros(tx.Now()))
	return err
}

// GetEntry implements skill.Store.
func (s *Store) GetEntry(tx event.Tx, hash string) (manifest.Entry, error) {
	var body, content []byte
	var label string
	if err := q.Row(tx, "entry", []any{tx.Account(), hash}, &body, &content, &label); err != nil {
		return manifest.Entry{}, err
	}
	m, err := manifest.Decode(body, hash)
	if err != nil {
		return manifest.Entry{}, err
	}
	l, err := event.ParseLabel(label)
	return manifest.Entry{Manifest: m, Hash: hash, Content: content, Label: l}, err
}

// AppendSnapshot implements skill.Store.
func (s *Store) AppendSnapshot(tx event.Tx, snap manifest.Snapshot) error {
	items, digest, err := manifest.EncodeItems(snap.Items)
	if err != nil {
		return err
	}
	if digest != snap.Digest {
		return fault.New(fault.Internal, "catalogue %d does not match its digest", snap.Number)
	}
	n, err := q.Exec(tx, "append_snapshot", tx.Account(), snap.Number, digest, items, snap.By, snap.EventID, clock.Micros(snap.At))
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "the catalogue changed at the same moment").WithFix("look at it and try again")
	}
	return err
}

// GetSnapshot implements skill.Store.
func (s *Store) GetSnapshot(tx event.Tx, number int) (manifest.Snapshot, error) {
	return s.snapshot(tx, "snapshot", tx.Account(), number)
}

// GetHead implements skill.Store.
func (s *Store) GetHead(tx event.Tx) (manifest.Snapshot, error) {
	snap, err := s.snapshot(tx, "head", tx.Account())
	if fault.Is(err, fault.NotFound) {
		return manifest.Snapshot{}, nil
	}
	return snap, err
}

// maxItems bounds the cache of decoded snapshots.
const maxItems = 256

func (s *Store) snapshot(tx event.Tx, name string, args ...any) (manifest.Snapshot, error) {
	var snap manifest.Snapshot
	var at int64
	if err := q.Row(tx, name, args, &snap.Number, &snap.Digest, &snap.By, &snap.EventID, &at); err != nil {
		return snap, err
	}
	snap.At = clock.FromMicros(at)
	// Items are kept by their digest: the same digest is the same items, in
	// whatever transaction or account they were read.
	s.mu.Lock()
	items, ok := s.items[snap.Digest]
	s.mu.Unlock()
	if ok {
		snap.Items = items
		return snap, nil
	}
	var raw []byte
	if err := q.Row(tx, "items", []any{tx.Account(), snap.Number}, &raw); err != nil {
		return snap, err
	}
	if err := json.Unmarshal(raw, &snap.Items); err != nil {
		return snap, fault.New(fault.Corrupt, "catalogue %d cannot be read: %w", snap.Number, err)
	}
	if _, digest, err := manifest.EncodeItems(snap.Items); err != nil || digest != snap.Digest {
		return snap, fault.New(fault.Corrupt, "catalogue %d does not match its digest", snap.Number)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) >= maxItems {
		clear(s.items)
	}
	s.items[snap.Digest] = snap.Items
	return snap, nil
}
