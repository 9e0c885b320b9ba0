package llm_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

// mem is a Store and a Journal in memory, for the rules of this package; what the
// engines must keep is tested with store/llmdb. A transaction that fails leaves
// nothing behind.
type mem struct {
	t       *testing.T
	clock   *clock.Fake
	account id.ID
	ids     *id.Source
	state
}

type state struct {
	prompts []llm.PromptVersion
	spends  map[llm.SpendKey]llm.Spend
	calls   map[id.ID]llm.CallRecord
	events  []event.Event
	work    map[id.ID]work
}

type work struct {
	due   time.Time
	fence int64
	tries int
	done  bool
}

func newMem(t *testing.T) *mem {
	c := clock.NewFake(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	m := &mem{t: t, clock: c, ids: id.NewSource(c.Now, nil)}
	m.account = m.ids.New()
	m.state = state{spends: map[llm.SpendKey]llm.Spend{}, calls: map[id.ID]llm.CallRecord{}, work: map[id.ID]work{}}
	return m
}

type memTx struct{ *event.Collector }

func (memTx) Context() context.Context { return context.Background() }

func clone[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (m *mem) Do(_ context.Context, account id.ID, f func(event.Tx) error) error {
	before := m.state
	m.spends, m.calls, m.work = clone(m.spends), clone(m.calls), clone(m.work)
	c := event.NewCollector(account, m.ids, m.clock, true)
	if err := f(memTx{c}); err != nil {
		m.state = before
		return err
	}
	m.events = append(slices.Clone(m.events), c.Events()...)
	return nil
}

func (m *mem) DoBulk(ctx context.Context, a id.ID, f func(event.Tx) error) error {
	return m.Do(ctx, a, f)
}
func (m *mem) View(ctx context.Context, a id.ID, f func(event.Tx) error) error {
	return m.Do(ctx, a, f)
}

// do runs f, which must succeed.
func (m *mem) do(f func(event.Tx) error) {
	m.t.Helper()
	if err := m.Do(context.Background(), m.account, f); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mem) AddPrompt(_ event.Tx, v llm.PromptVersion) (bool, error) {
	for _, p := range m.prompts {
		if p.Name == v.Name && p.Number == v.Number {
			return false, nil
		}
	}
	m.prompts = append(slices.Clone(m.prompts), v)
	return true, nil
}

func (m *mem) GetPrompt(_ event.Tx, name string, number int) (llm.PromptVersion, error) {
	var out llm.PromptVersion
	for _, p := range m.prompts {
		if p.Name == name && (p.Number == number || number == 0 && p.Number > out.Number) {
			out = p
		}
	}
	if out.Number == 0 {
		return out, fault.New(fault.NotFound, "no prompt %s@%d", name, number)
	}
	return out, nil
}

func (m *mem) ListPrompts(event.Tx) ([]llm.PromptVersion, error) { return m.prompts, nil }

func (m *mem) LockSpends(_ event.Tx, keys []llm.SpendKey) ([]llm.Spend, error) {
	var out []llm.Spend
	for i, k := range keys {
		if i > 0 && (k.Scope < keys[i-1].Scope) {
			m.t.Errorf("keys are not sorted: %v", keys)
		}
		s := m.spends[k]
		s.SpendKey = k
		out = append(out, s)
	}
	return out, nil
}

func (m *mem) SaveSpends(_ event.Tx, rows []llm.Spend) error {
	for _, s := range rows {
		m.spends[s.SpendKey] = s
	}
	return nil
}

func (m *mem) ListSpends(_ event.Tx, period string) ([]llm.Spend, error) {
	var out []llm.Spend
	for k, s := range m.spends {
		if k.Period == period {
			out = append(out, s)
		}
	}
	return out, nil
}

func (m *mem) AddCall(_ event.Tx, r llm.CallRecord) (bool, error) {
	for _, c := range m.calls {
		if c.ID == r.ID || r.Key != "" && c.Key == r.Key {
			return false, nil
		}
	}
	m.calls[r.ID] = r
	return true, nil
}

func (m *mem) LockCall(_ event.Tx, call id.ID) (llm.CallRecord, error) {
	r, ok := m.calls[call]
	if !ok {
		return r, fault.New(fault.NotFound, "no call %s", call)
	}
	return r, nil
}

func (m *mem) FindCall(_ event.Tx, key string) (llm.CallRecord, bool, error) {
	for _, c := range m.calls {
		if c.Key == key {
			return c, true, nil
		}
	}
	return llm.CallRecord{}, false, nil
}

func (m *mem) SaveCall(_ event.Tx, r llm.CallRecord) error { m.calls[r.ID] = r; return nil }

func (m *mem) ListCalls(event.Tx, llm.CallFilter) ([]llm.CallRecord, error) { return nil, nil }

func (m *mem) GetEvent(_ event.Tx, e id.ID) (event.Event, error) {
	for _, have := range m.events {
		if have.ID == e {
			return have, nil
		}
	}
	return event.Event{}, fault.New(fault.NotFound, "no event %s", e)
}

func (m *mem) EnqueueCall(_ event.Tx, call id.ID, _ string, due time.Time) error {
	m.work[call] = work{due: due}
	return nil
}

func (m *mem) ClaimCall(_ event.Tx, call id.ID) (event.Lease, error) {
	w, ok := m.work[call]
	if !ok || w.done || w.due.After(m.clock.Now()) {
		return event.Lease{}, fault.New(fault.Stale, "not due")
	}
	w.fence++
	w.tries++
	m.work[call] = w
	return event.Lease{Account: m.account, ID: call, Fence: w.fence, Attempt: w.tries}, nil
}

func (m *mem) GuardCall(_ event.Tx, l event.Lease) error {
	if w := m.work[l.ID]; w.fence != l.Fence || w.done {
		return fault.New(fault.Stale, "the lease is another's")
	}
	return nil
}

func (m *mem) FinishCall(_ event.Tx, l event.Lease) error {
	w := m.work[l.ID]
	w.done = true
	m.work[l.ID] = w
	return nil
}

func (m *mem) ReleaseCall(_ event.Tx, l event.Lease, due time.Time) error {
	w := m.work[l.ID]
	w.due = due
	w.fence++
	m.work[l.ID] = w
	return nil
}

func (m *mem) DBNow(event.Tx) (time.Time, error) { return m.clock.Now(), nil }

// origin returns the right to say what package llm says.
func origin(t *testing.T, types ...event.Type) event.Origin {
	t.Helper()
	o, err := event.NewOrigin(event.LayerAgent, event.ClassModel, "model", types...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func person() event.Label { return event.NewLabel(event.Person, event.AccountWide()) }
func outside() event.Label {
	return event.NewLabel(event.Outside, event.AccountWide())
}
