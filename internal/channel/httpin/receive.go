package httpin

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Caller is who sent a request, as the edge authenticated it.
type Caller struct {
	Account  id.ID
	PersonID id.ID  // whose token it is
	Name     string // of that person
	TokenID  id.ID
	// Signed says that the request carries a valid signature of this channel
	// (Channel.Verify), so its sender is proven.
	Signed bool
}

// Request is the body of POST /api/v1/channels/{name}/messages.
type Request struct {
	Text       string         `json:"text"`
	Sender     string         `json:"sender,omitempty"` // "" is the token's own person
	SenderName string         `json:"senderName,omitempty"`
	Thread     string         `json:"thread,omitempty"`  // the program's name of the conversation
	ThreadID   id.ID          `json:"threadId,omitzero"` // ours
	Agent      string         `json:"agent,omitempty"`   // asks for this agent
	SentAt     int64          `json:"sentAt,omitempty"`  // microseconds
	Cursor     string         `json:"cursor,omitempty"`  // the program's place, kept for it
	Files      []channel.File `json:"-"`                 // stored by the edge beforehand
}

const maxKey = 255

// Receive takes a message in under an Idempotency-Key, which is required: the
// same key and body again return the first ids, another body is fault.Conflict.
// Keys of two tokens never meet. It returns once the journal has the message.
func (c *Channel) Receive(ctx context.Context, in *channel.Intake, who Caller, key string, r Request) (channel.Accepted, error) {
	if err := checkKey(key); err != nil {
		return channel.Accepted{}, err
	}
	scope := who.TokenID
	if scope.IsZero() {
		scope = who.PersonID
	}
	sum := canon.Digest("witan/httpin", scope[:], []byte(key))
	m := channel.Inbound{
		Account: who.Account, Channel: c.traits.Name, ProviderID: hex.EncodeToString(sum[:]),
		Thread: r.Thread, ThreadID: r.ThreadID, Sender: r.Sender, SenderName: r.SenderName,
		Text: r.Text, Agent: r.Agent, Attachments: r.Files, Cursor: r.Cursor,
	}
	if r.SentAt > 0 {
		m.OccurredAt = time.UnixMicro(r.SentAt)
	}
	switch {
	case r.Sender == "" && who.PersonID.IsZero():
		return channel.Accepted{}, fault.New(fault.Invalid, "a signed request must say who speaks").On("sender")
	case r.Sender == "":
		m.Sender, m.SenderName, m.PersonID, m.Proof = who.PersonID.String(), who.Name, who.PersonID, channel.ProofToken
	case who.Signed:
		m.Proof = channel.ProofSignature
	case c.vouches:
		m.Proof = channel.ProofToken
	default:
		m.Proof = channel.ProofNone
	}
	return in.Accept(ctx, m)
}

func checkKey(key string) error {
	if key == "" {
		return fault.New(fault.Invalid, "the header is missing").On("Idempotency-Key").
			WithFix("send a value that is new for each message, and the same when you repeat one")
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' || i >= maxKey {
			return fault.New(fault.Invalid, "at most %d visible ASCII characters", maxKey).On("Idempotency-Key")
		}
	}
	return nil
}

// Answer is what became of a message that was taken in.
type Answer struct {
	State    string                  // waiting, answered, held, rejected
	Reason   string                  // of held and rejected
	Messages []event.OutboundMessage // the answers so far, oldest first
}

// Answers tells what became of a message; dispatch knows. A message of another
// channel is fault.NotFound.
type Answers interface {
	Answer(ctx context.Context, account id.ID, channel string, message id.ID) (state, reason string, said []event.OutboundMessage, err error)
}

// Answer looks up what became of a message of this channel.
func (c *Channel) Answer(ctx context.Context, a Answers, account, message id.ID) (Answer, error) {
	state, reason, said, err := a.Answer(ctx, account, c.traits.Name, message)
	return Answer{State: state, Reason: reason, Messages: said}, err
}
