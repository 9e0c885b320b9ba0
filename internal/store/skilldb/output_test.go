package skilldb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestSecretsNeverReachTheRecord(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		const key = "s3cr3t/key+value="
		var log bytes.Buffer
		m := base("do.it", manifest.ClassOnce)
		m.Secrets = []string{"key"}
		fails := withName(m, "do.not")
		act := func(fail bool) func(b *bench) skill.Executable {
			return func(b *bench) skill.Executable {
				return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
					s, err := c.Secret(ctx, "key")
					if err != nil {
						return skill.Output{}, err
					}
					if _, err := c.Secret(ctx, "other"); !fault.Is(err, fault.Denied) {
						t.Errorf("a secret that is not declared: %v", err)
					}
					if fail {
						return skill.Output{}, fault.New(fault.Denied, "the target said: bad key %s", s.Reveal())
					}
					return skill.Output{Value: map[string]any{
						"echo": "you sent " + s.Reveal(), "url": "https://x.test/?k=s3cr3t%2Fkey%2Bvalue%3D", "b64": "czNjcjN0L2tleSt2YWx1ZT0=",
						"sk-abcdefghijklmnopqrstuvwxyz": 1, "sha": "d2468d3b5ee4ba1f1d3b93d2e4f07a5d1c0e9f8a", "nested": []any{s.Reveal()},
					}}, nil
				})
			}
		}
		b := setup(t, db, lazy(m, act(false)), lazy(fails, act(true)), configured(func(c *skill.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }))
		b.vault["key"] = key
		for _, name := range []string{"do.it", "do.not"} {
			e := b.call(t, name, `{"what":"tea"}`)
			if err := b.work(e.ID); err != nil {
				t.Fatal(err)
			}
			r, _ := b.result(t, e.ID)
			text := string(r.Output) + r.Error + log.String()
			for _, leak := range []string{key, "s3cr3t", "czNjcjN0", "sk-abcdef"} {
				if strings.Contains(text, leak) {
					t.Errorf("%s: %q is in %s", name, leak, text)
				}
			}
			if name == "do.it" && !strings.Contains(text, "d2468d3b5ee4ba1f1d3b93d2e4f07a5d1c0e9f8a") {
				t.Error("a git hash was masked")
			}
			if name == "do.not" && r.Error != "the target said: bad key [secret]" {
				t.Errorf("error %q", r.Error)
			}
		}
	})
}

func TestAResultIsNoHigherThanItsCall(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		low := event.NewLabel(event.Outside, event.Only("person:p1"))
		m := base("do.it", manifest.ClassRead)
		b := setup(t, db, lazy(m, func(b *bench) skill.Executable {
			return exec(func(context.Context, skill.Call) (skill.Output, error) {
				return skill.Output{Value: "x", Label: low}, nil
			})
		}), lazy(withName(m, "do.plain"), func(b *bench) skill.Executable { return b.done() }))
		for name, want := range map[string]string{"do.it": "o:=person:p1", "do.plain": outside.String()} {
			e := b.call(t, name, `{"what":"tea"}`)
			b.mustWork(t, e.ID, skill.Confirmed)
			if _, ev := b.result(t, e.ID); ev.Label.String() != want {
				t.Errorf("%s: label %s, want %s", name, ev.Label, want)
			}
		}
	})
}

func TestOutputThatBreaksItsSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		schema := json.RawMessage(`{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}`)
		bad := func(b *bench) skill.Executable {
			return exec(func(_ context.Context, c skill.Call) (skill.Output, error) {
				b.world.do(c)
				return skill.Output{Value: map[string]any{"n": "private text"}}, nil
			})
		}
		write, read := base("do.it", manifest.ClassOnce), base("look.up", manifest.ClassRead)
		write.Output, read.Output = schema, schema
		b := setup(t, db, lazy(write, bad), lazy(read, bad))
		// A write did happen, whatever it gave; a read gave nothing.
		for name, want := range map[string]skill.State{"do.it": skill.Confirmed, "look.up": skill.Failed} {
			e := b.call(t, name, `{"what":"tea"}`)
			b.mustWork(t, e.ID, want)
			r, _ := b.result(t, e.ID)
			if r.Output != nil || r.ErrorKind != "invalid" || strings.Contains(r.Error, "private") {
				t.Errorf("%s: result %+v", name, r)
			}
		}
	})
}

