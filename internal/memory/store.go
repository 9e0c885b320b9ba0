package memory

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/memory/recall"
)

// Store keeps rows and index. Every method works inside tx and on its account only.
type Store interface {
	// AddMemory writes a row at its place. Conflict if the place is taken.
	AddMemory(tx event.Tx, m Memory, at Place) error
	// LoadMemory returns the live row at a place; NotFound if there is none, or
	// it is archived.
	LoadMemory(tx event.Tx, at Place) (Memory, error)
	// GetMemory returns a row by id, archived or not; NotFound if there is none.
	GetMemory(tx event.Tx, memory id.ID) (Memory, error)
	// AddUse counts a retrieval of a row at a time and keeps its last ten stamps.
	AddUse(tx event.Tx, memory id.ID, at time.Time) error

	// ListShelves returns the shelves of a scope up to a sensitivity, by id.
	ListShelves(tx event.Tx, scope recall.Scope, most recall.Sensitivity) ([]Shelf, error)
	// GrowShelf makes the shelf if there is none, adds one row of that many
	// tokens and returns the shelf as it is now: the new row's number is Rows.
	GrowShelf(tx event.Tx, s Shelf, tokens int64) (Shelf, error)
	// FoldShelf says that the shelf has no fresh rows any more.
	FoldShelf(tx event.Tx, shelf id.ID) error

	// AddFresh keeps the words of a row until they are folded.
	AddFresh(tx event.Tx, s Shelf, f Fresh) error
	// EachFresh calls f for the fresh rows of a shelf, in order.
	EachFresh(tx event.Tx, shelf id.ID, f func(Fresh) error) error
	// DropFresh removes the fresh rows of a shelf.
	DropFresh(tx event.Tx, shelf id.ID) error

	// EachBlock calls f for the blocks of a term in a scope, by shelf and first row.
	EachBlock(tx event.Tx, scope recall.Scope, term string, f func(Block) error) error
	// LastBlock returns the newest block of a term on a shelf; NotFound if there is none.
	LastBlock(tx event.Tx, s Shelf, term string) (Block, error)
	// SaveBlock writes a block, in place of one with the same first row.
	SaveBlock(tx event.Tx, s Shelf, b Block) error
}
