package builtin

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
)

// maxURL bounds a URL, in bytes.
const maxURL = 2048

// checkURL parses a URL that may be fetched: http or https, a host, no user, no
// character that is not written. It does not look at where the host lies; the
// dialer does, when the address is known.
func checkURL(raw string) (*url.URL, error) {
	bad := func(why string) (*url.URL, error) { return nil, fault.New(fault.Invalid, "%s", why).On("url") }
	if len(raw) > maxURL || !utf8.ValidString(raw) {
		return bad("a URL is text of at most 2048 bytes")
	}
	for _, r := range raw {
		if r <= ' ' || r == '\\' || r == 0x7f || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) {
			return bad("a URL has no blanks, backslashes and unseen characters")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return bad("that is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("only http and https are fetched")
	case u.User != nil:
		return bad("a URL with a user or password is not fetched")
	case u.Opaque != "" || u.Hostname() == "":
		return bad("the URL names no host")
	case strings.Contains(u.Host, "%"):
		return bad("the host has an escape or a zone")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// notPublic lists what IANA sets aside inside the blocks that are allowed below,
// and addresses of clouds that look public and are not.
func notPublic() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range [...]string{
		"0.0.0.0/8",         // this network
		"10.0.0.0/8",        // private
		"100.64.0.0/10",     // shared by carriers; a cloud's metadata at 100.100.100.200
		"127.0.0.0/8",       // loopback
		"168.63.129.16/32",  // a cloud's host agent
		"169.254.0.0/16",    // link-local; metadata at 169.254.169.254
		"172.16.0.0/12",     // private
		"192.0.0.0/24",      // protocol assignments; metadata at 192.0.0.192
		"192.0.2.0/24",      // documentation
		"192.31.196.0/24",   // AS112
		"192.52.193.0/24",   // AMT
		"192.88.99.0/24",    // 6to4 relays
		"192.168.0.0/16",    // private
		"192.175.48.0/24",   // AS112
		"198.18.0.0/15",     // benchmarks
		"198.51.100.0/24",   // documentation
		"203.0.113.0/24",    // documentation
		"224.0.0.0/4",       // multicast
		"240.0.0.0/4",       // reserved, broadcast
		"2001::/23",         // protocol assignments: Teredo, ORCHID
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4: any IPv4 address inside
		"2620:4f:8000::/48", // AS112
		"3fff::/20",         // documentation
	} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// public reports whether an address is one that anybody on the internet may
// connect to. IPv4 inside IPv6 in any form is not: mapped, compatible, NAT64
// (64:ff9b::/96, 64:ff9b:1::/48), 6to4 and Teredo; nor is anything outside
// 2000::/3, which leaves out loopback, unique-local, link-local and multicast.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return false
	}
	return !slices.ContainsFunc(notPublic(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// ports are those that pages are served on.
func ports() []uint16 { return []uint16{80, 443, 8080, 8443} }

// guard looks at the address of a connection that is about to be made.
type guard struct {
	loopback bool
	own      func() ([]net.Addr, error) // addresses of this machine
}

// control implements net.Dialer.Control. It sees the address that the system
// will connect to, after names are resolved, on every connection of every hop:
// a name that resolves differently the second time gains nothing.
func (g guard) control(network, address string, _ syscall.RawConn) error {
	refused := fault.New(fault.Denied, "the address of that host is not a public one").On("url")
	if network != "tcp4" && network != "tcp6" {
		return refused
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return refused
	}
	a := at.Addr()
	if g.loopback && (a == netip.MustParseAddr("::1") || netip.MustParsePrefix("127.0.0.0/8").Contains(a)) {
		return nil
	}
	if !public(a) {
		return refused
	}
	if !slices.Contains(ports(), at.Port()) {
		return fault.New(fault.Denied, "port %d is not one that pages are served on", at.Port()).On("url")
	}
	// A public address of this very machine leads to what listens here.
	mine, err := g.own()
	if err != nil {
		return fault.New(fault.Unavailable, "list this machine's addresses: %w", err)
	}
	for _, m := range mine {
		if p, err := netip.ParsePrefix(m.String()); err == nil && p.Addr().WithZone("") == a {
			return refused
		}
	}
	return nil
}
