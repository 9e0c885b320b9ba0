package dispatchdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

// asks lets a confirmed contact ask by mail, in one thread.
func (b *bundle) asks(thread id.ID, text string) event.InboundMessage {
	b.t.Helper()
	m := b.proven("ann@x", text)
	if !thread.IsZero() {
		m.ThreadID = thread
	}
	return b.take(m)
}

func (b *bundle) receipts() (out []string) {
	for _, e := range b.of("delivery.receipt") {
		out = append(out, e.Payload.(event.DeliveryReceipt).State)
	}
	return out
}

// Bug report 1, in process: every accepted message ends in exactly one task,
// none lost, none twice, in order per thread, whatever restarts happen.
func TestEveryAcceptedMessageEndsInOneTask(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) { c.Sender.Burst = 100 })
		b.known("Ann", "mail", "ann@x")
		threads := []id.ID{b.IDs.New(), b.IDs.New()}
		var sent []event.InboundMessage
		for i := range 14 {
			sent = append(sent, b.asks(threads[i%2], fmt.Sprint(i)))
			if i == 9 {
				b.restart()
			}
		}
		b.answerAll("half of it")
		b.restart()
		for i := 14; i < 20; i++ {
			sent = append(sent, b.asks(threads[i%2], fmt.Sprint(i)))
		}
		tasks := map[id.ID]int{}
		order := map[id.ID][]string{}
		for _, e := range b.of("agent.task") {
			p := e.Payload.(event.AgentTask)
			tasks[p.MessageID]++
			order[p.ThreadID] = append(order[p.ThreadID], p.Text)
		}
		for _, m := range sent {
			if tasks[m.MessageID] != 1 {
				t.Errorf("message %s has %d tasks", m.Text, tasks[m.MessageID])
			}
		}
		for k, th := range threads {
			var want []string
			for i := k; i < 20; i += 2 {
				want = append(want, fmt.Sprint(i))
			}
			if d := cmp.Diff(want, order[th]); d != "" {
				t.Error(d)
			}
		}
		// Replies find their way after the restart as well.
		b.answerAll("the rest")
		b.work()
		if len(b.world.kept) != 20 {
			t.Errorf("%d answers arrived, want 20", len(b.world.kept))
		}
	})
}

// Bug report 3: deliveries pending when the process stops are dropped.
func TestPendingDeliveriesSurviveARestart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.known("Ann", "mail", "ann@x")
		up := b.Clock.Now().Add(30 * time.Second)
		b.world.answer = func(int, string) error {
			if b.Clock.Now().Before(up) {
				return fault.New(fault.Unavailable, "503")
			}
			return nil
		}
		thread := b.IDs.New()
		for i := range 5 {
			b.asks(thread, fmt.Sprint("question ", i))
			_, _ = last[event.AgentTask](b)
			b.answerAll(fmt.Sprint("answer ", i))
		}
		b.workFor(15*time.Second, time.Second)
		if len(b.world.kept) != 0 {
			t.Fatalf("%d arrived while the sink was down", len(b.world.kept))
		}
		b.restart()
		b.workFor(2*time.Minute, time.Second)
		if d := cmp.Diff([]string{"answer 0", "answer 1", "answer 2", "answer 3", "answer 4"}, b.world.order); d != "" {
			t.Error(d)
		}
		if slices.Contains(b.receipts(), "failed") {
			t.Error("one was given up")
		}
		if b.work() != 0 {
			t.Error("something is still tried")
		}
	})
}

