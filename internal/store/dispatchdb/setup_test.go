package dispatchdb_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

// world is the outside: channels whose sink drops what it got under a key.
// It outlives restarts of the house.
type world struct {
	mu       sync.Mutex
	calls    []string          // keys in the order of the attempts
	kept     map[string]string // text by key, as the sink has it
	order    []string          // texts in the order of arrival
	bound    map[id.ID]string
	threads  map[id.ID]thread
	answer   func(call int, key string) error // nil: taken
	splitAt  int
	onceOnly bool // the sink does not drop a second message
}

type thread struct {
	channel         string
	person, subject id.ID
}

func newWorld() *world {
	return &world{kept: map[string]string{}, bound: map[id.ID]string{}, threads: map[id.ID]thread{}}
}

func (w *world) Trust(channel string) (int32, bool) {
	t, ok := map[string]int32{"console": 1_000_000, "cli": 1_000_000, "bridge": 600_000, "mail": 300_000, "chat": 600_000}[channel]
	return t, ok
}

func (w *world) Push(channel string) (push, idempotent bool) {
	return channel == "mail" || channel == "chat", !w.onceOnly
}

func (w *world) Split(_, text string) (parts []string) {
	for w.splitAt > 0 && len(text) > w.splitAt {
		parts, text = append(parts, text[:w.splitAt]), text[w.splitAt:]
	}
	return append(parts, text)
}

func (w *world) Deliver(_ context.Context, _ id.ID, m event.OutboundMessage, part int, key string) (event.DeliveryReceipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, key)
	var err error
	if w.answer != nil {
		err = w.answer(len(w.calls), key)
	}
	// Unknown means here that the sink took it and the answer was lost.
	if err == nil || fault.Is(err, fault.Unknown) {
		if _, have := w.kept[key]; !have {
			w.kept[key] = m.Text
			w.order = append(w.order, m.Text)
		}
	}
	return event.DeliveryReceipt{State: "sent", ProviderID: "p-" + key, ThreadRef: "ref"}, err
}

func (w *world) Open(event.Tx, string, id.ID, id.ID, string) error { return nil }

// Whose knows the threads that a test named.
func (w *world) Whose(_ event.Tx, channel string, thread id.ID) (person, subject id.ID, err error) {
	t, ok := w.threads[thread]
	if !ok || t.channel != channel {
		return person, subject, fault.New(fault.NotFound, "no such thread")
	}
	return t.person, t.subject, nil
}

func (w *world) Bind(_ event.Tx, _ string, thread id.ID, _, ref string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bound[thread] = ref
	return nil
}

// house tells who lives in the account; the ids are set by the test.
type house struct{ owner, viewer id.ID }

func (h *house) Serves(_ event.Tx, agent string) (bool, error) {
	return agent == "coordinator" || agent == "research", nil
}

func (h *house) Readers(event.Tx) ([]string, error) {
	return []string{"person:" + h.owner.String(), "agent:coordinator"}, nil
}

func (h *house) RoleOf(_ event.Tx, person id.ID) (string, error) {
	if person != h.owner {
		return "", fault.New(fault.NotFound, "no such person")
	}
	return "owner", nil
}

// May knows the owner and a viewer who may do nothing.
func (h *house) May(_ event.Tx, by, act string) error {
	if by == "person:"+h.viewer.String() {
		return fault.New(fault.Denied, "the role viewer may not do %s", act)
	}
	return nil
}

func (h *house) Owner(event.Tx) (id.ID, error) { return h.owner, nil }

type bundle struct {
	*storetest.DB
	t     testing.TB
	world *world
	house *house
	d     *dispatch.Dispatcher
	cfg   dispatch.Config
	ports func(*dispatch.Ports)
	store dispatch.Store

	in, agent, system event.Origin
	made              int
}

