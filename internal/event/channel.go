package event

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/kit/id"
)

// SenderSubject is the subject whose data key seals what an address says on a
// channel. It is derived, so that a channel can name it before anybody knows
// whose address it is; a contact's erasure erases the subjects of all its
// addresses. Letter case is part of an address.
func SenderSubject(account id.ID, channel, address string) id.ID {
	return id.Derive(time.UnixMilli(0), []byte("witan/sender"), account[:], []byte(channel), []byte(address))
}

// Attachment names a file in content-addressed storage.
type Attachment struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // media type as declared by the sender
	Size   int64  `json:"size"` // bytes
	Digest string `json:"digest"`
}

// InboundMessage is a message that a channel took in (seed 000 "inbound.message").
type InboundMessage struct {
	Channel     string       `json:"channel"`
	ThreadID    id.ID        `json:"threadId"`
	MessageID   id.ID        `json:"messageId"`
	ProviderID  string       `json:"providerId,omitempty"` // the medium's own id, for dedupe
	Sender      string       `json:"sender"`               // address on the channel
	SenderName  string       `json:"senderName,omitempty"` // as the sender claims
	Proof       string       `json:"proof"`                // how the sender is known: session, token, signature, none
	PersonID    id.ID        `json:"personId,omitzero"`    // set only by a channel that authenticated a person
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Agent       string       `json:"agent,omitempty"` // the sender asked for this agent
}

// InboundEvent is something other than a message that a channel reports:
// a reaction, a read receipt, a membership change (seed 000 "inbound.event").
type InboundEvent struct {
	Channel    string          `json:"channel"`
	Kind       string          `json:"kind"`
	ProviderID string          `json:"providerId,omitempty"`
	ThreadID   id.ID           `json:"threadId,omitzero"`
	Data       json.RawMessage `json:"data,omitempty"`
}

// ChannelChanged says that a channel connected, or why it is away.
type ChannelChanged struct {
	Channel   string `json:"channel"`
	Connected bool   `json:"connected"`
	Reason    string `json:"reason,omitempty"`
}

// DeliveryReceipt is what a channel knows of an outbound message. Each attempt
// that was answered, or given up, leaves one.
type DeliveryReceipt struct {
	DeliveryID id.ID  `json:"deliveryId"`
	MessageID  id.ID  `json:"messageId"`
	Channel    string `json:"channel"`
	State      string `json:"state"` // sent, delivered, read, retrying, failed, unknown
	ProviderID string `json:"providerId,omitempty"`
	ThreadRef  string `json:"threadRef,omitempty"` // the medium's own thread, if the answer named one
	ErrorKind  string `json:"errorKind,omitempty"`
	Error      string `json:"error,omitempty"`
	Attempt    int    `json:"attempt"`
	By         string `json:"by,omitempty"` // the person who settled an unknown one, or asked again
}

// OutboundBlocked says that a message may not leave, and why. Nothing of it was sent.
type OutboundBlocked struct {
	Channel   string `json:"channel"`
	ThreadID  id.ID  `json:"threadId,omitzero"`
	ContactID id.ID  `json:"contactId,omitzero"`
	InReplyTo id.ID  `json:"inReplyTo,omitzero"`
	RunID     id.ID  `json:"runId,omitzero"`
	Agent     string `json:"agent,omitempty"`
	Address   string `json:"address,omitempty"`
	Text      string `json:"text"`
	Reason    string `json:"reason"` // blocked_contact, audience, filter, too_large, no_address, unknown_channel
	Rule      string `json:"rule,omitempty"`
}

// OutboundMessage is a message on its way out, in the outbox (seed 000).
type OutboundMessage struct {
	Channel    string `json:"channel"`
	ThreadID   id.ID  `json:"threadId"`
	MessageID  id.ID  `json:"messageId"`
	DeliveryID id.ID  `json:"deliveryId"`
	ContactID  id.ID  `json:"contactId,omitzero"`
	Address    string `json:"address"`
	Text       string `json:"text"`
	InReplyTo  id.ID  `json:"inReplyTo,omitzero"` // the inbound message it answers
	RunID      id.ID  `json:"runId,omitzero"`
	Agent      string `json:"agent,omitempty"`
	IsError    bool   `json:"isError,omitempty"`
	Parts      int    `json:"parts"` // deliveries that it was split into; DeliveryID is the first
}

