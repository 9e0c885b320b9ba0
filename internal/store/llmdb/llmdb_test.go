package llmdb_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/store/llmdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestQueries(t *testing.T) { t.Parallel(); storetest.Queries(t, llmdb.Queries) }

func TestCallsRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		s := llmdb.New()
		seed := int64(7)
		r := llm.CallRecord{ID: db.IDs.New(), Key: "k", RunID: db.IDs.New(), Step: 3, Agent: "a", Role: "respond", Provider: "p", Model: "m",
			Prompt: "x@1", Rendered: "d", MaxTokens: 100, Seed: &seed, Held: llm.Amount{Tokens: 5, USDMicro: 6},
			Limits: []llm.SpendKey{{Scope: "day", Period: "2026-03-01"}}, Status: llm.CallAsked, RequestEvent: db.IDs.New(), AskedAt: db.Clock.Now()}
		db.Do(t, func(tx event.Tx) error {
			ok, err := s.AddCall(tx, r)
			if err == nil && !ok {
				t.Error("not added")
			}
			return err
		})
		db.Do(t, func(tx event.Tx) error {
			twice := r
			twice.ID = db.IDs.New() // another id, the same key
			ok, err := s.AddCall(tx, twice)
			if ok {
				t.Error("the same key was added twice")
			}
			return err
		})
		r.Status, r.Held, r.Cost, r.Known, r.Latency, r.Usage = llm.CallAnswered, llm.Amount{}, 12, true, time.Millisecond, llm.Usage{Input: 1, Output: 2, Reported: true}
		r.ResponseEvent, r.EndedAt = db.IDs.New(), db.Clock.Now()
		db.Do(t, func(tx event.Tx) error { return s.SaveCall(tx, r) })
		db.See(t, func(tx event.Tx) error {
			got, found, err := s.FindCall(tx, "k")
			if err != nil || !found {
				t.Fatal(found, err)
			}
			if d := cmp.Diff(r, got); d != "" {
				t.Error(d)
			}
			list, err := s.ListCalls(tx, llm.CallFilter{RunID: r.RunID, Role: "respond", Limit: 5})
			if len(list) != 1 {
				t.Errorf("%d calls listed", len(list))
			}
			return err
		})
	})
}

func TestSpendsAndPrompts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		s := llmdb.New()
		keys := []llm.SpendKey{{Scope: "agent:a", Period: "2026-03-01"}, {Scope: "day", Period: "2026-03-01"}}
		db.Do(t, func(tx event.Tx) error {
			rows, err := s.LockSpends(tx, keys)
			if err != nil {
				return err
			}
			for i := range rows {
				rows[i].Held.Tokens += 10
			}
			return s.SaveSpends(tx, rows)
		})
		db.See(t, func(tx event.Tx) error {
			rows, err := s.ListSpends(tx, "2026-03-01")
			if len(rows) != 2 || rows[0].Held.Tokens != 10 {
				t.Errorf("%+v", rows)
			}
			if _, gerr := s.GetPrompt(tx, "none", 0); !fault.Is(gerr, fault.NotFound) {
				t.Errorf("missing prompt: %v", gerr)
			}
			return err
		})
		for n := 1; n <= 2; n++ {
			db.Do(t, func(tx event.Tx) error {
				ok, err := s.AddPrompt(tx, llm.PromptVersion{Prompt: llm.Prompt{Name: "p", System: "S"}, Number: n, By: "system", Digest: "d", EventID: db.IDs.New(), At: db.Clock.Now()})
				if err == nil && !ok {
					t.Error("number taken")
				}
				return err
			})
		}
		db.See(t, func(tx event.Tx) error {
			v, err := s.GetPrompt(tx, "p", 0)
			if v.Number != 2 || v.System != "S" {
				t.Errorf("newest prompt %+v", v)
			}
			return err
		})
	})
}
