package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
)

func (w *trial) halt(scope string) {
	w.t.Helper()
	if err := w.p.policy.Halt(context.Background(), w.p.account, "person:"+w.me.PersonID.String(), scope, "a test"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *trial) resume(scope string) {
	w.t.Helper()
	if err := w.p.policy.Resume(context.Background(), w.p.account, w.me.PersonID, scope); err != nil {
		w.t.Fatal(err)
	}
}

// gateway is a skill that waits inside its act until it is let go.
func gateway(name string) (d *deed, entered, leave chan struct{}) {
	entered, leave = make(chan struct{}, 8), make(chan struct{})
	d = write(name, "low")
	d.act = func(ctx context.Context, _ skill.Call) (skill.Output, error) {
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return skill.Output{Value: map[string]string{"said": "done"}}, ctx.Err()
	}
	return d, entered, leave
}

func TestHaltStopsClaimsAndWhatIsUnderWayEndsHonestly(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"account", "agent:coordinator"} {
		t.Run(strings.ReplaceAll(scope, ":", "_"), func(t *testing.T) {
			t.Parallel()
			d, entered, leave := gateway("thing.slow")
			after := write("thing.after", "low")
			w := try(t, setup{race: true, deeds: []*deed{d, after}, mind: func(s scene) []llm.Part {
				switch s.step {
				case 0:
					return calls("thing.slow", `{"to":"x"}`)
				case 1:
					return calls("thing.after", `{"to":"x"}`)
				}
				return says("All done.")
			}})
			w.permit("thing.*")
			m := w.tell("go")
			<-entered
			w.halt(scope)
			close(leave)
			// What was under way is recorded as what it is; nothing new begins.
			eventually(t, "the result", func() (bool, bool) { return true, len(w.events("skill.result")) == 1 })
			if r := last[event.SkillResult](w); r.State != "confirmed" {
				t.Errorf("under way at the halt: %+v", r)
			}
			second := w.tell("go as well") // taken in, and left standing
			still(t, after, 0)
			if len(d.did()) != 1 {
				t.Errorf("a call began under the halt: %q", d.did())
			}
			if state, _, said, _ := w.p.dispatch.Answer(context.Background(), w.p.account, "cli", m.MessageID); len(said) != 0 {
				t.Errorf("an answer under the halt: %s %v", state, said)
			}
			w.resume(scope)
			s := w.said("cli", m)
			if s.Text != "All done." || len(after.did()) < 1 {
				t.Errorf("after the resume: %s %q", s.Text, after.did())
			}
			w.exact(s.RunID)
			w.exact(w.said("cli", second).RunID)
		})
	}
}

// An allowance under a halt waits with everything else.
func TestHaltHoldsWhatWasAllowed(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	w.halt("account")
	w.allow(a) // a decision commits also under a halt
	still(t, d, 0)
	w.resume("account")
	s := w.said("cli", m)
	if len(d.did()) != 1 {
		t.Errorf("done %q", d.did())
	}
	w.exact(s.RunID)
	refused(t, "resume what stands not still", w.p.policy.Resume(context.Background(), w.p.account, w.me.PersonID, "account"), fault.NotFound)
}

func TestACancelledRunAsksAndActsNoMore(t *testing.T) {
	t.Parallel()
	d, other := write("thing.do", "medium"), write("thing.other", "medium")
	w := try(t, setup{deeds: []*deed{d, other}, mind: once("thing.do", full, "thing.other", full)})
	operator := w.person("operator", identity.Operator)
	m := w.tell("go")
	list := w.open(2)
	if _, err := w.answer(list[0], policy.AnswerRequest{Answer: policy.AnswerAllow, Via: policy.ViaConsole}); err != nil {
		t.Fatal(err) // it waits its five seconds
	}
	run := list[0].Request.Run
	if err := w.p.agents.Cancel(context.Background(), w.p.account, "person:"+operator.PersonID.String(), run); err != nil {
		t.Fatal(err)
	}
	s := w.said("cli", m)
	if !s.IsError || !strings.Contains(s.Text, "cancelled") {
		t.Errorf("answer: %s", s.Text)
	}
	for _, a := range list {
		if got := w.approval(a.ID); got.State != policy.StateCancelled {
			t.Errorf("%s is %s", a.Key, got.State)
		}
		_, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerAllow})
		refused(t, "answer for a run that is over", err, fault.Conflict)
		if e := w.effect(a.Invoke); e.State != skill.Denied {
			t.Errorf("effect is %s", e.State)
		}
	}
	w.clock.forward(time.Minute)
	still(t, d, 0)
	if len(other.did()) != 0 {
		t.Errorf("done %q", other.did())
	}
	refused(t, "cancel again", w.p.agents.Cancel(context.Background(), w.p.account, "person:"+operator.PersonID.String(), run), fault.Conflict)
	w.exact(run)
	// The thread goes on.
	w.setupMind(func(scene) []llm.Part { return says("Here I am.") })
	if s := w.said("cli", w.tellIn(m.ThreadID, "still there?")); s.Text != "Here I am." {
		t.Errorf("after the cancel: %s", s.Text)
	}
}

