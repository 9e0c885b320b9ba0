package dispatchdb_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestAPersonsMessageBecomesATask(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		m := b.take(b.byPerson(b.house.owner, "What is waiting?"))
		b.want(m, "tasked")
		e, task := last[event.AgentTask](b)
		if task.Agent != "coordinator" || task.MessageID != m.MessageID || task.ThreadID != m.ThreadID || task.Text != m.Text ||
			task.Requester != "person:"+b.house.owner.String() || task.Trust != 800_000 || task.RunID.IsZero() || task.TaskID.IsZero() {
			t.Errorf("%+v", task)
		}
		in, _ := last[event.InboundMessage](b)
		if e.Causation != in.ID || e.Correlation != in.ID || e.Stream != m.ThreadID || e.Label.String() != "p:a" || e.Subject != b.house.owner {
			t.Errorf("causation %s correlation %s label %s subject %s", e.Causation, e.Correlation, e.Label, e.Subject)
		}
		c, ids, err := b.d.Contact(context.Background(), b.Account, task.ContactID)
		if err != nil || c.Status != dispatch.Confirmed || c.PersonID != b.house.owner || len(ids) != 1 || ids[0].Channel != "console" {
			t.Errorf("the person's contact: %+v %+v %v", c, ids, err)
		}
		again := b.byPerson(b.house.owner, "again")
		again.Channel, again.Proof = "cli", "token"
		b.take(again)
		if _, task2 := last[event.AgentTask](b); task2.ContactID != task.ContactID {
			t.Error("one person is two contacts")
		}
		if n := len(b.of("contact.saved")); n != 2 { // one per channel, not one per message
			t.Errorf("%d contact.saved, want 2", n)
		}
		b.take(b.byPerson(b.house.owner, "once more"))
		if n := len(b.of("contact.saved")); n != 2 {
			t.Errorf("%d contact.saved after a third message, want 2", n)
		}
	})
}

func TestTheGatesStandInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) {
			c.MaxMessageBytes = 50
			c.Outsiders = dispatch.Rate{Burst: 6, PerMinute: 1}
			c.Sender = dispatch.Rate{Burst: 1, PerMinute: 1}
			open := dispatch.ChannelPolicy{Unknown: dispatch.Allow, Provisional: dispatch.Allow, Unproven: dispatch.Allow, OverRate: dispatch.Reject}
			c.Channels = map[string]dispatch.ChannelPolicy{"mail": open, "chat": open}
		})
		bad := b.known("Mallory", "mail", "mallory@x")
		status := dispatch.Blocked
		if _, err := b.d.ChangeContact(context.Background(), b.Account, b.house.owner, bad.ID, dispatch.Change{Version: bad.Version, Status: &status}); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			channel, address, text, want string
		}{
			{"fax", "x", "hi", "rejected unknown_channel"},
			{"mail", "mallory@x", strings.Repeat("x", 51), "rejected too_large"}, // size before everything, and it takes no token
			{"mail", "mallory@x", "1", "rejected blocked_sender"},                // token 1; blocked before the sender's rate
			{"mail", "mallory@x", "2", "rejected blocked_sender"},                // token 2: not sender_rate
			{"mail", "eve@x", "3", "held untrusted"},                             // token 3: 0.12 is below the floor
			{"mail", "eve@x", "4", "rejected sender_rate"},                       // token 4: the rate before the floor
			{"chat", "bob", "5", "tasked"},                                       // token 5
			{"chat", "bob", "6", "rejected sender_rate"},                         // token 6
			{"mail", "mallory@x", "7", "rejected account_rate"},                  // the account's before the block
			{"chat", "carl", "8", "rejected account_rate"},
		} {
			m := b.from(tt.address, tt.text)
			m.Channel = tt.channel
			b.want(b.take(m), tt.want)
		}
		if m := b.take(b.byPerson(b.house.owner, "the owner")); b.fate(m) != "tasked" {
			t.Error("a flood from outside keeps the owner out")
		}
		_, r := last[event.MessageRejected](b)
		if r.Reason != "account_rate" || r.Limit != 6 {
			t.Errorf("%+v", r)
		}
		// Nothing is silent: each message has its task, its held or its rejected event.
		in, out := len(b.of("inbound.message")), len(b.of("agent.task"))+len(b.of("message.held"))+len(b.of("message.rejected"))
		if in != 11 || in != out {
			t.Errorf("%d messages, %d decisions", in, out)
		}
	})
}

