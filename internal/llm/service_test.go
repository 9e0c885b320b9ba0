package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/llmtest"
)

type bench struct {
	*mem
	service *llm.Service
	prompts *llm.Prompts
	desk    *llm.Desk
}

func setup(t *testing.T, m llm.Model, b llm.Budgets, prices ...llm.PriceRow) *bench {
	t.Helper()
	db := newMem(t)
	table, err := llm.NewPrices(prices...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := llm.NewService(llm.ServiceConfig{
		Store: db, Prices: table, Budgets: b, Clock: db.clock, Origin: origin(t, "llm.request", "llm.response"),
		Registry: registry(t, llm.RegistryConfig{
			Models: map[string]llm.Model{"p": m},
			Routes: map[string][]llm.Target{llm.DefaultRole: {{Provider: "p", Model: "m"}}},
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	prompts := llm.NewPrompts(db, origin(t, "prompt.saved"))
	return &bench{db, s, prompts, llm.NewDesk(s, prompts, db)}
}

// priced is a price of a dollar a million tokens in, two out.
func priced() llm.PriceRow {
	return llm.PriceRow{Provider: "p", Model: "*", Price: llm.Price{Input: 1_000_000, Output: 2_000_000}}
}

func (b *bench) call(text string) llm.Call {
	q := llm.Request{Model: "m", MaxTokens: 100, Messages: []llm.Message{llm.UserText(text)}}
	return llm.Call{
		ID: b.ids.New(), RunID: b.ids.New(), Step: 1, Agent: "coordinator", Role: llm.Respond, Prompt: "coordinator@1",
		Target: llm.Target{Provider: "p", Model: "m"}, Request: q, Draft: event.Draft{Label: outside(), Summary: "asks"},
	}
}

// round begins, asks and ends a call.
func (b *bench) round(c llm.Call) (llm.Reply, *event.BudgetMet) {
	b.t.Helper()
	var asked event.Event
	var met *event.BudgetMet
	b.do(func(tx event.Tx) (err error) { asked, met, err = b.service.Begin(tx, c); return err })
	if met != nil {
		return llm.Reply{}, met
	}
	r := b.service.Ask(context.Background(), c, nil)
	b.do(func(tx event.Tx) error { _, err := b.service.End(tx, c, asked.Ref(), r); return err })
	return r, nil
}

func (b *bench) spent(scope string) llm.Spend {
	for k, s := range b.spends {
		if k.Scope == scope {
			return s
		}
	}
	b.t.Fatalf("nothing spent by %s in %v", scope, b.spends)
	return llm.Spend{}
}

func TestACallIsRecordedAndSettled(t *testing.T) {
	t.Parallel()
	b := setup(t, saying(t, "four words of answer"), llm.Budgets{Day: llm.Amount{Tokens: 1000, USDMicro: 1000}}, priced())
	c := b.call("hello")
	r, met := b.round(c)
	if r.Err != nil || met != nil {
		t.Fatal(r.Err, met)
	}
	u := r.Response.Usage
	cost := u.Input + 2*u.Output
	if r.Cost != cost || !r.Known || cost == 0 {
		t.Errorf("cost %d of %+v", r.Cost, u)
	}
	for _, scope := range []string{"day", "agent:coordinator", "run:" + c.RunID.String()} {
		if s := b.spent(scope); s.Spent != (llm.Amount{Tokens: u.Input + u.Output, USDMicro: cost}) || s.Held != (llm.Amount{}) {
			t.Errorf("%s: %+v", scope, s)
		}
	}
	rec := b.calls[c.ID]
	if rec.Status != llm.CallAnswered || rec.Usage != u || rec.Cost != cost || rec.Stop != llm.StopEnd || rec.Attempts != 1 ||
		rec.Prompt != "coordinator@1" || rec.Rendered == "" || rec.RequestEvent != b.events[0].ID || rec.ResponseEvent != b.events[1].ID {
		t.Errorf("record %+v", rec)
	}
	asked, answered := b.events[0], b.events[1]
	if asked.Source != "model/coordinator" || answered.Causation != asked.ID || answered.Label.String() != outside().String() {
		t.Errorf("events %+v %+v", asked, answered)
	}
	q, err := llm.RequestOf(asked)
	if err != nil || cmp.Diff(c.Request, q, cmp.AllowUnexported(llm.Instruction{})) != "" {
		t.Errorf("%v %+v", err, q)
	}
	back, err := llm.ResponseOf(answered)
	if err != nil || cmp.Diff(r.Response, back) != "" {
		t.Errorf("%v %s", err, cmp.Diff(r.Response, back))
	}
	if p := answered.Payload.(event.LLMResponse); p.TokensIn != u.Input || p.TokensOut != u.Output || p.Cost != cost || !p.CostKnown {
		t.Errorf("payload %+v", p)
	}
	err = b.Do(t.Context(), b.account, func(tx event.Tx) error { _, err := b.service.End(tx, c, asked.Ref(), r); return err })
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("ended twice: %v", err)
	}
	err = b.Do(t.Context(), b.account, func(tx event.Tx) error { _, _, err := b.service.Begin(tx, c); return err })
	if !fault.Is(err, fault.Conflict) || len(b.events) != 2 {
		t.Errorf("begun twice: %v, %d events", err, len(b.events))
	}
}

func TestBudgetsStopBeforeTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budgets llm.Budgets
		run     llm.Amount
		scope   string
		unit    string
	}{
		"day tokens":     {llm.Budgets{Day: llm.Amount{Tokens: 100}}, llm.Amount{}, "day:2026-03-04", "tokens"},
		"day money":      {llm.Budgets{Day: llm.Amount{USDMicro: 150}}, llm.Amount{}, "day:2026-03-04", "usd_micro"},
		"agent":          {llm.Budgets{Agent: llm.Amount{Tokens: 100}}, llm.Amount{}, "agent:coordinator:2026-03-04", "tokens"},
		"agent by name":  {llm.Budgets{Agent: llm.Amount{Tokens: 9999}, Named: map[string]llm.Amount{"coordinator": {Tokens: 1}}}, llm.Amount{}, "agent:coordinator:2026-03-04", "tokens"},
		"run":            {llm.Budgets{}, llm.Amount{USDMicro: 3}, "run:", "usd_micro"},
		"day of a place": {llm.Budgets{Day: llm.Amount{Tokens: 1}, Zone: time.FixedZone("west", -8*3600)}, llm.Amount{}, "day:2026-03-03", "tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, saying(t, "x"), c.budgets, priced())
			call := b.call("hello")
			call.Run = c.run
			_, met := b.round(call)
			if met == nil || !strings.HasPrefix(met.Scope, c.scope) || met.Unit != c.unit || met.Asked <= 0 {
				t.Fatalf("met %+v", met)
			}
			if len(b.events) != 0 || len(b.calls) != 0 || len(b.spends) != 0 {
				t.Errorf("something was left behind: %d events, %v", len(b.events), b.spends)
			}
		})
	}
	t.Run("calls under way count", func(t *testing.T) {
		t.Parallel()
		b := setup(t, saying(t, "x"), llm.Budgets{Day: llm.Amount{Tokens: 200}}, priced())
		var met *event.BudgetMet
		b.do(func(tx event.Tx) error { _, _, err := b.service.Begin(tx, b.call("one")); return err })
		b.do(func(tx event.Tx) (err error) { _, met, err = b.service.Begin(tx, b.call("two")); return err })
		if met == nil || met.Spent == 0 {
			t.Errorf("met %+v", met)
		}
	})
	t.Run("a new day is a new budget", func(t *testing.T) {
		t.Parallel()
		b := setup(t, saying(t, "x"), llm.Budgets{Day: llm.Amount{Tokens: 140}}, priced())
		if _, met := b.round(b.call("one")); met != nil {
			t.Fatal(met)
		}
		if _, met := b.round(b.call("two")); met == nil {
			t.Fatal("the day has no end")
		}
		b.clock.Advance(24 * time.Hour)
		if _, met := b.round(b.call("three")); met != nil {
			t.Fatal(met)
		}
	})
}

func TestAnUnknownPriceIsNotZero(t *testing.T) {
	t.Parallel()
	begin := func(b *bench) error {
		return b.Do(t.Context(), b.account, func(tx event.Tx) error { _, _, err := b.service.Begin(tx, b.call("x")); return err })
	}
	b := setup(t, saying(t, "x"), llm.Budgets{Day: llm.Amount{USDMicro: 1_000_000}})
	if err := begin(b); llm.ReasonOf(err) != llm.OverBudget || !fault.Is(err, fault.Limited) || len(b.events) != 0 {
		t.Errorf("under a money bound: %v", err)
	}
	b = setup(t, saying(t, "x"), llm.Budgets{Day: llm.Amount{USDMicro: 1_000_000}, CountUnknownAsZero: true})
	if r, met := b.round(b.call("x")); met != nil || r.Known || r.Cost != 0 {
		t.Errorf("with the flag: %+v %v", r, met)
	}
	if p := b.events[1].Payload.(event.LLMResponse); p.CostKnown || p.Cost != 0 {
		t.Errorf("payload %+v", p)
	}
	if err := begin(setup(t, saying(t, "x"), llm.Budgets{Day: llm.Amount{Tokens: 1000}})); err != nil {
		t.Errorf("without a money bound: %v", err)
	}
}

// silent answers without counts.
type silent struct{}

func (silent) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Event{Text: "x"}, nil) && yield(llm.Event{End: &llm.End{Stop: llm.StopEnd}}, nil)
	}
}

