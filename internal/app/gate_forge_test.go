package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/store"
)

func everything() event.Label { return event.NewLabel(event.Person, event.AccountWide()) }

// Every right to speak that exists in the process is tried with every word of
// the gate: each word is somebody's, and nobody else can say it.
func TestNoPartOfTheProcessCanSpeakForAnother(t *testing.T) {
	t.Parallel()
	w := try(t, setup{mind: once()})
	o := w.p.origins
	speakers := map[string]event.Origin{"identity": o.identity.Identity, "policy": o.policy.Policy, "channel": o.channel.Channel, "dispatch": o.dispatch.Dispatch,
		"agent": o.agent.Agent, "skill": o.skill, "memory": o.memory, "model": o.model, "prompts": o.prompts, "router": o.router, "timers": o.timers, "audit": o.audit, "pool": o.pool, "nobody": {}}
	words := map[string][]event.Payload{
		"agent":    {event.SkillInvoke{}, event.AgentResponse{}, event.RunFinished{}, event.RunCancelled{}, event.RunStarted{}},
		"policy":   {event.PolicyDecision{}, event.ApprovalRequested{}, event.ApprovalAnswered{}, event.ApprovalWithdrawn{}, event.ApprovalClosed{}, event.GrantMade{}, event.GrantEnded{}, event.PolicySaved{}, event.HaltSet{}, event.HaltCleared{}},
		"skill":    {event.SkillResult{}, event.EffectChanged{}, event.EffectSettled{}, event.CatalogueChanged{}},
		"dispatch": {event.AgentTask{}, event.OutboundMessage{}, event.DeliveryReceipt{}, event.HeldSettled{}, event.ContactSaved{}},
		"channel":  {event.InboundMessage{}, event.InboundEvent{}},
		"timers":   {event.TimerFired{}},
		"audit":    {event.EpochStarted{}, event.WorkReleased{}},
		"pool":     {event.WorkHeld{}},
		"model":    {event.LLMResponse{}, event.LLMRequest{}},
		"identity": {event.PersonSaved{}, event.AccountCreated{}},
	}
	before := len(w.events(""))
	for whose, list := range words {
		for _, p := range list {
			for who, origin := range speakers {
				err := w.do(func(tx event.Tx) error {
					_, err := tx.Emit(origin, event.Draft{Payload: p, Label: everything()})
					if err == nil {
						return errors.New("emitted") // never committed
					}
					return err
				})
				if denied := fault.Is(err, fault.Denied); denied != (who != whose) {
					t.Errorf("%s says %s: %v", who, p.EventType(), err)
				}
				// Another member's name does not help: the layer is the origin's.
				if err := w.do(func(tx event.Tx) error {
					_, err := tx.Emit(origin.As("policy"), event.Draft{Payload: p, Label: everything()})
					if err == nil {
						return errors.New("emitted")
					}
					return err
				}); who != whose && !fault.Is(err, fault.Denied) {
					t.Errorf("%s as policy says %s: %v", who, p.EventType(), err)
				}
			}
		}
	}
	// Inside the process only app makes rights, and only those of the table.
	for _, x := range []struct {
		layer event.Layer
		class event.Class
		typ   event.Type
	}{
		{event.LayerExecution, event.ClassSkill, "skill.invoke"}, {event.LayerDispatch, event.ClassDispatch, "skill.invoke"}, {event.LayerAgent, event.ClassPolicy, "policy.decision"},
		{event.LayerAgent, event.ClassAgent, "approval.answered"}, {event.LayerAgent, event.ClassAgent, "agent.task"}, {event.LayerChannel, event.ClassChannel, "agent.task"},
		{event.LayerAgent, event.ClassAgent, "outbound.message"}, {event.LayerSystem, event.ClassSystem, "grant.made"}, {0, "", "skill.invoke"},
	} {
		if _, err := event.NewOrigin(x.layer, x.class, "forged", x.typ); !fault.Is(err, fault.Denied) {
			t.Errorf("layer %s, class %s may say %s: %v", x.layer, x.class, x.typ, err)
		}
	}
	if after := len(w.events("")); after != before {
		t.Errorf("%d forged events in the journal", after-before)
	}
}