func TestWhatIsGivenUpIsReported(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.known("Ann", "mail", "ann@x")
		b.world.answer = func(int, string) error { return fault.New(fault.Unavailable, "503") }
		thread := b.IDs.New()
		for i := range 2 {
			b.asks(thread, fmt.Sprint(i))
			b.answerAll(fmt.Sprint("answer ", i))
		}
		b.workFor(25*time.Hour, 5*time.Minute)
		e, r := last[event.DeliveryReceipt](b)
		if r.State != "failed" || e.Addressee != b.house.owner {
			t.Errorf("%+v to %s, want failed to the owner", r, e.Addressee)
		}
		list, err := b.d.Undelivered(context.Background(), b.Account, dispatch.Failed, id.Nil, 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d failed, %v; want both", len(list), err)
		}
		if tries := list[0].Attempts; tries < 50 || tries > 200 {
			t.Errorf("%d attempts in a day", tries)
		}
		calls := len(b.world.calls)
		b.restart()
		b.workFor(time.Hour, 10*time.Minute)
		if len(b.world.calls) != calls {
			t.Error("it is tried although it was given up")
		}
		// A person asks again, and it goes out under the same key.
		b.world.answer = nil
		key := list[0].Key
		for _, d := range list {
			if err := b.d.Resend(context.Background(), b.Account, b.house.owner, d.ID); err != nil {
				t.Fatal(err)
			}
		}
		b.work()
		if b.world.kept[key] != "answer 0" || len(b.world.order) != 2 || b.world.order[0] != "answer 0" {
			t.Errorf("after asking again the sink has %v", b.world.order)
		}
		if err := b.d.Resend(context.Background(), b.Account, b.house.owner, list[0].ID); !fault.Is(err, fault.Conflict) {
			t.Errorf("asking again for what arrived: %v", err)
		}
	})
}

// dying is a store whose process dies before the receipt is written.
type dying struct {
	dispatch.Store
	at int // nth Guard from now at which it dies; 0 never
}

var errDied = errors.New("the process is gone")

func (s *dying) Guard(tx event.Tx, l event.Lease) error {
	if s.at > 0 {
		if s.at--; s.at == 0 {
			return errDied
		}
	}
	return s.Store.Guard(tx, l)
}

// Bug report 5: what was delivered is delivered again after each restart.
func TestACrashBetweenSendingAndReceiptIsOneExtraAttempt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		s := &dying{Store: dispatchdb.New(), at: 1}
		b.store = s
		b.start()
		b.known("Ann", "mail", "ann@x")
		b.asks(id.Nil, "question")
		b.answerAll("answer")
		due, err := b.DB.Ready(context.Background(), 10)
		if err != nil || len(due) != 1 {
			t.Fatalf("%v, %v", due, err)
		}
		if err := b.d.Deliver(context.Background(), b.Account, due[0].ID); !errors.Is(err, errDied) {
			t.Fatalf("it did not die: %v", err)
		}
		for range 3 {
			b.crash()
			b.work()
		}
		if len(b.world.calls) != 2 || b.world.calls[0] != b.world.calls[1] {
			t.Errorf("attempts under %v, want two under one key", b.world.calls)
		}
		if len(b.world.order) != 1 {
			t.Errorf("the sink kept %v", b.world.order)
		}
		if d := cmp.Diff([]string{"sent"}, b.receipts()); d != "" {
			t.Error(d)
		}
	})
}

