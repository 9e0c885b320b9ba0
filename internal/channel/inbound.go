package channel

import (
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Proof is how an adapter knows who speaks.
type Proof string

// The proofs, best first. A claim in the message itself (a From line) is none.
const (
	ProofSession   Proof = "session"   // a person signed in here
	ProofToken     Proof = "token"     // a personal token, or a program that is trusted to name senders
	ProofSignature Proof = "signature" // the medium or the message proves the address: DMARC, a signed request
	ProofNone      Proof = "none"
)

// Cap holds the limits of the door. Dispatch may be stricter; what passes here
// is recorded, what does not is refused to the adapter's face.
type Cap struct {
	TextBytes        int   // of one message
	Attachments      int   // of one message
	AttachmentBytes  int64 // of one file
	AttachmentsTotal int64 // of all files of one message
	NoticeBytes      int   // of the data of one notice
}

// DefaultCap is 1 MiB of text and 10 files of 20 MiB, 50 MiB together.
func DefaultCap() Cap {
	return Cap{TextBytes: 1 << 20, Attachments: 10, AttachmentBytes: 20 << 20, AttachmentsTotal: 50 << 20, NoticeBytes: 16 << 10}
}

// Limits of the short fields, in bytes. 320 is the longest mail address.
const (
	maxAddress  = 320
	maxName     = 200
	maxProvider = 512
	maxThread   = 512
	maxCursor   = 1024
	maxFileName = 255
	maxType     = 127
	maxReason   = 64
)

// Inbound is a message that a medium handed over.
type Inbound struct {
	Account id.ID
	Channel string
	// ProviderID is the medium's own id of the message; the same one again is
	// the same message. "" means that the medium has none and each call is new.
	ProviderID string
	// Thread is the medium's name of the conversation; ThreadID is ours, to go
	// on in a thread that exists. Neither means a new thread.
	Thread   string
	ThreadID id.ID
	// Shared says that the medium vouches for Thread: several addresses write
	// into one room. Otherwise a thread name means something to its address only,
	// and naming somebody else's thread opens a new one.
	Shared      bool
	Sender      string // address on the channel
	SenderName  string // as the sender claims
	Proof       Proof
	PersonID    id.ID // only with ProofSession or ProofToken
	Text        string
	Attachments []File
	Agent       string    // the sender asks for this agent
	OccurredAt  time.Time // as the medium says; zero means now
	// Cursor is the medium's place behind this message; "" leaves it alone.
	Cursor string
}

// File is an attachment that already lies in content-addressed storage
// (Intake.Store put it there).
type File struct {
	Name   string
	Type   string // as declared
	Size   int64  // bytes
	Digest string // of the content
}

// Accepted names what the journal holds.
type Accepted struct {
	MessageID id.ID
	ThreadID  id.ID
	Repeat    bool // it was there already; the ids are the first ones
}

func (m *Inbound) check(c Cap) error {
	if err := CheckName("channel", m.Channel); err != nil {
		return err
	}
	for _, f := range []struct {
		field, text string
		limit       int
	}{
		{"text", m.Text, c.TextBytes}, {"sender", m.Sender, maxAddress}, {"senderName", m.SenderName, maxName},
		{"providerId", m.ProviderID, maxProvider}, {"thread", m.Thread, maxThread}, {"cursor", m.Cursor, maxCursor},
	} {
		if err := CheckText(f.field, f.text, f.limit); err != nil {
			return err
		}
	}
	switch {
	case m.Account.IsZero():
		return fault.New(fault.Invalid, "no account").On("account")
	case m.Sender == "":
		return fault.New(fault.Invalid, "a message needs a sender").On("sender")
	case m.Text == "" && len(m.Attachments) == 0:
		return fault.New(fault.Invalid, "a message needs text or a file").On("text")
	case len(m.Attachments) > c.Attachments:
		return fault.New(fault.Limited, "%d files, at most %d are taken", len(m.Attachments), c.Attachments).On("attachments")
	case m.Thread != "" && !m.ThreadID.IsZero():
		return fault.New(fault.Invalid, "name a thread by id or by the medium's name, not by both").On("threadId")
	}
	if m.Agent != "" {
		if err := CheckName("agent", m.Agent); err != nil {
			return err
		}
	}
	var total int64
	for i, f := range m.Attachments {
		if err := f.check("attachments["+strconv.Itoa(i)+"]", c); err != nil {
			return err
		}
		if total += f.Size; total > c.AttachmentsTotal {
			return fault.New(fault.Limited, "the files hold more than %d bytes together", c.AttachmentsTotal).On("attachments")
		}
	}
	return m.checkProof()
}

func (m *Inbound) checkProof() error {
	switch m.Proof {
	case ProofSession, ProofToken:
		return nil
	case ProofSignature, ProofNone:
		if m.PersonID.IsZero() {
			return nil
		}
		return fault.New(fault.Invalid, "only a session or a token makes a sender a person").On("personId")
	}
	return fault.New(fault.Invalid, "%q is no proof of a sender", clip(string(m.Proof))).On("proof")
}

func (f File) check(field string, c Cap) error {
	if err := CheckText(field+".name", f.Name, maxFileName); err != nil {
		return err
	}
	if err := CheckText(field+".type", f.Type, maxType); err != nil {
		return err
	}
	switch {
	case f.Name == "":
		return fault.New(fault.Invalid, "a file needs a name").On(field + ".name")
	case f.Digest == "" || len(f.Digest) > maxReason:
		return fault.New(fault.Invalid, "the file is not in storage").On(field + ".digest").WithFix("store it before the message is handed in")
	case f.Size < 0 || f.Size > c.AttachmentBytes:
		return fault.New(fault.Limited, "%d bytes, at most %d are taken", f.Size, c.AttachmentBytes).On(field + ".size")
	}
	return nil
}

// label is what the message enters with. What a stranger wrote the stranger
// knows, so nobody is kept from it here; dispatch narrows its audience as soon
// as the contact is known.
func (m *Inbound) label() event.Label {
	switch {
	case !m.PersonID.IsZero():
		return event.NewLabel(event.Person, event.AccountWide())
	case m.Proof == ProofToken || m.Proof == ProofSignature:
		return event.NewLabel(event.Known, event.Public())
	}
	return event.NewLabel(event.Outside, event.Public())
}

// subject is whose data the message is.
func (m *Inbound) subject() id.ID {
	if !m.PersonID.IsZero() {
		return m.PersonID
	}
	return event.SenderSubject(m.Account, m.Channel, m.Sender)
}

// digest tells a repeat from a second message under the first one's id.
func (m *Inbound) digest() []byte {
	var b canon.Binary
	for _, s := range []string{m.Thread, m.ThreadID.String(), m.Sender, m.PersonID.String(), m.Text, m.Agent} {
		b.String(s)
	}
	for _, f := range m.Attachments {
		b.String(f.Name)
		b.String(f.Type)
		b.String(f.Digest)
	}
	sum := b.Sum()
	return sum[:]
}

// key is the dedupe key. It is a digest, so that the row holds nothing personal.
func (m *Inbound) key() []byte {
	if m.ProviderID == "" {
		return nil
	}
	sum := canon.Digest("witan/inbound", []byte(m.Channel), []byte(m.ProviderID))
	return sum[:]
}

// threadKey names a conversation of the medium in the database.
func threadKey(channel, sender, thread string, shared bool) []byte {
	if shared {
		sender = ""
	}
	sum := canon.Digest("witan/thread", []byte(channel), []byte(sender), []byte(thread))
	return sum[:]
}