func TestRateWindowsSurviveARestart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) { c.Person = dispatch.Rate{Burst: 3, PerMinute: 1} })
		for i := range 3 {
			b.want(b.take(b.byPerson(b.house.owner, fmt.Sprint(i))), "tasked")
		}
		b.restart()
		b.want(b.take(b.byPerson(b.house.owner, "after the restart")), "rejected sender_rate")
		b.Clock.Advance(time.Minute)
		b.want(b.take(b.byPerson(b.house.owner, "a minute later")), "tasked")
		b.want(b.take(b.byPerson(b.house.owner, "at once")), "rejected sender_rate")
		b.Clock.Advance(-time.Hour) // the clock jumps back and recovers by itself
		b.want(b.take(b.byPerson(b.house.owner, "back")), "rejected sender_rate")
		b.Clock.Advance(time.Minute)
		b.want(b.take(b.byPerson(b.house.owner, "recovered")), "tasked")
	})
}

func TestRatesHoldUnderConcurrency(t *testing.T) {
	t.Parallel()
	ten := dispatch.Rate{Burst: 10, PerMinute: 1}
	for gate, change := range map[string]func(*dispatch.Config){
		"sender_rate":  func(c *dispatch.Config) { c.Person = ten },
		"account_rate": func(c *dispatch.Config) { c.People = ten }, // the first row that the gates lock
	} {
		t.Run(gate, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				b := setup(t, db, change)
				ms := make([]event.InboundMessage, 40)
				var wg sync.WaitGroup
				for i := range ms {
					ms[i] = b.byPerson(b.house.owner, fmt.Sprint(i))
					wg.Go(func() {
						if err := b.tryTake(ms[i]); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				got := map[string]int{}
				for _, m := range ms {
					got[b.fate(m)]++
				}
				if got["tasked"] != 10 || got["rejected "+gate] != 30 {
					t.Errorf("%v, want 10 tasked and 30 rejected", got)
				}
				if n := len(b.of("contact.saved")); n != 1 {
					t.Errorf("%d contacts were made of one person", n)
				}
			})
		})
	}
}

func TestTenThousandStrangersDoNotGrow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("10,000 messages")
	}
	db := storetest.OpenSQLite(t)
	b := setup(t, db, func(c *dispatch.Config) {
		c.Outsiders = dispatch.Rate{Burst: 1_000_000, PerMinute: 1_000_000}
		c.Channels = map[string]dispatch.ChannelPolicy{"mail": {Unknown: dispatch.Allow, Provisional: dispatch.Hold, Unproven: dispatch.Hold, OverRate: dispatch.Hold}}
		c.Trust.Floor = 200_000 // 0.12: each is held at the last gate, behind the sender's rate
	})
	const all, at = 10_000, 100
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	var before uint64
	var most int64
	for i := 0; i < all; i += at {
		b.Do(t, func(tx event.Tx) error {
			for j := range at {
				m := b.from(fmt.Sprintf("stranger-%d@x", i+j), "buy this")
				if _, err := tx.Emit(b.in.As("mail"), event.Draft{Payload: m, Stream: m.ThreadID, Label: event.NewLabel(event.Outside, event.Public())}); err != nil {
					return err
				}
			}
			return nil
		})
		b.Clock.Advance(6 * time.Second) // 1,000 a minute
		most = max(most, b.buckets())
		if i == all/10 {
			before = heap()
		}
	}
	// One message refills in four seconds: all but the last rows tell nothing.
	if most > 3*at {
		t.Errorf("the rate table grew to %d rows", most)
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes over 9,000 strangers", before, after)
	}
	if c, err := b.d.Contacts(context.Background(), b.Account, "", id.Nil, 10); err != nil || len(c) != 0 {
		t.Errorf("strangers became contacts: %v, %v", c, err)
	}
	if _, n, err := b.d.HeldMessages(context.Background(), b.Account, id.Nil, 1); err != nil || n != all {
		t.Errorf("%d are held, %v; want all %d", n, err, all)
	}
}

// brokenStore cannot read contacts.
type brokenStore struct {
	dispatch.Store
	broken bool
}

func (s *brokenStore) ContactByAddress(tx event.Tx, channel, address string) (dispatch.Contact, error) {
	if s.broken {
		return dispatch.Contact{}, fault.New(fault.Unavailable, "contacts cannot be read")
	}
	return s.Store.ContactByAddress(tx, channel, address)
}

func TestAStoreThatFailsLetsNothingPass(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) {
			c.Channels = map[string]dispatch.ChannelPolicy{"chat": {Unknown: dispatch.Allow, Provisional: dispatch.Allow, Unproven: dispatch.Allow, OverRate: dispatch.Hold}}
		})
		s := &brokenStore{Store: dispatchdb.New(), broken: true}
		b.store = s
		b.start()
		m := b.from("bob", "hello")
		m.Channel = "chat"
		b.take(m) // the message is kept; its reaction is left to the router
		if n := len(b.of("agent.task")) + len(b.of("message.rejected")) + len(b.of("message.held")); n != 0 {
			t.Fatalf("%d decisions without a contact lookup", n)
		}
		if _, err := b.d.Fate(context.Background(), b.Account, m.MessageID); !fault.Is(err, fault.NotFound) {
			t.Errorf("it has a fate: %v", err)
		}
		// Called by the router when the store is back, it goes on as if nothing had been.
		s.broken = false
		in, _ := last[event.InboundMessage](b)
		b.Do(t, func(tx event.Tx) error { return b.d.OnInbound(tx, in) })
		b.want(m, "tasked")
	})
}

