package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) runRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/runs", identity.ActRunRead, "Runs that are not finished, oldest first; or the runs of a thread, newest first.", a.listRuns),
		on("GET", "/api/v1/runs/{id}", identity.ActRunRead, "One run: its calls, its answer and its cost.", a.getRun),
		on("GET", "/api/v1/runs/{id}/records", identity.ActRunRead, "The log of a run.", a.listRecords),
		on("POST", "/api/v1/runs/{id}/cancel", identity.ActRunCancel, "End a run; what is out is left to the effect ledger.", a.cancelRun),
		on("POST", "/api/v1/runs/{id}/replay", identity.ActReplay, "Compute a run again from its records, without model or network, and compare.", a.replayRun),
	}
}

type runView struct {
	ID        id.ID     `json:"id"`
	ThreadID  id.ID     `json:"threadId"`
	Agent     string    `json:"agent"`
	State     string    `json:"state"`             // queued, ready, thinking, waiting, resting, finished
	Outcome   string    `json:"outcome,omitempty"` // answered, failed, cancelled, budget
	MessageID id.ID     `json:"messageId"`
	TaskEvent id.ID     `json:"taskEventId"`
	Requester string    `json:"requester"`
	Place     int       `json:"place"` // in its thread, from 1
	Steps     int       `json:"steps"`
	Records   int       `json:"records"`
	TokensIn  int64     `json:"tokensIn"`
	TokensOut int64     `json:"tokensOut"`
	Cost      int64     `json:"costMicroUsd"`
	CostKnown bool      `json:"costKnown"`
	Digest    string    `json:"digest,omitempty"`
	DueAt     time.Time `json:"dueAt,omitzero"`
	CreatedAt time.Time `json:"createdAt"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

func viewRun(r agent.Run) runView {
	return runView{ID: r.ID, ThreadID: r.Thread, Agent: r.Agent, State: string(r.State), Outcome: r.Outcome, MessageID: r.Message, TaskEvent: r.Task,
		Requester: r.Requester, Place: r.Ord, Steps: r.Steps, Records: r.Records, TokensIn: r.TokensIn, TokensOut: r.TokensOut, Cost: r.Cost,
		CostKnown: r.CostKnown, Digest: r.Digest, DueAt: r.Due, CreatedAt: r.Created, StartedAt: r.Started, EndedAt: r.Ended}
}

type runsIn struct {
	Thread id.ID `query:"thread"`
	Before int   `query:"before" doc:"with thread: the place of the last one of the page before"`
	Limit  int   `query:"limit"`
}

func (a *API) listRuns(ctx context.Context, _ *call, in runsIn) (list[runView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[runView]{}, err
	}
	or(&in.Before, 1<<30)
	rows, err := see(ctx, a, func(tx event.Tx) ([]agent.Run, error) {
		if in.Thread.IsZero() {
			return a.Agents.Store.ListUnfinished(tx, n)
		}
		return a.Agents.Store.ListRuns(tx, in.Thread, in.Before, n)
	})
	return listOf(rows, viewRun), err
}

type runCallView struct {
	Step      int             `json:"step"`
	CallID    string          `json:"callId"`
	Skill     string          `json:"skill"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	EventID   id.ID           `json:"eventId"` // skill.invoke
	Label     string          `json:"label"`
	State     string          `json:"state"` // waiting, or that of its result
	Output    json.RawMessage `json:"output,omitempty"`
	ErrorKind string          `json:"errorKind,omitempty"`
	Error     string          `json:"error,omitempty"`
	ResultID  id.ID           `json:"resultEventId,omitzero"`
}

type runDetail struct {
	runView
	Why    string        `json:"why,omitempty"` // label of all that was in the context
	Prompt string        `json:"prompt,omitempty"`
	Brain  string        `json:"brain,omitempty"` // model, plain
	Calls  []runCallView `json:"calls"`
	Answer []sentence    `json:"answer,omitempty"`
}

// sentence is a stretch of an answer; one that no event speaks for is the
// agent's word only.
type sentence struct {
	Text    string `json:"text"`
	EventID id.ID  `json:"eventId,omitzero"`
}