// forge says a skill.invoke as one agent's source and waits for its result.
func (w *trial) forge(source string, change func(*event.SkillInvoke)) event.SkillResult {
	w.t.Helper()
	var entry struct {
		hash string
		n    int
	}
	w.see(func(tx event.Tx) error {
		head, err := w.p.skills.Head(tx)
		if it, ok := head.Find("thing.do"); ok {
			entry.hash, entry.n = it.Hash, head.Number
		}
		return err
	})
	p := event.SkillInvoke{RunID: w.app.deps.IDs.New(), Step: 1, CallID: "s1c1", Actor: "agent:coordinator", Requester: "person:" + w.me.PersonID.String(),
		Skill: "thing.do", Manifest: entry.hash, Catalogue: entry.n, Arguments: json.RawMessage(`{"to":"x"}`), Trust: 1_000_000, Channel: "cli"}
	if change != nil {
		change(&p)
	}
	var ev event.Event
	if err := w.do(func(tx event.Tx) (err error) {
		ev, err = tx.Emit(w.p.origins.agent.Agent.As(source), event.Draft{Payload: p, Label: everything()})
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return eventually(w.t, "a result", func() (event.SkillResult, bool) {
		for _, e := range w.events("skill.result") {
			if e.Causation == ev.ID {
				return e.Payload.(event.SkillResult), true
			}
		}
		return event.SkillResult{}, false
	})
}

func TestAForgedCallIsRefusedWhateverItSaysOfItself(t *testing.T) {
	t.Parallel()
	d, other := write("thing.do", "low"), write("thing.other", "low")
	w := try(t, setup{deeds: []*deed{d}, mind: once(), more: []string{strings.Replace(coordinator(setup{deeds: []*deed{other}}), "name: coordinator", "name: scribe", 1)}})
	_ = other
	w.permit("thing.*")
	if r := w.forge("coordinator", nil); r.State != "confirmed" || len(d.did()) != 1 {
		t.Fatalf("the unforged call: %+v", r)
	}
	for name, c := range map[string]struct {
		source string
		change func(*event.SkillInvoke)
	}{
		"another agent's name":        {"scribe", nil},
		"an agent that does not hold": {"scribe", func(p *event.SkillInvoke) { p.Actor = "agent:scribe" }},
		"an agent that is none":       {"ghost", func(p *event.SkillInvoke) { p.Actor = "agent:ghost" }},
		"a person":                    {"coordinator", func(p *event.SkillInvoke) { p.Actor = "person:" + w.me.PersonID.String() }},
		"a mind":                      {"coordinator", func(p *event.SkillInvoke) { p.Actor = "mind:coordinator" }},
		"no actor":                    {"coordinator", func(p *event.SkillInvoke) { p.Actor = "" }},
		"a deeper source":             {"coordinator/scribe", nil},
		"another manifest":            {"coordinator", func(p *event.SkillInvoke) { p.Manifest = strings.Repeat("0", 64) }},
		"another catalogue":           {"coordinator", func(p *event.SkillInvoke) { p.Catalogue = 99 }},
		"another skill":               {"coordinator", func(p *event.SkillInvoke) { p.Skill = "file.write" }},
		"no run":                      {"coordinator", func(p *event.SkillInvoke) { p.RunID = id.Nil }},
		"a call id that is a novel":   {"coordinator", func(p *event.SkillInvoke) { p.CallID = strings.Repeat("x", 200) }},
		"arguments out of order":      {"coordinator", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`{"to":"x","text":"y"}`) }},
		"arguments beyond the schema": {"coordinator", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`{"admin":true,"to":"x"}`) }},
		"an argument twice":           {"coordinator", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`{"to":"x","to":"y"}`) }},
	} {
		var r event.SkillResult
		if err := w.canEmit(c.change); err != nil {
			continue // the journal itself does not take it
		}
		if r = w.forge(c.source, c.change); r.State != "refused" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if got := d.did(); len(got) != 1 {
		t.Errorf("done %q", got)
	}
}