func TestACommitIsPartOfTheConfirmation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		// The whole effect is a row of ours; here a manifest stands for it.
		entry := func(b *bench, name string) manifest.Entry {
			m := base(name, manifest.ClassRead)
			return manifest.Entry{Manifest: m, Hash: hash(t, m), Label: storetest.House()}
		}
		var b *bench
		has := func(name string) bool {
			found := false
			b.See(t, func(tx event.Tx) error {
				_, err := b.store.GetEntry(tx, entry(b, name).Hash)
				found = err == nil
				return nil
			})
			return found
		}
		act := func(fail error) func(*bench) skill.Executable {
			return func(bb *bench) skill.Executable {
				return exec(func(_ context.Context, c skill.Call) (skill.Output, error) {
					var in struct {
						What string   `json:"what"`
						To   []string `json:"to"`
					}
					if err := c.Bind(&in); err != nil {
						return skill.Output{}, err
					}
					got := &struct {
						Revision int `json:"revision"`
					}{}
					return skill.Output{Value: got, Commit: func(tx event.Tx) error {
						if err := bb.store.SaveEntry(tx, entry(bb, in.What)); err != nil {
							return err
						}
						got.Revision = 7
						return fail
					}}, nil
				})
			}
		}
		m := base("do.it", manifest.ClassIdempotent)
		broken := withName(m, "do.broken")
		broken.Output = json.RawMessage(`{"properties":{"revision":{"type":"string"}},"type":"object"}`)
		b = setup(t, db, lazy(m, act(nil)), lazy(withName(m, "do.conflict"), act(fault.New(fault.Conflict, "somebody was first"))),
			lazy(broken, act(nil)))
		for _, tt := range []struct {
			skill string
			state skill.State
			kind  string
		}{{"do.it", skill.Confirmed, ""}, {"do.conflict", skill.Failed, "conflict"}, {"do.broken", skill.Failed, "invalid"}} {
			e := b.call(t, tt.skill, `{"what":"row.`+strings.TrimPrefix(tt.skill, "do.")+`"}`)
			b.mustWork(t, e.ID, tt.state)
			r, _ := b.result(t, e.ID)
			if r.ErrorKind != tt.kind {
				t.Errorf("%s: result %+v", tt.skill, r)
			}
			if got := has("row." + strings.TrimPrefix(tt.skill, "do.")); got != (tt.state == skill.Confirmed) {
				t.Errorf("%s: the row is there: %v", tt.skill, got)
			}
			if tt.kind == "" && string(r.Output) != `{"revision":7}` {
				t.Errorf("output %s", r.Output)
			}
		}
	})
}

func TestAStaleWorkersCommitIsVoid(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		commits := 0
		var g *gate
		b := setup(t, db, lazy(base("do.it", manifest.ClassIdempotent), func(b *bench) skill.Executable {
			g = newGate(true, func(_ context.Context, c skill.Call) (skill.Output, error) {
				m := base("row."+map[bool]string{true: "late", false: "good"}[c.Fence == 1], manifest.ClassRead)
				return skill.Output{Value: c.Attempt, Commit: func(tx event.Tx) error {
					commits++
					return b.store.SaveEntry(tx, manifest.Entry{Manifest: m, Hash: hash(t, m), Label: storetest.House()})
				}}, nil
			})
			return g
		}))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		b.crash(t, e.ID, g, func() { b.later(); b.mustWork(t, e.ID, skill.Confirmed) })
		if commits != 1 {
			t.Errorf("%d commits, want 1", commits)
		}
		b.See(t, func(tx event.Tx) error {
			if _, err := b.store.GetEntry(tx, hash(t, base("row.late", manifest.ClassRead))); !fault.Is(err, fault.NotFound) {
				t.Errorf("the late row: %v", err)
			}
			return nil
		})
	})
}

func TestASkillThatPanicsHangsOrVanishes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		release := make(chan struct{})
		quick := func(name string, class manifest.Class) manifest.Manifest {
			m := base(name, class)
			m.TimeoutMS = 10
			return m
		}
		panics := func(*bench) skill.Executable {
			return exec(func(context.Context, skill.Call) (skill.Output, error) { panic("secret detail") })
		}
		hangs := func(*bench) skill.Executable {
			return exec(func(context.Context, skill.Call) (skill.Output, error) {
				<-release
				return skill.Output{Value: "late"}, nil
			})
		}
		vanishes := func(*bench) skill.Executable {
			return exec(func(context.Context, skill.Call) (skill.Output, error) {
				runtime.Goexit()
				return skill.Output{}, nil
			})
		}
		b := setup(t, db, lazy(base("panic.read", manifest.ClassRead), panics), lazy(base("panic.once", manifest.ClassOnce), panics),
			lazy(quick("hang.read", manifest.ClassRead), hangs), lazy(quick("hang.once", manifest.ClassOnce), hangs),
			lazy(base("gone.read", manifest.ClassRead), vanishes))
		for _, tt := range []struct {
			skill  string
			state  skill.State
			kind   string
			reason string
		}{
			{"panic.read", skill.Failed, "internal", "internal"}, {"panic.once", skill.Unknown, "", "internal"},
			{"hang.read", skill.Failed, "timeout", "timeout"}, {"hang.once", skill.Unknown, "", "timeout"},
			{"gone.read", skill.Failed, "internal", "internal"},
		} {
			e := b.call(t, tt.skill, `{"what":"tea"}`)
			got := b.mustWork(t, e.ID, tt.state)
			if got.Reason != tt.reason {
				t.Errorf("%s: reason %q, want %q", tt.skill, got.Reason, tt.reason)
			}
			if tt.kind == "" {
				b.noResult(t, e.ID)
				continue
			}
			if r, _ := b.result(t, e.ID); r.ErrorKind != tt.kind || r.Error == "" || strings.Contains(r.Error, "detail") {
				t.Errorf("%s: result %+v", tt.skill, r)
			}
		}
		// A skill that hangs twice takes no third call; the effect waits.
		e := b.call(t, "hang.read", `{"what":"tea"}`)
		b.mustWork(t, e.ID, skill.Failed)
		e = b.call(t, "hang.read", `{"what":"tea"}`)
		b.mustWork(t, e.ID, skill.Intended)
		if n := b.s.Strays()["hang.read"]; n != 2 {
			t.Errorf("%d strays, want 2", n)
		}
		short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := b.s.Close(short); !fault.Is(err, fault.Timeout) || !strings.Contains(err.Error(), "hang.once, hang.read") {
			t.Errorf("close: %v", err)
		}
		close(release)
		if err := b.s.Close(context.Background()); err != nil || len(b.s.Strays()) != 0 {
			t.Errorf("close: %v, strays %v", err, b.s.Strays())
		}
		b.later()
		b.mustWork(t, e.ID, skill.Confirmed)
	})
}
