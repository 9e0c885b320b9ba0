package skilldb_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// unknown makes an effect whose outcome nobody knows. The target can be asked
// if its class is reconcilable; there tells what it answers.
func unknown(t *testing.T, db *storetest.DB, m manifest.Manifest, there func() (bool, error)) (*bench, skill.Effect) {
	t.Helper()
	b := setup(t, db, lazy(m, func(b *bench) skill.Executable {
		return double{exec(func(context.Context, skill.Call) (skill.Output, error) {
			return skill.Output{}, fault.New(fault.Unavailable, "connection reset")
		}), func(context.Context, skill.Call) (skill.Output, bool, error) {
			ok, err := there()
			return skill.Output{Value: "read back"}, ok, err
		}}
	}), configured(func(c *skill.Config) { c.MaxAttempts = 1 }))
	e := b.call(t, m.Name, `{"what":"tea"}`)
	for range 4 {
		if b.effect(t, e.ID).State == skill.Unknown {
			break
		}
		if err := b.work(e.ID); err != nil {
			t.Fatal(err)
		}
		b.later()
	}
	return b, b.want(t, e.ID, skill.Unknown)
}

func (b *bench) settle(e id.ID, w skill.Word) error {
	_, err := b.s.Settle(context.Background(), b.Account, skill.Settlement{Person: b.IDs.New(), Effect: e, Word: w, Note: "I looked."})
	return err
}

func TestAPersonSettlesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word   skill.Word
		state  skill.State
		kind   string
		result string
	}{
		{skill.ItHappened, skill.Confirmed, "", "confirmed"},
		{skill.DidNot, skill.Failed, "unknown", "failed"},
	} {
		t.Run(string(tt.word), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				b, e := unknown(t, db, base("do.it", manifest.ClassOnce), nil)
				b.noResult(t, e.ID)
				if _, err := b.s.Settle(context.Background(), b.Account, skill.Settlement{Effect: e.ID, Word: tt.word}); !fault.Is(err, fault.Denied) {
					t.Errorf("without a person: %v", err)
				}
				if _, err := b.s.Settle(context.Background(), b.Account, skill.Settlement{Person: b.viewer, Effect: e.ID, Word: tt.word}); !fault.Is(err, fault.Denied) {
					t.Errorf("by a viewer: %v", err)
				}
				for _, w := range []skill.Word{skill.Run, skill.ReadItBack} {
					if err := b.settle(e.ID, w); !fault.Is(err, fault.Conflict) {
						t.Errorf("%s: %v", w, err)
					}
				}
				if err := b.settle(e.ID, "perhaps"); !fault.Is(err, fault.Invalid) {
					t.Errorf("no word: %v", err)
				}
				if err := b.settle(e.ID, tt.word); err != nil {
					t.Fatal(err)
				}
				b.want(t, e.ID, tt.state)
				r, ev := b.result(t, e.ID)
				if r.State != tt.result || r.ErrorKind != tt.kind || r.Error == "" || len(ev.Parents) != 1 {
					t.Errorf("result %+v", r)
				}
				if err := b.settle(e.ID, tt.word); !fault.Is(err, fault.Conflict) {
					t.Errorf("settled twice: %v", err)
				}
				if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
					t.Errorf("work: %v", err)
				}
			})
		})
	}
}

func TestAnOutcomeIsReadBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		back  manifest.ReadBack
		there bool
		err   error
		state skill.State
	}{
		{manifest.Presence, true, nil, skill.Confirmed},
		{manifest.Presence, false, nil, skill.Unknown},
		{manifest.Exact, true, nil, skill.Confirmed},
		{manifest.Exact, false, nil, skill.Failed},
		{manifest.Exact, false, fault.New(fault.Unavailable, "down"), skill.Unknown},
	} {
		t.Run(fmt.Sprint(tt.back, tt.there, tt.err != nil), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				m := base("do.it", manifest.ClassReconcilable)
				m.ReadBack = tt.back
				down := true // while the outcome is not known, the target cannot be asked
				b, e := unknown(t, db, m, func() (bool, error) {
					if down {
						return false, fault.New(fault.Unavailable, "down")
					}
					return tt.there, tt.err
				})
				down = false
				if err := b.settle(e.ID, skill.ReadItBack); err != nil {
					t.Fatal(err)
				}
				if err := b.settle(e.ID, skill.ReadItBack); !fault.Is(err, fault.Conflict) {
					t.Errorf("twice: %v", err)
				}
				got := b.mustWork(t, e.ID, tt.state)
				if got.Settling {
					t.Error("it is still being read back")
				}
				if tt.state == skill.Unknown {
					b.noResult(t, e.ID)
					if err := b.settle(e.ID, skill.DidNot); err != nil { // a person can still say
						t.Fatal(err)
					}
				}
				r, _ := b.result(t, e.ID)
				if tt.there && string(r.Output) != `"read back"` {
					t.Errorf("result %+v", r)
				}
			})
		})
	}
}