// canEmit reports whether the journal takes the changed payload at all.
func (w *trial) canEmit(change func(*event.SkillInvoke)) error {
	p := event.SkillInvoke{Arguments: json.RawMessage(`{}`)}
	if change != nil {
		change(&p)
	}
	none := errors.New("rolled back")
	err := w.do(func(tx event.Tx) error {
		if _, err := tx.Emit(w.p.origins.agent.Agent.As("probe"), event.Draft{Payload: p, Label: everything()}); err != nil {
			return err
		}
		return none
	})
	if errors.Is(err, none) {
		return nil
	}
	return err
}

func TestAnInvokeWithoutALedgerRowOrWithOtherArgumentsActsNot(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "low")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	w.permit("thing.do")
	m := w.tell("go")
	s := w.said("cli", m)
	if len(d.did()) != 1 || s.IsError {
		t.Fatalf("done %q", d.did())
	}
	invoke := w.events("skill.invoke")[0]
	ctx := context.Background()
	if err := w.p.skills.Invoke(ctx, event.Delivery[event.SkillInvoke]{}); !fault.Is(err, fault.Denied) {
		t.Errorf("no delivery: %v", err)
	}
	// A delivery that never was in the journal.
	forged := invoke
	forged.ID = w.app.deps.IDs.New()
	x, err := event.NewDelivery[event.SkillInvoke](forged)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "a delivery without a row", w.p.skills.Invoke(ctx, x), fault.Denied)
	// A real one, delivered again, whole and with other arguments: it is done.
	for _, args := range []string{full, `{"to":"bank"}`} {
		again := invoke
		p := invoke.Payload.(event.SkillInvoke)
		p.Arguments = json.RawMessage(args)
		again.Payload = p
		if x, err = event.NewDelivery[event.SkillInvoke](again); err != nil {
			t.Fatal(err)
		}
		_ = w.p.skills.Invoke(ctx, x)
	}
	if got := d.did(); len(got) != 1 {
		t.Errorf("done %q", got)
	}
	// While it waits: a delivery with other arguments than the committed ones.
	second := write("thing.do", "low")
	v := try(t, setup{deeds: []*deed{second}, mind: once("thing.do", full)})
	v.permit("thing.do")
	v.rule(func(p *policy.Document) {
		p.Guardrails = append(p.Guardrails, policy.Rule{ID: 1, Effect: policy.Ask, Skill: []string{"thing.do"}})
	})
	v.tell("go")
	a := v.open(1)[0]
	if _, err := v.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow, Via: policy.ViaConsole}); err != nil {
		t.Fatal(err)
	}
	v.clock.forward(5 * time.Second) // the worker looks once a second: the forger is first, or comes to nothing
	list := eventually(t, "the call", func() ([]event.Event, bool) { l := v.events("skill.invoke"); return l, len(l) == 1 })
	p := list[0].Payload.(event.SkillInvoke)
	p.Arguments = json.RawMessage(`{"to":"bank"}`)
	list[0].Payload = p
	if x, err = event.NewDelivery[event.SkillInvoke](list[0]); err != nil {
		t.Fatal(err)
	}
	_ = v.p.skills.Invoke(ctx, x)
	eventually(t, "the end", func() (bool, bool) { return true, v.effect(a.Invoke).State.Final() })
	for _, args := range second.did() {
		if args != full {
			t.Errorf("a delivery with other arguments was carried out: %s", args)
		}
	}
}

