package llmdb

import (
	"encoding/json"
	"math"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

func null[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// AddCall implements llm.Store.
func (Store) AddCall(tx event.Tx, r llm.CallRecord) (bool, error) {
	limits, err := json.Marshal(r.Limits)
	if err != nil {
		return false, err
	}
	var key any
	if r.Key != "" {
		key = r.Key
	}
	n, err := q.Exec(tx, "add_call", tx.Account(), r.ID, key, r.RunID, r.Step, r.Agent, r.Role, r.Provider, r.Model, r.Prompt,
		r.Rendered, r.MaxTokens, null(r.TemperatureMicros), null(r.Seed), r.Held.Tokens, r.Held.USDMicro, string(limits),
		r.Usage.Input, r.Usage.Cached, r.Usage.CacheWrite, r.Usage.Output, r.Usage.Reported, r.Cost, r.Known,
		r.Latency.Microseconds(), string(r.Status), string(r.Stop), r.ErrorKind, r.Attempts, r.RequestEvent, r.ResponseEvent,
		clock.Micros(r.AskedAt), clock.Micros(r.EndedAt))
	return n == 1, err
}

func scanCall(scan func(...any) error) (r llm.CallRecord, err error) {
	var key *string
	var limits, status, stop string
	var latency, asked, ended int64
	if err := scan(&r.ID, &key, &r.RunID, &r.Step, &r.Agent, &r.Role, &r.Provider, &r.Model, &r.Prompt, &r.Rendered, &r.MaxTokens,
		&r.TemperatureMicros, &r.Seed, &r.Held.Tokens, &r.Held.USDMicro, &limits, &r.Usage.Input, &r.Usage.Cached,
		&r.Usage.CacheWrite, &r.Usage.Output, &r.Usage.Reported, &r.Cost, &r.Known, &latency, &status, &stop, &r.ErrorKind,
		&r.Attempts, &r.RequestEvent, &r.ResponseEvent, &asked, &ended); err != nil {
		return r, err
	}
	if key != nil {
		r.Key = *key
	}
	r.Status, r.Stop, r.Latency = llm.CallStatus(status), llm.StopReason(stop), time.Duration(latency)*time.Microsecond
	r.AskedAt, r.EndedAt = clock.FromMicros(asked), clock.FromMicros(ended)
	if err := json.Unmarshal([]byte(limits), &r.Limits); err != nil {
		return r, fault.New(fault.Corrupt, "call %s: its limits cannot be read: %w", r.ID, err)
	}
	return r, nil
}

func find(tx event.Tx, query string, args ...any) (r llm.CallRecord, found bool, err error) {
	err = q.Each(tx, query, args, func(scan func(...any) error) (err error) {
		found = true
		r, err = scanCall(scan)
		return err
	})
	return r, found, err
}

// LockCall implements llm.Store.
func (Store) LockCall(tx event.Tx, call id.ID) (llm.CallRecord, error) {
	r, found, err := find(tx, "call", tx.Account(), call)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no model call %s", call)
	}
	return r, err
}

// FindCall implements llm.Store.
func (Store) FindCall(tx event.Tx, key string) (llm.CallRecord, bool, error) {
	return find(tx, "call_by_key", tx.Account(), key)
}

// SaveCall implements llm.Store.
func (Store) SaveCall(tx event.Tx, r llm.CallRecord) error {
	_, err := q.Exec(tx, "save_call", r.Provider, r.Model, r.Held.Tokens, r.Held.USDMicro, r.Usage.Input, r.Usage.Cached,
		r.Usage.CacheWrite, r.Usage.Output, r.Usage.Reported, r.Cost, r.Known, r.Latency.Microseconds(), string(r.Status),
		string(r.Stop), r.ErrorKind, r.Attempts, r.ResponseEvent, clock.Micros(r.EndedAt), tx.Account(), r.ID)
	return err
}

// ListCalls implements llm.Store.
func (Store) ListCalls(tx event.Tx, f llm.CallFilter) (out []llm.CallRecord, err error) {
	before := int64(math.MaxInt64)
	if !f.Before.IsZero() {
		before = clock.Micros(f.Before)
	}
	query, args := "calls", []any{tx.Account()}
	if !f.RunID.IsZero() {
		query, args = "calls_of_run", append(args, f.RunID)
	}
	args = append(args, before, f.Agent, f.Agent, f.Role, f.Role, f.Limit)
	err = q.Each(tx, query, args, func(scan func(...any) error) error {
		r, err := scanCall(scan)
		out = append(out, r)
		return err
	})
	return out, err
}
