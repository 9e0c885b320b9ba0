package skilldb_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/storetest"
)

// field is one field of the manifest, changed, and what must be different then.
type field struct {
	name   string
	change func(m *manifest.Manifest)
	// look reports what is seen of a call with this manifest; it must differ
	// between the two manifests.
	look func(t *testing.T, b *bench, name string) string
	// act is the executable; nil does its act in the world.
	act func(b *bench) skill.Executable
}

// state works on one call and returns how it ended.
func state(t *testing.T, b *bench, name string) string {
	t.Helper()
	return runOnce(t, b, name, `{"what":"tea"}`)
}

func runOnce(t *testing.T, b *bench, name, args string) string {
	t.Helper()
	e := b.call(t, name, args)
	if e.State == skill.Intended {
		if err := b.work(e.ID); err != nil {
			t.Fatal(err)
		}
	}
	e = b.effect(t, e.ID)
	out := string(e.State)
	for _, r := range b.results(t) {
		if r.EffectID == e.ID {
			out += " " + r.ErrorKind + " " + string(r.Output)
		}
	}
	return out
}

// asked returns what policy saw of a call.
func asked(pick func(q skill.Question) any) func(t *testing.T, b *bench, name string) string {
	return func(t *testing.T, b *bench, name string) string {
		t.Helper()
		state(t, b, name)
		raw, err := json.Marshal(pick(b.desk.asked[len(b.desk.asked)-1]))
		return string(must(t, raw, err))
	}
}

// offered returns what an agent sees of the skill.
func offered(t *testing.T, b *bench, name string) string {
	t.Helper()
	var got []manifest.Entry
	b.See(t, func(tx event.Tx) (err error) {
		got, err = b.s.Offered(tx, b.head.Number, []string{name}, id.Nil)
		return err
	})
	if len(got) == 0 {
		return "nothing"
	}
	return got[0].Manifest.Description
}

func fields() []field {
	return []field{
		{name: "name", change: func(m *manifest.Manifest) { m.Name = "x.named" }, look: func(t *testing.T, b *bench, _ string) string {
			_, known := b.head.Find("x.named")
			return map[bool]string{true: "found", false: "not found"}[known]
		}},
		{name: "version", change: func(m *manifest.Manifest) { m.Version = "2" }, look: asked(func(q skill.Question) any { return q.Manifest })},
		{name: "kind", change: func(m *manifest.Manifest) { m.Kind = manifest.MCP }, look: state},
		{name: "description", change: func(m *manifest.Manifest) { m.Description = "Does another thing." }, look: offered},
		{name: "title", change: func(m *manifest.Manifest) { m.Title = "Make {what}" }, look: asked(func(q skill.Question) any { return q.Title })},
		{name: "input", change: func(m *manifest.Manifest) {
			m.Input = json.RawMessage(`{"properties":{"what":{"const":"coffee"}},"type":"object"}`)
		}, look: state},
		{name: "output", change: func(m *manifest.Manifest) {
			m.Output = json.RawMessage(`{"properties":{"times":{"type":"string"}},"type":"object"}`)
		}, look: state},
		{name: "action_risk", change: func(m *manifest.Manifest) { m.Risk = manifest.RiskCritical }, look: asked(func(q skill.Question) any { return q.Risk })},
		{name: "access", change: func(m *manifest.Manifest) { m.Access = manifest.Delete }, look: asked(func(q skill.Question) any { return q.Access })},
		{name: "target", change: func(m *manifest.Manifest) { m.Target = []string{"/to"} }, look: asked(func(q skill.Question) any { return q.Targets })},
		{name: "permissions", change: func(m *manifest.Manifest) { m.Permissions = []manifest.Permission{manifest.PermitNet} }, look: state,
			act: func(b *bench) skill.Executable {
				return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
					if err := c.Permit(manifest.PermitNet); err != nil {
						return skill.Output{}, err
					}
					return b.done()(ctx, c)
				})
			}},
		{name: "effect_class", change: func(m *manifest.Manifest) { m.Class = manifest.ClassIdempotent }, look: state, act: lostAnswer},
		{name: "read_back", change: func(m *manifest.Manifest) { m.Class, m.ReadBack = manifest.ClassReconcilable, manifest.Presence },
			look: func(t *testing.T, b *bench, name string) string {
				e := b.call(t, name, `{"what":"tea"}`)
				_ = b.work(e.ID)
				b.later()
				_ = b.work(e.ID)
				return string(b.effect(t, e.ID).State)
			}, act: lostAnswer},
		{name: "timeout_ms", change: func(m *manifest.Manifest) { m.TimeoutMS = 1 }, look: state, act: func(b *bench) skill.Executable {
			return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
				if d, ok := ctx.Deadline(); ok && c.Deadline.Sub(c.Now) < 1e9 {
					_ = d
					<-ctx.Done()
					return skill.Output{}, ctx.Err()
				}
				return b.done()(ctx, c)
			})
		}},
		{name: "resources.output_bytes", change: func(m *manifest.Manifest) { m.Resources.OutputBytes = 100 }, look: state, act: func(*bench) skill.Executable {
			return exec(func(context.Context, skill.Call) (skill.Output, error) {
				return skill.Output{Value: strings.Repeat("x", 200)}, nil
			})
		}},
		{name: "resources.money_micros", change: func(m *manifest.Manifest) { m.Resources.MoneyMicros = 5 }, look: state},
		{name: "secrets", change: func(m *manifest.Manifest) { m.Secrets = []string{"key"} }, look: state, act: func(b *bench) skill.Executable {
			b.vault["key"] = "open sesame"
			return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
				_, err := c.Secret(ctx, "key")
				return skill.Output{}, err
			})
		}},
		{name: "output_label", change: func(m *manifest.Manifest) { m.OutputLabel = "outside" }, look: label},
		{name: "undoable", change: func(m *manifest.Manifest) { m.Undoable = true }, look: asked(func(q skill.Question) any { return q.Undoable })},
		{name: "sensitive", change: func(m *manifest.Manifest) { m.Sensitive = true }, look: label},
		{name: "content", change: func(m *manifest.Manifest) { m.Content = "abc" }, look: asked(func(q skill.Question) any { return q.Manifest })},
	}
}

