package dispatchdb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
)

// held returns the pending messages.
func (b *bundle) held() []dispatch.HeldMessage {
	b.t.Helper()
	out, _, err := b.d.HeldMessages(context.Background(), b.Account, id.Nil, 200)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bundle) heldOf(m event.InboundMessage) id.ID {
	b.t.Helper()
	for _, h := range b.held() {
		if h.MessageID == m.MessageID {
			return h.ID
		}
	}
	b.t.Fatalf("message %q is not held", m.Text)
	return id.Nil
}

func (b *bundle) proven(address, text string) event.InboundMessage {
	m := b.from(address, text)
	m.Proof = "signature"
	return m
}

func TestIdentifyingLetsTheProvenMessagesThrough(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx, owner := context.Background(), b.house.owner
		one, two := b.take(b.proven("ann@x", "one")), b.take(b.proven("ann@x", "two"))
		claimed := b.take(b.from("ann@x", "pretending to be Ann"))
		other := b.take(b.proven("bob@x", "from Bob"))
		for _, m := range []event.InboundMessage{one, two, claimed, other} {
			b.want(m, "held unknown_sender")
		}
		hs := b.held()
		if len(hs) != 4 || hs[0].Message.Text != "one" || hs[0].Label.String() != "k:*" || hs[2].Label.String() != "o:*" {
			t.Fatalf("%+v", hs)
		}
		b.restart() // held messages are rows
		c, err := b.d.Identify(ctx, b.Account, owner, b.heldOf(two), dispatch.Who{Name: "Ann"})
		if err != nil {
			t.Fatal(err)
		}
		if c.Status != dispatch.Confirmed || c.Name != "Ann" {
			t.Errorf("%+v", c)
		}
		b.want(one, "tasked")
		b.want(two, "tasked")
		b.want(claimed, "held unknown_sender") // the claim stays what it was
		b.want(other, "held unknown_sender")
		e, task := last[event.AgentTask](b)
		if task.Requester != "contact:"+c.ID.String() || task.Trust != 440_000 {
			t.Errorf("%+v", task)
		}
		// Proven and confirmed: house, for the contact and those who live here; the raise is recorded.
		want := event.NewLabel(event.House, event.Only("contact:"+c.ID.String(), "person:"+owner.String(), "agent:coordinator"))
		if e.Label.String() != want.String() {
			t.Errorf("label %s, want %s", e.Label, want)
		}
		settled := b.of("held.settled")
		if len(settled) != 2 || e.Causation != settled[1].ID {
			t.Errorf("%d settled; the task's cause is not the decision", len(settled))
		}
		b.want(b.take(b.proven("ann@x", "three")), "tasked")
		// An unproven message in her name is still nothing but a claim.
		b.want(b.take(b.from("ann@x", "four")), "held unproven_sender")
		if _, err := b.d.Identify(ctx, b.Account, owner, hs[0].ID, dispatch.Who{Name: "Ann"}); !fault.Is(err, fault.Conflict) {
			t.Errorf("settled twice: %v", err)
		}
	})
}

func TestAnUnprovenMessageIsNeverRaised(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) {
			c.Channels = map[string]dispatch.ChannelPolicy{"chat": {Unknown: dispatch.Allow, Provisional: dispatch.Allow, Unproven: dispatch.Allow, OverRate: dispatch.Hold}}
		})
		ann := b.known("Ann", "chat", "ann")
		m := b.from("ann", "it is me")
		m.Channel = "chat"
		b.take(m)
		e, task := last[event.AgentTask](b)
		if e.Label.Integrity() != event.Outside || task.ContactID != ann.ID || task.Trust != 360_000 {
			t.Errorf("label %s, %+v", e.Label, task)
		}
		if !e.Label.Audience().Includes(event.Only("contact:"+ann.ID.String())) || e.Label.Audience().Includes(event.Only("contact:"+b.IDs.New().String())) {
			t.Errorf("audience %s", e.Label.Audience())
		}
	})
}

func TestReleasingSaysNothingOfTheSender(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		m := b.take(b.from("eve@x", "let me in"))
		if err := b.d.Release(context.Background(), b.Account, b.house.owner, b.heldOf(m)); err != nil {
			t.Fatal(err)
		}
		b.want(m, "tasked")
		e, task := last[event.AgentTask](b)
		c, _, err := b.d.Contact(context.Background(), b.Account, task.ContactID)
		if err != nil || c.Status != dispatch.Provisional || e.Label.Integrity() != event.Outside {
			t.Errorf("%+v, %v, label %s", c, err, e.Label)
		}
		b.want(b.take(b.from("eve@x", "and again")), "held provisional_sender")
	})
}

