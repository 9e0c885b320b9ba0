// Package llmdb keeps prompts, model calls and budgets of package llm in rows.
//
// It imports llm and store, holds no state and starts no goroutine.
package llmdb

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

const callColumns = `id, key, run_id, step, agent, role, provider, model, prompt, rendered, max_tokens, temperature, seed,
  held_tokens, held_usd, limits, tokens_in, tokens_cached, tokens_written, tokens_out, usage_reported, cost, cost_known,
  latency_us, status, stop, error_kind, attempts, request_event_id, response_event_id, asked_at, ended_at`

var q = store.MustQueries(strings.ReplaceAll(sqlText, "COLS", callColumns))

// Store implements llm.Store.
type Store struct{}

var _ llm.Store = Store{}

// New returns the store.
func New() Store { return Store{} }

// AddPrompt implements llm.Store.
func (Store) AddPrompt(tx event.Tx, v llm.PromptVersion) (bool, error) {
	body, err := json.Marshal(v.Prompt)
	if err != nil {
		return false, err
	}
	n, err := q.Exec(tx, "add_prompt", tx.Account(), v.Name, v.Number, string(body), v.By, v.Digest, v.EventID, clock.Micros(v.At))
	return n == 1, err
}

func scanPrompt(scan func(...any) error) (v llm.PromptVersion, err error) {
	var body string
	var at int64
	if err := scan(&v.Number, &body, &v.By, &v.Digest, &v.EventID, &at); err != nil {
		return v, err
	}
	v.At = clock.FromMicros(at)
	if err := json.Unmarshal([]byte(body), &v.Prompt); err != nil {
		return v, fault.New(fault.Corrupt, "prompt number %d cannot be read: %w", v.Number, err)
	}
	return v, nil
}

// GetPrompt implements llm.Store.
func (Store) GetPrompt(tx event.Tx, name string, number int) (v llm.PromptVersion, err error) {
	query, args := "newest_prompt", []any{tx.Account(), name}
	if number != 0 {
		query, args = "prompt", append(args, number)
	}
	found := false
	err = q.Each(tx, query, args, func(scan func(...any) error) (err error) {
		found = true
		v, err = scanPrompt(scan)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no prompt %s number %d", name, number)
	}
	return v, err
}

// ListPrompts implements llm.Store.
func (Store) ListPrompts(tx event.Tx) (out []llm.PromptVersion, err error) {
	err = q.Each(tx, "prompts", []any{tx.Account()}, func(scan func(...any) error) error {
		v, err := scanPrompt(scan)
		out = append(out, v)
		return err
	})
	return out, err
}

// together is how many spend rows one query reads: a call has three scopes.
const together = 3

// LockSpends implements llm.Store. Rows that are missing are made: only a row
// that exists can be locked.
func (s Store) LockSpends(tx event.Tx, keys []llm.SpendKey) ([]llm.Spend, error) {
	found := map[llm.SpendKey]llm.Spend{}
	for part := range slices.Chunk(keys, together) {
		args := []any{tx.Account()}
		for i := range together {
			k := part[min(i, len(part)-1)]
			args = append(args, k.Scope, k.Period)
		}
		if err := q.Each(tx, "lock_spends", args, func(scan func(...any) error) error {
			var r llm.Spend
			err := scan(&r.Scope, &r.Period, &r.Spent.Tokens, &r.Spent.USDMicro, &r.Held.Tokens, &r.Held.USDMicro)
			found[r.SpendKey] = r
			return err
		}); err != nil {
			return nil, err
		}
	}
	out, missing := make([]llm.Spend, len(keys)), false
	for i, k := range keys {
		r, ok := found[k]
		if out[i] = r; ok {
			continue
		}
		missing = true
		if _, err := q.Exec(tx, "ensure_spend", tx.Account(), k.Scope, k.Period); err != nil {
			return nil, err
		}
	}
	if missing { // another transaction may have made one of them meanwhile
		return s.LockSpends(tx, keys)
	}
	return out, nil
}

// SaveSpends implements llm.Store. A run's call has three: they are one
// statement, as this happens twice per call.
func (Store) SaveSpends(tx event.Tx, rows []llm.Spend) error {
	for part := range slices.Chunk(rows, together) {
		if len(part) == together {
			args := make([]any, 0, 7*together)
			for _, s := range part {
				args = append(args, tx.Account(), s.Scope, s.Period, s.Spent.Tokens, s.Spent.USDMicro, s.Held.Tokens, s.Held.USDMicro)
			}
			if _, err := q.Exec(tx, "save_three_spends", args...); err != nil {
				return err
			}
			continue
		}
		for _, s := range part {
			if _, err := q.Exec(tx, "save_spend", s.Spent.Tokens, s.Spent.USDMicro, s.Held.Tokens, s.Held.USDMicro,
				tx.Account(), s.Scope, s.Period); err != nil {
				return err
			}
		}
	}
	return nil
}

// ListSpends implements llm.Store.
func (Store) ListSpends(tx event.Tx, period string) (out []llm.Spend, err error) {
	err = q.Each(tx, "spends", []any{tx.Account(), period}, func(scan func(...any) error) error {
		s := llm.Spend{SpendKey: llm.SpendKey{Period: period}}
		err := scan(&s.Scope, &s.Spent.Tokens, &s.Spent.USDMicro, &s.Held.Tokens, &s.Held.USDMicro)
		out = append(out, s)
		return err
	})
	return out, err
}

// GetEvent implements llm.Store.
func (Store) GetEvent(tx event.Tx, e id.ID) (event.Event, error) { return store.GetEvent(tx, e) }

// DBNow implements llm.Store.
func (Store) DBNow(tx event.Tx) (time.Time, error) { return store.DBNow(tx) }

// EnqueueCall implements llm.Store.
func (Store) EnqueueCall(tx event.Tx, call id.ID, scope string, due time.Time) error {
	return store.Enqueue(tx, event.WorkCall, call, scope, due)
}

// ClaimCall implements llm.Store.
func (Store) ClaimCall(tx event.Tx, call id.ID) (event.Lease, error) {
	return store.Claim(tx, event.WorkCall, call)
}

// GuardCall implements llm.Store.
func (Store) GuardCall(tx event.Tx, l event.Lease) error { return store.Guard(tx, l) }

// FinishCall implements llm.Store.
func (Store) FinishCall(tx event.Tx, l event.Lease) error { return store.Finish(tx, l) }

// ReleaseCall implements llm.Store.
func (Store) ReleaseCall(tx event.Tx, l event.Lease, due time.Time) error {
	return store.Release(tx, l, due)
}
