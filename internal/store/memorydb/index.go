package memorydb

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/memory/recall"
)

// ListShelves implements memory.Store.
func (*Store) ListShelves(tx event.Tx, scope recall.Scope, most recall.Sensitivity) (out []memory.Shelf, err error) {
	err = q.Each(tx, "shelves", []any{tx.Account(), scope.ID(), int(most)}, func(scan func(...any) error) error {
		var s memory.Shelf
		var name, label string
		var sensitivity int
		if err := scan(&s.ID, &name, &label, &sensitivity, &s.Subject, &s.Rows, &s.Tokens, &s.Fresh); err != nil {
			return err
		}
		l, err := event.ParseLabel(label)
		s.Scope, s.Label, s.Sensitivity = recall.Scope(name), l, recall.Sensitivity(sensitivity)
		out = append(out, s)
		return err
	})
	return out, err
}

// GrowShelf implements memory.Store.
func (*Store) GrowShelf(tx event.Tx, s memory.Shelf, tokens int64) (memory.Shelf, error) {
	err := q.Row(tx, "grow_shelf", []any{tx.Account(), s.ID, s.Scope.ID(), string(s.Scope), s.Label.String(), int(s.Sensitivity), s.Subject, tokens},
		&s.Rows, &s.Tokens, &s.Fresh)
	return s, err
}

// FoldShelf implements memory.Store.
func (*Store) FoldShelf(tx event.Tx, shelf id.ID) error {
	_, err := q.Exec(tx, "fold_shelf", tx.Account(), shelf)
	return err
}

// AddFresh implements memory.Store.
func (*Store) AddFresh(tx event.Tx, s memory.Shelf, f memory.Fresh) error {
	_, err := q.Exec(tx, "add_fresh", tx.Account(), f.Shelf, f.Number, s.Subject, s.Label.String(), f.Terms)
	return err
}

// EachFresh implements memory.Store.
func (*Store) EachFresh(tx event.Tx, shelf id.ID, f func(memory.Fresh) error) error {
	return q.Each(tx, "fresh", []any{tx.Account(), shelf}, func(scan func(...any) error) error {
		one := memory.Fresh{Place: memory.Place{Shelf: shelf}}
		if err := scan(&one.Number, &one.Terms); err != nil {
			return err
		}
		return f(one)
	})
}

// DropFresh implements memory.Store.
func (*Store) DropFresh(tx event.Tx, shelf id.ID) error {
	_, err := q.Exec(tx, "drop_fresh", tx.Account(), shelf)
	return err
}

// EachBlock implements memory.Store.
func (*Store) EachBlock(tx event.Tx, scope recall.Scope, term string, f func(memory.Block) error) error {
	return q.Each(tx, "blocks", []any{tx.Account(), scope.ID(), term}, func(scan func(...any) error) error {
		b := memory.Block{Term: term}
		if err := scan(&b.Shelf, &b.First, &b.Last, &b.Count, &b.Packed); err != nil {
			return err
		}
		return f(b)
	})
}

// LastBlock implements memory.Store.
func (*Store) LastBlock(tx event.Tx, s memory.Shelf, term string) (memory.Block, error) {
	b := memory.Block{Shelf: s.ID, Term: term}
	err := q.Row(tx, "last_block", []any{tx.Account(), s.Scope.ID(), term, s.ID}, &b.First, &b.Last, &b.Count, &b.Packed)
	return b, err
}

// SaveBlock implements memory.Store.
func (*Store) SaveBlock(tx event.Tx, s memory.Shelf, b memory.Block) error {
	_, err := q.Exec(tx, "save_block", tx.Account(), s.Scope.ID(), b.Term, s.ID, b.First, b.Last, b.Count, s.Subject, s.Label.String(), b.Packed)
	return err
}