func setup(t testing.TB, db *storetest.DB, change ...func(*dispatch.Config)) *bundle {
	t.Helper()
	b := &bundle{DB: db, t: t, world: newWorld(), house: &house{owner: db.IDs.New(), viewer: db.IDs.New()}, cfg: dispatch.DefaultConfig(), store: dispatchdb.New(),
		in:     storetest.Origin(t, event.LayerChannel, event.ClassChannel, "channel", "inbound.message", "inbound.event"),
		agent:  storetest.Origin(t, event.LayerAgent, event.ClassAgent, "agent", "agent.response"),
		system: storetest.Origin(t, event.LayerSystem, event.ClassSystem, "timer", "timer.fired"),
	}
	for _, f := range change {
		f(&b.cfg)
	}
	b.start()
	return b
}

// start builds the dispatcher anew, as a process that starts does.
func (b *bundle) start() {
	b.t.Helper()
	p := dispatch.Ports{Outlet: b.world, Agents: b.house, People: b.house, Jitter: func(int64) int64 { return 0 }}
	if b.ports != nil {
		b.ports(&p)
	}
	d, err := dispatch.New(b.Journal, b.store, p, dispatch.Origins{
		Dispatch: storetest.Origin(b.t, event.LayerDispatch, event.ClassDispatch, "dispatch", "agent.task", "outbound.message", "outbound.blocked",
			"delivery.receipt", "message.held", "held.settled", "message.rejected", "contact.saved", "route.saved"),
	}, b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.d = d
	b.React(b.reactions())
}

func (b *bundle) reactions() storetest.Reactions {
	d := b.d
	return storetest.Reactions{
		{Name: "dispatch.inbound", On: []event.Type{"inbound.message"}, Run: d.OnInbound},
		{Name: "dispatch.response", On: []event.Type{"agent.response"}, Run: d.OnResponse},
		{Name: "dispatch.notice", On: []event.Type{"inbound.event"}, Run: d.OnNotice},
		{Name: "dispatch.timer", On: []event.Type{"timer.fired"}, Run: d.OnTimer},
	}
}

func (b *bundle) restart() {
	b.t.Helper()
	b.Reopen(b.t)
	b.start()
}

// crash restarts after the time in which another node would have taken the
// dead one's work over.
func (b *bundle) crash() {
	b.t.Helper()
	b.restart()
	b.Clock.Advance(15 * time.Second)
}

// from makes a message of a stranger by mail.
func (b *bundle) from(address, text string) event.InboundMessage {
	b.made++
	return event.InboundMessage{Channel: "mail", ThreadID: b.IDs.New(), MessageID: b.IDs.New(), Sender: address, SenderName: "N. " + address, Proof: "none", Text: text}
}

// byPerson makes a message of a signed-in person.
func (b *bundle) byPerson(p id.ID, text string) event.InboundMessage {
	return event.InboundMessage{Channel: "console", ThreadID: b.IDs.New(), MessageID: b.IDs.New(), Sender: p.String(), SenderName: "Pat", Proof: "session", PersonID: p, Text: text}
}

// take takes a message in, as a channel does.
func (b *bundle) take(m event.InboundMessage) event.InboundMessage {
	b.t.Helper()
	if err := b.tryTake(m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func (b *bundle) tryTake(m event.InboundMessage) error {
	return b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
		d := event.Draft{Payload: m, Stream: m.ThreadID, Label: event.NewLabel(event.Outside, event.Public()),
			Subject: event.SenderSubject(b.Account, m.Channel, m.Sender)}
		switch {
		case !m.PersonID.IsZero():
			d.Label, d.Subject = event.NewLabel(event.Person, event.AccountWide()), m.PersonID
		case m.Proof != "none":
			d.Label = event.NewLabel(event.Known, event.Public())
		}
		_, err := tx.Emit(b.in.As(m.Channel), d)
		return err
	})
}

// of returns the events of one type.
func (b *bundle) of(typ event.Type) (out []event.Event) {
	b.t.Helper()
	for _, e := range b.Events(b.t) {
		if e.Type == typ {
			out = append(out, e)
		}
	}
	return out
}

// last returns the newest event of P's type and its payload.
func last[P event.Payload](b *bundle) (event.Event, P) {
	b.t.Helper()
	var p P
	all := b.of(p.EventType())
	if len(all) == 0 {
		b.t.Fatalf("there is no %s", p.EventType())
	}
	e := all[len(all)-1]
	return e, e.Payload.(P)
}

// answerAll lets the agent answer every task that has no answer yet.
func (b *bundle) answerAll(text string) int {
	b.t.Helper()
	done := map[id.ID]bool{}
	for _, e := range b.of("agent.response") {
		done[e.Payload.(event.AgentResponse).RunID] = true
	}
	n := 0
	for _, e := range b.of("agent.task") {
		if task := e.Payload.(event.AgentTask); !done[task.RunID] {
			b.answer(e, text)
			n++
		}
	}
	return n
}

func (b *bundle) answer(task event.Event, text string) {
	b.t.Helper()
	p := task.Payload.(event.AgentTask)
	b.Do(b.t, func(tx event.Tx) error {
		_, err := tx.Emit(b.agent.As(p.Agent), event.Draft{Stream: task.Stream, Causes: []event.Ref{task.Ref()}, Subject: task.Subject,
			Payload: event.AgentResponse{RunID: p.RunID, Agent: p.Agent, ThreadID: p.ThreadID, MessageID: tx.NewID(), InReplyTo: p.MessageID, Text: text}})
		return err
	})
}

// work runs all deliveries that are due, as the pool of workers does.
func (b *bundle) work() (ran int) {
	b.t.Helper()
	for {
		due, err := b.DB.Ready(context.Background(), 100)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(due) == 0 {
			return ran
		}
		for _, l := range due {
			if err := b.d.Deliver(context.Background(), l.Account, l.ID); err != nil && !fault.Is(err, fault.Stale) {
				b.t.Fatal(err)
			}
			ran++
		}
	}
}

// workFor lets time pass in steps and works in between.
func (b *bundle) workFor(total, step time.Duration) {
	b.t.Helper()
	for at := time.Duration(0); at < total; at += step {
		b.work()
		b.Clock.Advance(step)
	}
	b.work()
}

// fire fires all timers that are due.
func (b *bundle) fire() int {
	b.t.Helper()
	n := 0
	for {
		due, _, _, err := b.DB.DueTimers(context.Background(), 100)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(due) == 0 {
			return n
		}
		for _, d := range due {
			if _, err := b.DB.Fire(context.Background(), d, b.system); err != nil {
				b.t.Fatal(err)
			}
			n++
		}
	}
}

func (b *bundle) fate(m event.InboundMessage) string {
	b.t.Helper()
	f, err := b.d.Fate(context.Background(), b.Account, m.MessageID)
	if err != nil {
		b.t.Fatal(err)
	}
	if f.Reason == "" {
		return string(f.Outcome)
	}
	return fmt.Sprintf("%s %s", f.Outcome, f.Reason)
}

func (b *bundle) want(m event.InboundMessage, want string) {
	b.t.Helper()
	if got := b.fate(m); got != want {
		b.t.Errorf("message %q is %q, want %q", m.Text, got, want)
	}
}

// known makes ann@x a confirmed contact of mail.
func (b *bundle) known(name, channel, address string) dispatch.Contact {
	b.t.Helper()
	c, err := b.d.AddContact(context.Background(), b.Account, b.house.owner, dispatch.NewContact{Name: name, Channel: channel, Address: address})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// bucketRows counts the rows of the rate table, straight from the engine.
var bucketRows = store.MustQueries(`
-- name: count
SELECT COUNT(*) FROM rate_buckets WHERE account_id = ?
`)

func (b *bundle) buckets() (n int64) {
	b.t.Helper()
	b.See(b.t, func(tx event.Tx) error { return bucketRows.Row(tx, "count", []any{b.Account}, &n) })
	return n
}
