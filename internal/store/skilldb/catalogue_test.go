package skilldb_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/skilldb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestTheCatalogueIsNumberedAndImmutable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		ctx := context.Background()
		if b.head.Number != 1 || b.head.By != "system" || len(b.head.Items) != 1 {
			t.Fatalf("first %+v", b.head)
		}
		// The first start happens once; the system changes nothing after it.
		again, err := b.s.Seed(ctx, db.Account, nil)
		if must(t, again, err).Number != 1 {
			t.Error("seeded twice")
		}
		if _, err := b.s.ChangeCatalogue(ctx, db.Account, skill.By{}, skill.Change{Remove: []string{"do.it"}}); !fault.Is(err, fault.Denied) {
			t.Errorf("the system changed it: %v", err)
		}
		if _, err := b.s.ChangeCatalogue(ctx, db.Account, skill.By{Person: b.viewer}, skill.Change{Remove: []string{"do.it"}}); !fault.Is(err, fault.Denied) {
			t.Errorf("a viewer changed it: %v", err)
		}
		person := skill.By{Person: db.IDs.New()}
		if same, err := b.s.ChangeCatalogue(ctx, db.Account, person, skill.Change{Put: b.entries()}); must(t, same, err).Number != 1 {
			t.Error("a change of nothing made a number")
		}
		text := base("how-to", manifest.ClassRead)
		text.Kind, text.Risk, text.Input, text.Target, text.Title, text.Content = manifest.Instruction, manifest.RiskNone, nil, nil, "", "abc"
		next, err := b.s.ChangeCatalogue(ctx, db.Account, person, skill.Change{
			Put:    []manifest.Entry{{Manifest: text, Content: []byte("# How to"), Label: event.NewLabel(event.Outside, event.Public())}},
			Switch: []skill.Switch{{Skill: "do.it"}},
		})
		next = must(t, next, err)
		if next.Number != 2 || next.By != "person:"+person.Person.String() {
			t.Fatalf("second %+v", next)
		}
		// Old numbers stay as they were, also for a process that starts now.
		for _, s := range []*skilldb.Store{b.store, skilldb.New()} {
			b.See(t, func(tx event.Tx) error {
				one, err := s.GetSnapshot(tx, 1)
				if diff := cmp.Diff(b.head, one, cmp.Comparer(func(a, b []id.ID) bool { return slices.Equal(a, b) })); err != nil || diff != "" {
					t.Errorf("number 1 changed: %v\n%s", err, diff)
				}
				two, err := s.GetHead(tx)
				if it, _ := two.Find("do.it"); err != nil || two.Digest != next.Digest || it.OnIn(id.Nil) {
					t.Errorf("head %+v, %v", two, err)
				}
				if _, err := s.GetSnapshot(tx, 3); !fault.Is(err, fault.NotFound) {
					t.Errorf("number 3: %v", err)
				}
				return nil
			})
		}
		var changed []event.CatalogueChanged
		for _, e := range b.Events(t) {
			if p, ok := e.Payload.(event.CatalogueChanged); ok {
				changed = append(changed, p)
			}
		}
		if len(changed) != 2 || changed[1].Catalogue != 2 || changed[1].Digest != next.Digest || len(changed[1].Skills) != 2 {
			t.Errorf("events %+v", changed)
		}
		// An instruction is read, with its label, and never called.
		b.See(t, func(tx event.Tx) error {
			it, _ := next.Find("how-to")
			e, err := b.s.Entry(tx, it.Hash)
			if err != nil || string(e.Content) != "# How to" || e.Label.Integrity() != event.Outside {
				t.Errorf("entry %+v, %v", e, err)
			}
			return nil
		})
		b.held[actor] = append(b.held[actor], "how-to")
		b.head = next
		p := b.invocation("how-to", `{}`)
		if _, e := b.emit(t, p); e.State != skill.Refused {
			t.Errorf("an instruction was called: %+v", e)
		}
	})
}

func TestBadChangesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		good := base("mcp.tool", manifest.ClassOnce)
		good.Kind = manifest.MCP
		house := storetest.House()
		forged := base("do.it", manifest.ClassOnce)
		forged.Risk = manifest.RiskNone
		for name, tt := range map[string]struct {
			change skill.Change
			kind   fault.Kind
		}{
			"a built-in that this program does not have": {skill.Change{Put: []manifest.Entry{{Manifest: base("new.skill", manifest.ClassOnce), Label: house}}}, fault.NotFound},
			"a built-in with another manifest":           {skill.Change{Put: []manifest.Entry{{Manifest: forged, Label: house}}}, fault.NotFound},
			"a hash that is not the manifest's":          {skill.Change{Put: []manifest.Entry{{Manifest: good, Hash: "abc", Label: house}}}, fault.Corrupt},
			"no label":                                   {skill.Change{Put: []manifest.Entry{{Manifest: good}}}, fault.Invalid},
			"a manifest that breaks a rule":              {skill.Change{Put: []manifest.Entry{{Manifest: withName(good, "No Name"), Label: house}}}, fault.Invalid},
			"removing nothing":                           {skill.Change{Remove: []string{"nobody"}}, fault.NotFound},
			"switching nothing":                          {skill.Change{Switch: []skill.Switch{{Skill: "nobody"}}}, fault.NotFound},
		} {
			_, err := b.s.ChangeCatalogue(context.Background(), db.Account, skill.By{Person: db.IDs.New()}, tt.change)
			if !fault.Is(err, tt.kind) {
				t.Errorf("%s: %v", name, err)
			}
		}
		b.See(t, func(tx event.Tx) error {
			if head, err := b.s.Head(tx); err != nil || head.Number != 1 {
				t.Errorf("head %+v, %v", head, err)
			}
			return nil
		})
	})
}

