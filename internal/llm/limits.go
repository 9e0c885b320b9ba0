package llm

import (
	"cmp"
	"time"
)

// Limits bound one call to a provider. A zero field takes its default.
type Limits struct {
	Connect   time.Duration // dial and TLS; 10 s. Adapters give it to their dialer
	FirstByte time.Duration // from sending to the first byte of the body; 120 s
	Idle      time.Duration // between two reads of the body; 60 s
	Total     time.Duration // the whole call with its retries; 10 min

	MaxBytes int64 // size of a reply; 16 MiB
	MaxLine  int   // size of one line, event or frame of a stream; 1 MiB

	Attempts   int           // tries in all; 4
	Backoff    time.Duration // wait before the second try, then doubled; 500 ms
	MaxBackoff time.Duration // 8 s
	// MaxRetryAfter is how long a Retry-After may hold the caller; 60 s. A longer
	// one ends the call with its value in the Failure, for a timer to come back.
	MaxRetryAfter time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connect:   cmp.Or(l.Connect, 10*time.Second),
		FirstByte: cmp.Or(l.FirstByte, 120*time.Second),
		Idle:      cmp.Or(l.Idle, 60*time.Second),
		Total:     cmp.Or(l.Total, 10*time.Minute),

		MaxBytes: cmp.Or(l.MaxBytes, 16<<20),
		MaxLine:  cmp.Or(l.MaxLine, 1<<20),

		Attempts:      cmp.Or(l.Attempts, 4),
		Backoff:       cmp.Or(l.Backoff, 500*time.Millisecond),
		MaxBackoff:    cmp.Or(l.MaxBackoff, 8*time.Second),
		MaxRetryAfter: cmp.Or(l.MaxRetryAfter, time.Minute),
	}
}

// ConnectTimeout returns the dial timeout with its default.
func (l Limits) ConnectTimeout() time.Duration { return l.withDefaults().Connect }

// wait returns the pause before try n+1 (n from 1): exponential, of which the
// upper half is jitter, so that many callers do not come back together.
// jitter(max) returns a duration in [0, max).
func (l Limits) wait(n int, jitter func(time.Duration) time.Duration) time.Duration {
	d := l.Backoff
	for range n - 1 {
		if d *= 2; d >= l.MaxBackoff {
			d = l.MaxBackoff
			break
		}
	}
	half := d / 2
	if half <= 0 {
		return d
	}
	return d - half + jitter(half)
}