func TestFailuresSettleByWhatMayBeCharged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model llm.Model
		held  bool
	}{
		"no counts": {silent{}, true}, "truncated": {failing(t, llm.Truncated), true}, "stalled": {failing(t, llm.Stalled), true},
		"limited": {failing(t, llm.RateLimited), false}, "unreachable": {failing(t, llm.Unreachable), false}, "key": {failing(t, llm.BadKey), false},
	} {
		b := setup(t, c.model, llm.Budgets{}, priced())
		call := b.call("hello")
		r, _ := b.round(call)
		s, rec := b.spent("day"), b.calls[call.ID]
		if (s.Spent.Tokens > 100) != c.held || (s.Spent.USDMicro > 200) != c.held || s.Held != (llm.Amount{}) || rec.Cost != s.Spent.USDMicro {
			t.Errorf("%s: %+v, cost %d", name, s, rec.Cost)
		}
		p := b.events[1].Payload.(event.LLMResponse)
		if (r.Err != nil) != (rec.Status == llm.CallFailed) || r.Err != nil && (p.ErrorKind != fault.KindOf(r.Err).String() || p.Error == "") {
			t.Errorf("%s: %+v %+v", name, rec, p)
		}
	}
}

func TestRecordedTypesHoldIntegers(t *testing.T) {
	t.Parallel()
	for _, v := range []any{llm.Request{}, llm.Response{}, llm.Prompt{}, llm.EmbedRequest{}, llm.EmbedResponse{}} {
		if err := canon.Integral(reflect.TypeOf(v)); err != nil {
			t.Error(err)
		}
	}
}