func TestDismissingForgetsNobody(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		m := b.take(b.from("eve@x", "spam"))
		if err := b.d.Dismiss(context.Background(), b.Account, b.house.owner, b.heldOf(m)); err != nil {
			t.Fatal(err)
		}
		b.want(m, "rejected dismiss")
		b.want(b.take(b.from("eve@x", "more")), "held unknown_sender")
		_, s := last[event.HeldSettled](b)
		if s.Action != "dismiss" || s.PersonID != b.house.owner || s.MessageID != m.MessageID {
			t.Errorf("%+v", s)
		}
	})
}

func TestBlockingSettlesAllOfTheSender(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx, owner := context.Background(), b.house.owner
		one, two, other := b.take(b.from("eve@x", "1")), b.take(b.from("eve@x", "2")), b.take(b.from("bob@x", "3"))
		if err := b.d.Block(ctx, b.Account, owner, b.heldOf(one)); err != nil {
			t.Fatal(err)
		}
		b.want(one, "rejected block")
		b.want(two, "rejected block")
		b.want(other, "held unknown_sender")
		b.want(b.take(b.from("eve@x", "4")), "rejected blocked_sender")
		// A spoofed mail must not lock a confirmed contact out.
		b.known("Ann", "mail", "ann@x")
		spoofed := b.take(b.from("ann@x", "hateful things"))
		b.want(spoofed, "held unproven_sender")
		if err := b.d.Block(ctx, b.Account, owner, b.heldOf(spoofed)); !fault.Is(err, fault.Conflict) {
			t.Errorf("a claim blocked Ann: %v", err)
		}
		b.want(b.take(b.proven("ann@x", "the real Ann")), "tasked")
	})
}

func TestNoCountDropsAHeldMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) {
			c.Outsiders, c.Sender = dispatch.Rate{Burst: 10_000, PerMinute: 1}, dispatch.Rate{Burst: 10_000, PerMinute: 1}
		})
		real := b.take(b.proven("ann@x", "the real one"))
		var junk, anns []event.InboundMessage
		for i := range 120 {
			junk = append(junk, b.take(b.from(fmt.Sprintf("junk-%d@x", i), "junk")))
			anns = append(anns, b.take(b.proven("ann@x", fmt.Sprint("ann ", i))))
		}
		b.want(real, "held unknown_sender")
		if _, err := b.d.Identify(context.Background(), b.Account, b.house.owner, b.heldOf(real), dispatch.Who{Name: "Ann"}); err != nil {
			t.Fatal(err)
		}
		b.restart() // a batch is out, the rest is a timer's
		if n := b.fire(); n < 2 {
			t.Errorf("%d timers, want one per further batch", n)
		}
		for _, m := range append(anns, real) {
			b.want(m, "tasked")
		}
		for _, m := range junk {
			b.want(m, "held unknown_sender")
		}
		var order []string
		for _, e := range b.of("agent.task") {
			if p := e.Payload.(event.AgentTask); strings.HasPrefix(p.Text, "ann ") {
				order = append(order, p.Text)
			}
		}
		if len(order) != 120 || order[0] != "ann 0" || order[119] != "ann 119" {
			t.Errorf("%d in order %v", len(order), order)
		}
	})
}

func TestContactsChangeOnAPersonsWordOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx, owner := context.Background(), b.house.owner
		ann := b.known("Ann", "mail", "ann@x")
		bob := b.known("Bob", "", "")
		if _, err := b.d.AddContact(ctx, b.Account, owner, dispatch.NewContact{Name: "Eve", Channel: "mail", Address: "ann@x"}); !fault.Is(err, fault.Conflict) {
			t.Errorf("an address of two: %v", err)
		}
		if err := b.d.AddAddress(ctx, b.Account, owner, bob.ID, "mail", "ann@x"); !fault.Is(err, fault.Conflict) {
			t.Errorf("taking an address: %v", err)
		}
		if err := b.d.AddAddress(ctx, b.Account, owner, ann.ID, "chat", "ann"); err != nil {
			t.Fatal(err)
		}
		if err := b.d.AddAddress(ctx, b.Account, owner, ann.ID, "chat", "ann"); err != nil {
			t.Errorf("adding it again: %v", err)
		}
		_, ids, _ := b.d.Contact(ctx, b.Account, ann.ID)
		if len(ids) != 2 || ids[0].AddedBy != "person:"+owner.String() {
			t.Errorf("%+v", ids)
		}
		name, entity := "Ann Other", b.IDs.New()
		changed, err := b.d.ChangeContact(ctx, b.Account, owner, ann.ID, dispatch.Change{Version: 1, Name: &name, EntityID: &entity})
		if err != nil || changed.Version != 2 || changed.EntityID != entity {
			t.Errorf("%+v, %v", changed, err)
		}
		if _, err := b.d.ChangeContact(ctx, b.Account, owner, ann.ID, dispatch.Change{Version: 1, Name: &name}); !fault.Is(err, fault.Conflict) {
			t.Errorf("an old version: %v", err)
		}
		// A person of the account cannot be locked out through the address book.
		b.take(b.byPerson(owner, "hi"))
		_, task := last[event.AgentTask](b)
		me, _, _ := b.d.Contact(ctx, b.Account, task.ContactID)
		blocked := dispatch.Blocked
		if _, err := b.d.ChangeContact(ctx, b.Account, owner, me.ID, dispatch.Change{Version: me.Version, Status: &blocked}); !fault.Is(err, fault.Conflict) {
			t.Errorf("blocking a person: %v", err)
		}
		list, err := b.d.Contacts(ctx, b.Account, dispatch.Confirmed, id.Nil, 10)
		if err != nil || len(list) != 3 {
			t.Errorf("%d contacts, %v", len(list), err)
		}
		if err := b.d.DropAddress(ctx, b.Account, owner, "mail", "ann@x"); err != nil {
			t.Fatal(err)
		}
		b.want(b.take(b.proven("ann@x", "hello")), "held unknown_sender")
		b.See(t, func(tx event.Tx) error {
			subjects, err := b.d.Subjects(tx, ann.ID)
			if !slices.Contains(subjects, event.SenderSubject(b.Account, "chat", "ann")) || subjects[0] != ann.ID {
				t.Errorf("subjects %v", subjects)
			}
			return err
		})
		foreign := db.NewAccount(t)
		if _, _, err := b.d.Contact(ctx, foreign, ann.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another account sees Ann: %v", err)
		}
	})
}

