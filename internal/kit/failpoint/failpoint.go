// Package failpoint marks the steps at which a crash matters, so that the
// torture tests can kill the real process exactly there.
//
// Purpose: Hit("effect.dispatching.before_commit") stands in the code for good.
// It does nothing, in about two nanoseconds, unless the process was started with
// WITAN_FAILPOINT in its environment; then a step can announce itself to the
// parent, stand still, or kill the process with SIGKILL, which no deferred
// function, no flush and no signal handler survives.
//
// The protocol:
//
//	WITAN_FAILPOINT      steps joined by ";", each NAME=ACTION or NAME=ACTION@N:
//	                     kill or block at the Nth hit of that step (1 if not said).
//	                     "on" alone arms nothing, and only announces.
//	WITAN_FAILPOINT_FD   number of an open file descriptor: every hit writes
//	                     "NAME\n" to it before it acts, in one write.
//
// Names are dot-separated lower-case words, the journal's or the ledger's own.
// A malformed value panics at the first hit: a torture test that kills nothing
// must not look green.
//
// It imports the standard library only and starts no goroutine.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The environment variables of the protocol.
const (
	Env   = "WITAN_FAILPOINT"
	FDEnv = "WITAN_FAILPOINT_FD"
)

// Action is what an armed step does.
type Action string

// The actions.
const (
	Kill  Action = "kill"  // SIGKILL to the own process
	Block Action = "block" // stand still for ever, in this goroutine
)

// Arm arms one step.
type Arm struct {
	Name   string
	Action Action
	Count  int // the hit that acts, from 1; 0 means 1
}

// Spec renders arms for Env. No arms mean "announce only".
func Spec(arms ...Arm) string {
	if len(arms) == 0 {
		return "on"
	}
	parts := make([]string, len(arms))
	for i, a := range arms {
		parts[i] = fmt.Sprintf("%s=%s@%d", a.Name, a.Action, max(a.Count, 1))
	}
	return strings.Join(parts, ";")
}

// Parse is the inverse of Spec; it names what it cannot read.
func Parse(spec string) ([]Arm, error) {
	if spec == "on" {
		return nil, nil
	}
	var out []Arm
	for _, part := range strings.Split(spec, ";") {
		name, rest, ok := strings.Cut(part, "=")
		action, count, counted := strings.Cut(rest, "@")
		a := Arm{Name: name, Action: Action(action), Count: 1}
		var err error
		if counted {
			a.Count, err = strconv.Atoi(count)
		}
		if !ok || name == "" || err != nil || a.Count < 1 || (a.Action != Kill && a.Action != Block) {
			return nil, fmt.Errorf("%s: cannot read %q: want NAME=kill@N or NAME=block@N", Env, part)
		}
		out = append(out, a)
	}
	return out, nil
}

// points is the armed state of the process.
type points struct {
	pipe *os.File // nil: nobody listens

	mu   sync.Mutex
	arms map[string]Arm // never changed
	hits map[string]int // guarded by mu
}

// state reads the environment once; nil when the process is not under test.
var state = sync.OnceValue(load)

func load() *points {
	spec, ok := os.LookupEnv(Env)
	if !ok || spec == "" {
		return nil
	}
	arms, err := Parse(spec)
	if err != nil {
		panic(err)
	}
	p := &points{arms: map[string]Arm{}, hits: map[string]int{}}
	for _, a := range arms {
		p.arms[a.Name] = a
	}
	if s := os.Getenv(FDEnv); s != "" {
		fd, err := strconv.Atoi(s)
		if err != nil {
			panic(fmt.Errorf("%s: %q is no file descriptor", FDEnv, s))
		}
		p.pipe = os.NewFile(uintptr(fd), "failpoint")
	}
	return p
}

// Hit says that the process is at a step. Unless the process is under test it
// returns at once.
func Hit(name string) {
	if p := state(); p != nil {
		p.hit(name)
	}
}

func (p *points) hit(name string) {
	p.mu.Lock()
	p.hits[name]++
	n, arm := p.hits[name], p.arms[name]
	if p.pipe != nil {
		// A parent that has gone away is no reason to stop.
		_, _ = p.pipe.WriteString(name + "\n")
	}
	if arm.Count != n {
		p.mu.Unlock()
		return
	}
	if arm.Action == Kill {
		// The lock is kept: no other step is announced after the fatal one.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		still() // the signal is on its way
	}
	p.mu.Unlock()
	still()
}

// still never returns. It waits on a timer, because the runtime ends a process
// in which every goroutine waits on nothing ("all goroutines are asleep").
func still() {
	for {
		<-time.After(time.Hour)
	}
}
