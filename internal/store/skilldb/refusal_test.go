package skilldb_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestBadCallsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }),
			lazy(base("not.held", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		b.held[actor] = []string{"do.it"}
		b.held["agent:other"] = []string{"do.it"}
		for _, tt := range []struct {
			name   string
			change func(p *event.SkillInvoke)
			kind   string
		}{
			{"a skill the agent does not hold", func(p *event.SkillInvoke) { *p = b.invocation("not.held", `{"what":"x"}`) }, "denied"},
			{"an actor nobody knows", func(p *event.SkillInvoke) { p.Actor = "agent:nobody" }, "denied"},
			{"another agent's name", func(p *event.SkillInvoke) { p.Actor = "agent:other" }, "denied"},
			{"no principal", func(p *event.SkillInvoke) { p.Actor = "coordinator" }, "denied"},
			{"a person as actor", func(p *event.SkillInvoke) { p.Actor = "person:coordinator" }, "denied"},
			{"a skill nobody has", func(p *event.SkillInvoke) { p.Skill = "made.up" }, "not_found"},
			{"a catalogue nobody made", func(p *event.SkillInvoke) { p.Catalogue = 99 }, "not_found"},
			{"another manifest", func(p *event.SkillInvoke) { p.Manifest = strings.Repeat("0", 64) }, "stale"},
			{"no run", func(p *event.SkillInvoke) { p.RunID = id.Nil }, "invalid"},
			{"no call id", func(p *event.SkillInvoke) { p.CallID = "" }, "invalid"},
			{"a missing argument", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`{}`) }, "invalid"},
			{"a wrong type", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`{"what":1}`) }, "invalid"},
			{"an argument too many", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`{"also":1,"what":"x"}`) }, "invalid"},
			{"no object", func(p *event.SkillInvoke) { p.Arguments = json.RawMessage(`["x"]`) }, "invalid"},
			{"too much", func(p *event.SkillInvoke) {
				p.Arguments = json.RawMessage(`{"what":"` + strings.Repeat("x", 300<<10) + `"}`)
			}, "limited"},
		} {
			p := b.invocation("do.it", `{"what":"tea"}`)
			tt.change(&p)
			before := len(b.results(t))
			_, e := b.emit(t, p)
			all := b.results(t)
			if len(all) != before+1 {
				t.Errorf("%s: %d results, want 1", tt.name, len(all)-before)
				continue
			}
			r := all[len(all)-1]
			if r.State != "refused" || r.ErrorKind != tt.kind || r.Error == "" || r.CallID != p.CallID {
				t.Errorf("%s: result %+v, want kind %s", tt.name, r, tt.kind)
			}
			if !e.ID.IsZero() && e.State != skill.Refused {
				t.Errorf("%s: row %+v", tt.name, e)
			}
		}
		if n := len(b.world.calls()); n != 0 {
			t.Errorf("something left %d times", n)
		}
		if len(b.desk.asked) != 0 {
			t.Errorf("policy was asked about %d bad calls", len(b.desk.asked))
		}
		if b.call(t, "do.it", `{"what":"tea"}`).State != skill.Intended {
			t.Error("the good call is refused too")
		}
	})
}

// What changes between the decision and the act refuses the act.
func TestChangesInBetweenRefuse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		ws := db.IDs.New()
		person := skill.By{Person: db.IDs.New()}
		for _, tt := range []struct {
			name string
			do   func()
			undo func()
			kind string
		}{
			{"switched off here", func() { b.change(t, person, skill.Change{Switch: []skill.Switch{{Skill: "do.it", Workspace: ws}}}) },
				func() {
					b.change(t, person, skill.Change{Switch: []skill.Switch{{Skill: "do.it", Workspace: ws, On: true}}})
				}, "denied"},
			{"removed", func() { b.change(t, person, skill.Change{Remove: []string{"do.it"}}) },
				func() { b.change(t, person, skill.Change{Put: b.entries()}) }, "stale"},
			{"taken from the agent", func() { b.held[actor] = nil }, func() { b.held[actor] = []string{"do.it"} }, "denied"},
		} {
			p := b.invocation("do.it", `{"what":"tea"}`)
			p.Workspace = ws
			_, e := b.emit(t, p)
			if e.State != skill.Intended {
				t.Fatalf("%s: %+v", tt.name, b.results(t))
			}
			tt.do()
			b.mustWork(t, e.ID, skill.Refused)
			if r, _ := b.result(t, e.ID); r.ErrorKind != tt.kind {
				t.Errorf("%s: result %+v", tt.name, r)
			}
			tt.undo()
		}
		if n := len(b.world.calls()); n != 0 {
			t.Errorf("something left %d times", n)
		}
	})
}

func TestHaltIsObeyed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		ws := db.IDs.New()
		p := b.invocation("do.it", `{"what":"tea"}`)
		p.Workspace = ws
		_, e := b.emit(t, p)
		for _, scope := range []string{"account", actor, "workspace:" + ws.String()} {
			b.Do(t, func(tx event.Tx) error { return store.Stop(tx, scope) })
			if err := b.work(e.ID); !fault.Is(err, fault.Halted) {
				t.Errorf("%s: %v", scope, err)
			}
			b.want(t, e.ID, skill.Intended)
			b.Do(t, func(tx event.Tx) error { return store.Unstop(tx, scope) })
		}
		b.mustWork(t, e.ID, skill.Confirmed)
	})
}