func TestErasedWordsGoNowhere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx, owner := context.Background(), b.house.owner
		b.known("Ann", "mail", "ann@x")
		b.asks(id.Nil, "question")
		b.answerAll("an answer about Ann")
		m := b.take(b.from("eve@x", "my address is 12 High Street"))
		system := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "subject.erased")
		for _, address := range []string{"ann@x", "eve@x"} {
			if err := db.Erase(ctx, b.Account, event.SenderSubject(b.Account, "mail", address), "person:"+owner.String(), system); err != nil {
				t.Fatal(err)
			}
		}
		hs := b.held()
		if len(hs) != 1 || !hs[0].Erased || hs[0].Message.Text != "" || hs[0].Message.Sender != "" {
			t.Fatalf("%+v", hs)
		}
		if _, err := b.d.Identify(ctx, b.Account, owner, hs[0].ID, dispatch.Who{Name: "Eve"}); !fault.Is(err, fault.Conflict) {
			t.Errorf("identified from nothing: %v", err)
		}
		if err := b.d.Dismiss(ctx, b.Account, owner, hs[0].ID); err != nil {
			t.Errorf("dismiss: %v", err)
		}
		b.want(m, "rejected dismiss")
		b.work()
		if _, r := last[event.DeliveryReceipt](b); r.State != "failed" || len(b.world.calls) != 0 {
			t.Errorf("%+v, %d attempts", r, len(b.world.calls))
		}
		b.want(b.take(b.proven("ann@x", "it is Ann again")), "held unknown_sender")
	})
}

// TestAViewerDecidesNothing: the dispatcher itself asks what a person may do.
func TestAViewerDecidesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.OpenSQLite(t))
	ann := b.known("Ann", "mail", "ann@x")
	held := b.heldOf(b.take(b.from("eve@x", "let me in")))
	ctx, by, status := context.Background(), b.house.viewer, dispatch.Blocked
	_, add := b.d.AddContact(ctx, b.Account, by, dispatch.NewContact{Name: "Eve"})
	_, change := b.d.ChangeContact(ctx, b.Account, by, ann.ID, dispatch.Change{Version: ann.Version, Status: &status})
	_, identify := b.d.Identify(ctx, b.Account, by, held, dispatch.Who{Name: "Eve"})
	for what, err := range map[string]error{
		"add": add, "change": change, "identify": identify,
		"address": b.d.AddAddress(ctx, b.Account, by, ann.ID, "chat", "ann"), "drop": b.d.DropAddress(ctx, b.Account, by, "mail", "ann@x"),
		"release": b.d.Release(ctx, b.Account, by, held), "dismiss": b.d.Dismiss(ctx, b.Account, by, held), "block": b.d.Block(ctx, b.Account, by, held),
		"route":    b.d.SaveRoute(ctx, b.Account, by, dispatch.Route{Kind: dispatch.RouteChannel, Key: "mail", Agent: "research"}),
		"no route": b.d.DropRoute(ctx, b.Account, by, dispatch.RouteChannel, "mail"),
		"settle":   b.d.Settle(ctx, b.Account, by, b.IDs.New(), true), "resend": b.d.Resend(ctx, b.Account, by, b.IDs.New()),
	} {
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(b.held()) != 1 {
		t.Error("the message is no longer held")
	}
}
