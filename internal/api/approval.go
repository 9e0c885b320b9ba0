package api

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

func (a *API) approvalRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/approvals", identity.ActInboxRead, "Requests to act, newest first.", a.listApprovals),
		on("GET", "/api/v1/approvals/{id}", identity.ActInboxRead, "One request to act, by id or by key (AP-318).", a.getApproval),
		on("POST", "/api/v1/approvals/{id}/answer", identity.ActApprovalAnswer, "Allow, deny or edit the very call that the digest names.", a.answer, stepsUp()),
		on("POST", "/api/v1/approvals/{id}/withdraw", identity.ActApprovalAnswer, "Take an allowance back before it takes effect.", a.withdraw),
	}
}

type approvalsIn struct {
	State  string `query:"state" doc:"open, allowed, denied, used, expired, cancelled, superseded"`
	Run    id.ID  `query:"run"`
	Before int64  `query:"before" doc:"the number of the last one of the page before"`
	Limit  int    `query:"limit"`
}

func (a *API) listApprovals(ctx context.Context, _ *call, in approvalsIn) (list[approvalView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[approvalView]{}, err
	}
	return see(ctx, a, func(tx event.Tx) (list[approvalView], error) {
		all, err := a.Policy.ListApprovals(tx, policy.ApprovalFilter{State: policy.State(in.State), Run: in.Run, Before: in.Before, Limit: n})
		if err != nil {
			return list[approvalView]{}, err
		}
		views, err := a.titled(tx, all...)
		out := list[approvalView]{Items: views}
		if len(all) == n {
			out.Next = strconv.FormatInt(all[n-1].Number, 10)
		}
		return out, err
	})
}

// titled renders approvals with the sentence of their manifest. An approval
// whose manifest cannot be read has none: the exact call is what counts.
func (a *API) titled(tx event.Tx, all ...policy.Approval) ([]approvalView, error) {
	out := make([]approvalView, 0, len(all))
	for _, p := range all {
		v := viewApproval(p)
		e, err := a.Skills.Entry(tx, p.Request.Manifest)
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Corrupt) {
			return nil, err
		}
		if err == nil && !p.Erased {
			v.Title = e.Manifest.RenderTitle(p.Request.Arguments)
		}
		out = append(out, v)
	}
	return out, nil
}

// wordIn is the input of a route about one thing that has an id and a key.
type wordIn struct {
	ID string `path:"id"`
}

func (a *API) getApproval(ctx context.Context, _ *call, in wordIn) (approvalView, error) {
	return see(ctx, a, func(tx event.Tx) (approvalView, error) {
		p, err := a.findApproval(tx, in.ID)
		if err != nil {
			return approvalView{}, err
		}
		views, err := a.titled(tx, p)
		if err != nil {
			return approvalView{}, err
		}
		return views[0], nil
	})
}

func (a *API) findApproval(tx event.Tx, word string) (policy.Approval, error) {
	if strings.Contains(word, "-") {
		return a.Policy.GetApprovalByKey(tx, strings.ToUpper(word))
	}
	v, err := id.Parse(word)
	if err != nil || v.IsZero() {
		return policy.Approval{}, fault.New(fault.NotFound, "there is no such approval").On("id")
	}
	return a.Policy.GetApproval(tx, v)
}

type answerIn struct {
	ID   string `path:"id"`
	Body struct {
		Answer    string            `json:"answer" required:"true" doc:"allow, deny, edit"`
		Digest    string            `json:"digest" required:"true" doc:"of the approval as it was shown"`
		Scope     string            `json:"scope,omitempty" doc:"once, session, grant"`
		Grant     *policy.GrantSpec `json:"grant,omitempty" doc:"with scope session or grant; left out, the narrowest that covers the call"`
		Arguments json.RawMessage   `json:"arguments,omitempty" doc:"of an edit"`
		Reason    string            `json:"reason,omitempty"`
		StepUp    string            `json:"stepUp,omitempty" doc:"the token of /auth/passkey/stepup/finish"`
	}
}

func (a *API) answer(ctx context.Context, c *call, in answerIn) (approvalView, error) {
	b := in.Body
	p, err := see(ctx, a, func(tx event.Tx) (policy.Approval, error) { return a.findApproval(tx, in.ID) })
	if err != nil {
		return approvalView{}, err
	}
	if policy.Answer(b.Answer) == policy.AnswerAllow {
		if err := a.proven(c, p, b.Digest, b.StepUp); err != nil {
			return approvalView{}, err
		}
	}
	out, err := a.Policy.Answer(ctx, a.Account, c.who.PersonID, policy.AnswerRequest{
		Approval: p.ID, Digest: b.Digest, Answer: policy.Answer(b.Answer), Scope: policy.Scope(b.Scope), Grant: b.Grant,
		Arguments: b.Arguments, Reason: b.Reason, Via: via(c),
	})
	if err != nil {
		return approvalView{}, err
	}
	return viewApproval(out), nil
}

// proven asks a browser's person for a fresh proof before a high risk is
// allowed: a proof for this very call, or one within the last minutes. What an
// unattended browser could do is what this is against; a token or the socket is
// a program that its person set up.
func (a *API) proven(c *call, p policy.Approval, digest, token string) error {
	if c.who.Via != identity.ViaSession || p.Risk.Or(policy.RiskCritical) < policy.RiskHigh {
		return nil
	}
	if token != "" {
		return a.CheckStepUp(c.who, p.ID, digest, token)
	}
	if !c.who.FreshAt(a.Clock.Now()) {
		return fault.New(fault.Denied, "to allow a high risk needs your passkey or password again: %w", identity.ErrStepUp)
	}
	return nil
}

// via says which door a request came through. An answer over the API is meant:
// it waits for no change of mind, unless the console's scripts send it.
func via(c *call) policy.Via {
	switch c.who.Via {
	case identity.ViaMachine:
		return policy.ViaCLI
	case identity.ViaSession:
		return policy.ViaConsole
	case identity.ViaToken:
		return policy.ViaAPI
	}
	return policy.ViaAPI
}

func (a *API) withdraw(ctx context.Context, c *call, in wordIn) (approvalView, error) {
	p, err := see(ctx, a, func(tx event.Tx) (policy.Approval, error) { return a.findApproval(tx, in.ID) })
	if err != nil {
		return approvalView{}, err
	}
	if p, err = a.Policy.Withdraw(ctx, a.Account, c.who.PersonID, p.ID); err != nil {
		return approvalView{}, err
	}
	return viewApproval(p), nil
}
