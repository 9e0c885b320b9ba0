package killer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/witan-run/witan/internal/kit/failpoint"
)

// The test binary is its own victim: an HTTP server that walks through steps.
func TestMain(m *testing.M) {
	switch os.Getenv("KILLER_CHILD") {
	case "serve":
		serveChild()
	case "exit":
		failpoint.Hit("boot")
		os.Exit(3)
	default:
		goleak.VerifyTestMain(m)
	}
}

func serveChild() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	failpoint.Hit("boot")
	l, err := net.Listen("tcp", os.Getenv("KILLER_ADDR"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go srv.Serve(l)
	tick := time.NewTicker(time.Millisecond)
	for {
		for _, step := range []string{"row.written", "commit.before", "commit.after"} {
			failpoint.Hit(step)
			select {
			case <-tick.C:
			case <-ctx.Done():
				if os.Getenv("KILLER_STUBBORN") != "" {
					select {}
				}
				os.Exit(0)
			}
		}
	}
}

func victim(t *testing.T, env ...string) Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return Config{
		Command: []string{os.Args[0]}, Env: append([]string{"KILLER_CHILD=serve", "KILLER_ADDR=" + addr}, env...),
		Ready: "http://" + addr + "/readyz", ReadyIn: 20 * time.Second,
	}
}

func TestKillsExactlyAtNamedSteps(t *testing.T) {
	t.Parallel()
	k := Killer{Config: victim(t)}
	for _, step := range []string{"row.written", "commit.before", "commit.after", "boot"} {
		var seen int
		d, err := k.Live(t.Context(), AtStep(step, 1), func(p *Process) { seen = p.PID() })
		if err != nil || d.Step != step || d.Missed {
			t.Fatalf("%s: %+v, %v", step, d, err)
		}
		if d.Steps[step] != 1 {
			t.Fatalf("%s was hit %d times", step, d.Steps[step])
		}
		if step == "boot" && (d.Ready != 0 || seen != 0) {
			t.Fatalf("died at boot, yet was ready: %+v", d)
		}
	}
	d, err := k.Live(t.Context(), AtStep("commit.before", 3), nil)
	want := map[string]int{"boot": 1, "row.written": 3, "commit.before": 3, "commit.after": 2}
	if diff := cmp.Diff(want, d.Steps); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	if k.Deaths.Total() != 5 || k.Deaths.Count("commit.before") != 2 {
		t.Fatalf("histogram %+v", k.Deaths)
	}
}

func TestKillsAtRandomMomentsAndStartsAgain(t *testing.T) {
	t.Parallel()
	k := Killer{Config: victim(t)}
	r := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		d, err := k.Live(t.Context(), Random(r, 30*time.Millisecond), nil)
		if err != nil || d.Ready <= 0 {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	d, err := k.Live(t.Context(), AfterStart(0), nil)
	if err != nil || d.Ready != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	var b bytes.Buffer
	if err := k.Deaths.Print(&b); err != nil || !strings.HasPrefix(b.String(), "step at death, 7 kills\n") {
		t.Fatalf("%s, %v", b.String(), err)
	}
}

func TestAStepThatNeverComesIsMissed(t *testing.T) {
	t.Parallel()
	k := Killer{Config: victim(t), Limit: 50 * time.Millisecond}
	d, err := k.Live(t.Context(), AtStep("no.such.step", 1), nil)
	if err != nil || !d.Missed || d.Step == "" {
		t.Fatalf("%+v, %v", d, err)
	}
}

func TestADeathOfItsOwnIsReported(t *testing.T) {
	t.Parallel()
	cfg := victim(t)
	cfg.Env[0] = "KILLER_CHILD=exit"
	k := Killer{Config: cfg}
	if _, err := k.Live(t.Context(), AfterReady(time.Second), nil); !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("before ready: %v", err)
	}
	if _, err := k.Live(t.Context(), AfterStart(10*time.Second), nil); !errors.Is(err, ErrOwnDeath) {
		t.Fatalf("by itself: %v", err)
	}
	if k.Deaths.Total() != 0 {
		t.Fatal("counted as a kill")
	}
	k.Config.Command = nil
	if _, err := k.Live(t.Context(), AfterStart(0), nil); err == nil {
		t.Fatal("no command")
	}
}

func TestStopIsPoliteAndThenIsNot(t *testing.T) {
	t.Parallel()
	for stubborn, want := range map[string]string{"": "", "1": "the process hangs at"} {
		p, err := Start(victim(t, "KILLER_STUBBORN="+stubborn))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		limit := 10 * time.Second
		if stubborn != "" {
			limit = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err = p.Stop(ctx)
		cancel()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("stubborn=%q: %v", stubborn, err)
		}
		select {
		case <-p.Exited():
		default:
			t.Fatal("still there")
		}
	}
}