// Unknown tools, broken arguments and the like never become calls, and the run
// ends with an honest answer.
func TestUnknownAndMalformedToolCallsEndHonestly(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "low")
	for name, call := range map[string][]string{
		"unknown":       {"rocket.launch", `{}`},
		"no name":       {"", `{"to":"x"}`},
		"broken JSON":   {"thing.do", `{"to":`},
		"no object":     {"thing.do", `["x"]`},
		"twice":         {"thing.do", `{"to":"a","to":"b"}`},
		"a fraction":    {"thing.do", `{"to":"a","count":1.5}`},
		"a null byte":   {"thing.do", "{\"to\":\"a\\u0000\"}"},
		"unknown field": {"thing.do", `{"to":"a","sudo":true}`},
		"no target":     {"thing.do", `{"text":"a"}`},
		"no handle":     {"thing.do", `{"to":"$msg9.from"}`},
		"not held":      {"file.write", `{"path":"a","text":"b","expect":"new"}`},
		"other letters": {"Thing.Do", `{"to":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := try(t, setup{deeds: []*deed{{name: d.name, risk: d.risk, access: d.access, class: d.class, label: d.label}}, mind: once(call...)})
			w.permit("**")
			s := w.said("cli", w.tell("go"))
			if s.Text == "" {
				t.Error("no answer")
			}
			if got := w.setup.deeds[0].did(); len(got) != 0 {
				t.Errorf("done %q", got)
			}
			w.exact(s.RunID)
		})
	}
	t.Run("for ever", func(t *testing.T) {
		t.Parallel()
		w := try(t, setup{mind: func(scene) []llm.Part { return calls("rocket.launch", `{}`) }})
		s := w.said("cli", w.tell("go"))
		if !s.IsError {
			t.Errorf("an endless model ends in: %s", s.Text)
		}
		w.exact(s.RunID)
	})
}

// Ids of another account are not there, whatever door they are brought to.
func TestAForeignAccountsIdsOpenNothing(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, agents: "message.send", channels: outsideDoor(), mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	run := a.Request.Run
	e := w.effect(a.Invoke)
	ctx := context.Background()
	// A second account in the same database, with an owner of its own.
	other, _, err := w.p.identity.EnsureAccount(ctx, "second", "Second")
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.p.identity.NewSetupLink(ctx, other.ID)
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.p.identity.ClaimWithPassword(ctx, other.ID, identity.Claim{Code: l.Code, Name: "Their owner", SignIn: "theirs"}, secret.New("a long enough pass phrase"))
	if err != nil {
		t.Fatal(err)
	}
	they := in.Principal
	yes := policy.AnswerRequest{Approval: a.ID, Digest: a.Digest, Answer: policy.AnswerAllow, Via: policy.ViaAPI}
	gone := func(what string, err error) {
		t.Helper()
		refused(t, what, err, fault.NotFound, fault.Denied)
	}
	_, err = w.p.policy.Answer(ctx, other.ID, they.PersonID, yes)
	gone("their owner answers in their account", err)
	_, err = w.p.policy.Answer(ctx, w.p.account, they.PersonID, yes)
	gone("their owner answers in ours", err)
	_, err = w.p.policy.Answer(ctx, other.ID, w.me.PersonID, yes)
	gone("our owner answers in theirs", err)
	_, err = w.p.policy.Withdraw(ctx, other.ID, they.PersonID, a.ID)
	gone("take back", err)
	_, err = w.p.skills.Settle(ctx, other.ID, skill.Settlement{Person: they.PersonID, Effect: e.ID, Word: skill.DidNot})
	gone("settle", err)
	gone("cancel", w.p.agents.Cancel(ctx, other.ID, "person:"+they.PersonID.String(), run))
	gone("resume", w.p.policy.Resume(ctx, w.p.account, they.PersonID, "account"))
	gone("grant", func() error {
		_, err := w.p.policy.MakeGrant(ctx, w.p.account, they.PersonID, "agent:coordinator", policy.GrantSpec{})
		return err
	}())
	gone("policy", func() error {
		_, err := w.p.policy.Save(ctx, w.p.account, they.PersonID, 1, policy.Standard(), "")
		return err
	}())
	gone("autonomy", w.p.policy.SetAutonomy(ctx, w.p.account, they.PersonID, "account", 100))
	_, _, _, err = w.p.dispatch.Answer(ctx, other.ID, "cli", m.MessageID)
	gone("the answer to a message", err)
	_, err = w.p.dispatch.Fate(ctx, other.ID, m.MessageID)
	gone("the fate of a message", err)
	_, err = w.p.intake.Accept(ctx, channel.Inbound{Account: other.ID, Channel: "cli", ThreadID: m.ThreadID, Sender: they.PersonID.String(), PersonID: they.PersonID, Proof: channel.ProofToken, Text: "let me in"})
	gone("our thread in their account", err)
	_, err = w.p.intake.Accept(ctx, channel.Inbound{Account: w.p.account, Channel: "cli", ThreadID: m.ThreadID, Sender: they.PersonID.String(), PersonID: they.PersonID, Proof: channel.ProofToken, Text: "let me in"})
	gone("our thread to their person", err)
	gone("a delivery of their account", func() error {
		_, err := deliveries{w.p.db}.SkillInvoke(ctx, other.ID, a.Invoke)
		return err
	}())
	err = w.p.db.View(ctx, other.ID, func(tx event.Tx) error {
		_, err := w.p.replay(tx, run)
		gone("replay", err)
		_, err = w.p.policy.GetApproval(tx, a.ID)
		gone("an approval", err)
		_, err = w.p.policy.GetApprovalByKey(tx, a.Key)
		gone("an approval by key", err)
		_, _, err = w.p.skills.Effect(tx, e.ID)
		gone("an effect", err)
		_, err = w.p.skills.Requestion(tx, a.Invoke, nil)
		gone("a call", err)
		_, err = w.p.agents.Facts(tx, run)
		gone("facts", err)
		_, err = store.GetEvent(tx, a.Invoke)
		gone("an event", err)
		for _, list := range []func() (int, error){
			func() (int, error) {
				l, err := w.p.policy.ListApprovals(tx, policy.ApprovalFilter{Run: run})
				return len(l), err
			},
			func() (int, error) { l, err := w.p.skills.Effects(tx, skill.Filter{Run: run}); return len(l), err },
			func() (int, error) { l, err := store.EventsOfRound(tx, a.Invoke, 100); return len(l), err },
		} {
			if n, err := list(); n != 0 || err != nil {
				t.Errorf("%d foreign rows, %v", n, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The gate itself: a call of ours inside a transaction of theirs.
	err = w.p.db.Do(ctx, other.ID, func(tx event.Tx) error {
		var ours event.Event
		w.see(func(tx event.Tx) (err error) { ours, err = store.GetEvent(tx, a.Invoke); return err })
		return w.p.skills.OnInvoke(tx, ours)
	})
	if err != nil && !fault.Is(err, fault.Denied) && !fault.Is(err, fault.NotFound) {
		t.Logf("a foreign event at the gate: %v", err)
	}
	if got := w.approval(a.ID); got.State != policy.StateOpen || len(d.did()) != 0 {
		t.Errorf("the approval is %s, done %q", got.State, d.did())
	}
	// A message to a person of the other account does not leave.
	_, err = w.p.dispatch.ChangeContact(ctx, other.ID, they.PersonID, w.p.account, dispatch.Change{})
	gone("a contact", err)
	for _, to := range []id.ID{they.PersonID, w.app.deps.IDs.New()} {
		args, _ := json.Marshal(map[string]string{"channel": "cli", "to": "person:" + to.String(), "text": "over the border"})
		w.setupMind(once("message.send", string(args)))
		m := w.tell("go")
		for _, asked := range w.open(2) { // an id alone is nobody of the account: it asks, and even allowed it goes nowhere
			if asked.Request.Skill != "message.send" {
				continue
			}
			if _, err := w.answer(asked, policy.AnswerRequest{Answer: policy.AnswerAllow}); err != nil {
				t.Fatal(err)
			}
		}
		s := w.said("cli", m)
		if !strings.Contains(s.Text, "Not done: message.send") {
			t.Errorf("a message to a person who is not of this account: %s", s.Text)
		}
	}
	for _, ev := range w.events("outbound.message") {
		if strings.Contains(ev.Payload.(event.OutboundMessage).Text, "border") {
			t.Error("a message went to a person of another account")
		}
	}
}
