package fakeworld

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// Class is a class of effect.
type Class string

// The classes, in the words of the effect ledger.
const (
	Read         Class = "read"
	Idempotent   Class = "idempotent"
	Reconcilable Class = "reconcilable"
	Once         Class = "once"
)

// Classes returns all of them.
func Classes() []Class { return []Class{Read, Idempotent, Reconcilable, Once} }

// Effect is one act as the world keeps it.
type Effect struct {
	Serial int    `json:"serial"` // from 1, in the order of arrival
	Class  Class  `json:"class"`
	Key    string `json:"key"`
	Body   string `json:"body"` // what was asked, as text
}

// World counts effects. It is safe for concurrent use.
type World struct {
	mu      sync.Mutex
	file    *os.File         // guarded by mu
	effects []Effect         // guarded by mu; all but reads
	byKey   map[string][]int // guarded by mu; indices into effects
	reads   int              // guarded by mu; of this process only: a read leaves no trace
	repeats int              // guarded by mu; idempotent acts answered from memory, of this process
	tells   []Behaviour      // guarded by mu; oldest first
}

// Open opens the world whose effects are in the file at path, or makes it. A
// last line that was cut by a crash of the test itself is dropped: it was never
// answered.
func Open(path string) (*World, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open world: %w", err)
	}
	w := &World{file: f, byKey: map[string][]int{}}
	if err := w.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open world: %w", err), f.Close())
	}
	return w, nil
}

func (w *World) load() error {
	raw, err := io.ReadAll(w.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(raw, '\n') + 1
	for sc := bufio.NewScanner(bytes.NewReader(raw[:whole])); sc.Scan(); {
		var e Effect
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return fmt.Errorf("effect %d: %w", len(w.effects)+1, err)
		}
		w.remember(e)
	}
	if err := w.file.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = w.file.Seek(int64(whole), io.SeekStart)
	return err
}

// remember adds an effect in memory. The caller holds mu, or is Open.
func (w *World) remember(e Effect) {
	w.byKey[e.Key] = append(w.byKey[e.Key], len(w.effects))
	w.effects = append(w.effects, e)
}

// Close closes the file.
func (w *World) Close() error { w.mu.Lock(); defer w.mu.Unlock(); return w.file.Close() }

// Do does an effect: when it returns, the effect is on disk and counted.
// An idempotent effect with a known key returns the first one again.
func (w *World) Do(c Class, key, body string) (Effect, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c == Read:
		w.reads++
		return Effect{Class: c, Key: key, Body: body}, nil
	case !slices.Contains(Classes(), c):
		return Effect{}, fmt.Errorf("no effect class %q", c)
	case key == "":
		return Effect{}, errors.New("an effect needs an idempotency key")
	case c == Idempotent:
		for _, i := range w.byKey[key] {
			if w.effects[i].Class == c {
				w.repeats++
				return w.effects[i], nil
			}
		}
	}
	e := Effect{Serial: len(w.effects) + 1, Class: c, Key: key, Body: body}
	line, err := json.Marshal(e)
	if err != nil {
		return Effect{}, fmt.Errorf("write effect: %w", err)
	}
	if _, err := w.file.Write(append(line, '\n')); err != nil {
		return Effect{}, fmt.Errorf("write effect: %w", err)
	}
	if err := w.file.Sync(); err != nil {
		return Effect{}, fmt.Errorf("write effect: %w", err)
	}
	w.remember(e)
	return e, nil
}

// Find returns the first effect with a key.
func (w *World) Find(key string) (Effect, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.byKey[key]; len(at) > 0 {
		return w.effects[at[0]], true
	}
	return Effect{}, false
}

// Count returns how often the effect of a key was done.
func (w *World) Count(key string) int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.byKey[key]) }

// Effects returns all effects in the order of arrival.
func (w *World) Effects() []Effect { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(w.effects) }

// Doubled returns the keys whose effect was done more than once, in order.
func (w *World) Doubled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for key, at := range w.byKey {
		if len(at) > 1 {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// Counts is the sum of what happened.
type Counts struct {
	Effects map[Class]int `json:"effects"`
	Reads   int           `json:"reads"`
	Repeats int           `json:"repeats"` // repeated idempotent acts, answered without an effect
	Doubled []string      `json:"doubled"` // keys
}

// Counts returns the sums.
func (w *World) Counts() Counts {
	c := Counts{Effects: map[Class]int{}, Doubled: append([]string{}, w.Doubled()...)}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Reads, c.Repeats = w.reads, w.repeats
	for _, e := range w.effects {
		c.Effects[e.Class]++
	}
	return c
}
