package killer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/kit/failpoint"
)

// Config says what to start.
type Config struct {
	Command []string  // the program and its arguments
	Dir     string    // working folder; empty means that of the test
	Env     []string  // added to the test's own environment
	Output  io.Writer // gets stdout and stderr of every life; nil discards them

	// Ready is polled until it answers 200, e.g. http://127.0.0.1:7420/readyz.
	// Empty means that a process is ready when its first step is announced.
	Ready     string
	ReadyIn   time.Duration // how long that may take; 0 means 30 s
	PollEvery time.Duration // 0 means 5 ms
}

// Process is one life of the program.
type Process struct {
	cfg     Config
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{} // closed when the process is gone and its steps are read
	first   chan struct{} // closed with the first announced step

	mu    sync.Mutex
	last  string         // the last announced step; guarded by mu
	steps map[string]int // guarded by mu
	err   error          // of Wait; written before exited is closed
}

// Start starts a life with the given steps armed. It does not wait for ready.
func Start(cfg Config, arms ...failpoint.Arm) (*Process, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("start: no command")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	p := &Process{
		cfg: cfg, started: time.Now(),
		exited: make(chan struct{}), first: make(chan struct{}), steps: map[string]int{},
	}
	p.cmd = exec.Command(cfg.Command[0], cfg.Command[1:]...) //nolint:noctx // a life is ended by Kill or Stop only
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = cfg.Dir, cfg.Output, cfg.Output
	p.cmd.ExtraFiles = []*os.File{w} // descriptor 3 in the child
	p.cmd.Env = append(append(os.Environ(), cfg.Env...), failpoint.Env+"="+failpoint.Spec(arms...), failpoint.FDEnv+"=3")
	// Output may be shared by a grandchild that outlives the kill; do not wait for it.
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), r.Close(), w.Close())
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	read := make(chan struct{})
	go p.listen(r, read)
	go func() {
		p.err = p.cmd.Wait()
		_ = r.SetReadDeadline(time.Now().Add(time.Second)) // should a grandchild hold the pipe
		<-read
		close(p.exited)
	}()
	return p, nil
}

// listen notes the announced steps until the pipe ends with the process.
func (p *Process) listen(r *os.File, done chan<- struct{}) {
	defer close(done)
	defer r.Close() //nolint:errcheck // read to its end; nothing is lost
	for sc := bufio.NewScanner(r); sc.Scan(); {
		p.mu.Lock()
		if p.last == "" {
			close(p.first)
		}
		p.last = sc.Text()
		p.steps[p.last]++
		p.mu.Unlock()
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process is gone and all its steps are known.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// LastStep returns the step that was announced last, or "" before the first.
func (p *Process) LastStep() string { p.mu.Lock(); defer p.mu.Unlock(); return p.last }

// Steps returns how often each step was announced in this life.
func (p *Process) Steps() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]int, len(p.steps))
	for k, v := range p.steps {
		out[k] = v
	}
	return out
}

// ErrDied is returned by WaitReady when the process ended before it was ready.
var ErrDied = errors.New("the process ended before it was ready")

// WaitReady waits until the process is ready and returns how long that took
// from its start. It returns ErrDied if the process ends first.
func (p *Process) WaitReady(ctx context.Context) (time.Duration, error) {
	limit := p.cfg.ReadyIn
	if limit <= 0 {
		limit = 30 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready within %v", limit))
	defer cancel()
	if p.cfg.Ready == "" {
		select {
		case <-p.first:
			return time.Since(p.started), nil
		case <-p.exited:
			if p.LastStep() != "" {
				return time.Since(p.started), nil
			}
			return 0, fmt.Errorf("%w: %w", ErrDied, p.exit())
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	every := p.cfg.PollEvery
	if every <= 0 {
		every = 5 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if p.answers(ctx, client) {
			return time.Since(p.started), nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return 0, fmt.Errorf("%w: %w", ErrDied, p.exit())
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (p *Process) answers(ctx context.Context, client *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.cfg.Ready, nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// exit says how the process ended; call it only after exited is closed.
func (p *Process) exit() error {
	if p.err == nil {
		return errors.New("exit code 0")
	}
	return p.err
}

// Kill sends SIGKILL and waits until the process is gone. It returns the last
// announced step. Killing a process that is gone already is no error.
func (p *Process) Kill() (string, error) {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return "", fmt.Errorf("kill: %w", err)
	}
	<-p.exited
	return p.LastStep(), nil
}

// Stop asks the process to end (SIGINT, SIGTERM where it exists), waits until
// ctx is done, and then kills it. It returns an error if the process had to be
// killed or did not end with exit code 0.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.cmd.Process.Signal(stopSignal()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop: %w", err)
	}
	select {
	case <-p.exited:
		if p.err != nil {
			return fmt.Errorf("stop: %w", p.err)
		}
		return nil
	case <-ctx.Done():
		_, err := p.Kill()
		return errors.Join(fmt.Errorf("stop: the process hangs at %q: %w", p.LastStep(), context.Cause(ctx)), err)
	}
}
