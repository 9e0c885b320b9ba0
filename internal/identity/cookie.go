package identity

import (
	"fmt"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/secret"
)

// Cookie is a cookie as a value: an edge turns it into its own type, or sends
// Header. It has no Domain, so that it goes to this host only.
type Cookie struct {
	Name   string
	Value  secret.String
	Path   string
	MaxAge int // seconds; negative means "delete it now"
	Secure bool
	// HTTPOnly is always true and SameSite always "Lax": scripts cannot read
	// it, other sites' forms do not carry it.
	HTTPOnly bool
	SameSite string
}

// CookieName returns the session cookie's name. With https the browser itself
// holds the __Host- prefix to Secure, Path=/ and no Domain (RFC 6265bis §4.1.3.2).
func CookieName(https bool) string {
	if https {
		return "__Host-witan"
	}
	return "witan"
}

// SessionCookie returns the cookie of a fresh session.
func SessionCookie(https bool, in SignedIn, now time.Time) Cookie {
	c := baseCookie(https)
	c.Value = in.Secret
	c.MaxAge = int(in.Session.EndsAt.Sub(now) / time.Second)
	return c
}

// ClearCookie returns the cookie that deletes the session cookie.
func ClearCookie(https bool) Cookie {
	c := baseCookie(https)
	c.MaxAge = -1
	return c
}

func baseCookie(https bool) Cookie {
	return Cookie{Name: CookieName(https), Path: "/", Secure: https, HTTPOnly: true, SameSite: "Lax"}
}

// Header returns the value of the Set-Cookie header. It holds the secret.
func (c Cookie) Header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s; Path=%s; Max-Age=%d", c.Name, c.Value.Reveal(), c.Path, max(c.MaxAge, 0))
	if c.HTTPOnly {
		b.WriteString("; HttpOnly")
	}
	if c.Secure {
		b.WriteString("; Secure")
	}
	if c.SameSite != "" {
		b.WriteString("; SameSite=" + c.SameSite)
	}
	return b.String()
}