func TestARestoreCarriesNothingOutUnasked(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		lost := func(b *bench) skill.Executable {
			return exec(func(_ context.Context, c skill.Call) (skill.Output, error) {
				b.world.do(c)
				if c.Attempt == 1 {
					return skill.Output{}, fault.New(fault.Unavailable, "connection reset")
				}
				return skill.Output{}, nil
			})
		}
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }),
			lazy(base("look.up", manifest.ClassRead), func(b *bench) skill.Executable { return b.done() }),
			lazy(base("do.again", manifest.ClassIdempotent), lost))
		fresh, dropped, read := b.call(t, "do.it", `{"what":"a"}`), b.call(t, "do.it", `{"what":"b"}`), b.call(t, "look.up", `{"what":"c"}`)
		left := b.call(t, "do.again", `{"what":"d"}`)
		b.mustWork(t, left.ID, skill.Dispatching)
		before := len(b.world.calls())
		sys := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "epoch.started")
		if err := db.DB.BeginEpoch(context.Background(), db.Account, 0, sys); err != nil {
			t.Fatal(err)
		}
		b.later()
		for _, e := range []id.ID{fresh.ID, dropped.ID, read.ID, left.ID} {
			b.want(t, e, skill.Held)
			if err := b.work(e); !fault.Is(err, fault.Stale) {
				t.Errorf("work: %v", err)
			}
		}
		if n := len(b.world.calls()); n != before {
			t.Fatalf("%d acts after the restore", n-before)
		}
		for _, w := range []skill.Word{skill.ItHappened, skill.ReadItBack} { // nothing of it had left
			if err := b.settle(fresh.ID, w); !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: %v", w, err)
			}
		}
		if err := b.settle(left.ID, skill.Run); !fault.Is(err, fault.Conflict) { // something may have
			t.Errorf("run: %v", err)
		}
		for _, e := range []id.ID{fresh.ID, read.ID} {
			if err := b.settle(e, skill.Run); err != nil {
				t.Fatal(err)
			}
			b.mustWork(t, e, skill.Confirmed)
		}
		if err := b.settle(dropped.ID, skill.DidNot); err != nil {
			t.Fatal(err)
		}
		b.want(t, dropped.ID, skill.Failed)
		if err := b.settle(left.ID, skill.ItHappened); err != nil {
			t.Fatal(err)
		}
		b.want(t, left.ID, skill.Confirmed)
		for _, e := range []id.ID{fresh.ID, dropped.ID, read.ID, left.ID} {
			b.result(t, e)
		}
	})
}

func TestOneHeldEffect(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }))
		e := b.call(t, "do.it", `{"what":"a"}`)
		sys := storetest.Origin(t, event.LayerSystem, event.ClassSystem, "store", "work.held")
		b.Do(t, func(tx event.Tx) error {
			if err := store.Hold(tx, event.WorkEffect, e.ID, "poison"); err != nil {
				return err
			}
			_, err := tx.Emit(sys, event.Draft{Payload: event.WorkHeld{Kind: "effect", WorkID: e.ID, Reason: "poison"}, Label: storetest.House(), Summary: "Held."})
			return err
		})
		if got := b.want(t, e.ID, skill.Held); got.Reason != "poison" {
			t.Errorf("reason %q", got.Reason)
		}
		if err := b.settle(e.ID, skill.Run); err != nil {
			t.Fatal(err)
		}
		b.mustWork(t, e.ID, skill.Confirmed)
	})
}
