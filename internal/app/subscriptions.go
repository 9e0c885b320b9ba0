package app

import "github.com/witan-run/witan/internal/bus"

// subscriptions is the whole message flow: who reacts to what, inside the
// transaction that appends the event, in this order. docs/flow.md is made from it.
//
//	channel → inbound.message → dispatch → agent.task → agent → skill.invoke
//	→ skill (policy decides, a person may be asked) → skill.result → agent
//	→ agent.response → dispatch → outbound.message → channel
func (p *parts) subscriptions() (*bus.Table, error) {
	return bus.NewTable(
		bus.Reaction{Name: "policy.account", On: types("account.created"), Run: p.policy.OnAccount,
			Doc: "A fresh account gets the standard policy."},

		bus.Reaction{Name: "dispatch.inbound", On: types("inbound.message"), Run: p.dispatch.OnInbound,
			Doc: "Gates, contact and route; then agent.task, or held or rejected with a reason."},
		bus.Reaction{Name: "dispatch.notice", On: types("inbound.event"), Run: p.dispatch.OnNotice,
			Doc: "Receipts and other news of a medium."},

		bus.Reaction{Name: "agent.task", On: types("agent.task"), Run: p.agents.OnTask,
			Doc: "The thread gets a turn, the agent a run; one run at a time per thread."},
		bus.Reaction{Name: "skill.invoke", On: types("skill.invoke"), Run: p.skills.OnInvoke,
			Doc: "The gate: schema, holdings, policy; then intended, asked, denied or refused."},
		bus.Reaction{Name: "skill.approval", On: types("approval.answered"), Run: p.skills.OnApproval,
			Doc: "An allowed call becomes intended when the answer takes effect; a denied one ends."},
		bus.Reaction{Name: "skill.withdrawn", On: types("approval.withdrawn"), Run: p.skills.OnWithdrawn,
			Doc: "An answer that was taken back in time stops the call again."},
		bus.Reaction{Name: "skill.closed", On: types("approval.closed"), Run: p.skills.OnApprovalClosed,
			Doc: "A call that nobody answered ends."},
		bus.Reaction{Name: "skill.cancelled", On: types("run.cancelled"), Run: p.skills.OnRunCancelled,
			Doc: "A cancelled run's calls that have not left are called off."},
		bus.Reaction{Name: "skill.held", On: types("work.held"), Run: p.skills.OnHeld,
			Doc: "An effect that was taken out of the workers' hands waits for a person."},
		bus.Reaction{Name: "skill.epoch", On: types("epoch.started"), Run: p.skills.OnEpoch,
			Doc: "Effects of the past wait for a person after a restore."},
		bus.Reaction{Name: "agent.result", On: types("skill.result"), Run: p.agents.OnResult,
			Doc: "The run gets the result; when all are in, it goes on."},

		bus.Reaction{Name: "dispatch.response", On: types("agent.response"), Run: p.dispatch.OnResponse,
			Doc: "The answer goes back to where the question came from, through the one way out."},
		bus.Reaction{Name: "agent.outbound", On: types("outbound.message"), Run: p.agents.OnOutbound,
			Doc: "What leaves becomes a turn of its thread."},
		bus.Reaction{Name: "agent.blocked", On: types("outbound.blocked"), Run: p.agents.OnBlocked,
			Doc: "What may not leave is noted in its thread."},

		bus.Reaction{Name: "policy.run", On: types("run.finished", "run.cancelled"), Run: closeApprovals(p.policy),
			Doc: "What an ended run still asked about needs nobody any more."},
		bus.Reaction{Name: "policy.timer", On: types("timer.fired"), Run: p.policy.OnTimer,
			Doc: "An approval whose time is up expires: silence is no."},
		bus.Reaction{Name: "work.reminder", On: types("timer.fired"), Run: p.reminders.OnTimer,
			Doc: "A reminder comes due and goes to whoever set it."},
		bus.Reaction{Name: "work.lease", On: types("timer.fired"), Run: p.work.OnTimer,
			Doc: "A lease that ran out is taken away; the task says why and is offered again."},
		bus.Reaction{Name: "work.epoch", On: types("epoch.started"), Run: p.work.OnEpoch,
			Doc: "Tasks that were ongoing in a restored past wait for a person."},
		bus.Reaction{Name: "dispatch.timer", On: types("timer.fired"), Run: p.dispatch.OnTimer,
			Doc: "Work that was put off comes due."},
	)
}