func TestAProcessThatDiesAgainAndAgainLeavesItToAPerson(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		t.Run(fmt.Sprintf("a sink that drops repeats %v", !once), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				b := setup(t, db)
				b.world.onceOnly = once
				s := &dying{Store: dispatchdb.New()}
				b.store = s
				b.start()
				b.known("Ann", "mail", "ann@x")
				thread := b.IDs.New()
				b.asks(thread, "question")
				b.answerAll("answer")
				b.asks(thread, "another")
				b.answerAll("next in the thread")
				for range 5 {
					s.at = 1
					due, err := b.DB.Ready(context.Background(), 10)
					if err != nil || len(due) != 1 {
						t.Fatalf("%v, %v", due, err)
					}
					_ = b.d.Deliver(context.Background(), b.Account, due[0].ID)
					if len(b.of("delivery.receipt")) > 0 {
						break
					}
					b.crash()
				}
				s.at = 0
				e, r := last[event.DeliveryReceipt](b)
				most := 2
				if once {
					most = 1 // a second message would be a second message
				}
				if r.State != "unknown" || e.Addressee != b.house.owner || len(b.world.calls) != most {
					t.Errorf("%+v after %d attempts, want unknown after %d", r, len(b.world.calls), most)
				}
				b.work() // the thread goes on
				if b.world.order[len(b.world.order)-1] != "next in the thread" {
					t.Errorf("the sink has %v", b.world.order)
				}
				if err := b.d.Settle(context.Background(), b.Account, b.house.owner, r.DeliveryID, true); err != nil {
					t.Fatal(err)
				}
				if _, r := last[event.DeliveryReceipt](b); r.State != "sent" || r.By != "person:"+b.house.owner.String() {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestErrorsOfTheMediumAreTreatedByWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		once  bool
		calls int
		state string
	}{
		"refused for good":                      {fault.New(fault.Invalid, "400"), false, 1, "failed"},
		"not ours to reach":                     {fault.New(fault.Denied, "inside address"), false, 1, "failed"},
		"taken, answer lost; repeats dropped":   {fault.New(fault.Unknown, "broke off"), false, 2, "sent"},
		"taken, answer lost; repeats delivered": {fault.New(fault.Unknown, "broke off"), true, 1, "unknown"},
		"timeout; repeats delivered":            {fault.New(fault.Timeout, "slow"), true, 1, "unknown"},
		"busy":                                  {fault.New(fault.Limited, "429"), true, 2, "sent"},
		"an error of no kind":                   {errors.New("what?"), true, 1, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.OpenSQLite(t))
			b.known("Ann", "mail", "ann@x")
			b.world.onceOnly = tt.once
			b.world.answer = func(call int, _ string) error {
				if call == 1 {
					return tt.err
				}
				return nil
			}
			b.asks(id.Nil, "question")
			b.answerAll("answer")
			b.workFor(time.Minute, time.Second)
			rs := b.receipts()
			if len(b.world.calls) != tt.calls || rs[len(rs)-1] != tt.state || len(b.world.order) > 1 {
				t.Errorf("%d attempts, receipts %v, the sink kept %v", len(b.world.calls), rs, b.world.order)
			}
		})
	}
}

func TestPartsGoOutInOrderAndOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		b.known("Ann", "mail", "ann@x")
		b.world.splitAt = 7
		fails := map[int]bool{2: true, 3: true, 5: true}
		b.world.answer = func(call int, _ string) error {
			if fails[call] {
				return fault.New(fault.Unavailable, "503")
			}
			return nil
		}
		text := "a long answer that needs parts"
		b.asks(id.Nil, "question")
		b.answerAll(text)
		b.workFor(time.Minute, time.Second)
		if got := strings.Join(b.world.order, ""); got != text || len(b.world.order) != 5 {
			t.Errorf("%d parts arrived as %q", len(b.world.order), b.world.order)
		}
		if n := len(b.of("outbound.message")); n != 1 {
			t.Errorf("%d outbound messages", n)
		}
		if _, m := last[event.OutboundMessage](b); m.Parts != 5 || m.Text != text {
			t.Errorf("%+v", m)
		}
	})
}

func TestThreadsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.OpenSQLite(t))
	b.known("Ann", "mail", "ann@x")
	stuck, free := b.IDs.New(), b.IDs.New()
	b.asks(stuck, "1")
	b.answerAll("stuck 1")
	b.asks(stuck, "2")
	b.answerAll("stuck 2")
	b.asks(free, "3")
	b.answerAll("free")
	first := ""
	b.world.answer = func(_ int, key string) error {
		if first == "" || key == first {
			first = key
			return fault.New(fault.Unavailable, "503")
		}
		return nil
	}
	b.workFor(10*time.Second, time.Second)
	if d := cmp.Diff([]string{"free"}, b.world.order); d != "" {
		t.Error(d)
	}
	b.world.answer = nil
	b.workFor(10*time.Minute, 10*time.Second)
	if d := cmp.Diff([]string{"free", "stuck 1", "stuck 2"}, b.world.order); d != "" {
		t.Error(d)
	}
}

func TestAnswersToAPullChannelAreThereAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ctx := context.Background()
		m := b.take(b.byPerson(b.house.owner, "question"))
		look := func() (string, []event.OutboundMessage) {
			t.Helper()
			state, _, said, err := b.d.Answer(ctx, b.Account, "console", m.MessageID)
			if err != nil {
				t.Fatal(err)
			}
			return state, said
		}
		if state, said := look(); state != "waiting" || len(said) != 0 {
			t.Errorf("%s %v", state, said)
		}
		b.answerAll("answer")
		state, said := look()
		if state != "answered" || len(said) != 1 || said[0].Text != "answer" || said[0].InReplyTo != m.MessageID || said[0].ThreadID != m.ThreadID || said[0].Address != m.Sender {
			t.Errorf("%s %+v", state, said)
		}
		if b.work() != 0 {
			t.Error("something is carried to a channel that fetches")
		}
		if _, _, _, err := b.d.Answer(ctx, b.Account, "mail", m.MessageID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another channel reads it: %v", err)
		}
		held := b.take(b.from("eve@x", "spam"))
		if state, reason, _, err := b.d.Answer(ctx, b.Account, "mail", held.MessageID); state != "held" || reason != "unknown_sender" || err != nil {
			t.Errorf("%s %s %v", state, reason, err)
		}
		empty := b.take(b.byPerson(b.house.owner, "say nothing"))
		b.answerAll("")
		if _, _, said, _ := b.d.Answer(ctx, b.Account, "console", empty.MessageID); len(said) != 1 || said[0].Text == "" || !said[0].IsError {
			t.Errorf("an answer without a word: %+v", said)
		}
	})
}

func TestOneKeyIsOneMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db)
		ann := b.known("Ann", "mail", "ann@x")
		b.take(b.byPerson(b.house.owner, "write to Ann"))
		task, _ := last[event.AgentTask](b)
		nodes := []*bundle{b}
		var mu sync.Mutex
		var all []dispatch.Sent
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var sent dispatch.Sent
				err := nodes[0].Journal.Do(context.Background(), b.Account, func(tx event.Tx) (err error) {
					// The label of a person's own words is for the account; the task says who else may read.
					sent, err = b.d.Send(tx, dispatch.Outgoing{Channel: "console", PersonID: b.house.owner, Text: "Hello", Key: "effect-1"}, task.Ref())
					return err
				})
				if err != nil && !fault.Is(err, fault.Unavailable) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					all = append(all, sent)
				}
			})
		}
		wg.Wait()
		if len(all) == 0 || len(b.of("outbound.message")) != 1 {
			t.Fatalf("%d sent, %d messages", len(all), len(b.of("outbound.message")))
		}
		for _, s := range all {
			if s.MessageID != all[0].MessageID {
				t.Errorf("two messages under one key: %+v %+v", s, all[0])
			}
		}
		_ = ann
	})
}

func TestAReplyGoesToWhoAskedNotToTheLatest(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.OpenSQLite(t))
	b.known("Ann", "mail", "ann@x")
	b.known("Bob", "mail", "bob@x")
	thread := b.IDs.New()
	b.asks(thread, "Ann asks")
	annTask, _ := last[event.AgentTask](b)
	m := b.proven("bob@x", "Bob writes into the same thread")
	m.ThreadID = thread
	b.take(m)
	b.answer(annTask, "for Ann")
	_, out := last[event.OutboundMessage](b)
	if out.Address != "ann@x" {
		t.Errorf("the answer to Ann goes to %s", out.Address)
	}
}

func TestSendingWhileDeliveringLosesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, func(c *dispatch.Config) { c.Sender.Burst = 100 })
		b.known("Ann", "mail", "ann@x")
		thread := b.IDs.New()
		const all = 25
		var tasks []event.Event
		for i := range all {
			b.asks(thread, fmt.Sprint(i))
			e, _ := last[event.AgentTask](b)
			tasks = append(tasks, e)
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 { // two workers on what is ready, while answers come
			wg.Go(func() {
				for {
					due, err := b.DB.Ready(context.Background(), 10)
					if err != nil {
						t.Error(err)
						return
					}
					for _, l := range due {
						if err := b.d.Deliver(context.Background(), l.Account, l.ID); err != nil && !fault.Is(err, fault.Stale) {
							t.Error(err)
						}
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		want := make([]string, all)
		for i, e := range tasks {
			want[i] = fmt.Sprint("answer ", i)
			b.answer(e, want[i])
		}
		close(stop)
		wg.Wait()
		b.work()
		if d := cmp.Diff(want, b.world.order); d != "" {
			t.Error(d)
		}
	})
}
