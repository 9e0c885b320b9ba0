package dispatch

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Outlet is what dispatch needs of the channels; channel.Hub fills it.
type Outlet interface {
	// Trust returns a channel's trust in micro-units; false if there is no such channel.
	Trust(channel string) (micro int32, ok bool)
	// Push reports whether messages must be carried there, and whether a second
	// one with the same key is dropped there.
	Push(channel string) (push, idempotent bool)
	// Split cuts a text into parts that the channel takes; joined they are the text.
	Split(channel, text string) []string
	// Deliver carries one part. The error's kind says what is known of it:
	// Unavailable and Limited were not taken; Invalid, Denied and NotFound never
	// will be; everything else may have been.
	Deliver(ctx context.Context, account id.ID, m event.OutboundMessage, part int, key string) (event.DeliveryReceipt, error)
	// Open makes a thread that begins here; Bind gives it the medium's name.
	Open(tx event.Tx, channel string, thread, person id.ID, address string) error
	Bind(tx event.Tx, channel string, thread id.ID, address, ref string) error
	// Whose returns the person who has a thread of the channel, zero if nobody of
	// the account has, and whose data it is. NotFound if the channel has no such
	// thread.
	Whose(tx event.Tx, channel string, thread id.ID) (person, subject id.ID, err error)
}

// Agents tells which agents there are.
type Agents interface {
	Serves(tx event.Tx, agent string) (bool, error)
}

// People tells who lives in the account.
type People interface {
	// Readers returns the principals of the account's people and agents: those
	// who may read what an outside contact wrote.
	Readers(tx event.Tx) ([]string, error)
	// Owner returns the person to whom failures are reported.
	Owner(tx event.Tx) (id.ID, error)
	// RoleOf returns owner, operator or viewer, and fault.NotFound if the account
	// has no such active person.
	RoleOf(tx event.Tx, person id.ID) (string, error)
	// May returns fault.Denied unless by, a principal, is an active person of the
	// account whose role may do the act of the roles table.
	May(tx event.Tx, by, act string) error
}

// The acts of the roles table that this package does for a person.
const (
	actDecide  = "held.decide"
	actManage  = "contact.manage"
	actRouting = "routing.write"
)

// Scanner judges how likely a text tries to steer an agent, in micro-units. It
// is pure. The highest of several counts; it is one input of the trust score
// and never the only defence.
type Scanner interface {
	Risk(text string) int32
}

// Filter looks at a message on its way out. Filters run in the order in which
// they were given. An error voids the transaction: nothing leaves unchecked.
type Filter interface {
	Name() string
	// Pass returns the message, perhaps with less in it, or a rule that keeps it
	// from leaving ("" lets it pass).
	Pass(tx event.Tx, out Outgoing) (_ Outgoing, rule string, err error)
}

// Audience decides whether a recipient may read what carries a label.
type Audience interface {
	May(tx event.Tx, l event.Label, recipient string) (bool, error)
}

// ByLabel is the audience check of architecture §7: the label's audience must
// include the recipient.
type ByLabel struct{}

// May implements Audience.
func (ByLabel) May(_ event.Tx, l event.Label, recipient string) (bool, error) {
	return l.Audience().Includes(event.Only(recipient)), nil
}
