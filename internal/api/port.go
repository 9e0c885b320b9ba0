package api

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Record reads the journal. The engine fills it: the functions of package store
// with the same words (EventsAfter, EventsBefore, EventsOfRound, GetEvent,
// HeadOf, Parked, ListHeld).
type Record interface {
	After(tx event.Tx, after int64, limit int) ([]event.Event, error)
	Before(tx event.Tx, before int64, limit int) ([]event.Event, error)
	OfRound(tx event.Tx, correlation id.ID, limit int) ([]event.Event, error)
	Get(tx event.Tx, e id.ID) (event.Event, error)
	Head(tx event.Tx) (tip bus.Tip, hash [32]byte, err error)
	Parked(tx event.Tx, limit int) ([]bus.Deferred, error)
	Held(tx event.Tx) ([]HeldWork, error)
}

// HeldWork is leased work that waits for a person, after a restore.
type HeldWork struct {
	Kind   string `json:"kind"` // run, effect, delivery, llm_call
	ID     id.ID  `json:"id"`
	Scope  string `json:"scope"`
	Reason string `json:"reason"`
}

// Audit proves the journal.
type Audit interface {
	// Verify checks the whole chain of an account, against signed checkpoints if
	// there are any (one JSON document each). A broken chain is fault.Corrupt and
	// names the first bad event. progress may be called with how many events were
	// checked so far.
	Verify(ctx context.Context, account id.ID, checkpoints []json.RawMessage, progress func(events int64)) (Verified, error)
	// Sign signs the account's tip and returns one line of a checkpoint file.
	Sign(ctx context.Context, account id.ID) (json.RawMessage, error)
	// Export writes events from seq to seq (0 is the end) as gzipped JSON lines:
	// sealed and provable, or opened for reading.
	Export(ctx context.Context, account id.ID, from, to int64, open bool, w io.Writer) (n, last int64, err error)
	// Release lets go on what a restore held: runs, deliveries and timers, not
	// effects. fault.Conflict means that nothing is held.
	Release(ctx context.Context, account id.ID, by string) (work, timers int64, err error)
}

// Verified is what a verification found.
type Verified struct {
	Events int64  `json:"events"` // that were verified
	Erased int64  `json:"erased"` // of these, bodies whose key was destroyed
	Base   int64  `json:"base"`   // seq below which the chain was cut; 0 for none
	Head   int64  `json:"head"`
	Hash   string `json:"hash"` // of the head, in hex
}

// BackupMade is what a backup holds.
type BackupMade struct {
	Dir    string
	Engine string
	At     time.Time
	Files  map[string]string // name to SHA-256 in hex
}

// Said is what a person said over the API: the channel makes it an inbound
// message of theirs.
type Said struct {
	Account  id.ID
	PersonID id.ID
	Name     string
	ThreadID id.ID // zero begins a thread
	Text     string
	Agent    string
	Key      string // a repeated key is the same message; "" makes each call one of its own
	Files    []channel.File
}

// Speaker is the inbound half of a channel of the house: console or cli.
type Speaker func(Said) channel.Inbound

// HTTPChannel is a channel that an outside program speaks through.
type HTTPChannel interface {
	// Verify checks a request that is signed with the channel's own secret;
	// fault.Unauthorized does not say what was wrong.
	Verify(timestamp, signature string, body []byte, now time.Time) error
	// Receive takes a message in and returns once the journal has it.
	Receive(ctx context.Context, who Program, key string, p Posted) (channel.Accepted, error)
}

// Program is who posts to an HTTP channel.
type Program struct {
	Account  id.ID
	PersonID id.ID // whose token it is; Nil for a signed request
	Name     string
	TokenID  id.ID
	Signed   bool
}

// Posted is what a program hands over.
type Posted struct {
	Text       string
	Sender     string // "" is the token's own person
	SenderName string
	Thread     string // the program's name of the conversation
	ThreadID   id.ID  // ours
	Agent      string
	SentAt     int64 // microseconds
	Cursor     string
	Files      []channel.File
}

// Files opens stored attachments.
type Files interface {
	// Open returns the content; fault.NotFound if it is not there.
	Open(account id.ID, digest string) (io.ReadCloser, int64, error)
	// SafeType returns the type under which content may be served, and whether a
	// browser may show it in place.
	SafeType(declared string) (mediaType string, inline bool)
}
