package llmtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// Timeouts checks, on a virtual clock, that a provider which stands still is left
// with a named failure at the time that was set, in each phase of a call.
func Timeouts(t *testing.T, w Wire) {
	limits := llm.Limits{FirstByte: 40 * time.Second, Idle: 5 * time.Second, Total: 90 * time.Second, Attempts: 1}
	for _, c := range []struct {
		name  string
		tp    *Transport
		tries int
		want  llm.Reason
		after time.Duration
	}{
		{"no header", &Transport{HangHeaders: true}, 1, llm.Slow, 40 * time.Second},
		{"no first byte", &Transport{Cut: func(int) Cut { return Cut{Hang: -1} }}, 1, llm.Slow, 40 * time.Second},
		{"stalls", &Transport{Cut: func(int) Cut { return Cut{Hang: 9} }}, 1, llm.Stalled, 5 * time.Second},
		{"total, over the tries", &Transport{HangHeaders: true}, 9, llm.TooLong, 90 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.tp.Handler = w.Fake(t)
				l := limits
				l.Attempts = c.tries
				m := w.New(t, c.tp.Client(), llm.WireConfig{Limits: l})
				begin := time.Now() //nolint:forbidigo // the bubble's clock
				_, err := llm.Collect(m.Stream(t.Context(), Request()))
				if llm.ReasonOf(err) != c.want || !fault.Is(err, fault.Timeout) {
					t.Errorf("want %s, got %v", c.want, err)
				}
				if took := time.Since(begin); took != c.after {
					t.Errorf("want it after %v, got %v", c.after, took)
				}
			})
		})
	}
	t.Run("a slow consumer is no stalled provider", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := limits
			l.Total = time.Hour
			tp := Transport{Handler: w.Fake(t), Cut: func(int) Cut { return Cut{Bytewise: true} }}
			m := w.New(t, tp.Client(), llm.WireConfig{Limits: l})
			for _, err := range m.Stream(t.Context(), Request()) {
				if err != nil {
					t.Fatal(err)
				}
				if err := llm.Sleep(t.Context(), 30*time.Second); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	t.Run("the caller goes away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			tp := Transport{HangHeaders: true, Handler: w.Fake(t)}
			_, err := llm.Collect(w.New(t, tp.Client(), llm.WireConfig{}).Stream(ctx, Request()))
			if !fault.Is(err, fault.Cancelled) || tp.Sent() != 1 {
				t.Errorf("want cancelled after one call, got %v after %d", err, tp.Sent())
			}
		})
	})
	t.Run("leaving the loop ends the call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tp := Transport{Handler: w.Fake(t)}
			n := 0
			for _, err := range w.New(t, tp.Client(), llm.WireConfig{}).Stream(t.Context(), Request()) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				break
			}
			if n != 1 || tp.Sent() != 1 {
				t.Errorf("%d events of %d calls", n, tp.Sent())
			}
		})
	})
}
