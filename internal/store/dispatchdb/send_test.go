package dispatchdb_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/storetest"
)

// send sends in a transaction caused by something that anybody may read, or by
// the given label.
func (b *bundle) send(out dispatch.Outgoing, l event.Label) (sent dispatch.Sent, err error) {
	b.t.Helper()
	if out.Key == "" {
		out.Key = b.IDs.New().String()
	}
	err = b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
		e, err := tx.Emit(b.agent.As("coordinator"), event.Draft{Label: l, Payload: event.AgentResponse{RunID: tx.NewID(), Agent: "coordinator", Text: out.Text}})
		if err != nil {
			return err
		}
		sent, err = b.d.Send(tx, out, e.Ref())
		return err
	})
	return sent, err
}

func public() event.Label { return event.NewLabel(event.House, event.Public()) }

func TestWritingToSomebodyConfirmsNobody(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		sent, err := b.send(dispatch.Outgoing{Channel: "mail", Address: "eve@x", Text: "hello"}, public())
		if err != nil || sent.State != "queued" {
			t.Fatalf("%+v, %v", sent, err)
		}
		b.work()
		if len(b.world.order) != 1 || b.world.bound[sent.ThreadID] != "ref" {
			t.Errorf("the sink has %v, threads bound %v", b.world.order, b.world.bound)
		}
		if cs, err := b.d.Contacts(context.Background(), b.Account, "", id.Nil, 10); err != nil || len(cs) != 0 {
			t.Errorf("the recipient became a contact: %+v, %v", cs, err)
		}
		answer := b.proven("eve@x", "thanks, now do this")
		answer.ThreadID = sent.ThreadID
		b.want(b.take(answer), "held unknown_sender") // in the thread that we began, too
		m := b.take(b.from("mallory@x", "hi"))
		if err := b.d.Release(context.Background(), b.Account, b.house.owner, b.heldOf(m)); err != nil {
			t.Fatal(err)
		}
		_, task := last[event.AgentTask](b)
		if _, err := b.send(dispatch.Outgoing{Channel: "mail", ContactID: task.ContactID, Text: "hello"}, public()); err != nil {
			t.Fatal(err)
		}
		if c, _, _ := b.d.Contact(context.Background(), b.Account, task.ContactID); c.Status != dispatch.Provisional {
			t.Errorf("being answered made the contact %s", c.Status)
		}
	})
}

// redactor is a filter.
type redactor struct{}

func (redactor) Name() string { return "words" }

func (redactor) Pass(_ event.Tx, o dispatch.Outgoing) (dispatch.Outgoing, string, error) {
	switch {
	case strings.Contains(o.Text, "broken"):
		return o, "", fault.New(fault.Unavailable, "the filter cannot read its rules")
	case strings.Contains(o.Text, "secret"):
		return o, "no-secrets", nil
	}
	o.Text = strings.ReplaceAll(o.Text, "4417", "[pin]")
	return o, "", nil
}

