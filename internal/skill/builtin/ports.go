package builtin

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Document is one revision of a shared document; it has the fields of
// work.Document, in their order, so that one converts to the other.
type Document struct {
	ID       id.ID
	Path     string
	Revision int64
	Text     string
	Digest   string
	Size     int64
	By       string
	At       time.Time
	Event    id.ID
	Subject  id.ID
	Label    event.Label
}

// DocumentDraft is a revision to be; it has the fields of work.Draft.
type DocumentDraft struct {
	Path    string
	Text    string
	Seen    int64
	By      string
	Readers []string
	Subject id.ID
	Stream  id.ID
}

// DocumentMatch is a document that a search found.
type DocumentMatch struct {
	Document
	Words, Times int
	Excerpt      string
}

// Documents are the account's shared documents. A document that one of the
// readers may not read does not exist for them.
type Documents interface {
	ReadDocument(tx event.Tx, path string, revision int64, readers []string) (Document, error)
	// WriteDocument is fault.Conflict if the document is not at d.Seen.
	WriteDocument(tx event.Tx, d DocumentDraft, cause event.Ref) (Document, error)
	ListDocuments(tx event.Tx, folder, after string, limit int, readers []string) ([]Document, error)
	SearchDocuments(tx event.Tx, query string, limit int, readers []string) ([]DocumentMatch, error)
}

// NewMemory is a memory to be. Words of closed sets come as the manifest lists
// them; Scope is spelled out (account, agent:NAME, workspace:ID).
type NewMemory struct {
	Kind, Epistemic, Scope, Sensitivity string
	Title, Text                         string
	OccurredAt                          time.Time // zero means now
	Importance                          int32     // micro-units
	Source, By                          string    // principals
	Subject, Stream                     id.ID
}

// MemoryQuery asks for memories.
type MemoryQuery struct {
	Text        string
	Scopes      []string
	Readers     []string
	Sensitivity string // the highest wanted
	Limit       int
	Now         time.Time
}

// MemoryHit is one memory that was found. Scores are micro-units.
type MemoryHit struct {
	ID                               id.ID
	Kind, Epistemic, Scope           string
	Title, Body, Source              string
	OccurredAt                       time.Time
	Credibility, Confidence          int32
	Label                            event.Label
	Score, BM25, Recency, Importance int64
}

// Recalled is what a query found, best first.
type Recalled struct {
	Hits    []MemoryHit
	Ranking string
}

// Memory is the account's memory.
type Memory interface {
	Remember(tx event.Tx, m NewMemory, cause event.Ref) (id.ID, error)
	// Recall only reads; Retrieved records what it found.
	Recall(tx event.Tx, q MemoryQuery) (Recalled, error)
	Retrieved(tx event.Tx, q MemoryQuery, r Recalled, by string, stream, subject id.ID, cause event.Ref) error
	// Scopes returns the scopes that an actor may use, narrowest first, spelled
	// out. An actor that nobody knows has none.
	Scopes(tx event.Tx, actor string, workspace id.ID) ([]string, error)
}

// Reminder is a message that is to come later.
type Reminder struct {
	ID                        id.ID
	Due                       time.Time
	Text                      string
	Run, Thread               id.ID
	Channel, Requester, Agent string
	Subject                   id.ID
	Label                     event.Label
}

// Reminders keeps reminders; each belongs to the requester it goes to.
type Reminders interface {
	SetReminder(tx event.Tx, r Reminder, cause event.Ref) (Reminder, error)
	ListReminders(tx event.Tx, requester string) ([]Reminder, error)
	CancelReminder(tx event.Tx, reminder id.ID, requester, by string, cause event.Ref) (Reminder, error)
}

// Message wants to leave. One of PersonID, ContactID and Address names who gets it.
type Message struct {
	Channel             string
	PersonID, ContactID id.ID
	Address             string
	ThreadID            id.ID // zero begins a thread
	Text                string
	RunID               id.ID
	Agent               string // its name
	Key                 string // names the message for ever
}

// Sent is what became of a Message.
type Sent struct {
	MessageID, ThreadID id.ID
	State               string // recorded, queued, blocked
	Reason              string // of blocked
}

// Sender is the one way out.
type Sender interface {
	Send(tx event.Tx, m Message, cause event.Ref) (Sent, error)
}

// Item is something that waits for a person.
type Item struct {
	Key   string // AP-318
	Kind  string // approval, question, held
	Title string
	Note  string // why it waits, until when
	Label event.Label
}

// Inbox tells what waits for a person.
type Inbox interface {
	// Waiting returns what waits for a principal, most urgent first; nothing for
	// one that is no person of the account.
	Waiting(tx event.Tx, principal string) ([]Item, error)
}