// record plays the scenario through a model and returns its events.
func record(t *testing.T, b *bench, m llm.Model) llmtest.Transcript {
	t.Helper()
	recorder := modelFunc(func(ctx context.Context, q llm.Request) iter.Seq2[llm.Event, error] {
		c := b.call("")
		c.Request = q
		var asked event.Event
		b.do(func(tx event.Tx) (err error) { asked, _, err = b.service.Begin(tx, c); return err })
		reply, err := llm.Collect(m.Stream(ctx, q))
		b.do(func(tx event.Tx) error {
			_, err := b.service.End(tx, c, asked.Ref(), llm.Reply{Response: reply, Err: err, Attempts: 1})
			return err
		})
		return func(yield func(llm.Event, error) bool) {
			for _, e := range reply.Events() {
				if !yield(e, nil) {
					return
				}
			}
		}
	})
	tr, err := llmtest.Play(t.Context(), recorder)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

type modelFunc func(context.Context, llm.Request) iter.Seq2[llm.Event, error]

func (f modelFunc) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Event, error] {
	return f(ctx, q)
}

const notes = `
lines:
  - when: {user: '(?s)^Note: (.+)$', step: 0}
    say: 'I will note that – one moment 🖊. '
    call: [{tool: file.write, args: {path: notes/today.md, text: '${user.1}', weight: 1.50}}]
  - when: {tool: file.write}
    say: 'Noted in notes/today.md ✓'
`

// TestReplay: a recorded scenario plays again without a model, to the same bytes,
// and any flipped byte of the record is found (INV-13).
func TestReplay(t *testing.T) {
	t.Parallel()
	b := setup(t, silent{}, llm.Budgets{})
	first := record(t, b, scripted(t, notes))
	replay, err := llm.NewReplay(b.events)
	if err != nil {
		t.Fatal(err)
	}
	again, err := llmtest.Play(t.Context(), replay)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if replay.Left() != 0 {
		t.Errorf("%d replies left", replay.Left())
	}
	if _, err := llm.Collect(replay.Stream(t.Context(), llmtest.Request())); llm.ReasonOf(err) != llm.Unanswerable {
		t.Errorf("asked once more: %v", err)
	}

	for n, e := range b.events {
		var raw *json.RawMessage
		edited := append([]event.Event(nil), b.events...)
		switch p := e.Payload.(type) {
		case event.LLMRequest:
			p.Request = append(json.RawMessage(nil), p.Request...)
			raw, edited[n].Payload = &p.Request, p
		case event.LLMResponse:
			p.Response = append(json.RawMessage(nil), p.Response...)
			raw, edited[n].Payload = &p.Response, p
		}
		for at := 0; at < len(*raw); at += 7 {
			(*raw)[at] ^= 1
			if _, err := llm.NewReplay(edited); !fault.Is(err, fault.Corrupt) {
				t.Fatalf("event %d, byte %d: %v", n, at, err)
			}
			(*raw)[at] ^= 1
		}
	}
	if _, err := llm.NewReplay(b.events[1:]); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a response without its request: %v", err)
	}
}

