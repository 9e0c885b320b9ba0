package app

import (
	"context"
	"strconv"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store"
)

// policyVersion fills agent.PolicyVersion from policy.
type policyVersion struct{ policy *policy.Service }

// Version implements agent.PolicyVersion.
func (p policyVersion) Version(tx event.Tx) (int, error) {
	t, err := p.policy.Current(tx)
	if err != nil {
		return 0, err
	}
	return t.Version(), nil
}

// agentsOf fills dispatch.Agents.
type agentsOf struct{ store agent.Store }

// Serves implements dispatch.Agents.
func (a agentsOf) Serves(tx event.Tx, name string) (bool, error) {
	_, err := a.store.CurrentVersion(tx, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// deliveries fills skill.Deliveries: the bus reads the committed event back.
type deliveries struct{ engine bus.Engine }

// SkillInvoke implements skill.Deliveries.
func (d deliveries) SkillInvoke(ctx context.Context, account, ev id.ID) (event.Delivery[event.SkillInvoke], error) {
	return bus.Deliver[event.SkillInvoke](ctx, d.engine, account, ev)
}

// vault fills skill.Vault from identity.
type vault struct{ v identity.Vault }

// Secret implements skill.Vault.
func (v vault) Secret(ctx context.Context, account id.ID, name string) (secret.String, error) {
	return v.v.Get(ctx, account, name)
}

// closeApprovals ends what a run still asked about once nobody waits for it.
func closeApprovals(p *policy.Service) func(tx event.Tx, e event.Event) error {
	return func(tx event.Tx, e event.Event) error {
		switch v := e.Payload.(type) {
		case event.RunFinished:
			return p.CloseRun(tx, v.RunID, e.Ref())
		case event.RunCancelled:
			return p.CloseRun(tx, v.RunID, e.Ref())
		default:
			return nil
		}
	}
}

// replay runs a recorded run again, offline.
func (p *parts) replay(tx event.Tx, run id.ID) (agent.Report, error) {
	return agent.Replayer{Store: p.rows.agent, Prompts: p.prompts, Catalogue: p.skills, Decisions: decisions{p}, Proof: store.CheckEvent, Code: Code()}.Replay(tx, run)
}

// decisions fills agent.Decisions: policy decides again from what it recorded.
type decisions struct{ p *parts }

// Recheck implements agent.Decisions. A decision that a person's approval or a
// grant answered is proven by that record; what policy itself said is computed
// again. A decision that is missing or cannot be read is a difference like any.
func (d decisions) Recheck(tx event.Tx, invoke event.Event) (out []agent.Check, err error) {
	list, err := store.CausedBy(tx, invoke, "policy.decision")
	if err != nil {
		return nil, err
	}
	first := 0
	for _, one := range list {
		e, err := store.GetEvent(tx, one)
		if err == nil {
			err = store.CheckEvent(tx, one)
		}
		if fault.Is(err, fault.Corrupt) {
			return append(out, broken("policy decision", err.Error())), nil
		}
		if err != nil {
			return nil, err
		}
		v, ok := e.Payload.(event.PolicyDecision)
		if !ok || v.InvokeID != invoke.ID || v.Execution {
			continue
		}
		first++
		c, err := d.recheck(tx, invoke, v)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	effect, err := d.p.rows.skill.FindByCause(tx, invoke.ID)
	switch {
	case fault.Is(err, fault.NotFound): // refused before there was a row
	case err != nil:
		return nil, err
	case !effect.Decision.IsZero() && first != 1:
		out = append(out, broken("policy decision", strconv.Itoa(first)+" decisions about this call are recorded"))
	case !effect.Edit.IsZero():
		if err := store.CheckEvent(tx, effect.Edit); fault.Is(err, fault.Corrupt) {
			out = append(out, broken("edit", err.Error()))
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// broken is a check that failed for what the record itself says.
func broken(what, why string) agent.Check { return agent.Check{What: what, Recorded: []byte(why)} }

func (d decisions) recheck(tx event.Tx, invoke event.Event, v event.PolicyDecision) (c agent.Check, err error) {
	again, err := d.p.policy.Again(tx, v, invoke)
	if err != nil {
		return c, err
	}
	c.What = "policy decision"
	if c.Recorded, err = canon.JSON(outcome{v.Effect, v.Rule, v.Version, v.Digest}); err != nil {
		return c, err
	}
	c.Produced, err = canon.JSON(outcome{again.Effect.String(), again.Rule, again.Version, again.Digest})
	return c, err
}

// outcome is what a decision says, for comparing.
type outcome struct {
	Effect  string `json:"effect"`
	Rule    string `json:"rule"`
	Version int    `json:"version"`
	Digest  string `json:"digest"`
}
