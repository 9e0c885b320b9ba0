package channeldb_test

import (
	"context"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/channel/cli"
	"github.com/witan-run/witan/internal/channel/console"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/channeldb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestAPersonSpeaksAsThemselves(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		p := db.IDs.New()
		at := b.accept(t, console.Said{Account: b.Account, PersonID: p, Name: "Pat", Text: "hello", Nonce: "n1"}.Inbound())
		if again := b.accept(t, console.Said{Account: b.Account, PersonID: p, Name: "Pat", Text: "hello", Nonce: "n1"}.Inbound()); !again.Repeat {
			t.Error("the form that was sent twice is two messages")
		}
		other := db.IDs.New()
		if o := b.accept(t, console.Said{Account: b.Account, PersonID: other, Text: "hello", Nonce: "n1"}.Inbound()); o.Repeat {
			t.Error("two people's nonces meet")
		}
		b.accept(t, cli.Said{Account: b.Account, PersonID: p, ThreadID: at.ThreadID, Text: "from the shell", Key: "n1"}.Inbound())
		for _, e := range b.of(t, "inbound.message") {
			m := e.Payload.(event.InboundMessage)
			if m.Sender != m.PersonID.String() || e.Label.String() != "p:a" || e.Subject != m.PersonID || m.Proof == "none" {
				t.Errorf("%+v label %s", m, e.Label)
			}
		}
	})
}

func TestAnOutsideProgramProvesItselfNotItsSenders(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		p := db.IDs.New()
		who := httpin.Caller{Account: b.Account, PersonID: p, Name: "Pat", TokenID: db.IDs.New()}
		plain := must(httpin.New(httpin.Config{Name: "bridge"}, nil, nil))
		vouching := must(httpin.New(httpin.Config{Name: "trusted", Vouches: true}, nil, nil))
		signed := who
		signed.Signed = true
		for _, tt := range []struct {
			c      *httpin.Channel
			who    httpin.Caller
			sender string
			proof  string
			person id.ID
			label  string
		}{
			{plain, who, "", "token", p, "p:a"},
			{plain, who, "pat@example.org", "none", id.Nil, "o:*"}, // names itself the owner: proves nothing
			{plain, who, p.String(), "none", id.Nil, "o:*"},
			{vouching, who, "ann", "token", id.Nil, "k:*"},
			{plain, signed, "ann", "signature", id.Nil, "k:*"},
		} {
			a, err := tt.c.Receive(ctx, b.in, tt.who, "key-"+tt.sender+tt.proof, httpin.Request{Text: "hi", Sender: tt.sender})
			if err != nil {
				t.Fatal(err)
			}
			evs := b.of(t, "inbound.message")
			e := evs[len(evs)-1]
			m := e.Payload.(event.InboundMessage)
			if m.MessageID != a.MessageID || m.Proof != tt.proof || m.PersonID != tt.person || e.Label.String() != tt.label {
				t.Errorf("sender %q: proof %s person %s label %s; want %s %s %s", tt.sender, m.Proof, m.PersonID, e.Label, tt.proof, tt.person, tt.label)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTheIdempotencyKeyIsRequiredAndScoped(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		c := must(httpin.New(httpin.Config{Name: "bridge"}, nil, nil))
		who := httpin.Caller{Account: b.Account, PersonID: db.IDs.New(), TokenID: db.IDs.New()}
		r := httpin.Request{Text: "hi", Thread: "t"}
		first, err := c.Receive(ctx, b.in, who, "k1", r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.Receive(ctx, b.in, who, "k1", r); err != nil || !again.Repeat || again.MessageID != first.MessageID {
			t.Errorf("again: %+v, %v", again, err)
		}
		r.Text = "something else"
		if _, err := c.Receive(ctx, b.in, who, "k1", r); !fault.Is(err, fault.Conflict) {
			t.Errorf("another body under the key: %v", err)
		}
		who.TokenID = db.IDs.New()
		if other, err := c.Receive(ctx, b.in, who, "k1", r); err != nil || other.Repeat {
			t.Errorf("another token's key: %+v, %v", other, err)
		}
		for _, k := range []string{"", "a b", "a\nb", "é", strings.Repeat("x", 256)} {
			if _, err := c.Receive(ctx, b.in, who, k, r); !fault.Is(err, fault.Invalid) {
				t.Errorf("key %q: %v", k, err)
			}
		}
	})
}

// medium is an adapter that remembers what it was given.
type medium struct {
	traits channel.Traits
	got    []channel.Outgoing
	answer channel.Receipt
	panics bool
}

func (m *medium) Traits() channel.Traits { return m.traits }

func (m *medium) Deliver(_ context.Context, o channel.Outgoing, _ string) (channel.Receipt, error) {
	if m.panics {
		panic("a bug of the adapter")
	}
	m.got = append(m.got, o)
	return m.answer, nil
}

func TestTheHubBindsTheMediumsThread(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		mail := &medium{traits: channel.Traits{Name: "mail", Trust: channel.TrustLow, Push: true}, answer: channel.Receipt{ProviderID: "p1", ThreadRef: "T-9"}}
		h := must(channel.NewHub(db.Journal, channeldb.New(), mail, console.New()))
		thread := db.IDs.New()
		db.Do(t, func(tx event.Tx) error { return h.Open(tx, "mail", thread, id.Nil, "ann@example.org") })
		m := event.OutboundMessage{Channel: "mail", ThreadID: thread, Address: "ann@example.org", Text: "hello"}
		r, err := h.Deliver(ctx, b.Account, m, 1, "k")
		if err != nil || r.State != "sent" || r.ProviderID != "p1" {
			t.Fatalf("%+v, %v", r, err)
		}
		for range 2 {
			db.Do(t, func(tx event.Tx) error { return h.Bind(tx, "mail", thread, m.Address, r.ThreadRef) })
		}
		in := b.said("in-1", "an answer")
		in.Thread = "T-9"
		if a := b.accept(t, in); a.ThreadID != thread {
			t.Error("the answer came to another thread")
		}
		in.ProviderID, in.Sender = "in-2", "eve@example.org"
		if a := b.accept(t, in); a.ThreadID == thread {
			t.Error("somebody else's mail with the thread's name got in")
		}
		if _, err := h.Deliver(ctx, b.Account, m, 1, "k"); err != nil || mail.got[1].ThreadRef != "T-9" || mail.got[0].ThreadRef != "" {
			t.Errorf("the medium was not told its thread: %+v, %v", mail.got, err)
		}
		mail.panics = true
		if _, err := h.Deliver(ctx, b.Account, m, 1, "k"); !fault.Is(err, fault.Unknown) {
			t.Errorf("a panic: %v", err)
		}
		if _, err := h.Deliver(ctx, b.Account, event.OutboundMessage{Channel: "gone"}, 1, "k"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a channel that is not here: %v", err)
		}
	})
}

func TestTheHubRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	ok := channel.Traits{Name: "mail", Trust: channel.TrustLow}
	for name, all := range map[string][]channel.Adapter{
		"two of a name": {&medium{traits: ok}, &medium{traits: ok}},
		"no name":       {&medium{traits: channel.Traits{Trust: channel.TrustLow}}},
		"no trust":      {&medium{traits: channel.Traits{Name: "mail"}}},
		"tiny limit":    {&medium{traits: channel.Traits{Name: "mail", Trust: channel.TrustLow, Limit: channel.Limit{Max: 3}}}},
	} {
		if _, err := channel.NewHub(nil, nil, all...); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
