package failpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The test binary is its own child: it walks three steps, three times.
func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_CHILD") == "1" {
		for range 3 {
			for _, step := range []string{"row.written", "commit.before", "commit.after"} {
				Hit(step)
			}
		}
		fmt.Println("done")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type outcome struct {
	steps []string
	out   string
	err   error
}

// walk runs the child; it is killed from outside once it has announced `until`.
func walk(t *testing.T, spec, until string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"="+spec, FDEnv+"=3")
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{w}, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var res outcome
	for sc := bufio.NewScanner(r); sc.Scan(); {
		res.steps = append(res.steps, sc.Text())
		if until != "" && strings.Join(res.steps, " ") == until {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	res.err = cmd.Wait()
	res.out = out.String()
	if err := r.Close(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return res
}

func killed(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	ws, ok := e.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

func TestAnArmedStepKillsAtItsHit(t *testing.T) {
	t.Parallel()
	got := walk(t, Spec(Arm{Name: "commit.before", Action: Kill, Count: 2}), "")
	want := strings.Fields("row.written commit.before commit.after row.written commit.before")
	if diff := cmp.Diff(want, got.steps); diff != "" || !killed(got.err) || got.out != "" {
		t.Fatalf("%s\n%v %q", diff, got.err, got.out)
	}
}

func TestABlockedStepStandsStillUntilItIsKilled(t *testing.T) {
	t.Parallel()
	got := walk(t, Spec(Arm{Name: "commit.after", Action: Block}), "row.written commit.before commit.after")
	// A child that went on would be seen by a fourth step or its last word,
	// or (having been quicker than the kill) by its exit code.
	if len(got.steps) != 3 || !killed(got.err) || got.out != "" {
		t.Fatalf("%v %v %q", got.steps, got.err, got.out)
	}
}

func TestAnnounceOnlyAndNothingAtAll(t *testing.T) {
	t.Parallel()
	if got := walk(t, Spec(), ""); len(got.steps) != 9 || got.err != nil || got.out != "done\n" {
		t.Fatalf("on: %v %v %q", got.steps, got.err, got.out)
	}
	if got := walk(t, "", ""); len(got.steps) != 0 || got.err != nil || got.out != "done\n" {
		t.Fatalf("unset: %v %v %q", got.steps, got.err, got.out)
	}
}

func TestAMalformedSpecIsLoud(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"commit.before", "=kill", "a=stop", "a=kill@0", "a=kill@x", "a=kill;;b=kill"} {
		if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), Env) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	got := walk(t, "a=stop", "")
	if got.err == nil || !strings.Contains(got.out, `cannot read "a=stop"`) {
		t.Fatalf("%v %q", got.err, got.out)
	}
	arms := []Arm{{"a.b", Kill, 3}, {"c", Block, 1}}
	back, err := Parse(Spec(arms...))
	if err != nil || !cmp.Equal(back, arms) {
		t.Fatalf("round trip: %v, %v", back, err)
	}
}

func BenchmarkHitUnarmed(b *testing.B) {
	for b.Loop() {
		Hit("row.written")
	}
}
