package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/secret"
)

// WireCall is one HTTP request, without the package that sends it.
type WireCall struct {
	Method string
	URL    string
	Header map[string][]string // canonical keys
	Body   []byte
}

// WireReply is the start of an HTTP response. The wire closes Body.
type WireReply struct {
	Status int
	Header map[string][]string
	Body   io.ReadCloser
}

// Doer sends a call. It must give up when ctx ends, must not follow redirects,
// and must not put a header's value into an error.
type Doer func(ctx context.Context, c WireCall) (WireReply, error)

// Refusal reads a provider's error body into its code and message.
type Refusal func(status int, header map[string][]string, body []byte) (code, message string)

// WireConfig configures what all providers share. Provider and Do are required.
type WireConfig struct {
	Provider string // as it stands in errors and records ("openai", "work-ollama")
	Do       Doer
	Refusal  Refusal
	Limits   Limits
	Secrets  []secret.String // never to be seen in an error
	// Clock dates Retry-After and signatures; the system's by default.
	Clock clock.Clock
	// Sleep waits for d or until ctx ends; a timer by default.
	Sleep func(ctx context.Context, d time.Duration) error
	// Jitter returns a duration in [0, max); random by default. It shapes waiting
	// only and is no input of anything that is recorded.
	Jitter func(limit time.Duration) time.Duration
}

// Wire sends calls to one provider: with retries before the first event, timeouts
// for each phase, caps, and errors that name what happened without a secret.
// It is safe for concurrent use.
type Wire struct {
	provider string
	do       Doer
	refusal  Refusal
	limits   Limits
	secrets  []secret.String
	clock    clock.Clock
	sleep    func(context.Context, time.Duration) error
	jitter   func(time.Duration) time.Duration
}

// NewWire returns a wire.
func NewWire(c WireConfig) *Wire {
	w := &Wire{
		provider: c.Provider, do: c.Do, refusal: c.Refusal, limits: c.Limits.withDefaults(),
		secrets: c.Secrets, clock: c.Clock, sleep: c.Sleep, jitter: c.Jitter,
	}
	if w.refusal == nil {
		w.refusal = func(_ int, _ map[string][]string, body []byte) (string, string) { return "", string(body) }
	}
	if w.clock == nil {
		w.clock = clock.System{}
	}
	if w.sleep == nil {
		w.sleep = Sleep
	}
	if w.jitter == nil {
		w.jitter = func(limit time.Duration) time.Duration { return rand.N(max(limit, 1)) }
	}
	return w
}

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Now returns the time of the wire's clock.
func (w *Wire) Now() time.Time { return w.clock.Now() }

// Failure returns a failure of this provider; the text is scrubbed of secrets.
func (w *Wire) Failure(r Reason, format string, args ...any) *Failure {
	return NewFailure(w.provider, r, "%s", scrub(fmt.Sprintf(format, args...), w.secrets))
}

// Stream sends what build makes and turns the reply into events by parse, which
// calls emit for each and returns nil early when emit returns false. A failure
// before the first event is tried again; after it the caller has seen a part of
// the answer, so the failure ends the stream. A reply without an End is truncated.
func (w *Wire) Stream(ctx context.Context, build func() (WireCall, error), parse func(b *Body, emit func(Event) bool) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		stopped := false
		err := w.run(ctx, build, func(b *Body) (bool, error) {
			sent, ended := false, false
			err := parse(b, func(e Event) bool {
				if ended || stopped {
					return false
				}
				if e, ok := clean(e); ok {
					sent, ended = true, e.End != nil
					if e.End != nil && !e.End.Usage.Plausible() {
						e.End.Usage = Usage{}
					}
					stopped = !yield(e, nil)
				}
				return !stopped && !ended
			})
			if stopped || ended {
				return true, nil
			}
			if err == nil {
				err = w.Failure(Truncated, "the reply ended before its end")
			}
			return sent, err
		})
		if err != nil && !stopped {
			yield(Event{}, err)
		}
	}
}

// Fetch sends what build makes and gives the whole reply to read, with retries.
func (w *Wire) Fetch(ctx context.Context, build func() (WireCall, error), read func(b *Body, data []byte) error) error {
	return w.run(ctx, build, func(b *Body) (bool, error) {
		data, err := io.ReadAll(b)
		if err != nil {
			return false, err
		}
		return false, read(b, data)
	})
}

// run tries until use succeeds, has committed, or nothing is to be hoped for.
func (w *Wire) run(ctx context.Context, build func() (WireCall, error), use func(*Body) (committed bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.limits.Total, w.Failure(TooLong, "no whole reply within %v", w.limits.Total))
	defer cancel()
	for n := 1; ; n++ {
		committed, err := w.attempt(ctx, build, use)
		if err == nil {
			return nil
		}
		f := failureOf(err)
		if f == nil {
			return err
		}
		f.Attempts = n
		pause := w.limits.wait(n, w.jitter)
		if f.RetryAfter > 0 {
			// At least as long as asked; the jitter keeps callers apart.
			pause = f.RetryAfter + w.jitter(w.limits.Backoff)
		}
		if committed || !f.Reason.again() || n >= w.limits.Attempts || f.RetryAfter > w.limits.MaxRetryAfter {
			return f
		}
		if err := w.sleep(ctx, pause); err != nil {
			return w.broken(ctx, Gone, "the wait for another try ended", err)
		}
	}
}

// attempt sends one call.
func (w *Wire) attempt(ctx context.Context, build func() (WireCall, error), use func(*Body) (bool, error)) (bool, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	call, err := build()
	if err != nil {
		return false, err
	}
	b := &Body{w: w, ctx: ctx, MaxLine: w.limits.MaxLine, left: w.limits.MaxBytes}
	b.timer = time.AfterFunc(w.limits.FirstByte, func() {
		if b.begun.Load() {
			stop(w.Failure(Stalled, "the reply stood still for %v", w.limits.Idle))
			return
		}
		stop(w.Failure(Slow, "no first byte within %v", w.limits.FirstByte))
	})
	defer func() { b.timer.Stop() }()
	reply, err := w.do(ctx, call)
	if err != nil {
		return false, w.broken(ctx, Unreachable, "it cannot be reached", err)
	}
	defer func() { _ = reply.Body.Close() }() // the reply was read or given up; nothing depends on it
	b.Header, b.src = reply.Header, reply.Body
	if reply.Status/100 == 2 {
		return use(b)
	}
	// The status tells enough if the body cannot be read.
	text, _ := io.ReadAll(io.LimitReader(b, 64<<10))
	code, message := w.refusal(reply.Status, reply.Header, text)
	return false, w.answered(reply.Status, code, message, retryAfter(reply.Header, w.clock.Now()))
}

// broken names the failure of a call that gave err: a timer of ours that fired,
// a caller that went away, or else r.
func (w *Wire) broken(ctx context.Context, r Reason, doing string, err error) error {
	if f := failureOf(err); f != nil {
		return f
	}
	if cause := context.Cause(ctx); cause != nil {
		if f := failureOf(cause); f != nil {
			c := *f // one failure may end several calls; Attempts is set per call
			return &c
		}
		if errors.Is(cause, context.DeadlineExceeded) {
			return w.Failure(TooLong, "the caller's deadline passed")
		}
		return w.Failure(Gone, "the caller went away")
	}
	return w.Failure(r, "%s: %v", doing, err)
}

// header returns the first value of a canonical or lower-case key.
func header(h map[string][]string, key string) string {
	for k, v := range h {
		if len(v) > 0 && strings.EqualFold(k, key) {
			return v[0]
		}
	}
	return ""
}
