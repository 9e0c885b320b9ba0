package channel

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Store keeps what the intake must remember. Every method runs in the caller's
// transaction; an absent row is fault.NotFound.
type Store interface {
	// AddInbox records the dedupe key of a message or notice. It reports whether
	// it is the first: two transactions with one key never both get true.
	AddInbox(tx event.Tx, m Inboxed) (bool, error)
	// FindInbox returns the row with this dedupe key.
	FindInbox(tx event.Tx, channel string, key []byte) (Inboxed, error)

	// OpenThread returns the thread with t's channel and key, made from t if
	// there was none. A thread without a key is always made.
	OpenThread(tx event.Tx, t Thread) (Thread, error)
	GetThread(tx event.Tx, thread id.ID) (Thread, error)
	// BindThread gives the thread the medium's name. It keeps a name that it has,
	// and one that another thread of the channel has.
	BindThread(tx event.Tx, channel string, thread id.ID, key []byte, ref string) error
	// ListThreads returns the threads that a person opened, newest first, older than before.
	ListThreads(tx event.Tx, person, before id.ID, limit int) ([]Thread, error)

	SaveCursor(tx event.Tx, channel, value string) error
	GetCursor(tx event.Tx, channel string) (string, error)

	// SaveState stores the state and reports whether it differs from the last.
	SaveState(tx event.Tx, s State) (bool, error)
	ListStates(tx event.Tx) ([]State, error)

	AddAttachment(tx event.Tx, a Attached) error
	// GetAttachment returns one use of the content, the oldest.
	GetAttachment(tx event.Tx, digest string) (Attached, error)
	// CountAttachments returns how many messages still hold the content.
	CountAttachments(tx event.Tx, digest string) (int64, error)
}

// Inboxed is what is kept of a message that was taken in: no text.
type Inboxed struct {
	Channel   string
	Key       []byte // dedupe key
	Digest    []byte // of the content
	MessageID id.ID
	ThreadID  id.ID
	At        time.Time
}

// Thread is a conversation on a channel.
type Thread struct {
	ID      id.ID
	Channel string
	Key     []byte // digest of the medium's name; nil if it has none
	Ref     string // the medium's name
	Person  id.ID  // who opened it, if a person did
	Subject id.ID  // whose data Ref is
	Label   event.Label
	At      time.Time
}

// State is whether a channel is connected.
type State struct {
	Channel   string    `json:"channel"`
	Connected bool      `json:"connected"`
	Reason    string    `json:"reason,omitempty"` // a code: dial_failed, auth_refused
	At        time.Time `json:"at"`
}

// Attached is one use of stored content by a message.
type Attached struct {
	Digest    string
	MessageID id.ID
	Place     int
	ThreadID  id.ID
	Person    id.ID // who sent it, if a person did
	Subject   id.ID
	Name      string
	Type      string // as declared
	Size      int64  // bytes
	Label     event.Label
}
