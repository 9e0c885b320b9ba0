package httpin

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Dialer connects. A test or an installation with a proxy gives its own.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Guard is a dialer that refuses addresses of the inside: it looks at the
// address that is really connected to, so a name that resolves to one thing at
// check and another at use gains nothing.
type Guard struct {
	// Allow lists address ranges of the inside that are allowed nevertheless,
	// such as the loopback range for a program on the same machine.
	Allow   []netip.Prefix
	Timeout time.Duration // of one connection; 0 means 10 s
}

// Loopback are the ranges of this machine, for Guard.Allow.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// inside are ranges that are global unicast by their form and still no place of
// the public internet (RFC 6890 and its successors' registries). Ranges that
// netip knows by itself (private, loopback, link-local, multicast, unspecified)
// are not repeated.
func inside() []string {
	return []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	}
}

// Allowed reports whether the guard lets a connection to a go through.
func (g Guard) Allowed(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range g.Allow {
		if p.Contains(a) {
			return true
		}
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() {
		return false
	}
	for _, s := range inside() {
		if netip.MustParsePrefix(s).Contains(a) {
			return false
		}
	}
	return true
}

// DialContext implements Dialer. A refused address is fault.Denied.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: g.Timeout, Control: func(_, addr string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(addr)
		if err != nil || !g.Allowed(ap.Addr()) {
			return fault.New(fault.Denied, "this address is not on the public internet").On("webhook.url").
				WithFix("allow its range in the channel's settings if you mean it")
		}
		return nil
	}}
	if d.Timeout == 0 {
		d.Timeout = 10 * time.Second
	}
	return d.DialContext(ctx, network, address)
}
