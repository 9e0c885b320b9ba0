package app

import (
	"context"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/policy"
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