// MessageHeld says that a message waits for a person.
type MessageHeld struct {
	HeldID    id.ID  `json:"heldId"`
	Channel   string `json:"channel"`
	MessageID id.ID  `json:"messageId"`
	ContactID id.ID  `json:"contactId,omitzero"`
	Reason    string `json:"reason"` // unknown_sender, provisional_sender, unproven_sender, rate_limited, untrusted
}

// HeldSettled says what a person decided about a held message.
type HeldSettled struct {
	HeldID    id.ID  `json:"heldId"`
	MessageID id.ID  `json:"messageId"`
	PersonID  id.ID  `json:"personId"`
	Action    string `json:"action"` // identify, release, dismiss, block
	ContactID id.ID  `json:"contactId,omitzero"`
}

// MessageRejected says that a message was turned away, and why.
type MessageRejected struct {
	Channel   string `json:"channel"`
	MessageID id.ID  `json:"messageId"`
	ContactID id.ID  `json:"contactId,omitzero"`
	Reason    string `json:"reason"` // too_large, blocked_sender, account_rate, sender_rate, unknown_sender, provisional_sender, unproven_sender, untrusted, unknown_channel, unknown_agent
	Value     int64  `json:"value,omitempty"`
	Limit     int64  `json:"limit,omitempty"`
}

// ContactSaved says that a contact was made or changed.
type ContactSaved struct {
	ContactID id.ID  `json:"contactId"`
	Name      string `json:"name"`
	Status    string `json:"status"` // confirmed, provisional, blocked
	PersonID  id.ID  `json:"personId,omitzero"`
	EntityID  id.ID  `json:"entityId,omitzero"`
	Channel   string `json:"channel,omitempty"` // of the identity that was added, if any
	Address   string `json:"address,omitempty"`
	By        string `json:"by"` // principal that caused it
}

// RouteSaved says that a thread, contact or channel is served by an agent.
type RouteSaved struct {
	Kind  string `json:"kind"` // thread, contact, channel
	Key   string `json:"key"`
	Agent string `json:"agent"`
	By    string `json:"by"`
}

// EventType and sealed close the set of payloads.
func (InboundMessage) EventType() Type  { return "inbound.message" }
func (InboundEvent) EventType() Type    { return "inbound.event" }
func (ChannelChanged) EventType() Type  { return "channel.changed" }
func (DeliveryReceipt) EventType() Type { return "delivery.receipt" }
func (OutboundBlocked) EventType() Type { return "outbound.blocked" }
func (OutboundMessage) EventType() Type { return "outbound.message" }
func (MessageHeld) EventType() Type     { return "message.held" }
func (HeldSettled) EventType() Type     { return "held.settled" }
func (MessageRejected) EventType() Type { return "message.rejected" }
func (ContactSaved) EventType() Type    { return "contact.saved" }
func (RouteSaved) EventType() Type      { return "route.saved" }

func (InboundMessage) sealed()  {}
func (InboundEvent) sealed()    {}
func (ChannelChanged) sealed()  {}
func (DeliveryReceipt) sealed() {}
func (OutboundBlocked) sealed() {}
func (OutboundMessage) sealed() {}
func (MessageHeld) sealed()     {}
func (HeldSettled) sealed()     {}
func (MessageRejected) sealed() {}
func (ContactSaved) sealed()    {}
func (RouteSaved) sealed()      {}

var channelRows = []Row{
	row[InboundMessage](1, layers(LayerChannel), classes(ClassChannel), "A channel took in a message."),
	row[InboundEvent](1, layers(LayerChannel), classes(ClassChannel), "A channel reports something other than a message."),
	row[ChannelChanged](1, layers(LayerChannel), classes(ClassChannel), "A channel connected or went away."),
	row[DeliveryReceipt](1, layers(LayerDispatch), classes(ClassDispatch), "What became of an outbound message."),
	row[OutboundMessage](1, layers(LayerDispatch), classes(ClassDispatch), "A message stands in the outbox."),
	row[OutboundBlocked](1, layers(LayerDispatch), classes(ClassDispatch), "A message may not leave; nothing of it was sent."),
	row[MessageHeld](1, layers(LayerDispatch), classes(ClassDispatch), "A message waits for a person's decision."),
	row[HeldSettled](1, layers(LayerDispatch), classes(ClassDispatch), "A person decided about a held message."),
	row[MessageRejected](1, layers(LayerDispatch), classes(ClassDispatch), "A message was turned away."),
	row[ContactSaved](1, layers(LayerDispatch), classes(ClassDispatch), "A contact was made or changed."),
	row[RouteSaved](1, layers(LayerDispatch), classes(ClassDispatch), "A thread, contact or channel got its agent."),
}
