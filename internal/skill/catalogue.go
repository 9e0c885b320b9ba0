package skill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Change is what a person wants to be different in the catalogue.
type Change struct {
	Put    []manifest.Entry // new skills, and new manifests of known ones
	Remove []string         // names
	Switch []Switch
}

// Switch turns a skill on or off: in one workspace, or by default.
type Switch struct {
	Skill     string
	Workspace id.ID // Nil means everywhere that has no switch of its own
	On        bool
}

// By is who causes a change: a person. The system may only fill an empty
// catalogue, at the first start.
type By struct {
	Person id.ID     // Nil is the system
	Cause  event.Ref // optional: the event that carries the person's wish
}

func (b By) principal() string {
	if b.Person.IsZero() {
		return "system"
	}
	return "person:" + b.Person.String()
}

// ChangeCatalogue makes the next number of the catalogue. A change that changes
// nothing returns the head as it is. It returns fault.Denied for the system
// where a person is needed and for a person who may not, Invalid for an entry that is no good, NotFound for a
// name that is not there, and Conflict when two changes met.
func (s *Service) ChangeCatalogue(ctx context.Context, account id.ID, by By, c Change) (manifest.Snapshot, error) {
	put := make([]manifest.Entry, len(c.Put))
	for i, e := range c.Put { // hashing and schemas are done before the transaction
		if err := s.checkEntry(&e); err != nil {
			return manifest.Snapshot{}, fault.Wrap(fault.Invalid, err, fmt.Sprintf("skill %q", e.Manifest.Name))
		}
		put[i] = e
	}
	c.Put = put
	var out manifest.Snapshot
	err := s.c.Journal.Do(ctx, account, func(tx event.Tx) (err error) {
		out, err = s.changeCatalogue(tx, by, c)
		return err
	})
	return out, err
}

// Seed fills the catalogue of an account at its first start. Later calls change
// nothing and return the head.
func (s *Service) Seed(ctx context.Context, account id.ID, entries []manifest.Entry) (manifest.Snapshot, error) {
	var head manifest.Snapshot
	if err := s.c.Journal.View(ctx, account, func(tx event.Tx) (err error) {
		head, err = s.c.Store.GetHead(tx)
		return err
	}); err != nil || head.Number > 0 {
		return head, err
	}
	return s.ChangeCatalogue(ctx, account, By{}, Change{Put: entries})
}

// checkEntry validates an entry and fills its hash.
func (s *Service) checkEntry(e *manifest.Entry) error {
	if err := e.Manifest.Validate(); err != nil {
		return err
	}
	hash, err := e.Manifest.Hash()
	if err != nil {
		return err
	}
	if e.Hash != "" && e.Hash != hash {
		return fault.New(fault.Corrupt, "the manifest does not match its hash")
	}
	e.Hash = hash
	if e.Label.IsZero() {
		return fault.New(fault.Invalid, "a manifest needs a label: who wrote it?").On("label")
	}
	if e.Manifest.Kind != manifest.Builtin {
		return nil
	}
	finder := s.c.Executables[manifest.Builtin]
	if finder == nil {
		return fault.New(fault.NotFound, "there are no built-in skills here")
	}
	if _, have, ok := finder.Find(e.Manifest.Name); !ok || have != e.Hash {
		return fault.New(fault.NotFound, "this program has no built-in skill with this manifest")
	}
	return nil
}

func (s *Service) changeCatalogue(tx event.Tx, by By, c Change) (manifest.Snapshot, error) {
	head, err := s.c.Store.GetHead(tx)
	if err != nil {
		return head, err
	}
	if by.Person.IsZero() && head.Number > 0 {
		return head, fault.New(fault.Denied, "only a person changes the catalogue")
	}
	if !by.Person.IsZero() {
		if err := s.c.People.May(tx, by.principal(), actManage); err != nil {
			return head, err
		}
	}
	items, err := apply(head.Items, c)
	if err != nil {
		return head, err
	}
	_, digest, err := manifest.EncodeItems(items)
	if err != nil {
		return head, err
	}
	if digest == head.Digest {
		return head, nil
	}
	next := manifest.Snapshot{Number: head.Number + 1, Digest: digest, Items: items, By: by.principal(), At: tx.Now()}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.String()
	}
	d := event.Draft{
		Payload: event.CatalogueChanged{Catalogue: next.Number, Digest: digest, Skills: names, By: next.By},
		Summary: fmt.Sprintf("The catalogue has number %d with %d skills.", next.Number, len(items)),
		Label:   event.NewLabel(event.House, event.AccountWide()),
	}
	if !by.Cause.ID.IsZero() {
		d.Causes = []event.Ref{by.Cause}
	}
	ev, err := tx.Emit(s.c.Origin, d)
	if err != nil {
		return head, err
	}
	next.EventID = ev.ID
	for _, e := range c.Put {
		if err := s.c.Store.SaveEntry(tx, e); err != nil {
			return head, err
		}
	}
	return next, s.c.Store.AppendSnapshot(tx, next)
}

// apply returns the items after a change, sorted. The old ones are not touched.
func apply(old []manifest.Item, c Change) ([]manifest.Item, error) {
	items := slices.Clone(old)
	for i := range items {
		items[i].Except = slices.Clone(items[i].Except)
	}
	find := func(name string) int {
		return slices.IndexFunc(items, func(i manifest.Item) bool { return i.Name == name })
	}
	for _, e := range c.Put {
		if i := find(e.Manifest.Name); i >= 0 {
			items[i].Hash = e.Hash
			continue
		}
		items = append(items, manifest.Item{Name: e.Manifest.Name, Hash: e.Hash})
	}
	for _, name := range c.Remove {
		i := find(name)
		if i < 0 {
			return nil, fault.New(fault.NotFound, "the catalogue has no skill %q", name)
		}
		items = slices.Delete(items, i, i+1)
	}
	for _, w := range c.Switch {
		i := find(w.Skill)
		if i < 0 {
			return nil, fault.New(fault.NotFound, "the catalogue has no skill %q", w.Skill)
		}
		items[i].Turn(w.Workspace, w.On)
	}
	slices.SortFunc(items, func(a, b manifest.Item) int { return strings.Compare(a.Name, b.Name) })
	return items, nil
}
