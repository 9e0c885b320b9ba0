package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store/storetest"
)

// TestAPoisonRunIsAnsweredHonestly: a run whose log cannot be read ends after a
// few tries with a word to whoever asked, in a whole Witan and over a restart;
// the log alone tells why.
func TestAPoisonRunIsAnsweredHonestly(t *testing.T) {
	t.Parallel()
	d := write("thing.do", "medium")
	w := try(t, setup{deeds: []*deed{d}, mind: once("thing.do", full)})
	m := w.tell("go")
	a := w.open(1)[0]
	w.stop()
	storetest.Tamper(t, Paths{w.data}.Database(), "run_records").Write("UPDATE run_records SET kind = 'budget' WHERE kind = 'reply'")
	w.begin()
	if _, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerDeny}); err != nil {
		t.Fatal(err)
	}
	said := eventually(t, "an honest answer", func() (out event.OutboundMessage, ok bool) {
		w.clock.forward(time.Second)
		_, _, said, err := w.p.dispatch.Answer(context.Background(), w.p.account, "cli", m.MessageID)
		if err != nil {
			t.Fatal(err)
		}
		if ok = len(said) > 0; ok {
			out = said[0]
		}
		return out, ok
	})
	if !said.IsError || !strings.Contains(said.Text, "I could not finish this") || strings.Contains(said.Text, "budget") {
		t.Errorf("%+v", said)
	}
	w.see(func(tx event.Tx) error {
		r, err := w.p.rows.agent.GetRun(tx, said.RunID)
		if r.State != agent.Finished || r.Outcome != agent.Failed {
			t.Errorf("%+v", r)
		}
		return err
	})
	if n := strings.Count(w.log.String(), "work failed"); n != 5 {
		t.Errorf("the log tells of %d failures", n)
	}
	if len(d.did()) != 0 {
		t.Errorf("done: %q", d.did())
	}
}
