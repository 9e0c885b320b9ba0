package agentdb_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/store/agentdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

const threeSteps = `
- when: {tool: time.now}
  say: 'Written, and fetched [r2].'
- when: {tool: file.write}
  say: 'Now the page.'
  call: [{tool: http.fetch, args: {url: 'https://a.example/'}}, {tool: rocket.launch, args: {}}, {tool: time.now, args: {}}]
- when: {user: '(?m)^go (.+)$'}
  call: [{tool: file.write, args: {path: notes.md, text: '${user.1}', to: '$msg1.from'}}]
- {say: 'Hello.'}
`

func TestAnyFlippedByteOfAStepIsNamed(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	w := newWorld(t, db, threeSteps)
	for _, s := range []string{"file.write", "http.fetch", "time.now"} {
		w.skills.on(s, confirmed(`{"path":"notes.md","n":1234567}`))
	}
	w.post("hello")
	w.drain()
	run := w.post("go there and back")
	w.drain()
	want(t, w.said(run), "Written, and fetched.")
	w.exact(run)

	raw, err := sql.Open("sqlite", filepath.Join(db.Options.Dir, "witan.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	must := func(q string, args ...any) {
		t.Helper()
		if _, err := raw.Exec(q, args...); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	must("PRAGMA busy_timeout = 5000")
	for _, trigger := range []string{"events_no_update", "events_no_delete", "run_records_no_update", "run_records_no_delete"} {
		must("DROP TRIGGER " + trigger)
	}
	var records []agent.Record
	w.see(func(s agent.Store, tx event.Tx) (err error) { records, err = s.LoadRecords(tx, run); return err })
	if len(records) < 13 {
		t.Fatalf("%d records", len(records))
	}
	columns := []struct{ table, column string }{
		{"run_records", "kind"}, {"run_records", "call_id"}, {"run_records", "event_id"}, {"run_records", "label"}, {"run_records", "digest"},
		{"run_records", "step"}, {"run_records", "n"},
		{"events", "body"}, {"events", "body"}, {"events", "body"}, {"events", "label"}, {"events", "type"}, {"events", "source"},
		{"events", "stream_id"}, {"events", "causation_id"}, {"events", "correlation_id"}, {"events", "occurred_at"}, {"events", "version"}, {"events", "layer"},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	flipped := 0
	for flipped < 100 {
		rec := records[rng.IntN(len(records))]
		c := columns[rng.IntN(len(columns))]
		where, key := "run_id = ? AND n = ?", []any{rec.RunID[:], rec.N}
		if c.table == "events" {
			where, key = "id = ?", []any{rec.EventID[:]}
		}
		var old any
		if err := raw.QueryRow(fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.column, c.table, where), key...).Scan(&old); err != nil {
			t.Fatal(err)
		}
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
			fresh, set = b, "CAST(? AS TEXT)"
		case int64:
			fresh = v ^ 64
		default:
			continue
		}
		name := fmt.Sprintf("%s.%s of record %d (step %d, %s)", c.table, c.column, rec.N, rec.Step, rec.Kind)
		must(fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", c.table, c.column, set, where), append([]any{fresh}, key...)...)
		rep := w.replay(run)
		if rep.Verdict != agent.Divergent || rep.First == nil || rep.First.Record != rec.N {
			t.Errorf("flip %d, %s: %s %v", flipped, name, rep.Verdict, rep.First)
		} else if c.column != "step" && c.column != "n" && rep.First.Step != rec.Step {
			t.Errorf("flip %d, %s: named step %d", flipped, name, rep.First.Step)
		}
		if c.column == "n" {
			key[1] = fresh
		}
		if _, isText := old.(string); !isText {
			set = "?"
		}
		must(fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", c.table, c.column, set, where), append([]any{old}, key...)...)
		flipped++
	}
	w.exact(run)

	// What the run was given counts as well: a turn, a definition, a prompt.
	must("UPDATE turns SET text = 'hellp' WHERE text = 'hello'")
	rep := w.replay(run)
	if rep.Verdict != agent.Divergent || rep.First.Kind != agent.RecordRequest || rep.First.Step != 1 || rep.First.Byte < 1 {
		t.Errorf("a turn: %s %v", rep.Verdict, rep.First)
	}
	must("UPDATE turns SET text = 'hello' WHERE text = 'hellp'")
	must("UPDATE runs SET digest = 'x' || substr(digest, 2) WHERE id = ?", run[:])
	if rep := w.replay(run); rep.Verdict != agent.Divergent {
		t.Errorf("the run's digest: %s", rep.Verdict)
	}
}

func TestReplayTellsCodePromptAndDecisionsApart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, threeSteps)
		for _, s := range []string{"file.write", "http.fetch", "time.now"} {
			w.skills.on(s, confirmed(`{"path":"notes.md"}`))
		}
		run := w.post("go on")
		w.drain()
		replay := func(change func(*agent.Replayer, *catalogue, prompts)) (rep agent.Report) {
			cat, pr := testPorts(t)
			r := agent.Replayer{Store: agentdb.New(), Prompts: pr, Catalogue: cat, Code: code}
			change(&r, cat, pr)
			w.db.See(t, func(tx event.Tx) (err error) { rep, err = r.Replay(tx, run); return err })
			return rep
		}
		if rep := replay(func(r *agent.Replayer, _ *catalogue, _ prompts) { r.Code = "another" }); rep.Verdict != agent.Approximate || rep.First != nil || rep.Recorded != code {
			t.Errorf("another code version: %+v", rep)
		}
		if rep := replay(func(_ *agent.Replayer, _ *catalogue, p prompts) { p.byName["coordinator"] = p.byName["summarise"] }); rep.Verdict != agent.Divergent || rep.First.Record != 0 && rep.First.Kind != agent.RecordRequest {
			t.Errorf("another prompt: %+v", rep.First)
		}
		if rep := replay(func(_ *agent.Replayer, c *catalogue, _ prompts) {
			e := c.entries["http.fetch"]
			e.Hash = "another"
			c.entries["http.fetch"] = e
		}); rep.Verdict != agent.Divergent || rep.First.Kind != agent.RecordCall || rep.First.Step != 2 || rep.First.CallID != "s2c1" {
			t.Errorf("another manifest: %+v", rep.First)
		}
		if rep := replay(func(r *agent.Replayer, _ *catalogue, _ prompts) { r.Decisions = liar{"s2c3"} }); rep.Verdict != agent.Divergent ||
			rep.First.CallID != "s2c3" || rep.First.What != "decision: request" || rep.First.Byte != 1 {
			t.Errorf("another decision: %+v", rep.First)
		}
		if rep := replay(func(r *agent.Replayer, _ *catalogue, _ prompts) { r.Decisions = liar{"none"} }); rep.Verdict != agent.Exact || rep.Checked != rep.Records {
			t.Errorf("the same decisions: %+v", rep.First)
		}
	})
}

