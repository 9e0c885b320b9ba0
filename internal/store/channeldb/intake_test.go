package channeldb_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestAMessageIsInTheJournalWhenItIsAccepted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		m := b.said("m1", "Hello 👋")
		m.SenderName = "Ann"
		f, err := b.in.Store(context.Background(), b.Account, "note.txt", "text/html", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		m.Attachments = []channel.File{f}
		a := b.accept(t, m)
		got := b.of(t, "inbound.message")
		if len(got) != 1 {
			t.Fatalf("%d events, want 1", len(got))
		}
		want := event.InboundMessage{Channel: "mail", ThreadID: a.ThreadID, MessageID: a.MessageID, ProviderID: "m1",
			Sender: "ann@example.org", SenderName: "Ann", Proof: "none", Text: "Hello 👋",
			Attachments: []event.Attachment{event.Attachment(f)}}
		if d := cmp.Diff(event.Payload(want), got[0].Payload); d != "" {
			t.Error(d)
		}
		if e := got[0]; e.Stream != a.ThreadID || e.Source != "channel/mail" || e.Label.String() != "o:*" ||
			e.Subject != event.SenderSubject(b.Account, "mail", "ann@example.org") {
			t.Errorf("stream %s source %s label %s subject %s", e.Stream, e.Source, e.Label, e.Subject)
		}
		at, err := b.in.Attachment(context.Background(), b.Account, f.Digest)
		if err != nil || at.MessageID != a.MessageID || at.Type != "text/html" || at.Size != 7 {
			t.Errorf("attachment %+v, %v", at, err)
		}
		if _, err := b.in.Attachment(context.Background(), db.NewAccount(t), f.Digest); !fault.Is(err, fault.NotFound) {
			t.Errorf("another account sees the attachment: %v", err)
		}
	})
}

func TestARepeatReturnsTheFirstIds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		first := b.accept(t, b.said("m1", "once"))
		b.Reopen(t)
		b.in = intake(t, db)
		again := b.accept(t, b.said("m1", "once"))
		if first.Repeat || !again.Repeat || again.MessageID != first.MessageID || again.ThreadID != first.ThreadID {
			t.Errorf("first %+v, again %+v", first, again)
		}
		if _, err := b.in.Accept(context.Background(), b.said("m1", "twice")); !fault.Is(err, fault.Conflict) {
			t.Errorf("other words under the same id: %v", err)
		}
		other := b.said("m1", "once")
		other.Channel = "chat"
		if a := b.accept(t, other); a.Repeat {
			t.Error("ids of two channels meet")
		}
		if n := len(b.of(t, "inbound.message")); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
	})
}

func TestTheSameMessageManyTimesAtOnceIsOneMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		nodes := []*channel.Intake{b.in}
		if db.Options.URL != "" {
			nodes = append(nodes, intake(t, db.Second(t)))
		}
		const each = 8
		ids := make([]channel.Accepted, each*len(nodes))
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				m := b.said("same", "once")
				m.Thread = "" // the loser's new thread must not stay
				a, err := nodes[i%len(nodes)].Accept(context.Background(), m)
				if err != nil {
					t.Error(err)
				}
				ids[i] = a
			})
		}
		wg.Wait()
		fresh := 0
		for _, a := range ids {
			if !a.Repeat {
				fresh++
			}
			if a.MessageID != ids[0].MessageID || a.ThreadID != ids[0].ThreadID {
				t.Errorf("two ids: %+v and %+v", a, ids[0])
			}
		}
		if n := len(b.of(t, "inbound.message")); n != 1 || fresh != 1 {
			t.Errorf("%d events, %d said to be the first; want 1 and 1", n, fresh)
		}
	})
}

func TestThreadsKeepToTheirOwners(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ann := b.accept(t, b.said("1", "from Ann"))
		if a := b.accept(t, b.said("2", "Ann again")); a.ThreadID != ann.ThreadID {
			t.Error("the medium's thread became two")
		}
		bob := b.said("3", "Bob names Ann's thread")
		bob.Sender = "bob@example.org"
		if a := b.accept(t, bob); a.ThreadID == ann.ThreadID {
			t.Error("Bob got into Ann's thread by its name")
		}
		bob.ProviderID, bob.Thread, bob.ThreadID = "4", "", ann.ThreadID
		if _, err := b.in.Accept(context.Background(), bob); !fault.Is(err, fault.NotFound) {
			t.Errorf("Bob got into Ann's thread by its id: %v", err)
		}
		p1, p2 := db.IDs.New(), db.IDs.New()
		mine := channel.Inbound{Account: b.Account, Channel: "console", Sender: p1.String(), PersonID: p1, Proof: channel.ProofSession, Text: "mine"}
		own := b.accept(t, mine)
		mine.ThreadID, mine.Channel, mine.Proof = own.ThreadID, "cli", channel.ProofToken
		if a := b.accept(t, mine); a.ThreadID != own.ThreadID {
			t.Error("a person cannot go on from the command line")
		}
		mine.Sender, mine.PersonID = p2.String(), p2
		if _, err := b.in.Accept(context.Background(), mine); !fault.Is(err, fault.NotFound) {
			t.Errorf("another person got in: %v", err)
		}
		ts, err := b.in.Threads(context.Background(), b.Account, p1, id.Nil, 10)
		if err != nil || len(ts) != 1 || ts[0].ID != own.ThreadID {
			t.Errorf("threads of the person: %+v, %v", ts, err)
		}
	})
}