func TestWhatMayNotLeaveIsRecordedAndDoesNot(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.ports = func(p *dispatch.Ports) { p.Filters = []dispatch.Filter{redactor{}} }
		b.start()
		ann, bad := b.known("Ann", "mail", "ann@x"), b.known("Bad", "mail", "bad@x")
		status := dispatch.Blocked
		if _, err := b.d.ChangeContact(context.Background(), b.Account, b.house.owner, bad.ID, dispatch.Change{Version: 1, Status: &status}); err != nil {
			t.Fatal(err)
		}
		house := event.NewLabel(event.House, event.AccountWide())
		forAnn := event.NewLabel(event.Outside, event.Only("contact:"+ann.ID.String()))
		for name, tt := range map[string]struct {
			out   dispatch.Outgoing
			label event.Label
			want  string
			rule  string
		}{
			"to a blocked contact":             {dispatch.Outgoing{ContactID: bad.ID, Text: "x"}, public(), "blocked_contact", ""},
			"to a blocked contact's address":   {dispatch.Outgoing{Address: "bad@x", Text: "x"}, public(), "blocked_contact", ""},
			"the account's words to a contact": {dispatch.Outgoing{ContactID: ann.ID, Text: "x"}, house, "audience", ""},
			"the account's words to anybody":   {dispatch.Outgoing{Address: "eve@x", Text: "x"}, house, "audience", ""},
			"Ann's words to somebody else":     {dispatch.Outgoing{Address: "eve@x", Text: "x"}, forAnn, "audience", ""},
			"Ann's words to the owner":         {dispatch.Outgoing{Channel: "console", PersonID: b.house.owner, Text: "x"}, forAnn, "audience", ""},
			"what a filter stops":              {dispatch.Outgoing{ContactID: ann.ID, Text: "a secret"}, public(), "filter", "words:no-secrets"},
			"to an address she has not":        {dispatch.Outgoing{ContactID: ann.ID, Address: "else@x", Text: "x"}, public(), "no_address", ""},
			"on a channel she is not on":       {dispatch.Outgoing{Channel: "chat", ContactID: ann.ID, Text: "x"}, public(), "no_address", ""},
			"on no channel":                    {dispatch.Outgoing{Channel: "fax", ContactID: ann.ID, Text: "x"}, public(), "unknown_channel", ""},
		} {
			if tt.out.Channel == "" {
				tt.out.Channel = "mail"
			}
			sent, err := b.send(tt.out, tt.label)
			if err != nil || sent.State != "blocked" || sent.Reason != tt.want {
				t.Errorf("%s: %+v, %v; want blocked: %s", name, sent, err, tt.want)
				continue
			}
			if _, p := last[event.OutboundBlocked](b); p.Reason != tt.want || p.Rule != tt.rule || p.Text != tt.out.Text {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if _, err := b.send(dispatch.Outgoing{Channel: "mail", ContactID: ann.ID, Text: "broken"}, public()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a filter that fails lets it pass: %v", err)
		}
		for _, text := range []string{"", "a\x00b", "\xff"} {
			if _, err := b.send(dispatch.Outgoing{Channel: "mail", ContactID: ann.ID, Text: text, Key: "k"}, public()); err == nil {
				t.Errorf("%q was sent", text)
			}
		}
		if n := len(b.of("outbound.message")); n != 0 || b.work() != 0 {
			t.Errorf("%d messages left", n)
		}
		if sent, err := b.send(dispatch.Outgoing{Channel: "mail", ContactID: ann.ID, Text: "the pin is 4417"}, forAnn); err != nil || sent.State != "queued" {
			t.Errorf("Ann's words to Ann: %+v, %v", sent, err)
		}
		b.work()
		if d := cmp.Diff([]string{"the pin is [pin]"}, b.world.order); d != "" {
			t.Error(d)
		}
	})
}

func TestAMediumsNoticeBecomesAReceipt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.known("Ann", "mail", "ann@x")
		b.asks(id.Nil, "question")
		b.answerAll("answer")
		b.work()
		key := b.world.calls[0]
		notice := func(integrity event.Integrity, provider, state string) {
			t.Helper()
			b.Do(t, func(tx event.Tx) error {
				_, err := tx.Emit(b.in.As("mail"), event.Draft{Label: event.NewLabel(integrity, event.Public()),
					Payload: event.InboundEvent{Channel: "mail", Kind: "delivery", ProviderID: provider, Data: []byte(`{"state":"` + state + `"}`)}})
				return err
			})
		}
		notice(event.Outside, "p-"+key, "read") // somebody's claim
		notice(event.Known, "p-other", "read")
		notice(event.Known, "p-"+key, "teleported")
		notice(event.Known, "p-"+key, "delivered")
		notice(event.Known, "p-"+key, "read")
		notice(event.Known, "p-"+key, "failed")
		if d := cmp.Diff([]string{"sent", "delivered", "read", "failed"}, b.receipts()); d != "" {
			t.Error(d)
		}
		if e, _ := last[event.DeliveryReceipt](b); e.Addressee != b.house.owner {
			t.Error("a bounce is not reported")
		}
		if list, err := b.d.Undelivered(context.Background(), b.Account, dispatch.Failed, id.Nil, 10); err != nil || len(list) != 1 {
			t.Errorf("%d failed, %v", len(list), err)
		}
	})
}