func TestACancelledRunLeavesWhatIsUnderWayToTheLedger(t *testing.T) {
	t.Parallel()
	d, entered, leave := gateway("thing.slow")
	w := try(t, setup{race: true, deeds: []*deed{d}, mind: once("thing.slow", `{"to":"x"}`)})
	w.permit("thing.*")
	w.tell("go")
	<-entered
	invoke := w.events("skill.invoke")[0]
	run := invoke.Payload.(event.SkillInvoke).RunID
	if err := w.p.agents.Cancel(context.Background(), w.p.account, "person:"+w.me.PersonID.String(), run); err != nil {
		t.Fatal(err)
	}
	close(leave)
	e := eventually(t, "the end of the effect", func() (skill.Effect, bool) { e := w.effect(invoke.ID); return e, e.State.Final() })
	if e.State != skill.Confirmed || len(d.did()) != 1 {
		t.Errorf("effect %s, done %q", e.State, d.did())
	}
	w.exact(run)
	if n := len(w.events("agent.response")); n != 0 {
		t.Errorf("%d answers of a run that its requester cancelled", n)
	}
}

// Report 1 of the evals: what was acknowledged is answered exactly once, in
// order, also when the program stops in the middle and starts again.
func TestReport1InProcess(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "low")
	w := try(t, setup{race: true, deeds: []*deed{d}, mind: func(s scene) []llm.Part {
		if s.step == 0 {
			return calls("thing.do", `{"to":"`+lastWord(s.user)+`"}`)
		}
		return says("Did " + lastWord(s.user) + ".")
	}})
	w.permit("thing.*")
	first := w.tell("n0")
	acks := []channel.Accepted{first}
	for i := 1; i < 20; i++ {
		acks = append(acks, w.tellIn(first.ThreadID, fmt.Sprint("n", i)))
		if i == 10 || i == 15 {
			w.stop()
			w.begin()
		}
	}
	for i, m := range acks {
		if s := w.said("cli", m); s.Text != fmt.Sprintf("Did n%d.", i) {
			t.Errorf("message %d: %s", i, s.Text)
		}
	}
	tasks, outs := w.events("agent.task"), w.events("outbound.message")
	if len(tasks) != 20 || len(outs) != 20 {
		t.Fatalf("%d tasks and %d answers for 20 messages", len(tasks), len(outs))
	}
	for i, e := range outs {
		if got := e.Payload.(event.OutboundMessage).InReplyTo; got != acks[i].MessageID {
			t.Errorf("answer %d is out of its order", i)
		}
	}
	keys := map[string]int{}
	for _, c := range d.done {
		keys[c.Key]++
	}
	if len(keys) != 20 {
		t.Errorf("%d effects for 20 messages", len(keys))
	}
}

func lastWord(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines { // the newest data block holds the message
		if strings.HasPrefix(l, "--- begin data") && i+1 < len(lines) {
			s = lines[i+1]
		}
	}
	f := strings.Fields(s)
	return f[len(f)-1]
}

// Report 48: a reader that comes and goes fifty times during a run wedges
// nothing; every message said meanwhile is answered.
func TestReport48InProcess(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "low")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", `{"to":"x"}`)})
	w.permit("thing.*")
	_, token, err := w.p.identity.CreateToken(context.Background(), w.p.account, w.me, identity.NewTokenRequest{Name: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	var acks []channel.Accepted
	thread := id.Nil
	for range 50 {
		ctx, drop := context.WithCancel(context.Background())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.app.Addr()+"/api/v1/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK {
			t.Fatalf("stream: %s", res.Status)
		}
		if thread.IsZero() {
			acks = append(acks, w.tell("go"))
			thread = acks[0].ThreadID
		} else {
			acks = append(acks, w.tellIn(thread, "go"))
		}
		_, _ = res.Body.Read(make([]byte, 64))
		drop()
		_ = res.Body.Close()
	}
	for _, m := range acks {
		if s := w.said("cli", m); s.IsError {
			t.Errorf("answer: %s", s.Text)
		}
	}
	if n := len(w.events("outbound.message")); n != 50 {
		t.Errorf("%d answers to 50 messages", n)
	}
}
