package builtin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

type memory struct {
	journal event.Journal
	rows    Memory
}

type (
	memoryRemember struct{ memory }
	memoryRecall   struct{ memory }
)

// importance turns a word of a closed set into micro-units: no model sets a number.
func importance(word string) int32 {
	switch word {
	case "low":
		return 250_000
	case "high":
		return 850_000
	}
	return 500_000
}

// Act implements skill.Executable.
func (m memoryRemember) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	a := struct {
		Text        string `json:"text"`
		Title       string `json:"title"`
		Kind        string `json:"kind"`
		Known       string `json:"known"`
		Scope       string `json:"scope"`
		Sensitivity string `json:"sensitivity"`
		Importance  string `json:"importance"`
		OccurredAt  string `json:"occurredAt"`
	}{Kind: "semantic", Known: "told", Sensitivity: "internal"}
	if err := begin(c, manifest.PermitMemory, &a); err != nil {
		return skill.Output{}, err
	}
	var at time.Time
	if a.OccurredAt != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, a.OccurredAt); err != nil {
			return skill.Output{}, fault.New(fault.Invalid, "%q is no time like 2026-12-04T14:30:00Z", a.OccurredAt).On("occurredAt")
		}
	}
	// What was told comes from whom the agent works for; what was concluded from the agent.
	source := c.Requester
	if a.Known == "inferred" || source == "" {
		source = c.Actor
	}
	out := &struct {
		ID    id.ID  `json:"id"`
		Scope string `json:"scope"`
	}{}
	return skill.Output{Value: out, Commit: func(tx event.Tx) error {
		scopes, err := m.scopes(tx, c, a.Scope)
		if err != nil {
			return err
		}
		out.Scope = scopes[0]
		out.ID, err = m.rows.Remember(tx, NewMemory{Kind: a.Kind, Epistemic: a.Known, Scope: scopes[0], Sensitivity: a.Sensitivity,
			Title: a.Title, Text: a.Text, OccurredAt: at, Importance: importance(a.Importance), Source: source, By: c.Actor,
			Subject: c.Subject, Stream: c.Stream}, c.Cause)
		return err
	}}, nil
}

// scopes returns the scopes that the actor may use here, or the one of the kind
// that was asked for. None is fault.Denied.
func (m memory) scopes(tx event.Tx, c skill.Call, kind string) ([]string, error) {
	all, err := m.rows.Scopes(tx, c.Actor, c.Workspace)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range all {
		if k, _, _ := strings.Cut(s, ":"); kind == "" || k == kind {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		if kind == "" {
			kind = "any"
		}
		return nil, fault.New(fault.Denied, "%s may not use a memory scope of kind %s here", c.Actor, kind).On("scope")
	}
	return out, nil
}

// hit is a memory as results show it.
type hit struct {
	ID         id.ID            `json:"id"`
	Kind       string           `json:"kind"`
	Known      string           `json:"known"`
	Title      string           `json:"title"`
	Text       string           `json:"text"`
	Scope      string           `json:"scope"`
	Source     string           `json:"source"`
	OccurredAt string           `json:"occurredAt"`
	Confidence int32            `json:"confidence"` // micro-units
	Score      string           `json:"score"`      // decimal
	Parts      map[string]int64 `json:"parts"`      // micro-units
}

// Act implements skill.Executable. The search runs on a snapshot, outside the
// transaction that records it.
func (m memoryRecall) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	a := struct {
		Query       string `json:"query"`
		Scope       string `json:"scope"`
		Sensitivity string `json:"sensitivity"`
		Limit       int    `json:"limit"`
	}{Limit: 10, Sensitivity: "internal"}
	if err := begin(c, manifest.PermitMemory, &a); err != nil {
		return skill.Output{}, err
	}
	q := MemoryQuery{Text: a.Query, Readers: readers(c), Sensitivity: a.Sensitivity, Limit: a.Limit, Now: c.Now}
	var r Recalled
	if err := m.journal.View(ctx, c.Account, func(tx event.Tx) (err error) {
		if q.Scopes, err = m.scopes(tx, c, a.Scope); err == nil {
			r, err = m.rows.Recall(tx, q)
		}
		return err
	}); err != nil {
		return skill.Output{}, err
	}
	hits := []hit{}
	for _, h := range r.Hits {
		hits = append(hits, hit{ID: h.ID, Kind: h.Kind, Known: h.Epistemic, Title: h.Title, Text: h.Body, Scope: h.Scope, Source: h.Source,
			OccurredAt: h.OccurredAt.UTC().Format(timeForm), Confidence: h.Confidence, Score: decimal(h.Score),
			Parts: map[string]int64{"bm25": h.BM25, "recency": h.Recency, "importance": h.Importance}})
	}
	return skill.Output{
		Value: map[string]any{"hits": hits, "ranking": r.Ranking},
		Label: joined(r.Hits, func(h MemoryHit) event.Label { return h.Label }),
		Commit: func(tx event.Tx) error {
			return m.rows.Retrieved(tx, q, r, c.Actor, c.Stream, c.Subject, c.Cause)
		},
	}, nil
}

// decimal renders micro-units with two digits.
func decimal(micros int64) string {
	hundredths := (micros + 5_000) / 10_000
	return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
}