// label returns the label of a result.
func label(t *testing.T, b *bench, name string) string {
	t.Helper()
	e := b.call(t, name, `{"what":"tea"}`)
	b.mustWork(t, e.ID, skill.Confirmed)
	_, ev := b.result(t, e.ID)
	return ev.Label.String()
}

// lostAnswer never did anything and cannot say so.
func lostAnswer(*bench) skill.Executable {
	return double{exec(func(context.Context, skill.Call) (skill.Output, error) {
		return skill.Output{}, fault.New(fault.Unavailable, "connection reset")
	}), func(context.Context, skill.Call) (skill.Output, bool, error) { return skill.Output{}, false, nil }}
}

// Every field of a manifest changes what happens; one that nothing reads is a lie.
func TestEveryManifestFieldCounts(t *testing.T) {
	t.Parallel()
	for _, f := range fields() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			db := storetest.OpenSQLite(t)
			was, is := base("x.was", manifest.ClassOnce), base("x.is", manifest.ClassOnce)
			if f.name == "read_back" { // the other strength of the same class
				was.Class, was.ReadBack = manifest.ClassReconcilable, manifest.Exact
			}
			f.change(&is)
			act := f.act
			if act == nil {
				act = func(b *bench) skill.Executable { return b.done() }
			}
			b := setup(t, db, anyKind(was, act), anyKind(is, act), configured(func(c *skill.Config) { c.MaxAttempts = 3 }))
			old := f.look(t, b, "x.was")
			if f.name == "name" {
				old = "not found"
			}
			now := f.look(t, b, "x.is")
			if old == now {
				t.Errorf("a changed %s changes nothing: %q", f.name, now)
			}
			if h1, h2 := hash(t, was), hash(t, withName(is, was.Name)); f.name != "name" && h1 == h2 {
				t.Errorf("a changed %s keeps the hash", f.name)
			}
		})
	}
}

// Every field is in the list above: a new one comes with its test.
func TestTheListOfFieldsIsWhole(t *testing.T) {
	t.Parallel()
	m := base("x.y", manifest.ClassReconcilable)
	m.Output, m.Permissions, m.Secrets, m.Content = json.RawMessage(`{}`), []manifest.Permission{"net"}, []string{"key"}, "abc"
	raw, err := m.Encode()
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(must(t, raw, err), &keys); err != nil {
		t.Fatal(err)
	}
	var resources map[string]json.RawMessage
	if err := json.Unmarshal(keys["resources"], &resources); err != nil {
		t.Fatal(err)
	}
	delete(keys, "resources")
	for k := range resources {
		keys["resources."+k] = nil
	}
	for k := range keys {
		if !slices.ContainsFunc(fields(), func(f field) bool { return f.name == k }) {
			t.Errorf("field %s has no test", k)
		}
	}
	if len(keys) != len(fields()) {
		t.Errorf("%d fields, %d tests", len(keys), len(fields()))
	}
}

func hash(t *testing.T, m manifest.Manifest) string {
	t.Helper()
	h, err := m.Hash()
	return must(t, h, err)
}

func withName(m manifest.Manifest, name string) manifest.Manifest { m.Name = name; return m }

// anyKind registers a skill whatever its kind: setup's registry takes built-ins only.
func anyKind(m manifest.Manifest, f func(b *bench) skill.Executable) option {
	return func(b *bench) {
		if m.Kind != manifest.Builtin {
			b.more = append(b.more, m)
			return
		}
		lazy(m, f)(b)
	}
}
