package api

import (
	"context"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
)

func (a *API) usageRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/usage", identity.ActModelRead, "What agents spent on a day (UTC), and what calls under way hold.", a.usage),
		on("GET", "/api/v1/usage/calls", identity.ActModelRead, "Calls to models, newest first.", a.listCalls),
	}
}

type spendView struct {
	Scope     string `json:"scope"` // day, agent:NAME
	Period    string `json:"period"`
	Tokens    int64  `json:"tokens"`
	MicroUSD  int64  `json:"microUsd"`
	HeldToken int64  `json:"heldTokens"`
	HeldUSD   int64  `json:"heldMicroUsd"`
}

type dayIn struct {
	Day string `query:"day" doc:"2006-01-02; today, if left out"`
}

func (a *API) usage(ctx context.Context, _ *call, in dayIn) (list[spendView], error) {
	or(&in.Day, a.Clock.Now().Format(time.DateOnly))
	rows, err := see(ctx, a, func(tx event.Tx) ([]llm.Spend, error) { return a.LLM.ListSpends(tx, in.Day) })
	return listOf(rows, func(s llm.Spend) spendView {
		return spendView{Scope: s.Scope, Period: s.Period, Tokens: s.Spent.Tokens, MicroUSD: s.Spent.USDMicro, HeldToken: s.Held.Tokens, HeldUSD: s.Held.USDMicro}
	}), err
}

// callView is a call to a model; what was said stands in its events.
type callView struct {
	ID         id.ID     `json:"id"`
	RunID      id.ID     `json:"runId,omitzero"`
	Step       int       `json:"step"`
	Agent      string    `json:"agent"`
	Role       string    `json:"role"`
	Provider   string    `json:"provider"`
	Model      string    `json:"model"`
	Prompt     string    `json:"prompt,omitempty"` // NAME@N
	Status     string    `json:"status"`
	Stop       string    `json:"stop,omitempty"`
	ErrorKind  string    `json:"errorKind,omitempty"`
	Attempts   int       `json:"attempts"`
	TokensIn   int64     `json:"tokensIn"`
	TokensOut  int64     `json:"tokensOut"`
	MicroUSD   int64     `json:"microUsd"`
	CostKnown  bool      `json:"costKnown"`
	LatencyMS  int64     `json:"latencyMs"`
	RequestID  id.ID     `json:"requestEventId,omitzero"`
	ResponseID id.ID     `json:"responseEventId,omitzero"`
	AskedAt    time.Time `json:"askedAt"`
	EndedAt    time.Time `json:"endedAt,omitzero"`
}

func viewCall(r llm.CallRecord) callView {
	return callView{ID: r.ID, RunID: r.RunID, Step: r.Step, Agent: r.Agent, Role: r.Role, Provider: r.Provider, Model: r.Model, Prompt: r.Prompt,
		Status: string(r.Status), Stop: string(r.Stop), ErrorKind: r.ErrorKind, Attempts: r.Attempts, TokensIn: r.Usage.Input, TokensOut: r.Usage.Output,
		MicroUSD: r.Cost, CostKnown: r.Known, LatencyMS: r.Latency.Milliseconds(), RequestID: r.RequestEvent, ResponseID: r.ResponseEvent, AskedAt: r.AskedAt, EndedAt: r.EndedAt}
}

type callsIn struct {
	Run    id.ID  `query:"run"`
	Agent  string `query:"agent"`
	Role   string `query:"role"`
	Before int64  `query:"before" doc:"microseconds: what next said"`
	Limit  int    `query:"limit"`
}

func (a *API) listCalls(ctx context.Context, _ *call, in callsIn) (list[callView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[callView]{}, err
	}
	f := llm.CallFilter{RunID: in.Run, Agent: in.Agent, Role: in.Role, Before: micros(in.Before), Limit: n}
	rows, err := see(ctx, a, func(tx event.Tx) ([]llm.CallRecord, error) { return a.LLM.ListCalls(tx, f) })
	out := listOf(rows, viewCall)
	if len(rows) == n {
		out.Next = strconv.FormatInt(clock.Micros(rows[n-1].AskedAt), 10)
	}
	return out, err
}
