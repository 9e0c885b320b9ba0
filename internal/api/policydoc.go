package api

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

func (a *API) policyRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/policy", identity.ActPolicyRead, "The policy in force, or one of its versions.", a.getPolicy),
		on("GET", "/api/v1/policy/versions", identity.ActPolicyRead, "The versions of the policy, newest first.", a.listPolicies),
		on("PUT", "/api/v1/policy", identity.ActPolicyWrite, "Make a document the policy in force, as the version after base.", a.putPolicy),
		on("GET", "/api/v1/autonomy", identity.ActPolicyRead, "The autonomy dials that were set.", a.getAutonomy),
		on("PUT", "/api/v1/autonomy", identity.ActPolicyWrite, "Move the dial of the account or of one actor.", a.putAutonomy),
		on("GET", "/api/v1/autonomy/history", identity.ActPolicyRead, "The moves of one dial, newest first.", a.autonomyHistory),
	}
}

type policyView struct {
	Version  int             `json:"version"`
	Document json.RawMessage `json:"document"`
	PersonID id.ID           `json:"personId,omitzero"` // nobody, for the standard policy
	At       time.Time       `json:"at"`
}

func viewPolicy(v policy.Version) policyView {
	return policyView{Version: v.Number, Document: v.Document, PersonID: v.Person, At: v.At}
}

type policyIn struct {
	Version int `query:"version" doc:"the one in force, if left out"`
}

func (a *API) getPolicy(ctx context.Context, _ *call, in policyIn) (policyView, error) {
	v, err := see(ctx, a, func(tx event.Tx) (policy.Version, error) {
		n := in.Version
		if n == 0 {
			t, err := a.Policy.Current(tx)
			if err != nil {
				return policy.Version{}, err
			}
			n = t.Version()
		}
		return a.Policy.GetVersion(tx, n)
	})
	if err != nil {
		return policyView{}, err
	}
	return viewPolicy(v), nil
}

type beforeIn struct {
	Before int64 `query:"before"`
	Limit  int   `query:"limit"`
}

func (a *API) listPolicies(ctx context.Context, _ *call, in beforeIn) (list[policyView], error) {
	most, err := page(in.Limit)
	if err != nil {
		return list[policyView]{}, err
	}
	all, err := see(ctx, a, func(tx event.Tx) (out []policy.Version, err error) {
		t, err := a.Policy.Current(tx)
		if err != nil {
			return nil, err
		}
		n := t.Version()
		if in.Before > 0 {
			n = min(n, int(in.Before)-1)
		}
		for ; n > 0 && len(out) < most; n-- {
			v, err := a.Policy.GetVersion(tx, n)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	})
	out := listOf(all, viewPolicy)
	if len(all) == most && all[most-1].Number > 1 {
		out.Next = strconv.Itoa(all[most-1].Number)
	}
	return out, err
}

type putPolicyIn struct {
	Body struct {
		Base     int             `json:"base" required:"true" doc:"the version that was edited"`
		Document json.RawMessage `json:"document,omitempty" doc:"as JSON"`
		Text     string          `json:"text,omitempty" doc:"as YAML; one of the two"`
		Comment  string          `json:"comment,omitempty"`
	}
}

func (a *API) putPolicy(ctx context.Context, c *call, in putPolicyIn) (policyView, error) {
	b := in.Body
	text := []byte(b.Text)
	if len(b.Document) > 0 {
		text = b.Document
	}
	if (len(b.Document) > 0) == (b.Text != "") {
		return policyView{}, fault.New(fault.Invalid, "it takes the policy as JSON or as YAML text, one of the two").On("document")
	}
	doc, err := policy.Parse(text)
	if err != nil {
		return policyView{}, err
	}
	n, err := a.Policy.Save(ctx, a.Account, c.who.PersonID, b.Base, doc, b.Comment)
	if err != nil {
		return policyView{}, err
	}
	return a.getPolicy(ctx, c, policyIn{Version: n})
}

type autonomyView struct {
	Scope    string    `json:"scope"` // account, or agent:NAME
	Value    int       `json:"value"` // 0 to 100
	Band     string    `json:"band"`
	PersonID id.ID     `json:"personId,omitzero"`
	At       time.Time `json:"at,omitzero"`
}

func viewAutonomy(m policy.AutonomyMove) autonomyView {
	return autonomyView{Scope: m.Scope, Value: m.Value, Band: string(policy.BandOf(m.Value)), PersonID: m.Person, At: m.At}
}

func (a *API) getAutonomy(ctx context.Context, _ *call, _ none) (list[autonomyView], error) {
	return see(ctx, a, func(tx event.Tx) (list[autonomyView], error) {
		all, err := a.Policy.ListAutonomy(tx)
		if err != nil {
			return list[autonomyView]{}, err
		}
		out := listOf(all, viewAutonomy)
		for _, m := range all {
			if m.Scope == "account" {
				return out, nil
			}
		}
		n, err := a.Policy.Autonomy(tx, "account") // nobody moved it yet
		out.Items = append([]autonomyView{viewAutonomy(policy.AutonomyMove{Scope: "account", Value: n})}, out.Items...)
		return out, err
	})
}

type putAutonomyIn struct {
	Body struct {
		Scope string `json:"scope" required:"true" doc:"account, or agent:NAME"`
		Value *int   `json:"value" required:"true" doc:"0 to 100"`
	}
}

func (a *API) putAutonomy(ctx context.Context, c *call, in putAutonomyIn) (list[autonomyView], error) {
	if err := a.Policy.SetAutonomy(ctx, a.Account, c.who.PersonID, in.Body.Scope, *in.Body.Value); err != nil {
		return list[autonomyView]{}, err
	}
	return a.getAutonomy(ctx, c, none{})
}

type scopeIn struct {
	Scope string `query:"scope" doc:"account, if left out"`
}

func (a *API) autonomyHistory(ctx context.Context, _ *call, in scopeIn) (list[autonomyView], error) {
	or(&in.Scope, "account")
	all, err := see(ctx, a, func(tx event.Tx) ([]policy.AutonomyMove, error) { return a.Policy.AutonomyHistory(tx, in.Scope) })
	return listOf(all, viewAutonomy), err
}