func (a *API) getRun(ctx context.Context, _ *call, in idIn) (runDetail, error) {
	f, err := see(ctx, a, func(tx event.Tx) (agent.Facts, error) {
		r, err := a.Agents.Store.GetRun(tx, in.ID)
		if err != nil || r.Records == 0 { // it has not started: there is no more to know
			return agent.Facts{Run: r}, err
		}
		return a.Agents.Facts(tx, in.ID)
	})
	if err != nil {
		return runDetail{}, err
	}
	v := runDetail{runView: viewRun(f.Run), Prompt: f.Start.Prompt, Brain: f.Start.Brain, Calls: []runCallView{}}
	if !f.Why.IsZero() {
		v.Why = f.Why.String()
	}
	for _, k := range f.Calls {
		v.Calls = append(v.Calls, viewRunCall(k))
	}
	for _, s := range f.Says {
		v.Answer = append(v.Answer, sentence{s.Text, s.EventID})
	}
	return v, nil
}

func viewRunCall(k agent.CallFact) runCallView {
	v := runCallView{Step: k.Step, CallID: k.Invoke.CallID, Skill: k.Invoke.Skill, Arguments: k.Invoke.Arguments, EventID: k.Event, Label: k.Label.String(), State: "waiting"}
	if r := k.Result; r != nil {
		v.State, v.Output, v.ErrorKind, v.Error, v.ResultID = r.State, r.Output, r.ErrorKind, r.Error, k.ResultEvent
	}
	return v
}

type recordView struct {
	N       int    `json:"n"`
	Kind    string `json:"kind"` // start, request, reply, budget, summary, call, result, answer
	Step    int    `json:"step"`
	CallID  string `json:"callId,omitempty"`
	EventID id.ID  `json:"eventId"`
	Label   string `json:"label"`
}

func (a *API) listRecords(ctx context.Context, _ *call, in idIn) (list[recordView], error) {
	rows, err := see(ctx, a, func(tx event.Tx) ([]agent.Record, error) {
		if _, err := a.Agents.Store.GetRun(tx, in.ID); err != nil {
			return nil, err
		}
		return a.Agents.Store.LoadRecords(tx, in.ID)
	})
	return listOf(rows, func(r agent.Record) recordView {
		return recordView{N: r.N, Kind: string(r.Kind), Step: r.Step, CallID: r.CallID, EventID: r.EventID, Label: r.Label.String()}
	}), err
}

func (a *API) cancelRun(ctx context.Context, c *call, in idIn) (runDetail, error) {
	if err := a.Agents.Cancel(ctx, a.Account, c.who.By(), in.ID); err != nil {
		return runDetail{}, err
	}
	return a.getRun(ctx, c, in)
}

type replayView struct {
	RunID    id.ID           `json:"runId"`
	Verdict  string          `json:"verdict"` // exact, approximate, divergent
	Recorded string          `json:"recordedCode"`
	Code     string          `json:"code"`
	Outcome  string          `json:"outcome,omitempty"`
	Records  int             `json:"records"`
	Checked  int             `json:"checked"` // that were found right, from the first
	Steps    int             `json:"steps"`
	Digest   string          `json:"digest"`
	First    *divergenceView `json:"divergent,omitempty"` // the first thing that is not as it was recorded
}

type divergenceView struct {
	Record   int    `json:"record"`
	Step     int    `json:"step"`
	Kind     string `json:"kind"`
	CallID   string `json:"callId,omitempty"`
	What     string `json:"what"`
	Byte     int    `json:"byte"`
	Recorded string `json:"recorded"`
	Produced string `json:"produced"`
	Reason   string `json:"reason"`
	Sentence string `json:"sentence"`
}

func (a *API) replayRun(ctx context.Context, _ *call, in idIn) (replayView, error) {
	r, err := see(ctx, a, func(tx event.Tx) (agent.Report, error) { return a.Replay(tx, in.ID) })
	if err != nil {
		return replayView{}, err
	}
	v := replayView{RunID: r.RunID, Verdict: r.Verdict, Recorded: r.Recorded, Code: r.Code, Outcome: r.Outcome, Records: r.Records, Checked: r.Checked, Steps: r.Steps, Digest: r.Digest}
	if d := r.First; d != nil {
		v.First = &divergenceView{Record: d.Record, Step: d.Step, Kind: string(d.Kind), CallID: d.CallID, What: d.What, Byte: d.Byte,
			Recorded: d.Recorded, Produced: d.Produced, Reason: d.Reason, Sentence: d.String()}
	}
	return v, nil
}
