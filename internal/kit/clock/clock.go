// Package clock is the only place where Witan reads the wall clock.
//
// Purpose: decisions take a time as an argument; services hold a Clock.
// All times are UTC and cut to microseconds, the unit in which they are stored.
//
// Which clock decides what (a clock may jump back an hour, and nothing may break):
//   - journal: Now of the node, made non-decreasing per account by the append phase
//   - leases, expiries, timers: the database's clock
//   - tokens and sessions: the wall clock
//
// It imports the standard library only and starts no goroutine.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time.
type Clock interface {
	// Now returns the current time, UTC, in whole microseconds.
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Fake is a clock that tests set by hand. It is safe for concurrent use.
type Fake struct {
	mu  sync.Mutex
	now time.Time // guarded by mu
}

// NewFake returns a clock that stands at t.
func NewFake(t time.Time) *Fake { return &Fake{now: t.UTC().Truncate(time.Microsecond)} }

// Now implements Clock.
func (f *Fake) Now() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now }

// Advance moves the clock by d, which may be negative.
func (f *Fake) Advance(d time.Duration) { f.mu.Lock(); f.now = f.now.Add(d); f.mu.Unlock() }

// Micros returns t as stored: microseconds since the Unix epoch.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros is the inverse of Micros.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Stopwatch measures how long something took, on the monotonic clock. It bounds
// and reports; nothing that is decided or recorded may depend on it.
type Stopwatch struct{ start time.Time }

// StartStopwatch starts one.
func StartStopwatch() Stopwatch { return Stopwatch{start: time.Now()} }

// Elapsed returns the time since the start.
func (s Stopwatch) Elapsed() time.Duration { return time.Since(s.start) }
