package skill

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/witan-run/witan/internal/kit/fault"
)

// outcome is what is known about an attempt that ended.
type outcome uint8

const (
	happened outcome = iota + 1 // the act was carried out
	rejected                    // the target, or the skill itself, said no; nothing happened
	unsent                      // nothing left; it may be tried again
	open                        // it may have happened or not
)

// outcomeOf reads the error of an attempt. A panic and a timeout are open.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return happened
	case errors.Is(err, ErrNotSent):
		return unsent
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Conflict, fault.Denied, fault.Unauthorized,
		fault.Limited, fault.Halted, fault.Stale, fault.Corrupt:
		return rejected
	case fault.Internal, fault.Unavailable, fault.Timeout, fault.Cancelled, fault.Unknown:
	}
	return open
}

// FirstHop wraps err by NotSent if it is a failure to reach a target at all: a
// name that does not resolve, a dial that fails, a TLS handshake that fails. An
// executable may call it for its first connection only, before anything was
// written; later hops of the same call prove nothing about the first.
func FirstHop(err error) error {
	if err == nil {
		return nil
	}
	var (
		dns     *net.DNSError
		op      *net.OpError
		record  tls.RecordHeaderError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial",
		errors.As(err, &record), errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		return NotSent(err)
	}
	return err
}
