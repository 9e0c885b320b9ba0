package dispatch

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Store keeps what dispatch must remember, and reaches the engine. Every
// method runs in the caller's transaction; an absent row is fault.NotFound.
type Store interface {
	engine
	contactStore
	heldStore
	outbox

	// Take takes one token of a rate limit, one transaction after the other, and
	// reports whether there was one. now is the database's clock.
	Take(tx event.Tx, kind string, key []byte, r Rate, now time.Time) (bool, error)

	// Route returns the agent of the most specific route: thread, contact, channel.
	Route(tx event.Tx, thread, contact id.ID, channel string) (agent string, err error)
	SaveRoute(tx event.Tx, r Route) error
	// DropRoute removes a route; NotFound if there is none.
	DropRoute(tx event.Tx, kind, key string) error
	ListRoutes(tx event.Tx) ([]Route, error)

	AddFate(tx event.Tx, f Fate) error
	// SetFate changes outcome, reason, run, agent, contact and label.
	SetFate(tx event.Tx, f Fate) error
	GetFate(tx event.Tx, message id.ID) (Fate, error)
	FateOfRun(tx event.Tx, run id.ID) (Fate, error)

	AddLater(tx event.Tx, l Later) error
	// TakeLater returns and removes.
	TakeLater(tx event.Tx, task id.ID) (Later, error)
}

// engine is what dispatch uses of the store's engine.
type engine interface {
	// Clock is the database's clock, by which rates, ages and retries are judged.
	Clock(tx event.Tx) (time.Time, error)
	// LoadEvent reads a committed event; an erased one has no payload.
	LoadEvent(tx event.Tx, e id.ID) (event.Event, error)
	SetTimer(tx event.Tx, kind, key string, at time.Time) error
	Enqueue(tx event.Tx, delivery id.ID, scope string, due time.Time) error
	Claim(tx event.Tx, delivery id.ID) (event.Lease, error)
	Guard(tx event.Tx, l event.Lease) error
	Finish(tx event.Tx, l event.Lease) error
	Release(tx event.Tx, l event.Lease, due time.Time) error
}

type contactStore interface {
	// AddContact reports whether the contact was added: a second one of the same
	// person is not.
	AddContact(tx event.Tx, c Contact) (bool, error)
	// SaveContact changes a contact of the same version; Conflict otherwise.
	SaveContact(tx event.Tx, c Contact) error
	GetContact(tx event.Tx, contact id.ID) (Contact, error)
	// ContactOfPerson returns a person's own contact, and whether it has the address.
	ContactOfPerson(tx event.Tx, person id.ID, channel, address string) (c Contact, has bool, err error)
	ContactByAddress(tx event.Tx, channel, address string) (Contact, error)
	// ListContacts returns contacts in the order of their ids, after one. status "" means all.
	ListContacts(tx event.Tx, status string, after id.ID, limit int) ([]Contact, error)
	// AddIdentity reports whether the address was free.
	AddIdentity(tx event.Tx, i Identity) (bool, error)
	DropIdentity(tx event.Tx, channel, address string) error
	ListIdentities(tx event.Tx, contact id.ID) ([]Identity, error)
}

type heldStore interface {
	AddHeld(tx event.Tx, h Held) error
	// LockHeld returns a held message and keeps others from settling it.
	LockHeld(tx event.Tx, held id.ID) (Held, error)
	SettleHeld(tx event.Tx, h Held) error
	// ListHeld returns pending messages, oldest first, after one.
	ListHeld(tx event.Tx, after id.ID, limit int) ([]Held, error)
	// HeldOf returns pending messages of one sender, or the proven ones of them,
	// oldest first, and keeps others from settling them.
	HeldOf(tx event.Tx, sender []byte, provenOnly bool, limit int) ([]Held, error)
	CountHeld(tx event.Tx) (int64, error)
}

type outbox interface {
	// Reserve takes n places at the end of a thread's queue and returns the
	// first; until the transaction ends nobody else changes that queue.
	Reserve(tx event.Tx, channel string, thread id.ID, n int) (position int64, err error)
	// LockQueue keeps others from changing a thread's queue.
	LockQueue(tx event.Tx, channel string, thread id.ID) error
	// NextQueued returns the first unsettled delivery of a thread's queue.
	NextQueued(tx event.Tx, channel string, thread id.ID) (Delivery, error)
	// AddDelivery reports whether its key was free.
	AddDelivery(tx event.Tx, d Delivery) (bool, error)
	SaveDelivery(tx event.Tx, d Delivery) error
	GetDelivery(tx event.Tx, delivery id.ID) (Delivery, error)
	DeliveryByKey(tx event.Tx, key string) (Delivery, error)
	DeliveryByProvider(tx event.Tx, channel string, provider []byte) (Delivery, error)
	// Answers returns the first parts of what answers a message, oldest first.
	Answers(tx event.Tx, message id.ID) ([]Delivery, error)
	// ListDeliveries returns deliveries in one state, oldest first, after one.
	ListDeliveries(tx event.Tx, state DeliveryState, after id.ID, limit int) ([]Delivery, error)
}
