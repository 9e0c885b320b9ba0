// Package cli is the command line as a channel: `witan chat` of a person who
// holds a personal token or the data folder's local socket.
//
// It is a pull channel: the command waits for its answer on the stream. The
// sender is the person of the credential; nothing in a request can name another.
//
// It imports kit, event and channel and starts no goroutine.
package cli

import (
	"context"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Name is the name of the channel.
const Name = "cli"

// Adapter is the command line.
type Adapter struct{}

// New returns the command line's adapter.
func New() Adapter { return Adapter{} }

// Traits implements channel.Adapter.
func (Adapter) Traits() channel.Traits { return channel.Traits{Name: Name, Trust: channel.TrustHigh} }

// Deliver implements channel.Adapter. Nothing is ever carried to a pull channel.
func (Adapter) Deliver(context.Context, channel.Outgoing, string) (channel.Receipt, error) {
	return channel.Receipt{}, fault.New(fault.Invalid, "the command line fetches its messages; nothing is carried to it")
}

// Said is what a person typed.
type Said struct {
	Account  id.ID
	PersonID id.ID  // of the token or the local socket
	Name     string // the person's
	ThreadID id.ID  // zero begins a thread
	Text     string
	Agent    string // --agent
	// Key makes a repeated request one message; the command makes one per line.
	Key string
}

// Inbound returns what the intake takes.
func (s Said) Inbound() channel.Inbound {
	m := channel.Inbound{
		Account: s.Account, Channel: Name, ThreadID: s.ThreadID, Sender: s.PersonID.String(), SenderName: s.Name,
		Proof: channel.ProofToken, PersonID: s.PersonID, Text: s.Text, Agent: s.Agent,
	}
	if s.Key != "" {
		m.ProviderID = s.PersonID.String() + ":" + s.Key
	}
	return m
}