// Bug report 7: the cursor starts at 0 in each process.
func TestACursorSurvivesARestart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		feed := func(upTo int) (consumed []int) { // what a polling adapter does
			place, err := b.in.Cursor(context.Background(), b.Account, "mail")
			if err != nil {
				t.Fatal(err)
			}
			from := 0
			_, _ = fmt.Sscan(place, &from)
			for i := from + 1; i <= upTo; i++ {
				m := b.said(fmt.Sprint("m", i), fmt.Sprint("message ", i))
				m.Cursor = fmt.Sprint(i)
				b.accept(t, m)
				consumed = append(consumed, i)
			}
			return consumed
		}
		if n := len(feed(50)); n != 50 {
			t.Fatalf("consumed %d, want 50", n)
		}
		b.Reopen(t)
		b.in = intake(t, db)
		if d := cmp.Diff([]int{51}, feed(51)); d != "" {
			t.Error(d)
		}
		if n := len(b.of(t, "inbound.message")); n != 51 {
			t.Errorf("%d events, want 51", n)
		}
	})
}

func TestACursorMovesOnlyWithItsMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		db.React(storetest.Reactions{})
		m := b.said("1", "kept")
		m.Cursor = "1"
		b.accept(t, m)
		bad := b.said("1", "other words under an id that was used")
		bad.Cursor = "2"
		if _, err := b.in.Accept(context.Background(), bad); err == nil {
			t.Fatal("accepted")
		}
		if c, err := b.in.Cursor(context.Background(), b.Account, "mail"); c != "1" || err != nil {
			t.Errorf("cursor %q, %v; want 1", c, err)
		}
	})
}

func TestAChannelSaysChangesOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		for _, s := range []struct {
			on     bool
			reason string
		}{{true, ""}, {true, ""}, {false, "dial_failed"}, {false, "dial_failed"}, {false, "auth_refused"}, {true, ""}} {
			if err := b.in.SetConnected(ctx, b.Account, "mail", s.on, s.reason); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, e := range b.of(t, "channel.changed") {
			p := e.Payload.(event.ChannelChanged)
			got = append(got, strings.TrimSpace(fmt.Sprint(p.Connected, " ", p.Reason)))
		}
		if d := cmp.Diff([]string{"true", "false dial_failed", "false auth_refused", "true"}, got); d != "" {
			t.Error(d)
		}
		if err := b.in.SetConnected(ctx, b.Account, "mail", false, "The server said: no"); !fault.Is(err, fault.Invalid) {
			t.Errorf("free text as a reason: %v", err)
		}
		if s, err := b.in.States(ctx, b.Account); err != nil || len(s) != 1 || !s[0].Connected {
			t.Errorf("states %+v, %v", s, err)
		}
	})
}

func TestANoticeIsTakenInOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		n := channel.Notice{Account: b.Account, Channel: "mail", Kind: channel.NoticeDelivery, ProviderID: "x9", Data: []byte(`{ "state": "read" }`), Proven: true}
		first, err := b.in.Notify(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		n.Data = []byte(`{"state":"read"}`) // the same, written otherwise
		if again, err := b.in.Notify(context.Background(), n); err != nil || !again.Repeat || again.MessageID != first.MessageID {
			t.Errorf("again: %+v, %v", again, err)
		}
		n.Data = []byte(`{"state":"delivered"}`)
		if other, err := b.in.Notify(context.Background(), n); err != nil || other.Repeat {
			t.Errorf("another state: %+v, %v", other, err)
		}
		evs := b.of(t, "inbound.event")
		if len(evs) != 2 || evs[0].Label.String() != "k:*" || string(evs[0].Payload.(event.InboundEvent).Data) != `{"state":"read"}` {
			t.Errorf("%+v", evs)
		}
		for name, data := range map[string]string{"no JSON": "{", "a fraction": `{"a":0.5}`, "too much": `"` + strings.Repeat("x", 20_000) + `"`} {
			n.Data = []byte(data)
			if _, err := b.in.Notify(context.Background(), n); err == nil {
				t.Errorf("%s was taken", name)
			}
		}
	})
}
