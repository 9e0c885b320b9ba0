package channel

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Hub knows the adapters of this installation and carries what leaves to the
// right one. It never changes after NewHub and is safe for concurrent use.
type Hub struct {
	journal  event.Journal
	store    Store
	adapters map[string]Adapter
}

// NewHub returns a hub of adapters. Two of one name, a name or a trust that is
// none, and a limit that no code point fits are refused.
func NewHub(j event.Journal, s Store, adapters ...Adapter) (*Hub, error) {
	h := &Hub{journal: j, store: s, adapters: map[string]Adapter{}}
	for _, a := range adapters {
		t := a.Traits()
		if err := CheckName("channel", t.Name); err != nil {
			return nil, err
		}
		if _, ok := t.Trust.Micro(); !ok {
			return nil, fault.New(fault.Invalid, "%q is no trust level", t.Trust).On("channels." + t.Name + ".trust").
				WithFix("say high, medium or low")
		}
		if err := t.Limit.check(); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "channel "+t.Name)
		}
		if _, twice := h.adapters[t.Name]; twice {
			return nil, fault.New(fault.Invalid, "there are two channels named %q", t.Name).On("channels")
		}
		h.adapters[t.Name] = a
	}
	return h, nil
}

// Names returns the channels by name.
func (h *Hub) Names() []string { return slices.Sorted(maps.Keys(h.adapters)) }

// Traits returns the properties of a channel.
func (h *Hub) Traits(channel string) (Traits, bool) {
	a, ok := h.adapters[channel]
	if !ok {
		return Traits{}, false
	}
	return a.Traits(), true
}

// Runners returns the adapters that fetch by themselves, by name.
func (h *Hub) Runners() []Runner {
	var out []Runner
	for _, n := range h.Names() {
		if r, ok := h.adapters[n].(Runner); ok {
			out = append(out, r)
		}
	}
	return out
}

// Trust returns a channel's trust in micro-units; false for an unknown channel.
func (h *Hub) Trust(channel string) (int32, bool) {
	t, ok := h.Traits(channel)
	if !ok {
		return 0, false
	}
	return t.Trust.Micro()
}

// Push reports whether messages must be carried to the channel, and whether a
// second message with one key is dropped there.
func (h *Hub) Push(channel string) (push, idempotent bool) {
	t, _ := h.Traits(channel)
	return t.Push, t.Idempotent
}

// Split cuts a text into parts that the channel takes; joined they are the text.
func (h *Hub) Split(channel, text string) []string {
	t, _ := h.Traits(channel)
	return Split(text, t.Limit)
}

// Deliver carries one part to its medium and returns what the medium answered;
// the kinds of errors are those of Adapter.Deliver. It reads the medium's name
// of the thread first, in a short view, and holds no transaction while it waits.
// A panic of the adapter is an outcome that is not known.
func (h *Hub) Deliver(ctx context.Context, account id.ID, m event.OutboundMessage, part int, key string) (_ event.DeliveryReceipt, err error) {
	a, ok := h.adapters[m.Channel]
	if !ok {
		return event.DeliveryReceipt{}, fault.New(fault.Unavailable, "there is no channel %q here", m.Channel).On("channel")
	}
	out := Outgoing{Account: account, Message: m, Part: part, Parts: max(m.Parts, 1)}
	err = h.journal.View(ctx, account, func(tx event.Tx) error {
		t, err := h.store.GetThread(tx, m.ThreadID)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		out.ThreadRef = t.Ref
		return err
	})
	if err != nil {
		return event.DeliveryReceipt{}, fault.New(fault.Unavailable, "read the thread: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Unknown, "channel %s: panic: %w", m.Channel, fmt.Errorf("%v", p))
		}
	}()
	r, err := a.Deliver(ctx, out, key)
	if err != nil {
		return event.DeliveryReceipt{}, err
	}
	if r.State == "" {
		r.State = "sent"
	}
	for _, f := range []struct {
		text  *string
		limit int
	}{{&r.ProviderID, maxProvider}, {&r.ThreadRef, maxThread}} {
		if CheckText("", *f.text, f.limit) != nil { // the message is out; a name that cannot be kept is no reason to send it again
			*f.text = ""
		}
	}
	return event.DeliveryReceipt{Channel: m.Channel, State: r.State, ProviderID: r.ProviderID, ThreadRef: r.ThreadRef}, nil
}

// Open makes a thread that begins here: the house writes first, to a person or
// to an address. The person may go on in it as in a thread of their own.
func (h *Hub) Open(tx event.Tx, channel string, thread, person id.ID, address string) error {
	t := Thread{ID: thread, Channel: channel, Person: person, Subject: person,
		Label: event.NewLabel(event.House, event.AccountWide()), At: tx.Now()}
	if person.IsZero() {
		t.Subject = event.SenderSubject(tx.Account(), channel, address)
	}
	_, err := h.store.OpenThread(tx, t)
	return err
}

// Bind remembers the medium's name of a thread that began here, so that an
// answer from address in it comes back to the same thread.
func (h *Hub) Bind(tx event.Tx, channel string, thread id.ID, address, ref string) error {
	t, err := h.store.GetThread(tx, thread)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && (t.Channel != channel || t.Ref != ""):
		return nil
	case err != nil:
		return err
	}
	return h.store.BindThread(tx, channel, thread, threadKey(channel, address, ref, false), ref)
}

// Whose returns the person who has a thread of the channel, zero if nobody of
// the account has, and whose data it is. NotFound if the channel has no such
// thread.
func (h *Hub) Whose(tx event.Tx, channel string, thread id.ID) (person, subject id.ID, err error) {
	t, err := h.store.GetThread(tx, thread)
	if err == nil && t.Channel != channel {
		err = fault.New(fault.NotFound, "channel %s has no such thread", channel).On("threadId")
	}
	if err != nil {
		return id.Nil, id.Nil, err
	}
	return t.Person, t.Subject, nil
}