type liar struct{ about string }

func (l liar) Recheck(_ event.Tx, invoke event.Event) ([]agent.Check, error) {
	c := agent.Check{What: "request", Recorded: []byte("allow"), Produced: []byte("allow")}
	if invoke.Payload.(event.SkillInvoke).CallID == l.about {
		c.Produced = []byte("ask")
	}
	return []agent.Check{c}, nil
}

func TestAForeignToolsWordsTaintTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.OpenSQLite(t), noteScript)
	cat, pr := testPorts(t)
	e := cat.entries["http.fetch"]
	e.Label = event.NewLabel(event.Outside, event.AccountWide())
	cat.entries["http.fetch"] = e
	w.svc.Catalogue, w.svc.Prompts = cat, pr
	run := w.post("hello")
	w.drain()
	for _, e := range w.db.Events(t) {
		if _, ok := e.Payload.(event.AgentResponse); ok && e.Label.Integrity() != event.Outside {
			t.Errorf("the answer is labelled %s", e.Label)
		}
	}
	_ = run
}

func TestAnErasedTurnIsNamed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		w := newWorld(t, db, noteScript)
		subject := db.IDs.New()
		erasedRun := w.postFor("coordinator", "hello", event.NewLabel(event.Known, event.AccountWide()), subject)
		w.drain()
		w.exact(erasedRun)
		waiting := w.postFor("coordinator", "hello", event.NewLabel(event.Known, event.AccountWide()), subject)
		for _, e := range db.Events(t) {
			if r, ok := e.Payload.(event.AgentResponse); ok && r.RunID == erasedRun && e.Subject != subject {
				t.Errorf("%s is sealed for %s", e.Type, e.Subject)
			}
		}
		if err := db.Erase(context.Background(), db.Account, subject, mira, storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "subject.erased")); err != nil {
			t.Fatal(err)
		}
		if rep := w.replay(erasedRun); rep.Verdict != agent.Divergent || rep.First.Record != 0 {
			t.Errorf("%s %v", rep.Verdict, rep.First)
		}
		// A run that was still to come ends without a word; the thread goes on.
		w.drain()
		if r := w.run(waiting); r.State != agent.Finished || r.Outcome != agent.Cancelled {
			t.Errorf("%+v", r)
		}
		next := w.post("hello")
		w.drain()
		if got := w.said(next); got != "Hello." {
			t.Errorf("said %q", got)
		}
		w.exact(next)
	})
}
