package app

import (
	"context"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
)

// TestTheServicesThemselvesHoldTheRolesTable: what a role may not do is refused
// by the service that does it, whatever door forgot to ask.
func TestTheServicesThemselvesHoldTheRolesTable(t *testing.T) {
	t.Parallel()
	w := try(t, setup{channels: outsideDoor(), mind: once()})
	ctx, account, nothing := context.Background(), w.p.account, w.app.deps.IDs.New()
	src, err := agent.ReadSource("new.yaml", []byte("name: newcomer\ndescription: New.\n"))
	if err != nil {
		t.Fatal(err)
	}
	name := "Somebody"
	d := w.p.dispatch
	acts := map[string]struct {
		act identity.Act
		do  func(by id.ID) error
	}{
		"settle an effect": {identity.ActEffectSettle, func(by id.ID) error {
			_, err := w.p.skills.Settle(ctx, account, skill.Settlement{Person: by, Effect: nothing, Word: skill.DidNot})
			return err
		}},
		"change the catalogue": {identity.ActSkillManage, func(by id.ID) error {
			_, err := w.p.skills.ChangeCatalogue(ctx, account, skill.By{Person: by}, skill.Change{Remove: []string{"no.such"}})
			return err
		}},
		"cancel a run": {identity.ActRunCancel, func(by id.ID) error { return w.p.agents.Cancel(ctx, account, "person:"+by.String(), nothing) }},
		"define an agent": {identity.ActAgentManage, func(by id.ID) error {
			_, err := w.p.agents.Define(ctx, account, []agent.Source{src}, "person:"+by.String())
			return err
		}},
		"add a contact": {identity.ActContactManage, func(by id.ID) error {
			_, err := d.AddContact(ctx, account, by, dispatch.NewContact{Name: name})
			return err
		}},
		"change a contact": {identity.ActContactManage, func(by id.ID) error {
			_, err := d.ChangeContact(ctx, account, by, nothing, dispatch.Change{Name: &name})
			return err
		}},
		"add an address":  {identity.ActContactManage, func(by id.ID) error { return d.AddAddress(ctx, account, by, nothing, "door", "x") }},
		"drop an address": {identity.ActContactManage, func(by id.ID) error { return d.DropAddress(ctx, account, by, "door", "x") }},
		"set a route": {identity.ActRoutingWrite, func(by id.ID) error {
			return d.SaveRoute(ctx, account, by, dispatch.Route{Kind: dispatch.RouteChannel, Key: "door", Agent: "coordinator"})
		}},
		"drop a route": {identity.ActRoutingWrite, func(by id.ID) error { return d.DropRoute(ctx, account, by, dispatch.RouteThread, nothing.String()) }},
		"identify a sender": {identity.ActHeldDecide, func(by id.ID) error {
			_, err := d.Identify(ctx, account, by, nothing, dispatch.Who{Name: name})
			return err
		}},
		"release a message": {identity.ActHeldDecide, func(by id.ID) error { return d.Release(ctx, account, by, nothing) }},
		"dismiss a message": {identity.ActHeldDecide, func(by id.ID) error { return d.Dismiss(ctx, account, by, nothing) }},
		"block a sender":    {identity.ActHeldDecide, func(by id.ID) error { return d.Block(ctx, account, by, nothing) }},
		"settle a delivery": {identity.ActHeldDecide, func(by id.ID) error { return d.Settle(ctx, account, by, nothing, true) }},
		"resend a delivery": {identity.ActHeldDecide, func(by id.ID) error { return d.Resend(ctx, account, by, nothing) }},
		"unpark a stream": {identity.ActJournalUnpark, func(by id.ID) error {
			return w.p.unpark(ctx, account, "person:"+by.String(), "no.such", nothing, false)
		}},
		"release what a restore held": {identity.ActJournalUnpark, func(by id.ID) error {
			_, _, err := w.p.audit().Release(ctx, account, "person:"+by.String())
			return err
		}},
	}
	for _, role := range identity.Roles() {
		by := w.person("some-"+string(role), role)
		for what, a := range acts {
			err := a.do(by.PersonID)
			if denied := fault.Is(err, fault.Denied); denied == identity.Allowed(role, a.act) {
				t.Errorf("%s by the %s: %v", what, role, err)
			}
		}
	}
	for what, a := range acts { // an id alone is nobody
		refused(t, what+" by nobody", a.do(nothing), fault.Denied)
	}
}
