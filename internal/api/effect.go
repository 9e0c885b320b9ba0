package api

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
)

func (a *API) effectRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/effects", identity.ActEffectRead, "The effect ledger, newest first.", a.listEffects),
		on("GET", "/api/v1/effects/{id}", identity.ActEffectRead, "One effect and its history.", a.getEffect),
		on("POST", "/api/v1/effects/{id}/settle", identity.ActEffectSettle, "Say what became of an effect that nobody can tell, or of one held after a restore.", a.settleEffect),
	}
}

type effectView struct {
	ID         id.ID     `json:"id"`
	State      string    `json:"state"` // asked, intended, dispatching, confirmed, failed, unknown, held, denied, refused
	Skill      string    `json:"skill"`
	Class      string    `json:"class"` // read, idempotent, reconcilable, once
	Actor      string    `json:"actor"`
	Requester  string    `json:"requester,omitempty"`
	RunID      id.ID     `json:"runId,omitzero"`
	Step       int       `json:"step"`
	CallID     string    `json:"callId"`
	Attempt    int       `json:"attempt"` // 0 before the first
	Key        string    `json:"key"`     // idempotency key
	Manifest   string    `json:"manifest"`
	Catalogue  int       `json:"catalogue"`
	ApprovalID id.ID     `json:"approvalId,omitzero"`
	InvokeID   id.ID     `json:"invokeEventId"`
	DecisionID id.ID     `json:"decisionEventId,omitzero"`
	ResultID   id.ID     `json:"resultEventId,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	Before     string    `json:"before,omitempty"` // the state from which it was held or became unknown
	Label      string    `json:"label"`
	Deadline   time.Time `json:"deadline,omitzero"`
	CreatedAt  time.Time `json:"createdAt"`
	ChangedAt  time.Time `json:"changedAt"`
}

func viewEffect(e skill.Effect) effectView {
	return effectView{ID: e.ID, State: string(e.State), Skill: e.Skill, Class: string(e.Class), Actor: e.Actor, Requester: e.Requester, RunID: e.RunID,
		Step: e.Step, CallID: e.CallID, Attempt: e.Attempt, Key: e.Key, Manifest: e.Manifest, Catalogue: e.Catalogue, ApprovalID: e.Approval,
		InvokeID: e.Cause, DecisionID: e.Decision, ResultID: e.Result, Reason: e.Reason, Before: string(e.Before), Label: e.Label.String(),
		Deadline: e.Deadline, CreatedAt: e.CreatedAt, ChangedAt: e.ChangedAt}
}

type effectsIn struct {
	Run    id.ID  `query:"run"`
	State  string `query:"state"`
	Before id.ID  `query:"before" doc:"the id of the last one of the page before"`
	Limit  int    `query:"limit"`
}

func (a *API) listEffects(ctx context.Context, _ *call, in effectsIn) (list[effectView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[effectView]{}, err
	}
	rows, err := see(ctx, a, func(tx event.Tx) ([]skill.Effect, error) {
		return a.Skills.Effects(tx, skill.Filter{Run: in.Run, State: skill.State(in.State), Before: in.Before, Limit: n})
	})
	out := listOf(rows, viewEffect)
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}

type effectStep struct {
	Number  int       `json:"number"`
	State   string    `json:"state"`
	Attempt int       `json:"attempt"`
	EventID id.ID     `json:"eventId"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at"`
}

type effectDetail struct {
	effectView
	Steps []effectStep `json:"steps"` // oldest first
}

func (a *API) getEffect(ctx context.Context, _ *call, in idIn) (effectDetail, error) {
	return see(ctx, a, func(tx event.Tx) (effectDetail, error) {
		e, steps, err := a.Skills.Effect(tx, in.ID)
		if err != nil {
			return effectDetail{}, err
		}
		v := effectDetail{effectView: viewEffect(e), Steps: []effectStep{}}
		for _, s := range steps {
			v.Steps = append(v.Steps, effectStep{s.Number, string(s.State), s.Attempt, s.EventID, s.Reason, s.At})
		}
		return v, nil
	})
}

type settleIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Word string `json:"word" required:"true" doc:"happened, did_not, read_back, run"`
		Note string `json:"note,omitempty"`
	}
}

func (a *API) settleEffect(ctx context.Context, c *call, in settleIn) (effectDetail, error) {
	_, err := a.Skills.Settle(ctx, a.Account, skill.Settlement{Person: c.who.PersonID, Effect: in.ID, Word: skill.Word(in.Body.Word), Note: in.Body.Note})
	if err != nil {
		return effectDetail{}, err
	}
	return a.getEffect(ctx, c, idIn{in.ID})
}
