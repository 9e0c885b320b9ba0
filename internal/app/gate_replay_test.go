package app

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// story is a run in which every way of deciding has a part: allowed by a rule,
// by a person, edited, denied, by a grant, by an endorsement, refused.
func story(t *testing.T, s setup) (*trial, id.ID) {
	t.Helper()
	free, asked, wanted, read := write("thing.free", "low"), write("thing.asked", "medium"), write("thing.wanted", "medium"),
		&deed{name: "thing.read", risk: "none", access: "read", class: "read", label: "outside"}
	s.deeds = []*deed{free, asked, wanted, read}
	s.mind = func(s scene) []llm.Part {
		switch s.step {
		case 0:
			return calls("thing.free", `{"to":"a"}`, "rocket.launch", `{}`, "thing.free", `{"to":`)
		case 1:
			return calls("thing.asked", `{"text":"one","to":"a"}`, "thing.asked", `{"text":"two","to":"b"}`, "thing.asked", `{"text":"three","to":"c"}`)
		case 2:
			return calls("thing.wanted", `{"to":"a"}`)
		case 3:
			return calls("thing.wanted", `{"to":"a"}`) // the session grant answers
		case 4:
			return calls("thing.read", `{"to":"page"}`)
		case 5:
			return calls("thing.free", `{"to":"$msg1.from"}`, "thing.asked", `{"text":"page","to":"d"}`)
		}
		return says("I did [r1] a lot. And more.")
	}
	w := try(t, s)
	w.permit("thing.free")
	m := w.tell("go")
	for _, a := range w.open(3) {
		var call struct{ Text string }
		if err := json.Unmarshal(a.Request.Arguments, &call); err != nil {
			t.Fatal(err)
		}
		switch call.Text {
		case "one":
			w.allow(a)
		case "two":
			b, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerEdit, Arguments: json.RawMessage(`{"text":"edited","to":"b"}`)})
			if err != nil {
				t.Fatal(err)
			}
			w.allow(b)
		default:
			if _, err := w.answer(a, policy.AnswerRequest{Answer: policy.AnswerDeny, Reason: "not that"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.answer(w.open(1)[0], policy.AnswerRequest{Answer: policy.AnswerAllow, Scope: policy.ScopeSession}); err != nil {
		t.Fatal(err)
	}
	w.allow(w.open(1)[0]) // rule and label
	out := w.said("cli", m)
	if len(wanted.did()) != 2 || len(free.did()) != 2 || strings.Join(asked.did(), " ") != `{"text":"one","to":"a"} {"text":"edited","to":"b"} {"text":"page","to":"d"}` &&
		strings.Join(asked.did(), " ") != `{"text":"edited","to":"b"} {"text":"one","to":"a"} {"text":"page","to":"d"}` {
		t.Fatalf("wanted %q, free %q, asked %q", wanted.did(), free.did(), asked.did())
	}
	if !strings.Contains(out.Text, "Not done: thing.asked, denied (a person said no: not that).") {
		t.Errorf("answer: %s", out.Text)
	}
	return w, out.RunID
}

func TestEveryWayOfDecidingReplaysExactly(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		w, run := story(t, setup{})
		w.exact(run)
		// Later policies, dials and skills change nothing of what was.
		w.rule(func(p *policy.Document) {
			p.Guardrails = append(p.Guardrails, policy.Rule{ID: 1, Effect: policy.Deny, Skill: []string{"**"}})
		})
		if err := w.p.policy.SetAutonomy(context.Background(), w.p.account, w.me.PersonID, "account", 0); err != nil {
			t.Fatal(err)
		}
		w.exact(run)
		w.stop()
		w.begin()
		w.exact(run)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url, err := storetest.Postgres(t).Create()
		if err != nil {
			t.Fatal(err)
		}
		w, run := story(t, setup{database: url})
		w.exact(run)
	})
}

// Flip one bit of one stored byte of a random step, or of a decision about it:
// the replay ends otherwise than exact, and names that step.
func TestAnyFlippedByteOfAStepIsNamedByTheReplay(t *testing.T) {
	t.Parallel()
	w, run := story(t, setup{})
	x := storetest.Tamper(t, Paths{w.data}.Database(), "events", "run_records")
	var records []agent.Record
	decided := map[id.ID]int{} // policy.decision to the record of its call
	w.see(func(tx event.Tx) (err error) {
		if records, err = w.p.rows.agent.LoadRecords(tx, run); err != nil {
			return err
		}
		round, err := store.EventsOfRound(tx, w.events("skill.invoke")[0].Correlation, 10_000)
		for _, e := range round {
			if d, ok := e.Payload.(event.PolicyDecision); ok && !d.Execution {
				for _, r := range records {
					if r.Kind == agent.RecordCall && r.EventID == d.InvokeID {
						decided[e.ID] = r.N
					}
				}
			}
		}
		return err
	})
	if len(records) < 30 || len(decided) < 8 {
		t.Fatalf("%d records, %d decisions", len(records), len(decided))
	}
	type cell struct {
		table, column, where string
		key                  []any
		n                    int
	}
	var cells []cell
	for _, r := range records {
		for _, c := range []string{"kind", "call_id", "event_id", "label", "digest", "step", "n"} {
			cells = append(cells, cell{"run_records", c, "run_id = ? AND n = ?", []any{run[:], r.N}, r.N})
		}
		for _, c := range eventColumns {
			cells = append(cells, cell{"events", c, "id = ?", []any{r.EventID[:]}, r.N})
		}
	}
	for e, n := range decided {
		for _, c := range []string{"body", "body", "version", "body_commit", "type", "causation_id", "correlation_id", "label", "hash"} {
			cells = append(cells, cell{"events", c, "id = ?", []any{append([]byte(nil), e[:]...)}, n})
		}
	}
	rng := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // a test repeats
	for flipped := 0; flipped < 150; {
		c := cells[rng.IntN(len(cells))]
		old := x.Read(fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.column, c.table, c.where), c.key...)
		set := "?"
		var fresh any
		switch v := old.(type) {
		case []byte:
			if len(v) == 0 {
				continue
			}
			b := append([]byte(nil), v...)
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			fresh = b
		case string:
			if v == "" {
				continue
			}
			b := []byte(v)
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(7)
			set, fresh = "CAST(? AS TEXT)", b
		case int64:
			fresh = v ^ 64
		default:
			continue
		}
		flipped++
		write := func(set string, v any, key []any) {
			x.Write(fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", c.table, c.column, set, c.where), append([]any{v}, key...)...)
		}
		write(set, fresh, c.key)
		rep, err := w.replay(run)
		switch {
		case err != nil:
			t.Errorf("%s.%s of record %d: the replay names no step: %v", c.table, c.column, c.n, err)
		case rep.Verdict != agent.Divergent || rep.First == nil:
			t.Errorf("%s.%s of record %d (%s): %s", c.table, c.column, c.n, records[c.n].Kind, rep.Verdict)
		case rep.First.Record != c.n && rep.First.Step != records[c.n].Step:
			t.Errorf("%s.%s of record %d (%s): named %s", c.table, c.column, c.n, records[c.n].Kind, rep.First)
		}
		back := c.key
		if c.column == "n" {
			back = []any{run[:], fresh}
		}
		write("?", old, back)
	}
	w.exact(run)
}

// eventColumns are those of an event's row that say something of it.
var eventColumns = []string{"body", "body", "body", "label", "type", "source", "stream_id", "causation_id", "correlation_id", "occurred_at", "version", "layer",
	"recorded_at", "body_commit", "hash", "parents", "evidence", "subject_id"}