func TestReplayGivesRecordedFailures(t *testing.T) {
	t.Parallel()
	b := setup(t, failing(t, llm.Overloaded), llm.Budgets{})
	c := b.call("hello")
	b.round(c)
	replay, err := llm.NewReplay(b.events)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Collect(replay.Stream(t.Context(), c.Request)); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}

func TestPromptsAreNumberedAndAppendOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, silent{}, llm.Budgets{})
	d := event.Draft{Label: event.NewLabel(event.House, event.AccountWide())}
	shipped := []llm.Prompt{prompt(t, "triage.md", triage), prompt(t, "coordinator.md", "You coordinate.")}
	seed := func(list []llm.Prompt) (differ []string) {
		b.do(func(tx event.Tx) (err error) { differ, err = b.prompts.Seed(tx, d, list); return err })
		return differ
	}
	if differ := seed(shipped); len(differ) != 0 || len(b.prompts_()) != 2 || len(b.events) != 2 {
		t.Errorf("differ %v, %d events", differ, len(b.events))
	}
	if differ := seed(shipped); len(differ) != 0 || len(b.events) != 2 {
		t.Error("seeded twice")
	}
	next := prompt(t, "coordinator.md", "You coordinate well.")
	if differ := seed([]llm.Prompt{next}); cmp.Diff([]string{"coordinator"}, differ) != "" || len(b.events) != 2 {
		t.Errorf("an upgrade changes nothing by itself, differ %v", differ)
	}
	for _, by := range []string{"agent:coordinator", "person:", "system:seed"} {
		err := b.Do(t.Context(), b.account, func(tx event.Tx) error { _, err := b.prompts.Save(tx, d, next, by); return err })
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", by, err)
		}
	}
	b.do(func(tx event.Tx) error {
		v, err := b.prompts.Save(tx, d, next, "person:p1")
		if v.Ref() != "coordinator@2" {
			t.Errorf("ref %s", v.Ref())
		}
		return err
	})
	if e := b.events[2].Payload.(event.PromptSaved); e.Number != 2 || e.By != "person:p1" || e.Digest == "" {
		t.Errorf("%+v", e)
	}
	err := b.Do(t.Context(), b.account, func(tx event.Tx) error { _, err := b.prompts.Save(tx, d, next, "person:p1"); return err })
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the same text: %v", err)
	}
	b.do(func(tx event.Tx) error {
		for number, want := range map[int]string{0: "You coordinate well.", 1: "You coordinate.", 2: "You coordinate well."} {
			text, n, err := b.prompts.Instruction(tx, "coordinator", number)
			if err != nil || text.String() != want || number != 0 && n != number {
				t.Errorf("%d: %q@%d %v", number, text, n, err)
			}
		}
		_, _, err := b.prompts.Instruction(tx, "coordinator", 3)
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("number 3: %v", err)
		}
		return nil
	})
	b.state.prompts[1].System += " And more."
	b.do(func(tx event.Tx) error {
		if _, _, err := b.prompts.Instruction(tx, b.state.prompts[1].Name, b.state.prompts[1].Number); !fault.Is(err, fault.Corrupt) {
			t.Errorf("an edited row: %v", err)
		}
		return nil
	})
}

func (b *bench) prompts_() []llm.PromptVersion { return b.state.prompts }

