package skilldb_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/storetest"
)

// gate is an executable whose first call stands still until the test lets it
// go: a worker that is dropped between two of its commits.
type gate struct {
	at   chan struct{} // closed when the first call has arrived
	open chan struct{} // closed to let it go
	// before says whether the act has happened when the call stands still.
	before bool
	act    exec
	back   func(c skill.Call) (skill.Output, bool, error)
}

func newGate(before bool, act exec) *gate {
	return &gate{at: make(chan struct{}), open: make(chan struct{}), before: before, act: act}
}

func (g *gate) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	if c.Attempt > 1 || c.Fence > 1 {
		return g.act(ctx, c)
	}
	if !g.before {
		close(g.at)
		<-g.open
		return g.act(ctx, c)
	}
	out, err := g.act(ctx, c)
	close(g.at)
	<-g.open
	return out, err
}

func (g *gate) ReadBack(_ context.Context, c skill.Call) (skill.Output, bool, error) {
	return g.back(c)
}

// crash starts a worker, waits until it stands between its two commits, runs
// next (another worker, after a restart), then lets the first one go on: it
// must find itself stale.
func (b *bench) crash(t *testing.T, e id.ID, g *gate, next func()) {
	t.Helper()
	first := make(chan error, 1)
	s := b.s
	go func() { first <- s.Work(context.Background(), b.Account, e) }()
	<-g.at
	dropped := b.s
	restarted, err := skill.New(b.config)
	if err != nil {
		t.Fatal(err)
	}
	b.s = restarted
	next()
	b.s = dropped
	close(g.open)
	if err := <-first; !fault.Is(err, fault.Stale) {
		t.Errorf("the dropped worker wrote: %v", err)
	}
}

func TestACrashAfterDispatchingIsTreatedByClass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		class  manifest.Class
		before bool // the act happened before the crash
		back   manifest.ReadBack
		state  skill.State
		done   int // the world counts by key; an idempotent target drops the second
		walk   string
	}{
		{"read may repeat", manifest.ClassRead, true, "", skill.Confirmed, 2, "intended confirmed"},
		{"idempotent, nothing left", manifest.ClassIdempotent, false, "", skill.Confirmed, 1, "intended dispatching dispatching confirmed"},
		{"idempotent, it happened", manifest.ClassIdempotent, true, "", skill.Confirmed, 2, "intended dispatching dispatching confirmed"},
		{"reconcilable, nothing left", manifest.ClassReconcilable, false, manifest.Exact, skill.Confirmed, 1, "intended dispatching dispatching confirmed"},
		{"reconcilable, it happened", manifest.ClassReconcilable, true, manifest.Exact, skill.Confirmed, 1, "intended dispatching confirmed"},
		{"reconcilable by presence, nothing left", manifest.ClassReconcilable, false, manifest.Presence, skill.Unknown, 0, "intended dispatching unknown"},
		{"reconcilable by presence, it happened", manifest.ClassReconcilable, true, manifest.Presence, skill.Confirmed, 1, "intended dispatching confirmed"},
		{"once, nothing left", manifest.ClassOnce, false, "", skill.Unknown, 0, "intended dispatching unknown"},
		{"once, it happened", manifest.ClassOnce, true, "", skill.Unknown, 1, "intended dispatching unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *storetest.DB) {
				m := base("do.it", tt.class)
				m.ReadBack = tt.back
				var g *gate
				b := setup(t, db, lazy(m, func(b *bench) skill.Executable {
					g = newGate(tt.before, b.done())
					g.back = func(c skill.Call) (skill.Output, bool, error) {
						n := b.world.count(c.Key)
						return skill.Output{Value: map[string]int{"times": n}}, n > 0, nil
					}
					return g
				}))
				e := b.call(t, "do.it", `{"what":"tea"}`)
				var seen int
				b.crash(t, e.ID, g, func() {
					b.later()
					got := b.mustWork(t, e.ID, tt.state)
					seen = b.world.count(e.Key)
					if walk := b.walk(t, e.ID); walk != tt.walk {
						t.Errorf("walked %q, want %q", walk, tt.walk)
					}
					if tt.state == skill.Unknown {
						b.noResult(t, e.ID)
						if got.Reason == "" || got.Before != skill.Dispatching {
							t.Errorf("unknown without a reason: %+v", got)
						}
					}
				})
				if seen != tt.done {
					t.Errorf("done %d times, want %d", seen, tt.done)
				}
				b.want(t, e.ID, tt.state) // the late writer changed nothing
				if tt.state == skill.Confirmed {
					b.result(t, e.ID)
				}
				for _, c := range b.world.calls() {
					if c.Key != e.Key {
						t.Errorf("attempt with key %s, want %s", c.Key, e.Key)
					}
				}
			})
		})
	}
}

func TestACrashBeforeDispatchingLosesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		flaky := &cut{Journal: db.Journal}
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable { return b.done() }),
			configured(func(c *skill.Config) { c.Journal = flaky }))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		flaky.void = true // the first commit is rolled back
		if err := b.work(e.ID); !errors.Is(err, errCut) {
			t.Fatalf("work: %v", err)
		}
		b.want(t, e.ID, skill.Intended)
		flaky.void = false
		b.mustWork(t, e.ID, skill.Confirmed)
		if n := b.world.count(e.Key); n != 1 {
			t.Errorf("done %d times", n)
		}
	})
}

func TestARestartTakesOverWorkOfADeadProcess(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		flaky := &cut{Journal: db.Journal}
		ctx, stop := context.WithCancel(context.Background())
		b := setup(t, db, lazy(base("do.it", manifest.ClassOnce), func(b *bench) skill.Executable {
			return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
				flaky.set(true) // the database is gone once the act is over
				stop()          // and the process is told to stop
				return b.done()(ctx, c)
			})
		}), configured(func(c *skill.Config) { c.Journal = flaky }))
		e := b.call(t, "do.it", `{"what":"tea"}`)
		if err := b.s.Work(ctx, b.Account, e.ID); err == nil {
			t.Fatal("an outcome that was not recorded was acknowledged")
		}
		b.want(t, e.ID, skill.Dispatching)
		db.Reopen(t)
		b.Clock.Advance(time.Minute)
		flaky.Journal, flaky.void = db.Journal, false
		b.mustWork(t, e.ID, skill.Unknown)
		if n := b.world.count(e.Key); n != 1 {
			t.Errorf("done %d times", n)
		}
		b.noResult(t, e.ID)
	})
}

func TestWhatIsKnownNotToHaveLeftIsTriedAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		flaky := func(fails int) func(b *bench) skill.Executable {
			return func(b *bench) skill.Executable {
				return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
					if c.Attempt <= fails {
						return skill.Output{}, skill.FirstHop(&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")})
					}
					return b.done()(ctx, c)
				})
			}
		}
		b := setup(t, db, lazy(base("do.soon", manifest.ClassOnce), flaky(2)), lazy(base("do.never", manifest.ClassOnce), flaky(99)),
			lazy(base("look.soon", manifest.ClassRead), flaky(2)))
		for _, tt := range []struct {
			skill    string
			works    int
			state    skill.State
			attempts int
			done     int
		}{{"do.soon", 3, skill.Confirmed, 3, 1}, {"do.never", 5, skill.Failed, 5, 0}, {"look.soon", 3, skill.Confirmed, 3, 1}} {
			e := b.call(t, tt.skill, `{"what":"tea"}`)
			for i := range tt.works {
				if i > 0 {
					b.want(t, e.ID, skill.Intended)
					if err := b.work(e.ID); !fault.Is(err, fault.Stale) {
						t.Errorf("%s: no wait before attempt %d: %v", tt.skill, i+1, err)
					}
					b.later()
				}
				if err := b.work(e.ID); err != nil {
					t.Fatal(err)
				}
			}
			got := b.want(t, e.ID, tt.state)
			if got.Attempt != tt.attempts || b.world.count(e.Key) != tt.done {
				t.Errorf("%s: %d attempts, done %d times", tt.skill, got.Attempt, b.world.count(e.Key))
			}
			if r, _ := b.result(t, e.ID); tt.state == skill.Failed && (r.ErrorKind != "unavailable" || r.Error != "the target cannot be reached") {
				t.Errorf("result %+v", r)
			}
		}
	})
}

func TestAnOpenOutcomeIsTreatedByClass(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		// The act happens, and then the answer is lost.
		lost := func(b *bench) skill.Executable {
			return double{exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
				out, _ := b.done()(ctx, c)
				if c.Attempt > 1 {
					return out, nil
				}
				return skill.Output{}, fault.New(fault.Unavailable, "connection reset")
			}), func(_ context.Context, c skill.Call) (skill.Output, bool, error) {
				return skill.Output{Value: map[string]int{"times": b.world.count(c.Key)}}, b.world.count(c.Key) > 0, nil
			}}
		}
		b := setup(t, db, lazy(base("do.once", manifest.ClassOnce), lost), lazy(base("do.again", manifest.ClassIdempotent), lost),
			lazy(base("do.look", manifest.ClassReconcilable), lost))
		once := b.call(t, "do.once", `{"what":"tea"}`)
		b.mustWork(t, once.ID, skill.Unknown)
		b.noResult(t, once.ID)

		again := b.call(t, "do.again", `{"what":"tea"}`)
		b.mustWork(t, again.ID, skill.Dispatching)
		b.later()
		b.mustWork(t, again.ID, skill.Confirmed)
		if n := b.world.count(again.Key); n != 2 {
			t.Errorf("idempotent: %d attempts with the key", n)
		}
		look := b.call(t, "do.look", `{"what":"tea"}`)
		b.mustWork(t, look.ID, skill.Dispatching)
		b.later()
		b.mustWork(t, look.ID, skill.Confirmed)
		if n := b.world.count(look.Key); n != 1 {
			t.Errorf("reconcilable: done %d times", n)
		}
	})
}