func TestAPermissionThatIsNotGranted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		m := base("do.it", manifest.ClassOnce)
		m.Permissions = []manifest.Permission{manifest.PermitNet}
		b := setup(t, db, lazy(m, func(b *bench) skill.Executable { return b.done() }),
			configured(func(c *skill.Config) { c.Permissions = []manifest.Permission{manifest.PermitFiles} }))
		if e := b.call(t, "do.it", `{"what":"tea"}`); e.State != skill.Refused {
			t.Errorf("row %+v", e)
		}
	})
}

// purse is a budget of one run.
type purse struct {
	left  int64
	held  map[id.ID]int64
	spent int64
}

func (p *purse) Reserve(_ event.Tx, _, effect id.ID, _ string, micros int64) error {
	if _, again := p.held[effect]; again {
		return nil
	}
	if micros > p.left {
		return fault.New(fault.Limited, "the budget of this run is spent")
	}
	p.left -= micros
	p.held[effect] = micros
	return nil
}

func (p *purse) Settle(_ event.Tx, _, effect id.ID, spent int64) error {
	p.left += p.held[effect] - min(spent, p.held[effect])
	if _, ok := p.held[effect]; ok {
		p.spent += spent
	}
	delete(p.held, effect)
	return nil
}

func TestMoneyIsReservedBeforeAndSettledAfter(t *testing.T) {
	t.Parallel()
	db := storetest.OpenSQLite(t)
	p := &purse{left: 100, held: map[id.ID]int64{}}
	m := base("buy.it", manifest.ClassOnce)
	m.Access, m.Resources.MoneyMicros = manifest.Spend, 60
	fails := withName(m, "buy.not")
	b := setup(t, db, lazy(m, func(b *bench) skill.Executable {
		return exec(func(_ context.Context, c skill.Call) (skill.Output, error) {
			if p.left != 40 || p.held[c.Effect] != 60 {
				t.Errorf("during the call: %d left", p.left)
			}
			return skill.Output{SpentMicros: 45}, nil
		})
	}), lazy(fails, func(b *bench) skill.Executable {
		return exec(func(context.Context, skill.Call) (skill.Output, error) {
			return skill.Output{}, fault.New(fault.Denied, "card refused")
		})
	}), configured(func(c *skill.Config) { c.Purse = p }))
	// A refused purchase costs nothing.
	e := b.call(t, "buy.not", `{"what":"tea"}`)
	b.mustWork(t, e.ID, skill.Failed)
	if p.left != 100 || p.spent != 0 {
		t.Errorf("after a refusal: %d left, %d spent", p.left, p.spent)
	}
	e = b.call(t, "buy.it", `{"what":"tea"}`)
	b.mustWork(t, e.ID, skill.Confirmed)
	if p.left != 55 || p.spent != 45 || len(p.held) != 0 {
		t.Errorf("after it: %d left, %d spent", p.left, p.spent)
	}
	e = b.call(t, "buy.it", `{"what":"tea"}`)
	b.mustWork(t, e.ID, skill.Refused)
	if r, _ := b.result(t, e.ID); r.ErrorKind != "limited" {
		t.Errorf("result %+v", r)
	}
}

func TestTheLedgerIsListed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		var all []id.ID
		for range 5 {
			all = append(all, b.call(t, "do.it", `{"what":"tea"}`).ID)
		}
		b.mustWork(t, all[2], skill.Confirmed)
		p := b.invocation("do.it", `{"what":"tea"}`)
		p.RunID = db.IDs.New()
		_, other := b.emit(t, p)
		list := func(f skill.Filter) (out []id.ID) {
			b.See(t, func(tx event.Tx) error {
				es, err := b.s.Effects(tx, f)
				out = nil
				for _, e := range es {
					out = append(out, e.ID)
				}
				return err
			})
			return out
		}
		for _, tt := range []struct {
			f    skill.Filter
			want []id.ID
		}{
			{skill.Filter{}, []id.ID{other.ID, all[4], all[3], all[2], all[1], all[0]}},
			{skill.Filter{Run: b.run, Limit: 2}, []id.ID{all[4], all[3]}},
			{skill.Filter{Run: b.run, Limit: 2, Before: all[3]}, []id.ID{all[2], all[1]}},
			{skill.Filter{State: skill.Confirmed}, []id.ID{all[2]}},
			{skill.Filter{Run: p.RunID, State: skill.Intended}, []id.ID{other.ID}},
			{skill.Filter{State: skill.Unknown}, nil},
		} {
			if got := list(tt.f); !slices.Equal(got, tt.want) {
				t.Errorf("%+v: %v, want %v", tt.f, got, tt.want)
			}
		}
		foreign := db.NewAccount(t)
		if err := db.Journal.View(context.Background(), foreign, func(tx event.Tx) error {
			es, err := b.s.Effects(tx, skill.Filter{})
			if len(es) != 0 {
				t.Errorf("another account sees %d effects", len(es))
			}
			if _, _, err := b.s.Effect(tx, all[0]); !fault.Is(err, fault.NotFound) {
				t.Errorf("another account sees one: %v", err)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		b.See(t, func(tx event.Tx) error {
			if _, err := b.s.Effects(tx, skill.Filter{State: "done"}); !fault.Is(err, fault.Invalid) {
				t.Errorf("no state: %v", err)
			}
			it, _ := b.head.Find("do.it")
			if err := b.s.CheckArguments(tx, it.Hash, json.RawMessage(`{"what":1}`)); !fault.Is(err, fault.Invalid) {
				t.Errorf("arguments: %v", err)
			}
			return b.s.CheckArguments(tx, it.Hash, json.RawMessage(`{"what":"x"}`))
		})
	})
}
