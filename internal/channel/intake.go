package channel

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Blobs is content-addressed storage of one installation. Implementations keep
// accounts apart and write durably before they return.
type Blobs interface {
	// Put stores what r yields and returns its digest and size. More than limit
	// bytes is fault.Limited and leaves nothing behind.
	Put(ctx context.Context, account id.ID, r io.Reader, limit int64) (digest string, size int64, err error)
}

// Origins are the rights of this package.
type Origins struct {
	// Channel may say inbound.message, inbound.event and channel.changed; it is
	// used under the channel's name.
	Channel event.Origin
}

// Intake is the door through which everything from outside enters.
// It is safe for concurrent use.
type Intake struct {
	journal event.Journal
	store   Store
	blobs   Blobs
	origins Origins
	caps    Cap
	gate    func() error
}

// Gate makes the door ask f before it takes anything in; f's error is the
// answer. The house closes it when the disk is nearly full, so that decisions
// still find room. Call it before the door is in use.
func (in *Intake) Gate(f func() error) { in.gate = f }

// NewIntake returns the door. blobs may be nil where no files are taken.
func NewIntake(j event.Journal, s Store, b Blobs, o Origins, c Cap) (*Intake, error) {
	switch {
	case j == nil || s == nil:
		return nil, fault.New(fault.Internal, "an intake needs a journal and a store")
	case c.TextBytes <= 0 || c.NoticeBytes <= 0 || c.Attachments < 0 || c.AttachmentBytes < 0:
		return nil, fault.New(fault.Invalid, "the limits of the door must be positive").On("channel.caps")
	case b == nil:
		c.Attachments = 0
	}
	return &Intake{journal: j, store: s, blobs: b, origins: o, caps: c}, nil
}

// Store puts an attachment into storage, for Inbound.Attachments. It runs
// outside every transaction; content that no message names is only waste.
// Too many bytes are fault.Limited.
func (in *Intake) Store(ctx context.Context, account id.ID, name, mediaType string, r io.Reader) (File, error) {
	if in.blobs == nil {
		return File{}, fault.New(fault.Invalid, "no files are taken here").On("attachments")
	}
	digest, size, err := in.blobs.Put(ctx, account, r, in.caps.AttachmentBytes)
	if err != nil {
		return File{}, err
	}
	f := File{Name: name, Type: mediaType, Size: size, Digest: digest}
	return f, f.check("attachments", in.caps)
}

// Accept takes one message in. It returns after the journal has it, so its
// answer may be acknowledged to the medium. A message with a ProviderID that
// was seen before is a repeat: the first ids come back and only the cursor
// moves; other content under the same id is fault.Conflict. A ThreadID that
// the sender may not write to is fault.NotFound.
func (in *Intake) Accept(ctx context.Context, m Inbound) (Accepted, error) {
	if in.gate != nil {
		if err := in.gate(); err != nil {
			return Accepted{}, err
		}
	}
	if err := m.check(in.caps); err != nil {
		return Accepted{}, err
	}
	key, digest := m.key(), m.digest()
	var out Accepted
	err := in.once(ctx, m.Account, func(tx event.Tx) error {
		var err error
		out, err = in.accept(tx, &m, key, digest)
		return err
	})
	return out, err
}

// errRace says that another transaction took the same id in while this one ran.
// Everything is rolled back and looked at again.
var errRace = errors.New("another transaction took this id in")

func (in *Intake) once(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	const tries = 3
	var err error
	for range tries {
		if err = in.journal.Do(ctx, account, f); !errors.Is(err, errRace) {
			return err
		}
	}
	return fault.New(fault.Unavailable, "take a message in: %w", err)
}

