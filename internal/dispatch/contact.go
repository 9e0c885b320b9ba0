package dispatch

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/id"
)

// Status is what the house thinks of a contact.
type Status string

// The three statuses.
const (
	Confirmed   Status = "confirmed"   // a person vouches for it, or it is one
	Provisional Status = "provisional" // known by its address only
	Blocked     Status = "blocked"
)

// Contact is somebody outside, or a person of the account as seen by a channel.
type Contact struct {
	ID         id.ID
	Name       string
	Status     Status
	PersonID   id.ID // whose own contact it is
	EntityID   id.ID // of the knowledge graph
	Confidence int32 // micro-units
	Version    int64 // grows with each change
	Label      event.Label
	At         time.Time
}

// Identity is an address of a contact on a channel. One address belongs to one contact.
type Identity struct {
	Channel   string
	Address   string
	ContactID id.ID
	Subject   id.ID  // whose data the address is: event.SenderSubject, or the person
	AddedBy   string // principal
	Label     event.Label
	At        time.Time
}

// Standing is what a message's sender is to us, by contact and proof together.
type Standing string

// The standings.
const (
	StandingPerson      Standing = "person"
	StandingConfirmed   Standing = "confirmed"
	StandingUnproven    Standing = "unproven"
	StandingProvisional Standing = "provisional"
	StandingUnknown     Standing = "unknown"
	StandingBlocked     Standing = "blocked"
)

// Stand returns the standing of who sent m; c is nil if nobody knows the
// address. It is pure. A claimed address is never more than a claim, whatever
// contact it names; a block counts even for a claim.
func Stand(m event.InboundMessage, c *Contact) Standing {
	switch {
	case isPerson(m):
		return StandingPerson
	case c == nil:
		return StandingUnknown
	case c.Status == Blocked:
		return StandingBlocked
	case c.Status != Confirmed:
		return StandingProvisional
	case m.Proof == "token" || m.Proof == "signature" || m.Proof == "session":
		return StandingConfirmed
	}
	return StandingUnproven
}

// isPerson reports whether a channel authenticated a person of the account.
func isPerson(m event.InboundMessage) bool {
	return !m.PersonID.IsZero() && (m.Proof == "session" || m.Proof == "token")
}

// confidence is how sure we are of the sender, in micro-units.
func confidence(s Standing, c *Contact) int32 {
	switch s {
	case StandingPerson:
		return confidencePerson
	case StandingConfirmed:
		return c.Confidence
	case StandingUnproven, StandingProvisional:
		return min(c.Confidence, confidenceProvisional)
	}
	return 0
}

// senderKey names an address without holding it.
func senderKey(channel, address string) []byte {
	sum := canon.Digest("witan/address", []byte(channel), []byte(address))
	return sum[:]
}

// sender is the resolved other side of an inbound message.
type sender struct {
	message  event.InboundMessage
	contact  *Contact // nil for an unknown address
	standing Standing
}

func (s sender) contactID() id.ID {
	if s.contact == nil {
		return id.Nil
	}
	return s.contact.ID
}

// principal is who a task is done for. A person is one only by a sign-in or a
// token of theirs: a mail that is proven to come from the owner's address is
// still a contact's.
func (s sender) principal() string {
	if s.standing == StandingPerson {
		return person(s.message.PersonID)
	}
	return contact(s.contactID())
}
