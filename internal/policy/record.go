package policy

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// record is Request as it is stored in an event.
type record struct {
	Actor        string               `json:"actor"`
	Requester    Maybe[string]        `json:"requester"`
	Trust        Maybe[int32]         `json:"trust"`
	Workspace    Maybe[id.ID]         `json:"workspace"`
	Run          id.ID                `json:"run,omitzero"`
	Skill        string               `json:"skill"`
	Manifest     string               `json:"manifest"`
	Risk         Maybe[Risk]          `json:"risk"`
	Access       Maybe[Access]        `json:"access"`
	Targets      Maybe[[]Target]      `json:"targets"`
	Arguments    json.RawMessage      `json:"arguments,omitempty"`
	Why          Maybe[string]        `json:"why"`
	What         []recordLabel        `json:"what,omitempty"`
	Sensitivity  Maybe[Sensitivity]   `json:"sensitivity"`
	Recipients   Maybe[[]Recipient]   `json:"recipients"`
	Channel      Maybe[string]        `json:"channel"`
	Autonomy     Maybe[int]           `json:"autonomy"`
	Now          Maybe[int64]         `json:"now"` // microseconds
	Dreaming     Maybe[bool]          `json:"dreaming"`
	Commitments  Maybe[[]Commitment]  `json:"commitments"`
	Grants       Maybe[[]recordGrant] `json:"grants"`
	Endorsements Maybe[[]recordNod]   `json:"endorsements"`
}

type recordLabel struct {
	Pointer string `json:"pointer"`
	Label   string `json:"label"`
}

type recordGrant struct {
	ID     id.ID     `json:"id"`
	Holder string    `json:"holder"`
	Spec   GrantSpec `json:"spec"`
}

type recordNod struct {
	ID      id.ID  `json:"id"`
	Run     id.ID  `json:"run"`
	Skill   string `json:"skill"`
	Targets string `json:"targets"`
	Label   string `json:"label"`
}

// MarshalJSON renders the request as it is recorded for replay and backtest.
func (r Request) MarshalJSON() ([]byte, error) {
	rec := record{
		Actor: r.Actor, Requester: r.Requester, Trust: r.Trust, Workspace: r.Workspace, Run: r.Run,
		Skill: r.Skill, Manifest: r.Manifest, Risk: r.Risk, Access: r.Access, Targets: r.Targets,
		Arguments: r.Arguments, Sensitivity: r.Sensitivity, Recipients: r.Recipients, Channel: r.Channel,
		Autonomy: r.Autonomy, Dreaming: r.Dreaming, Commitments: r.Commitments,
	}
	if v, ok := r.Why.Get(); ok {
		rec.Why = Known(v.String())
	}
	if v, ok := r.Now.Get(); ok {
		rec.Now = Known(clock.Micros(v))
	}
	for _, w := range r.What {
		rec.What = append(rec.What, recordLabel{w.Pointer, w.Label.String()})
	}
	if gs, ok := r.Grants.Get(); ok {
		out := make([]recordGrant, len(gs))
		for i, g := range gs {
			out[i] = recordGrant{g.ID, g.Holder, g.Spec}
		}
		rec.Grants = Known(out)
	}
	if es, ok := r.Endorsements.Get(); ok {
		out := make([]recordNod, len(es))
		for i, e := range es {
			out[i] = recordNod{e.ID, e.Run, e.Skill, e.Targets, e.Label.String()}
		}
		rec.Endorsements = Known(out)
	}
	return json.Marshal(rec)
}

// UnmarshalJSON is the inverse of MarshalJSON, so that a recorded decision can
// be made again, under the same rules or a draft of others.
func (r *Request) UnmarshalJSON(b []byte) error {
	var rec record
	if err := json.Unmarshal(b, &rec); err != nil {
		return fault.New(fault.Corrupt, "read a recorded request: %w", err)
	}
	out := Request{
		Actor: rec.Actor, Requester: rec.Requester, Trust: rec.Trust, Workspace: rec.Workspace, Run: rec.Run,
		Skill: rec.Skill, Manifest: rec.Manifest, Risk: rec.Risk, Access: rec.Access, Targets: rec.Targets,
		Arguments: rec.Arguments, Sensitivity: rec.Sensitivity, Recipients: rec.Recipients, Channel: rec.Channel,
		Autonomy: rec.Autonomy, Dreaming: rec.Dreaming, Commitments: rec.Commitments,
	}
	if v, ok := rec.Why.Get(); ok {
		l, err := event.ParseLabel(v)
		if err != nil {
			return err
		}
		out.Why = Known(l)
	}
	if v, ok := rec.Now.Get(); ok {
		out.Now = Known(clock.FromMicros(v))
	}
	for _, w := range rec.What {
		l, err := event.ParseLabel(w.Label)
		if err != nil {
			return err
		}
		out.What = append(out.What, ArgumentLabel{w.Pointer, l})
	}
	if gs, ok := rec.Grants.Get(); ok {
		list := make([]Grant, 0, len(gs))
		for _, g := range gs {
			made, err := newGrant(g.ID, g.Holder, g.Spec)
			if err != nil {
				return err
			}
			list = append(list, made)
		}
		out.Grants = Known(list)
	}
	if es, ok := rec.Endorsements.Get(); ok {
		list := make([]Endorsement, 0, len(es))
		for _, e := range es {
			l, err := event.ParseLabel(e.Label)
			if err != nil {
				return err
			}
			list = append(list, Endorsement{e.ID, e.Run, e.Skill, e.Targets, l})
		}
		out.Endorsements = Known(list)
	}
	*r = out
	return nil
}