func TestWorkForLaterComesOnceAndAnswersWhereItWasAsked(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.known("Ann", "mail", "ann@x")
		m := b.asks(id.Nil, "remind me in an hour")
		e, task := last[event.AgentTask](b)
		b.Do(t, func(tx event.Tx) error {
			reply, thread, err := b.d.ReplyOf(tx, task.RunID)
			if err != nil {
				return err
			}
			_, err = b.d.Later(tx, b.Clock.Now().Add(time.Hour), dispatch.Task{Agent: "coordinator", ThreadID: thread, Requester: task.Requester,
				Trust: task.Trust, Text: "remind Ann", Subject: e.Subject, Reply: &reply}, e.Ref())
			return err
		})
		if b.fire() != 0 {
			t.Fatal("it came at once")
		}
		b.restart()
		b.Clock.Advance(time.Hour)
		if n := b.fire(); n != 1 {
			t.Fatalf("%d timers", n)
		}
		later, p := last[event.AgentTask](b)
		if p.Text != "remind Ann" || p.Requester != task.Requester || p.ThreadID != m.ThreadID || later.Label.String() != e.Label.String() || later.Causation != e.ID {
			t.Errorf("%+v label %s", p, later.Label)
		}
		b.answer(later, "Ann, it is time")
		b.work()
		if d := cmp.Diff([]string{"Ann, it is time"}, b.world.order); d != "" {
			t.Error(d)
		}
		b.Clock.Advance(time.Hour)
		if b.fire() != 0 || len(b.of("agent.task")) != 2 {
			t.Error("it came twice")
		}
	})
}

func TestWorkWithoutAReplyAnswersNobody(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.OpenSQLite(t))
	b.take(b.byPerson(b.house.owner, "delegate something"))
	e, _ := last[event.AgentTask](b)
	b.Do(t, func(tx event.Tx) error {
		_, err := b.d.Task(tx, dispatch.Task{Agent: "research", Requester: "agent:coordinator", Text: "look this up"}, e.Ref())
		return err
	})
	sub, p := last[event.AgentTask](b)
	if p.Agent != "research" || sub.Label.String() != e.Label.String() {
		t.Errorf("%+v label %s", p, sub.Label)
	}
	b.answer(sub, "found it")
	if n := len(b.of("outbound.message")); n != 0 {
		t.Errorf("%d messages left", n)
	}
	b.Do(t, func(tx event.Tx) error {
		if _, err := b.d.Task(tx, dispatch.Task{Agent: "nobody", Requester: "x", Text: "x"}, e.Ref()); !fault.Is(err, fault.NotFound) {
			t.Errorf("work for nobody: %v", err)
		}
		return nil
	})
}