var rawSQL = store.MustQueries(`
-- name: set_state
UPDATE effects SET state = ?, version = version + 1 WHERE account_id = ? AND id = ?
-- name: set_attempt
UPDATE effects SET attempt = ?, fence = ?, version = version + 1 WHERE account_id = ? AND id = ?
-- name: set_key
UPDATE effects SET idem_key = ?, version = version + 1 WHERE account_id = ? AND id = ?
-- name: drop_effect
DELETE FROM effects WHERE account_id = ? AND id = ?
-- name: set_step
UPDATE effect_steps SET reason = ? WHERE account_id = ? AND effect_id = ?
-- name: drop_steps
DELETE FROM effect_steps WHERE account_id = ? AND effect_id = ?
-- name: set_items
UPDATE catalogues SET digest = ? WHERE account_id = ?
-- name: set_manifest
UPDATE skill_manifests SET name = ? WHERE account_id = ?
`) //nolint:gochecknoglobals // queries of a test

// The database itself holds the ledger's promises, whoever writes.
func TestTheLedgerDefendsItself(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		done := b.call(t, "do.it", `{"what":"done"}`)
		b.mustWork(t, done.ID, skill.Confirmed)
		// A row whose cause is an event of another type, and one with none at all.
		var wrong, none skill.Effect
		b.Do(t, func(tx event.Tx) error {
			mk := func(cause id.ID, key string) skill.Effect {
				f := e
				f.ID, f.Cause, f.Key = tx.NewID(), cause, key
				return f
			}
			wrong, none = mk(e.Decision, "k1"), mk(tx.NewID(), "k2")
			for _, f := range []skill.Effect{wrong, none} {
				if added, err := b.store.AddEffect(tx, f, skill.Step{State: f.State, EventID: f.Cause, At: tx.Now()}); err != nil || !added {
					t.Errorf("add: %v %v", added, err)
				}
			}
			return nil
		})
		acc := db.Account
		for _, tt := range []struct {
			name, query string
			args        []any
		}{
			{"dispatching without an event", "set_state", []any{"dispatching", acc, none.ID}},
			{"dispatching for an event of another type", "set_state", []any{"dispatching", acc, wrong.ID}},
			{"confirmed past dispatching", "set_state", []any{"confirmed", acc, e.ID}},
			{"ended, and moved again", "set_state", []any{"intended", acc, done.ID}},
			{"ended, and done again", "set_state", []any{"dispatching", acc, done.ID}},
			{"an attempt taken back", "set_attempt", []any{-1, 0, acc, e.ID}},
			{"a fence that falls", "set_attempt", []any{0, -1, acc, e.ID}},
			{"another key", "set_key", []any{"x", acc, e.ID}},
			{"forgotten", "drop_effect", []any{acc, e.ID}},
			{"history changed", "set_step", []any{"x", acc, done.ID}},
			{"history dropped", "drop_steps", []any{acc, done.ID}},
			{"a snapshot changed", "set_items", []any{"x", acc}},
			{"a manifest changed", "set_manifest", []any{"x", acc}},
		} {
			err := db.Journal.Do(t.Context(), acc, func(tx event.Tx) error {
				n, err := rawSQL.Exec(tx, tt.query, tt.args...)
				if err == nil && n == 0 {
					t.Errorf("%s: no row met", tt.name)
				}
				return err
			})
			if err == nil {
				t.Errorf("%s: allowed", tt.name)
			}
		}
		b.mustWork(t, e.ID, skill.Confirmed)
	})
}

// A stale writer is refused at every write, also without the lease (INV-6).
func TestAStaleWriterIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		save := func(change func(f *skill.Effect), from skill.State, version int64) error {
			return db.Journal.Do(t.Context(), db.Account, func(tx event.Tx) error {
				f := e
				change(&f)
				return b.store.SaveEffect(tx, f, skill.Step{State: f.State, EventID: f.Cause, At: tx.Now()}, from, version)
			})
		}
		up := func(f *skill.Effect) { f.State, f.Fence, f.Attempt = skill.Dispatching, 7, 1 }
		if err := save(up, skill.Asked, 1); !fault.Is(err, fault.Stale) {
			t.Errorf("wrong state: %v", err)
		}
		if err := save(up, skill.Intended, 2); !fault.Is(err, fault.Stale) {
			t.Errorf("wrong version: %v", err)
		}
		if err := save(up, skill.Intended, 1); err != nil {
			t.Fatal(err)
		}
		if err := save(func(f *skill.Effect) { f.State, f.Fence, f.Attempt = skill.Confirmed, 6, 1 }, skill.Dispatching, 2); !fault.Is(err, fault.Stale) {
			t.Errorf("older fence: %v", err)
		}
	})
}