// What a second attempt ends in says nothing about the first, which may have
// happened: neither a no nor a failed dial makes it a failure.
func TestASecondAttemptProvesNothingAboutTheFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		then := func(err error) func(b *bench) skill.Executable {
			return func(b *bench) skill.Executable {
				return exec(func(_ context.Context, c skill.Call) (skill.Output, error) {
					if c.Attempt == 1 {
						b.world.do(c)
						return skill.Output{}, fault.New(fault.Unavailable, "connection reset")
					}
					return skill.Output{}, err
				})
			}
		}
		b := setup(t, db, lazy(base("do.no", manifest.ClassIdempotent), then(fault.New(fault.Unauthorized, "who are you?"))),
			lazy(base("do.down", manifest.ClassIdempotent), then(skill.NotSent(errors.New("connection refused")))),
			configured(func(c *skill.Config) { c.MaxAttempts = 3 }))
		no := b.call(t, "do.no", `{"what":"tea"}`)
		b.mustWork(t, no.ID, skill.Dispatching)
		b.later()
		b.mustWork(t, no.ID, skill.Unknown)
		b.noResult(t, no.ID)
		down := b.call(t, "do.down", `{"what":"tea"}`)
		for _, want := range []skill.State{skill.Dispatching, skill.Dispatching, skill.Unknown} {
			b.mustWork(t, down.ID, want)
			b.later()
		}
		b.noResult(t, down.ID)
	})
}

func TestACallThatIsNoLongerAllowedIsNotRepeated(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		lost := func(b *bench) skill.Executable {
			return double{exec(func(_ context.Context, c skill.Call) (skill.Output, error) {
				b.world.do(c)
				return skill.Output{}, fault.New(fault.Unavailable, "connection reset")
			}), func(context.Context, skill.Call) (skill.Output, bool, error) { return skill.Output{}, false, nil }}
		}
		b := setup(t, db, lazy(base("do.again", manifest.ClassIdempotent), lost), lazy(base("do.look", manifest.ClassReconcilable), lost))
		// It may have happened, so a no now leaves it in doubt and not denied.
		again := b.call(t, "do.again", `{"what":"tea"}`)
		b.mustWork(t, again.ID, skill.Dispatching)
		// It is proven not to have happened, so a no now ends it.
		look := b.call(t, "do.look", `{"what":"tea"}`)
		b.mustWork(t, look.ID, skill.Dispatching)
		b.later()
		b.desk.confirm = map[string]skill.Answer{"do.again": skill.Deny, "do.look": skill.Deny}
		b.mustWork(t, again.ID, skill.Unknown)
		b.mustWork(t, look.ID, skill.Failed)
		if len(b.world.calls()) != 2 {
			t.Errorf("%d attempts", len(b.world.calls()))
		}
	})
}

func TestTwoWorkersRaceForOneEffect(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		b := setup(t, db, lazy(base("do.it", manifest.ClassIdempotent), func(b *bench) skill.Executable {
			return exec(func(ctx context.Context, c skill.Call) (skill.Output, error) {
				return b.done()(ctx, c)
			})
		}))
		nodes := []*bench{b}
		if db.Options.URL != "" { // a second process on the same database
			n := db.Second(t)
			other := *b
			other.DB = n
			c := b.config
			c.Journal, c.Deliveries = n.Journal, &other
			s, err := skill.New(c)
			other.s = must(t, s, err)
			nodes = append(nodes, &other)
		}
		for range 10 {
			e := b.call(t, "do.it", `{"what":"tea"}`)
			const workers = 6
			errs := make(chan error, workers)
			for w := range workers {
				go func() { errs <- nodes[w%len(nodes)].work(e.ID) }()
			}
			for range workers {
				if err := <-errs; err != nil && !fault.Is(err, fault.Stale) && !fault.Is(err, fault.NotFound) {
					t.Errorf("worker: %v", err)
				}
			}
			b.want(t, e.ID, skill.Confirmed)
			b.result(t, e.ID)
		}
	})
}

// cut is a journal whose commits can be made to fail.
type cut struct {
	event.Journal
	void bool
}

var errCut = fault.New(fault.Unavailable, "the database is gone") //nolint:gochecknoglobals // a sentinel

func (c *cut) set(v bool) { c.void = v }

// Do implements event.Journal.
func (c *cut) Do(ctx context.Context, account id.ID, f func(event.Tx) error) error {
	return c.Journal.Do(ctx, account, func(tx event.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if c.void {
			return errCut
		}
		return nil
	})
}
