// Package harness is the ground on which Witan is tortured and measured.
//
// Purpose: children do the work: fakeworld is the outside world that counts
// effects, killer ends the real process where it hurts, bench prints figures
// beside their limits. This package holds what a torture run has in common: how
// long it is (Mode), and its last line (Report), by which .ci/torture judges it.
//
// Torture tests are named TestTorture..., run always in a short form, and at
// length under `make torture`. Bench tests are named TestBench... and run under
// `make bench` only.
//
// It is used by tests only, may import everything below app, and starts no
// goroutine.
package harness
