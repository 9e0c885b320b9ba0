package manifest

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/id"
)

// Entry is a manifest with what stands behind it, as the catalogue keeps it.
type Entry struct {
	Manifest Manifest
	Hash     string
	// Content is the text of an instruction or a script; nil otherwise.
	Content []byte
	// Label is the taint of the manifest's own text: house for what ships with
	// Witan, outside for what a stranger's server says about itself.
	Label event.Label
}

// Item is one line of a snapshot: which manifest a name stands for, and where
// it may be used.
type Item struct {
	Name   string  `json:"name"`
	Hash   string  `json:"hash"`
	Off    bool    `json:"off"`    // switched off, but for Except
	Except []id.ID `json:"except"` // workspaces where it is the other way round
}

// OnIn reports whether the skill is switched on in a workspace. The zero
// workspace is work outside all workspaces.
func (i Item) OnIn(workspace id.ID) bool { return i.Off == slices.Contains(i.Except, workspace) }

// String renders NAME@HASH.
func (i Item) String() string { return i.Name + "@" + i.Hash }

// Snapshot is one immutable number of the catalogue. Number 0 is the empty
// catalogue before the first start.
type Snapshot struct {
	Number  int
	Digest  string // over the items
	Items   []Item // sorted by name, each name once
	By      string // principal that caused it
	EventID id.ID  // its catalogue.changed
	At      time.Time
}

// Find returns the item of a name.
func (s Snapshot) Find(name string) (Item, bool) {
	i, ok := slices.BinarySearchFunc(s.Items, name, func(i Item, n string) int { return strings.Compare(i.Name, n) })
	if !ok {
		return Item{}, false
	}
	return s.Items[i], true
}

// EncodeItems returns the stored form of the items and its digest. It sorts a
// copy; the order in which a change was made does not count.
func EncodeItems(items []Item) (stored []byte, digest string, err error) {
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	for i := range sorted {
		e := slices.Clone(sorted[i].Except)
		slices.SortFunc(e, func(a, b id.ID) int { return strings.Compare(a.String(), b.String()) })
		if sorted[i].Except = slices.Compact(e); sorted[i].Except == nil {
			sorted[i].Except = []id.ID{}
		}
	}
	stored, err = canon.JSON(sorted)
	if err != nil {
		return nil, "", err
	}
	d := canon.Digest("witan/catalogue/1", stored)
	return stored, hex.EncodeToString(d[:]), nil
}

// Turn switches the item on or off: in one workspace, or, for the zero
// workspace, everywhere that has no switch of its own.
func (i *Item) Turn(workspace id.ID, on bool) {
	if workspace.IsZero() {
		if i.Off != on {
			return // already so
		}
		i.Off = !on
		i.Except = nil
		return
	}
	have := slices.Contains(i.Except, workspace)
	switch want := i.Off == on; {
	case want && !have:
		i.Except = append(i.Except, workspace)
	case !want && have:
		i.Except = slices.DeleteFunc(i.Except, func(w id.ID) bool { return w == workspace })
	}
}

// Differs returns the entries that a snapshot does not hold in this very form:
// after an upgrade, what a person has to accept.
func (s Snapshot) Differs(entries []Entry) []Entry {
	var out []Entry
	for _, e := range entries {
		if it, ok := s.Find(e.Manifest.Name); !ok || it.Hash != e.Hash {
			out = append(out, e)
		}
	}
	return out
}
