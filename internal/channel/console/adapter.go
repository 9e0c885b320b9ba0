// Package console is the web console as a channel: a signed-in person writes,
// and reads the answers here.
//
// It is a pull channel, so an answer is delivered by being recorded. The sender
// is the person of the session; nothing in a request can name another one.
//
// It imports kit, event and channel and starts no goroutine.
package console

import (
	"context"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Name is the name of the channel.
const Name = "console"

// Adapter is the console.
type Adapter struct{}

// New returns the console's adapter.
func New() Adapter { return Adapter{} }

// Traits implements channel.Adapter.
func (Adapter) Traits() channel.Traits { return channel.Traits{Name: Name, Trust: channel.TrustHigh} }

// Deliver implements channel.Adapter. Nothing is ever carried to a pull channel.
func (Adapter) Deliver(context.Context, channel.Outgoing, string) (channel.Receipt, error) {
	return channel.Receipt{}, fault.New(fault.Invalid, "the console fetches its messages; nothing is carried to it")
}

// Said is what a signed-in person wrote.
type Said struct {
	Account  id.ID
	PersonID id.ID  // of the session
	Name     string // the person's
	ThreadID id.ID  // zero begins a thread
	Text     string
	Agent    string // "" lets the routes choose
	// Nonce is a value of the form that was sent: the same form sent twice is
	// one message. "" makes each call a message of its own.
	Nonce string
	Files []channel.File
}

// Inbound returns what the intake takes.
func (s Said) Inbound() channel.Inbound {
	m := channel.Inbound{
		Account: s.Account, Channel: Name, ThreadID: s.ThreadID, Sender: s.PersonID.String(), SenderName: s.Name,
		Proof: channel.ProofSession, PersonID: s.PersonID, Text: s.Text, Agent: s.Agent, Attachments: s.Files,
	}
	if s.Nonce != "" { // nonces are the browser's: one person's never meet another's
		m.ProviderID = s.PersonID.String() + ":" + s.Nonce
	}
	return m
}
