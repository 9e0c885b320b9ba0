package app

import (
	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/work"
)

// origins are all rights to speak that exist in this process. Each component
// holds the types that it needs and no others; nobody holds "all".
type origins struct {
	identity identity.Origins
	policy   policy.Origins
	channel  channel.Origins
	dispatch dispatch.Origins
	agent    agent.Origins
	skill    event.Origin // ledger and catalogue
	memory   event.Origin // memories and documents, written by skills
	work     event.Origin // workspaces, tasks, threads
	model    event.Origin // model calls
	prompts  event.Origin
	router   event.Origin
	timers   event.Origin
	pool     event.Origin // work that is held
	audit    event.Origin // checkpoints, segments, erasures, epochs
}

func newOrigins() (o origins, err error) {
	give := func(l event.Layer, c event.Class, source string, types ...event.Type) event.Origin {
		out, e := event.NewOrigin(l, c, source, types...)
		if e != nil && err == nil {
			err = e
		}
		return out
	}
	o.identity.Identity = give(event.LayerDispatch, event.ClassIdentity, "identity", identity.EventTypes()...)
	o.policy.Policy = give(event.LayerDispatch, event.ClassPolicy, "policy", "policy.decision", "approval.requested",
		"approval.answered", "approval.withdrawn", "approval.closed", "grant.made", "grant.ended", "policy.saved",
		"autonomy.changed", "halt.set", "halt.cleared")
	o.channel.Channel = give(event.LayerChannel, event.ClassChannel, "channel", "inbound.message", "inbound.event", "channel.changed")
	o.dispatch.Dispatch = give(event.LayerDispatch, event.ClassDispatch, "dispatch", "agent.task", "outbound.message",
		"outbound.blocked", "delivery.receipt", "message.held", "held.settled", "message.rejected", "contact.saved", "route.saved")
	o.agent.Agent = give(event.LayerAgent, event.ClassAgent, "agent", "agent.response", "agent.defined", "run.started",
		"run.delayed", "run.finished", "run.cancelled", "thread.summarised", "skill.invoke", "budget.met")
	o.skill = give(event.LayerExecution, event.ClassSkill, "skill", "skill.result", "effect.changed", "effect.settled", "catalogue.changed")
	o.memory = give(event.LayerExecution, event.ClassSkill, "memory", "memory.stored", "memory.retrieved", "pano.saved",
		"reminder.set", "reminder.cancelled", "reminder.fired")
	o.work = give(event.LayerDispatch, event.ClassWork, "work", work.EventTypes()...)
	o.model = give(event.LayerAgent, event.ClassAgent, "agent", "llm.request", "llm.response")
	o.prompts = give(event.LayerAgent, event.ClassModel, "prompts", "prompt.saved")
	o.router = give(event.LayerSystem, event.ClassSystem, "router", "subscriber.parked", "subscriber.unparked")
	o.timers = give(event.LayerSystem, event.ClassSystem, "timers", "timer.fired")
	o.audit = give(event.LayerSystem, event.ClassSystem, "store", "checkpoint.signed", "segment.cut", "subject.erased", "epoch.started", "work.released")
	o.pool = give(event.LayerSystem, event.ClassSystem, "pool", "work.held")
	return o, err
}
