package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

// policyHeader is for answers that are data; the console sets its own.
const policyHeader = "default-src 'none'; frame-ancestors 'none'"

func secureHeaders(h http.Header, https bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", policyHeader)
	if https {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// https reports whether the browser sees this request as secure: TLS here, or
// in front of us at the public address.
func (a *API) https(r *http.Request) bool {
	return r.TLS != nil || a.public.Scheme == "https" && sameHost(r.Host, a.public.Host)
}

// checkHost refuses names that are not ours, so that a page whose name was made
// to point here (DNS rebinding) cannot read anything. An address literal is ours
// if the connection came in on it: a literal cannot be rebound.
func (a *API) checkHost(r *http.Request) error {
	if sameHost(r.Host, a.public.Host) || slices.ContainsFunc(a.Hosts, func(h string) bool { return sameHost(h, r.Host) }) {
		return nil
	}
	host, port := splitHost(r.Host)
	at, port2 := localAddress(r)
	if at.IsValid() && port == port2 {
		if host == "localhost" || host == "127.0.0.1" || host == "::1" {
			return nil
		}
		if lit, err := netip.ParseAddr(host); err == nil && lit.Unmap() == at.Unmap() {
			return nil
		}
	}
	return &statusError{http.StatusMisdirectedRequest, fault.New(fault.Denied, "this is not the host that was asked for").On("Host").
		WithFix("open %s, or add the name to the settings", a.public.Redacted())}
}

func localAddress(r *http.Request) (netip.Addr, string) {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if addr == nil {
		return netip.Addr{}, ""
	}
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Addr{}, ""
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return ap.Addr().WithZone(""), port
}

// splitHost returns the host in lower case, without brackets, and the port, ""
// for the default one.
func splitHost(h string) (host, port string) {
	host, port, err := net.SplitHostPort(h)
	if err != nil {
		host, port = h, ""
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), "."), port
}

func sameHost(x, y string) bool {
	hx, px := splitHost(x)
	hy, py := splitHost(y)
	return hx == hy && hx != "" && (px == py || plainPort(px) && plainPort(py))
}

func plainPort(p string) bool { return p == "" || p == "80" || p == "443" }

// checkOrigin refuses what another site's page sent in a browser's name. It
// holds for everything that a cookie can speak for, and for sign-in itself; a
// bearer token is not sent by a browser on its own.
func (a *API) checkOrigin(r *http.Request) error {
	foreign := fault.New(fault.Denied, "another site sent this").On("Origin").WithFix("open Witan itself and try there")
	if o := r.Header.Get("Origin"); o != "" && o != "null" {
		u, err := url.Parse(o)
		if err != nil || !sameHost(u.Host, r.Host) && !sameHost(u.Host, a.public.Host) {
			return foreign
		}
		if u.Scheme == a.public.Scheme && sameHost(u.Host, a.public.Host) {
			return nil // also behind a proxy that changes the Host
		}
	}
	if err := a.cross.Check(r); err != nil {
		return foreign
	}
	return nil
}