func (in *Intake) accept(tx event.Tx, m *Inbound, key, digest []byte) (Accepted, error) {
	if key != nil {
		first, err := in.store.FindInbox(tx, m.Channel, key)
		if err == nil {
			return in.repeat(tx, m, first, digest)
		}
		if !fault.Is(err, fault.NotFound) {
			return Accepted{}, err
		}
	}
	thread, err := in.thread(tx, m)
	if err != nil {
		return Accepted{}, err
	}
	row := Inboxed{Channel: m.Channel, Key: key, Digest: digest, MessageID: tx.NewID(), ThreadID: thread.ID, At: tx.Now()}
	if err := in.reserve(tx, row); err != nil {
		return Accepted{}, err
	}
	if _, err := tx.Emit(in.origins.Channel.As(m.Channel), event.Draft{
		Payload: event.InboundMessage{
			Channel: m.Channel, ThreadID: thread.ID, MessageID: row.MessageID, ProviderID: m.ProviderID,
			Sender: m.Sender, SenderName: m.SenderName, Proof: string(m.Proof), PersonID: m.PersonID,
			Text: m.Text, Attachments: attachments(m.Attachments), Agent: m.Agent,
		},
		Summary: "A message came in on " + m.Channel + ".",
		Stream:  thread.ID, Label: m.label(), OccurredAt: m.OccurredAt, Subject: m.subject(),
	}); err != nil {
		return Accepted{}, err
	}
	for i, f := range m.Attachments {
		a := Attached{Digest: f.Digest, MessageID: row.MessageID, Place: i, ThreadID: thread.ID, Person: m.PersonID,
			Subject: m.subject(), Name: f.Name, Type: f.Type, Size: f.Size, Label: m.label()}
		if err := in.store.AddAttachment(tx, a); err != nil {
			return Accepted{}, err
		}
	}
	if err := in.moveCursor(tx, m.Channel, m.Cursor); err != nil {
		return Accepted{}, err
	}
	return Accepted{MessageID: row.MessageID, ThreadID: thread.ID}, nil
}

// reserve takes the dedupe key, if there is one. On PostgreSQL a second
// transaction with the same key waits here for the first.
func (in *Intake) reserve(tx event.Tx, row Inboxed) error {
	if row.Key == nil {
		return nil
	}
	added, err := in.store.AddInbox(tx, row)
	if err == nil && !added {
		err = errRace
	}
	return err
}

func (in *Intake) repeat(tx event.Tx, m *Inbound, first Inboxed, digest []byte) (Accepted, error) {
	if !bytes.Equal(first.Digest, digest) {
		return Accepted{}, fault.New(fault.Conflict, "another message was taken in under this id").On("providerId").
			WithFix("use a new id for a new message")
	}
	if err := in.moveCursor(tx, m.Channel, m.Cursor); err != nil {
		return Accepted{}, err
	}
	return Accepted{MessageID: first.MessageID, ThreadID: first.ThreadID, Repeat: true}, nil
}

// thread finds or opens the conversation that m belongs to.
func (in *Intake) thread(tx event.Tx, m *Inbound) (Thread, error) {
	if !m.ThreadID.IsZero() {
		t, err := in.store.GetThread(tx, m.ThreadID)
		own := err == nil && (!m.PersonID.IsZero() && t.Person == m.PersonID ||
			m.PersonID.IsZero() && t.Person.IsZero() && t.Channel == m.Channel && t.Subject == m.subject())
		if err == nil && !own { // somebody else's thread is not there
			err = fault.New(fault.NotFound, "there is no such thread").On("threadId")
		}
		return t, err
	}
	t := Thread{ID: tx.NewID(), Channel: m.Channel, Person: m.PersonID, Subject: m.subject(), Label: m.label(), At: tx.Now()}
	if m.Thread != "" {
		t.Key, t.Ref = threadKey(m.Channel, m.Sender, m.Thread, m.Shared), m.Thread
	}
	return in.store.OpenThread(tx, t)
}

func (in *Intake) moveCursor(tx event.Tx, channel, value string) error {
	if value == "" {
		return nil
	}
	return in.store.SaveCursor(tx, channel, value)
}

func attachments(files []File) []event.Attachment {
	var out []event.Attachment
	for _, f := range files {
		out = append(out, event.Attachment(f))
	}
	return out
}