func TestQuestionsAreAnsweredLater(t *testing.T) {
	t.Parallel()
	b := setup(t, scripted(t, `
lines:
  - when: {user: 'bomb'}
    fail: {reason: bad_request, message: no}
  - when: {output: triage, system: 'You sort mail'}
    say: '{"class":"spam"}'
`), llm.Budgets{})
	house := event.Draft{Label: event.NewLabel(event.House, event.AccountWide())}
	b.do(func(tx event.Tx) error {
		_, err := b.prompts.Seed(tx, house, []llm.Prompt{prompt(t, "triage.md", triage)})
		return err
	})
	q := llm.Question{Key: "mind/7/triage", Role: llm.Classify, Prompt: "triage", MaxTokens: 50, Draft: event.Draft{Label: person()},
		Values: map[string]llm.Value{"subject": {Text: "Win", Label: person()}, "body": {Text: "Now!", Label: outside()}}}
	find := func(key string) (a llm.Answer) {
		b.do(func(tx event.Tx) (err error) { a, err = b.desk.Find(tx, key); return err })
		return a
	}
	ask := func(q llm.Question) (call id.ID) {
		b.do(func(tx event.Tx) (err error) { call, _, err = b.desk.Enqueue(tx, q); return err })
		return call
	}
	if a := find(q.Key); a.State != llm.NotAsked {
		t.Errorf("%+v", a)
	}
	call := ask(q)
	if ask(q) != call || len(b.calls) != 1 || len(b.work) != 1 {
		t.Error("the same key asked twice")
	}
	if a := find(q.Key); a.State != llm.NotReady || a.CallID != call {
		t.Errorf("%+v", a)
	}
	if err := b.desk.Work(t.Context(), b.account, call); err != nil {
		t.Fatal(err)
	}
	a := find(q.Key)
	if a.State != llm.Ready || a.Response.Text() != `{"class":"spam"}` || a.Digest == "" || a.Ref.Label.String() != outside().String() {
		t.Errorf("%+v", a)
	}
	if err := b.desk.Work(t.Context(), b.account, call); !fault.Is(err, fault.Stale) {
		t.Errorf("worked twice: %v", err)
	}
	q.Key, q.Values = "mind/8/triage", map[string]llm.Value{"subject": {Text: "bomb", Label: person()}, "body": {Text: "x", Label: person()}}
	call = ask(q)
	if err := b.desk.Work(t.Context(), b.account, call); err != nil {
		t.Fatal(err)
	}
	if a := find(q.Key); a.State != llm.Failed || !fault.Is(a.Err, fault.Invalid) {
		t.Errorf("%+v", a)
	}
}

func TestQueuedCallsOutlastAnOutage(t *testing.T) {
	t.Parallel()
	down := true
	b := setup(t, modelFunc(func(ctx context.Context, q llm.Request) iter.Seq2[llm.Event, error] {
		if down {
			return failing(t, llm.Overloaded).Stream(ctx, q)
		}
		return saying(t, "up again").Stream(ctx, q)
	}), llm.Budgets{})
	b.do(func(tx event.Tx) error {
		_, err := b.prompts.Seed(tx, event.Draft{Label: person()}, []llm.Prompt{prompt(t, "p.md", "---\nask: Well?\n---\nSay.")})
		return err
	})
	var call id.ID
	b.do(func(tx event.Tx) (err error) {
		call, _, err = b.desk.Enqueue(tx, llm.Question{Key: "k", Role: llm.Narrate, Prompt: "p", MaxTokens: 10, Draft: event.Draft{Label: person()}})
		return err
	})
	for range 2 {
		if err := b.desk.Work(t.Context(), b.account, call); err != nil {
			t.Fatal(err)
		}
		if err := b.desk.Work(t.Context(), b.account, call); !fault.Is(err, fault.Stale) {
			t.Fatalf("it is not due yet: %v", err)
		}
		b.clock.Advance(10 * time.Minute)
	}
	down = false
	if err := b.desk.Work(t.Context(), b.account, call); err != nil {
		t.Fatal(err)
	}
	if rec := b.calls[call]; rec.Status != llm.CallAnswered || b.spent("day").Held != (llm.Amount{}) {
		t.Errorf("%+v", rec)
	}
	// A worker that goes down gives its lease back, and the call stays asked.
	b.do(func(tx event.Tx) (err error) {
		call, _, err = b.desk.Enqueue(tx, llm.Question{Key: "k2", Role: llm.Narrate, Prompt: "p", MaxTokens: 10, Draft: event.Draft{Label: person()}})
		return err
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("shutting down"))
	if err := b.desk.Work(ctx, b.account, call); err != nil || b.calls[call].Status != llm.CallAsked {
		t.Errorf("%v %+v", err, b.calls[call])
	}
	if err := b.desk.Work(t.Context(), b.account, call); err != nil || b.calls[call].Status != llm.CallAnswered {
		t.Errorf("%v %+v", err, b.calls[call])
	}
}
