package skill

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"testing"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Only what is sure counts as sure: every kind of fault is looked at, and one
// that leaves the question open stays open.
func TestEveryKindOfFaultHasAnOutcome(t *testing.T) {
	t.Parallel()
	no := []fault.Kind{fault.Invalid, fault.NotFound, fault.Conflict, fault.Denied, fault.Unauthorized, fault.Limited, fault.Halted, fault.Stale, fault.Corrupt}
	for _, k := range fault.Kinds() {
		want := open
		if slices.Contains(no, k) {
			want = rejected
		}
		if got := outcomeOf(fault.New(k, "x")); got != want {
			t.Errorf("%s: %d, want %d", k, got, want)
		}
	}
	for _, err := range []error{errors.New("x"), context.DeadlineExceeded, context.Canceled, fmt.Errorf("x: %w", errPanicked)} {
		if outcomeOf(err) != open {
			t.Errorf("%v is not open", err)
		}
	}
	if outcomeOf(nil) != happened {
		t.Error("no error is no success")
	}
}

func TestFirstHopKnowsWhatDidNotLeave(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"dns":       &net.DNSError{Err: "no such host", Name: "x.test"},
		"dial":      &url.Error{Op: "Post", URL: "http://x.test", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}},
		"no tls":    tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		"untrusted": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		"host":      x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x.test"},
	} {
		if !errors.Is(FirstHop(err), ErrNotSent) {
			t.Errorf("%s: %v may have left", name, err)
		}
	}
	for name, err := range map[string]error{
		"read":  &net.OpError{Op: "read", Err: errors.New("connection reset")},
		"write": &net.OpError{Op: "write", Err: errors.New("broken pipe")},
		"other": errors.New("x"),
	} {
		if errors.Is(FirstHop(err), ErrNotSent) {
			t.Errorf("%s: %v is said not to have left", name, err)
		}
	}
}

// The ledger's transitions: no road leads from what may have happened back to a
// plain no, or out of an end.
func TestTransitions(t *testing.T) {
	t.Parallel()
	for _, from := range States() {
		for _, to := range States() {
			ok := from.moves(to)
			switch {
			case from.Final() && ok:
				t.Errorf("%s ends, and moves to %s", from, to)
			case (from == Dispatching || from == Unknown) && (to == Denied || to == Refused || to == Asked) && ok:
				t.Errorf("%s may have happened, and moves to %s", from, to)
			case to == Dispatching && from != Intended && from != Dispatching && ok:
				t.Errorf("%s moves to dispatching", from)
			case from == Unknown && to == Intended && ok:
				t.Errorf("what is unknown is tried again")
			}
		}
	}
}
