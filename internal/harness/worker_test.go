package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/harness/fakeworld"
	"github.com/witan-run/witan/internal/kit/failpoint"
)

// worker is the smallest program that keeps the promise of the effect ledger:
// it writes its state to a file before and after each act. It is killed by
// TestTortureOfTheHarness, and its broken twin proves that the harness can see.
type worker struct {
	dir    string // holds ledger.jsonl
	world  string // URL
	broken bool   // acts before it has written that it will
	ledger *os.File
	state  map[string]string // by key
}

// Steps of an act, in order. Unknown is for a person.
const (
	dispatching = "dispatching"
	confirmed   = "confirmed"
	unknown     = "unknown"
)

// line is one line of the ledger.
type line struct{ Key, State string }

func keyOf(c fakeworld.Class, n int) string { return fmt.Sprintf("%s-%d", c, n) }

// readLedger returns the last state of every key; a cut last line is dropped.
func readLedger(dir string) (map[string]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	state := map[string]string{}
	for _, text := range strings.SplitAfter(string(raw), "\n") {
		var l line
		if strings.HasSuffix(text, "\n") && json.Unmarshal([]byte(text), &l) == nil {
			state[l.Key] = l.State
		}
	}
	return state, nil
}

func (w *worker) run(acts int) error {
	var err error
	if w.state, err = readLedger(w.dir); err != nil {
		return err
	}
	if w.ledger, err = os.OpenFile(filepath.Join(w.dir, "ledger.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if _, err := w.ledger.WriteString("\n"); err != nil { // ends a line that a crash cut
		return err
	}
	failpoint.Hit("recovered")
	for n := range acts {
		for _, c := range fakeworld.Classes() {
			if err := w.act(c, keyOf(c, n)); err != nil {
				return err
			}
		}
	}
	select {} // done; wait for the kill
}

// act brings one effect to an end, from wherever the last life left it.
func (w *worker) act(c fakeworld.Class, key string) error {
	switch w.state[key] {
	case confirmed, unknown:
		return nil
	case dispatching: // the last life died around the call
		switch c {
		case fakeworld.Once:
			return w.write(key, unknown)
		case fakeworld.Reconcilable:
			if code, err := w.call(http.MethodGet, "/effects/"+key, key); err != nil || code == http.StatusOK {
				return errors.Join(err, w.write(key, confirmed))
			}
		case fakeworld.Read, fakeworld.Idempotent: // may be repeated
		}
	default:
		if !w.broken {
			if err := w.write(key, dispatching); err != nil {
				return err
			}
		}
	}
	failpoint.Hit("act.before")
	code, err := w.call(http.MethodPost, "/act/"+string(c), key)
	if err != nil || code != http.StatusOK {
		return fmt.Errorf("act %s: status %d: %w", key, code, err)
	}
	failpoint.Hit("act.after")
	return w.write(key, confirmed)
}

// write makes a state durable.
func (w *worker) write(key, state string) error {
	raw, err := json.Marshal(line{key, state})
	if err != nil {
		return err
	}
	failpoint.Hit(state + ".before_commit")
	if _, err := w.ledger.Write(append(raw, '\n')); err != nil {
		return err
	}
	if err := w.ledger.Sync(); err != nil {
		return err
	}
	failpoint.Hit(state + ".after_commit")
	w.state[key] = state
	return nil
}

func (w *worker) call(method, path, key string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.world+path, bytes.NewReader(nil))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
