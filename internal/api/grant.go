package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

func (a *API) grantRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/grants", identity.ActGrantRead, "Grants, newest first.", a.listGrants),
		on("POST", "/api/v1/grants", identity.ActApprovalAnswer, "Give an actor a scoped, expiring permission; it answers no guardrail and no label.", a.makeGrant, status(http.StatusCreated)),
		on("DELETE", "/api/v1/grants/{id}", identity.ActGrantRevoke, "End a grant early.", a.revokeGrant),
	}
}

type grantView struct {
	ID       id.ID            `json:"id"`
	Holder   string           `json:"holder"` // principal
	Spec     policy.GrantSpec `json:"spec"`
	Sentence string           `json:"sentence"` // the grant as a person gave it
	Used     int              `json:"used"`
	InForce  bool             `json:"inForce"`
	PersonID id.ID            `json:"personId,omitzero"` // who gave it
	Approval id.ID            `json:"approvalId,omitzero"`
	At       time.Time        `json:"at"`
	Ended    string           `json:"ended,omitempty"` // revoked, used, withdrawn
	EndedAt  time.Time        `json:"endedAt,omitzero"`
}

func (a *API) viewGrant(g policy.GrantRow) grantView {
	return grantView{ID: g.ID, Holder: g.Holder, Spec: g.Spec, Sentence: g.Sentence(), Used: g.Used, InForce: g.InForce(a.Clock.Now()),
		PersonID: g.Person, Approval: g.Approval, At: g.At, Ended: g.Ended, EndedAt: g.EndedAt}
}

type grantsIn struct {
	All bool `query:"all" doc:"the ended ones too"`
}

func (a *API) listGrants(ctx context.Context, _ *call, in grantsIn) (list[grantView], error) {
	all, err := see(ctx, a, func(tx event.Tx) ([]policy.GrantRow, error) { return a.Policy.ListGrants(tx, in.All) })
	return listOf(all, a.viewGrant), err
}

type grantIn struct {
	Body struct {
		Holder string           `json:"holder" required:"true" doc:"principal, such as agent:NAME"`
		Spec   policy.GrantSpec `json:"spec" required:"true"`
	}
}

func (a *API) makeGrant(ctx context.Context, c *call, in grantIn) (grantView, error) {
	g, err := a.Policy.MakeGrant(ctx, a.Account, c.who.PersonID, in.Body.Holder, in.Body.Spec)
	if err != nil {
		return grantView{}, err
	}
	return a.viewGrant(g), nil
}

func (a *API) revokeGrant(ctx context.Context, c *call, in idIn) (none, error) {
	return none{}, a.Policy.RevokeGrant(ctx, a.Account, c.who.PersonID, in.ID)
}
