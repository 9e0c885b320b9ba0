package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary notes what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(s string) { d.mu.Lock(); d.lines = append(d.lines, s); d.mu.Unlock() }
func (d *diary) all() []string { d.mu.Lock(); defer d.mu.Unlock(); return slices.Clone(d.lines) }

// svc is a service with a set-up and a slow goodbye.
type svc struct {
	d        *diary
	name     string
	setup    time.Duration
	goodbye  time.Duration
	startErr error
	stopErr  error
}

func (s *svc) Start(context.Context) error {
	time.Sleep(s.setup)
	if s.startErr == nil {
		s.d.note("start " + s.name)
	}
	return s.startErr
}

func (s *svc) Run(ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(s.goodbye)
	s.d.note("stop " + s.name)
	if s.stopErr != nil {
		return s.stopErr
	}
	return ctx.Err()
}

func TestStartsInOrderAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		g := NewGroup(Options{})
		for i, n := range []string{"store", "bus", "http"} {
			g.Add(n, &svc{d: d, name: n, setup: time.Duration(3-i) * time.Second, goodbye: time.Duration(i+1) * time.Second})
		}
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- g.Run(ctx) }()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		want := []string{"start store", "start bus", "start http", "stop http", "stop bus", "stop store"}
		if got := d.all(); !slices.Equal(got, want) {
			t.Fatalf("order %v, want %v", got, want)
		}
	})
}

func TestFirstFailureWinsAndStopsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, boom := &diary{}, errors.New("disk gone")
		g := NewGroup(Options{})
		g.Add("store", Func(func(ctx context.Context) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), boom) {
				t.Errorf("cause = %v, want the failure", context.Cause(ctx))
			}
			return nil
		}))
		g.Add("early", Func(func(context.Context) error { time.Sleep(time.Second); return boom }))
		g.Add("late", Func(func(context.Context) error { time.Sleep(2 * time.Second); return errors.New("second") }))
		g.Add("http", &svc{d: d, name: "http"})
		err := g.Run(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.Service != "early" || !errors.Is(err, boom) {
			t.Fatalf("err = %v", err)
		}
		if !slices.Contains(d.all(), "stop http") {
			t.Fatal("the healthy service was not stopped")
		}
	})
}

func TestPanicsAreNamedErrors(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, nil))
	for _, where := range []string{"run", "start"} {
		g := NewGroup(Options{Logger: log})
		d := &diary{}
		g.Add("store", &svc{d: d, name: "store"})
		if where == "run" {
			g.Add("mind", Func(func(context.Context) error { panic("index out of range") }))
		} else {
			g.Add("mind", panicStarter{})
		}
		err := g.Run(t.Context())
		var p *PanicError
		if !errors.As(err, &p) || !strings.HasPrefix(err.Error(), "service mind: "+where+": panic: index out of range") {
			t.Fatalf("%s: err = %v", where, err)
		}
		if !bytes.Contains(p.Stack, []byte("group_test.go")) {
			t.Error("the stack does not show the culprit")
		}
		if !slices.Contains(d.all(), "stop store") {
			t.Error("the other service was not stopped")
		}
	}
	if !strings.Contains(buf.String(), "service=mind") {
		t.Errorf("log: %s", buf.String())
	}
}

type panicStarter struct{ Func }

func (panicStarter) Start(context.Context) error { panic("index out of range") }

func TestReturningEarlyIsAFailureUnlessFinished(t *testing.T) {
	g := NewGroup(Options{})
	g.Add("router", Func(func(context.Context) error { return nil }))
	if err := g.Run(t.Context()); !errors.Is(err, ErrReturned) {
		t.Fatalf("silent end: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup(Options{})
		g.Add("importer", Func(func(context.Context) error { return ErrFinished }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if err := g.Run(ctx); err != nil || time.Since(begin) != time.Minute {
			t.Fatalf("finished service ended the group after %v: %v", time.Since(begin), err)
		}
	})
}

func TestAFailedStartStopsWhatWasStarted(t *testing.T) {
	d, boom := &diary{}, errors.New("port taken")
	g := NewGroup(Options{})
	g.Add("store", &svc{d: d, name: "store"})
	g.Add("http", &svc{d: d, name: "http", startErr: boom})
	g.Add("never", &svc{d: d, name: "never"})
	err := g.Start(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Service != "http" || e.Doing != "start" || !errors.Is(err, boom) {
		t.Fatalf("err = %v", err)
	}
	if want := []string{"start store", "stop store"}; !slices.Equal(d.all(), want) {
		t.Fatalf("got %v, want %v", d.all(), want)
	}
	if g.Start(t.Context()) == nil {
		t.Fatal("a group starts once")
	}
}

func TestStopNamesTheServiceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, release := &diary{}, make(chan struct{})
		g := NewGroup(Options{Grace: 3 * time.Second})
		g.Add("store", &svc{d: d, name: "store"})
		g.Add("stuck", Func(func(context.Context) error { <-release; return nil }))
		g.Add("http", &svc{d: d, name: "http", goodbye: time.Second})
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := g.Stop(t.Context())
		var h *HangError
		if !errors.As(err, &h) || !slices.Equal(h.Hanging, []string{"stuck"}) || h.Unasked != nil {
			t.Fatalf("err = %v", err)
		}
		if took := time.Since(begin); took != 4*time.Second {
			t.Fatalf("stop took %v, want 1s for http and 3s for the one that hangs", took)
		}
		if !slices.Contains(d.all(), "stop store") {
			t.Fatal("the service below the one that hangs was not stopped")
		}
		close(release)
	})
}

func TestStopObeysItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		g := NewGroup(Options{Grace: time.Hour})
		slow := Func(func(context.Context) error { <-release; return nil })
		g.Add("below", slow)
		g.Add("above", slow)
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := g.Stop(ctx)
		var h *HangError
		if !errors.As(err, &h) || !slices.Equal(h.Hanging, []string{"above"}) || !slices.Equal(h.Unasked, []string{"below"}) {
			t.Fatalf("err = %v", err)
		}
		close(release)
	})
}

func TestStopReportsErrorsOnTheWayOutAndIsSafeTwice(t *testing.T) {
	d, boom := &diary{}, errors.New("flush failed")
	g := NewGroup(Options{})
	if err := g.Stop(t.Context()); err != nil {
		t.Fatalf("stop before start: %v", err)
	}
	g.Add("store", &svc{d: d, name: "store", stopErr: boom})
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := g.Stop(t.Context()); !errors.Is(err, boom) {
				t.Errorf("err = %v", err)
			}
		})
	}
	wg.Wait()
	if want := []string{"start store", "stop store"}; !slices.Equal(d.all(), want) {
		t.Fatalf("stopped more than once: %v", d.all())
	}
	if g.Err() != nil {
		t.Fatalf("an error in stop is no failure of the group: %v", g.Err())
	}
}

func TestACancelledStartStartsNothingMore(t *testing.T) {
	d := &diary{}
	g := NewGroup(Options{})
	g.Add("store", &svc{d: d, name: "store"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("person pressed ^C"))
	if err := g.Run(ctx); err == nil || !strings.Contains(err.Error(), "person pressed ^C") {
		t.Fatalf("err = %v", err)
	}
	if len(d.all()) != 0 {
		t.Fatalf("started anyway: %v", d.all())
	}
}

func TestAddAfterStartPanics(t *testing.T) {
	g := NewGroup(Options{})
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	g.Add("late", Func(func(context.Context) error { return nil }))
}