func TestAnAgentTellsPeopleAndContacts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ann, nowhere := b.known("Ann", "mail", "ann@x"), b.known("No Address", "", "")
		b.take(b.byPerson(b.house.owner, "tell everybody"))
		task, _ := last[event.AgentTask](b)
		tell := func(m dispatch.Message) (sent dispatch.Sent, err error) {
			m.Text, m.Key = "news", b.IDs.New().String()
			err = b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
				sent, err = b.d.SendMessage(tx, m, task.Ref())
				return err
			})
			return sent, err
		}
		if sent, err := tell(dispatch.Message{To: "person:" + b.house.owner.String()}); err != nil || sent.State != "recorded" {
			t.Errorf("%+v, %v", sent, err)
		}
		if _, m := last[event.OutboundMessage](b); m.Channel != "console" || m.Address != b.house.owner.String() {
			t.Errorf("%+v", m)
		}
		// A person's own words are the account's: they do not leave unasked.
		if sent, err := tell(dispatch.Message{To: "contact:" + ann.ID.String()}); err != nil || sent.State != "blocked" || sent.Reason != "audience" {
			t.Errorf("%+v, %v", sent, err)
		}
		if _, p := last[event.OutboundBlocked](b); p.Channel != "mail" || p.Address != "ann@x" {
			t.Errorf("%+v", p)
		}
		for to, kind := range map[string]fault.Kind{
			"": fault.Invalid, "ann": fault.Invalid, "person:": fault.Invalid, "person:xyz": fault.Invalid, "agent:coordinator": fault.Invalid,
			"person:" + b.IDs.New().String(): fault.NotFound, // of another account, or of none
			"contact:" + nowhere.ID.String(): fault.NotFound, "contact:" + b.IDs.New().String(): fault.NotFound,
		} {
			if _, err := tell(dispatch.Message{To: to}); !fault.Is(err, kind) {
				t.Errorf("to %q: %v, want %s", to, err, kind)
			}
		}
	})
}

// TestAMessageEntersOnlyAThreadOfItsRecipient: the wall stands in dispatch, so
// that every door has it.
func TestAMessageEntersOnlyAThreadOfItsRecipient(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ann, bob := b.known("Ann", "mail", "ann@x"), b.known("Bob", "mail", "bob@x")
		b.take(b.byPerson(b.house.owner, "tell everybody"))
		task, _ := last[event.AgentTask](b)
		begun := func(channel string, person id.ID, address string) id.ID {
			at := b.IDs.New()
			subject := person
			if person.IsZero() {
				subject = event.SenderSubject(b.Account, channel, address)
			}
			b.world.threads[at] = thread{channel, person, subject}
			return at
		}
		other := b.IDs.New()
		mine, theirs := begun("console", b.house.owner, ""), begun("console", other, "")
		anns, bobs, annsChat := begun("mail", id.Nil, "ann@x"), begun("mail", id.Nil, "bob@x"), begun("chat", id.Nil, "ann@x")
		owner := "person:" + b.house.owner.String()
		for name, c := range map[string]struct {
			m  dispatch.Message
			in bool
		}{
			"a person's own":                     {dispatch.Message{To: owner, ThreadID: mine}, true},
			"another person's":                   {dispatch.Message{To: owner, ThreadID: theirs}, false},
			"a stranger's, to a person":          {dispatch.Message{To: owner, ThreadID: anns}, false},
			"nobody's":                           {dispatch.Message{To: owner, ThreadID: b.IDs.New()}, false},
			"a person's own of another channel":  {dispatch.Message{To: owner, Channel: "cli", ThreadID: mine}, false},
			"a contact's own":                    {dispatch.Message{To: "contact:" + ann.ID.String(), ThreadID: anns}, true},
			"another contact's":                  {dispatch.Message{To: "contact:" + ann.ID.String(), ThreadID: bobs}, false},
			"a contact's own of another channel": {dispatch.Message{To: "contact:" + ann.ID.String(), ThreadID: annsChat}, false},
			"a person's, to a contact":           {dispatch.Message{To: "contact:" + bob.ID.String(), ThreadID: mine}, false},
			"an address's own":                   {dispatch.Message{Channel: "mail", Address: "bob@x", ThreadID: bobs}, true},
			"another address's":                  {dispatch.Message{Channel: "mail", Address: "bob@x", ThreadID: anns}, false},
		} {
			c.m.Text, c.m.Key = "news", b.IDs.New().String()
			err := b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
				_, err := b.d.SendMessage(tx, c.m, task.Ref())
				return err
			})
			if c.in && err != nil || !c.in && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
