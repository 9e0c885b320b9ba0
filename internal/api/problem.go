package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// Problem is an error answer (RFC 9457). Kind is the word that programs branch
// on; Field and Fix say what to change. It never holds a cause.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"` // urn:witan:request:ID, also in the log and in X-Request-Id
	Kind     string `json:"kind"`
	Field    string `json:"field,omitempty"`
	Fix      string `json:"fix,omitempty"`
	// StepUp says that the act needs a fresh proof: verify the session, then repeat.
	StepUp bool `json:"stepUp,omitempty"`
	// Live is what stands now, when an answer named what no longer does.
	Live *approvalView `json:"live,omitempty"`
}

// statusError gives a fault a status of HTTP's own vocabulary, where the kind's
// is too coarse for proxies and clients: 405, 413, 415, 421.
type statusError struct {
	status int
	err    *fault.Error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

func titles(k fault.Kind) string {
	switch k {
	case fault.Internal:
		return "Something broke in Witan"
	case fault.Invalid:
		return "The request breaks a rule"
	case fault.NotFound:
		return "There is no such thing"
	case fault.Conflict:
		return "The state forbids it"
	case fault.Denied:
		return "Not allowed"
	case fault.Unauthorized:
		return "Not signed in"
	case fault.Limited:
		return "A limit was met"
	case fault.Unavailable:
		return "Something cannot be reached"
	case fault.Timeout:
		return "It took too long"
	case fault.Cancelled:
		return "It was cancelled"
	case fault.Halted:
		return "A halt is in force"
	case fault.Stale:
		return "It is no longer current"
	case fault.Unknown:
		return "The outcome cannot be told"
	case fault.Corrupt:
		return "Stored bytes do not match their proof"
	}
	return "Something broke in Witan"
}

// problemOf is the one place where errors become answers.
func problemOf(err error, request id.ID) Problem {
	kind := fault.KindOf(err)
	detail, field, fix := fault.Public(err)
	p := Problem{
		Type: "urn:witan:problem:" + kind.String(), Title: titles(kind), Status: fault.EdgeOf(kind).HTTP,
		Detail: detail, Instance: "urn:witan:request:" + request.String(), Kind: kind.String(), Field: field, Fix: fix,
		StepUp: errors.Is(err, identity.ErrStepUp),
	}
	var s *statusError
	if errors.As(err, &s) {
		p.Status = s.status
	}
	var live *policy.LiveError
	if errors.As(err, &live) {
		v := viewApproval(live.Live)
		p.Live = &v
	}
	return p
}

// refuse writes err as a problem document.
func (a *API) refuse(w *answer, request id.ID, err error) {
	p := problemOf(err, request)
	h := w.Header()
	switch {
	case p.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(retryAfter(err, a.Clock.Now()), 10))
	}
	h.Del("Content-Length")
	h.Del("Content-Disposition")
	_ = w.typed(p.Status, "application/problem+json", p) // of strings and numbers: it encodes
}

// retryAfter returns seconds, at least one.
func retryAfter(err error, now time.Time) int64 {
	var in *identity.SignInError
	if errors.As(err, &in) && in.Until.After(now) {
		return int64((in.Until.Sub(now) + time.Second - 1) / time.Second)
	}
	var r interface{ RetryAfter() time.Duration }
	if errors.As(err, &r) && r.RetryAfter() > 0 {
		return int64((r.RetryAfter() + time.Second - 1) / time.Second)
	}
	return 1
}

func wrongMethod(allow []string) error {
	return &statusError{http.StatusMethodNotAllowed, fault.New(fault.Invalid, "this address takes %s", strings.Join(allow, ", "))}
}

func micros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return clock.FromMicros(us)
}