func TestRoutesAreData(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx, owner := context.Background(), b.house.owner
		agentOf := func(m event.InboundMessage) string {
			b.take(m)
			_, task := last[event.AgentTask](b)
			return task.Agent
		}
		first := b.byPerson(owner, "hello")
		if a := agentOf(first); a != "coordinator" {
			t.Errorf("default is %s", a)
		}
		_, task := last[event.AgentTask](b)
		save := func(kind, key, agent string) {
			t.Helper()
			if err := b.d.SaveRoute(ctx, b.Account, owner, dispatch.Route{Kind: kind, Key: key, Agent: agent}); err != nil {
				t.Fatal(err)
			}
		}
		save("channel", "console", "research")
		if a := agentOf(b.byPerson(owner, "by channel")); a != "research" {
			t.Errorf("by channel: %s", a)
		}
		save("contact", task.ContactID.String(), "coordinator")
		if a := agentOf(b.byPerson(owner, "contact over channel")); a != "coordinator" {
			t.Errorf("by contact: %s", a)
		}
		save("thread", first.ThreadID.String(), "research")
		inThread := b.byPerson(owner, "thread over contact")
		inThread.ThreadID = first.ThreadID
		if a := agentOf(inThread); a != "research" {
			t.Errorf("by thread: %s", a)
		}
		b.restart()
		inThread.MessageID = b.IDs.New()
		if a := agentOf(inThread); a != "research" {
			t.Errorf("by thread after a restart: %s", a)
		}
		asked := b.byPerson(owner, "I want research")
		asked.Agent = "research"
		if a := agentOf(asked); a != "research" {
			t.Errorf("asked for: %s", a)
		}
		goOn := b.byPerson(owner, "and on")
		goOn.ThreadID = asked.ThreadID
		if a := agentOf(goOn); a != "research" {
			t.Errorf("the thread did not stay with whom it was asked: %s", a)
		}
		nobody := b.byPerson(owner, "hello?")
		nobody.Agent = "nobody"
		b.want(b.take(nobody), "rejected unknown_agent")
		for _, r := range []dispatch.Route{{Kind: "moon", Key: "x", Agent: "research"}, {Kind: "thread", Key: "x", Agent: "research"},
			{Kind: "channel", Key: "fax", Agent: "research"}, {Kind: "channel", Key: "mail", Agent: "nobody"}} {
			if err := b.d.SaveRoute(ctx, b.Account, owner, r); err == nil {
				t.Errorf("%+v was saved", r)
			}
		}
		if err := b.d.DropRoute(ctx, b.Account, owner, "contact", task.ContactID.String()); err != nil {
			t.Fatal(err)
		}
		if a := agentOf(b.byPerson(owner, "channel again")); a != "research" {
			t.Errorf("after dropping the contact's route: %s", a)
		}
		if err := b.d.DropRoute(ctx, b.Account, owner, "contact", task.ContactID.String()); !fault.Is(err, fault.NotFound) {
			t.Errorf("dropping twice: %v", err)
		}
	})
}

func TestStrangersChooseNoAgent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) {
			c.Channels = map[string]dispatch.ChannelPolicy{"chat": {Unknown: dispatch.Allow, Provisional: dispatch.Allow, Unproven: dispatch.Allow, OverRate: dispatch.Hold}}
		})
		m := b.from("bob", "research for me")
		m.Channel, m.Agent = "chat", "research"
		b.take(m)
		if _, task := last[event.AgentTask](b); task.Agent != "coordinator" {
			t.Errorf("a stranger got %s", task.Agent)
		}
	})
}

func TestEveryTaskComesFromDispatch(t *testing.T) {
	t.Parallel()
	row, ok := event.Lookup("agent.task")
	if !ok || len(row.Layers) != 1 || row.Layers[0] != event.LayerDispatch || len(row.Classes) != 1 || row.Classes[0] != event.ClassDispatch {
		t.Errorf("agent.task may be said by %v %v", row.Layers, row.Classes)
	}
	if _, err := event.NewOrigin(event.LayerAgent, event.ClassAgent, "agent", "agent.task"); !fault.Is(err, fault.Denied) {
		t.Errorf("an agent may give work: %v", err)
	}
	db := storetest.OpenSQLite(t)
	b := setup(t, db)
	b.Do(t, func(tx event.Tx) error {
		if _, err := b.d.Task(tx, dispatch.Task{Agent: "coordinator", Requester: "person:x", Text: "hi"}); !fault.Is(err, fault.Internal) {
			t.Errorf("a task without a cause: %v", err)
		}
		return nil
	})
}
