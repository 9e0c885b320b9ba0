package fakeworld

import (
	"fmt"
	"slices"
)

// Mode is one way in which an act goes wrong. "Before" modes leave no effect;
// "after" modes have done it, durably, when the caller learns nothing.
type Mode string

// The modes.
const (
	FailBefore Mode = "fail_before" // 500, nothing was done
	FailAfter  Mode = "fail_after"  // 500, but it was done
	HangBefore Mode = "hang_before" // no answer until the caller goes away, nothing was done
	HangAfter  Mode = "hang_after"  // no answer until the caller goes away, but it was done
	DieBefore  Mode = "die_before"  // the connection ends without an answer, nothing was done
	DieAfter   Mode = "die_after"   // the connection ends without an answer, but it was done
	CutAnswer  Mode = "cut_answer"  // it was done, and half an answer arrives
	TooMany    Mode = "too_many"    // 429 with Retry-After: 1, nothing was done
)

// Modes returns all of them.
func Modes() []Mode {
	return []Mode{FailBefore, FailAfter, HangBefore, HangAfter, DieBefore, DieAfter, CutAnswer, TooMany}
}

// Behaviour says how acts to come go wrong.
type Behaviour struct {
	Mode  Mode   `json:"mode"`
	Times int    `json:"times"` // how many acts; 0 means 1, below 0 means all to come
	Class Class  `json:"class"` // only acts of this class; empty means every class
	Key   string `json:"key"`   // only acts with this key; empty means every key
}

// Tell adds a behaviour. Each act uses up the oldest one that fits it.
func (w *World) Tell(b Behaviour) error {
	if !slices.Contains(Modes(), b.Mode) {
		return fmt.Errorf("no mode %q", b.Mode)
	}
	if b.Class != "" && !slices.Contains(Classes(), b.Class) {
		return fmt.Errorf("no effect class %q", b.Class)
	}
	if b.Times == 0 {
		b.Times = 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tells = append(w.tells, b)
	return nil
}

// Behave forgets all behaviours: from now on everything goes well.
func (w *World) Behave() { w.mu.Lock(); w.tells = nil; w.mu.Unlock() }

// take returns the mode for one act, and uses it up; "" means all is well.
func (w *World) take(c Class, key string) Mode {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.tells {
		b := &w.tells[i]
		if (b.Class != "" && b.Class != c) || (b.Key != "" && b.Key != key) {
			continue
		}
		mode := b.Mode
		if b.Times > 0 {
			if b.Times--; b.Times == 0 {
				w.tells = slices.Delete(w.tells, i, i+1)
			}
		}
		return mode
	}
	return ""
}

// done reports whether the effect of an act is done in spite of the mode.
func (m Mode) done() bool {
	return m == "" || m == FailAfter || m == HangAfter || m == DieAfter || m == CutAnswer
}
