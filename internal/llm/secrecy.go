package llm

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// CheckKey refuses a key that cannot stand in a header, before any library sees
// it: many of them print the whole value in their error. The answer names the
// field and the position of the fault, never a byte of the key (INV-12).
func CheckKey(field string, key secret.String) error {
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	k := key.Reveal()
	if k == "" {
		return bad("the key is empty").WithFix("set it by an environment variable or a file: reference")
	}
	if strings.HasSuffix(k, "\n") || strings.HasSuffix(k, "\r") {
		return bad("the key ends with a line break").WithFix("remove the last line break, for instance with: printf %%s")
	}
	for i := range len(k) {
		switch c := k[i]; {
		case c == ' ' || c == '\t':
			return bad("byte %d of the key's %d is a blank", i+1, len(k)).WithFix("copy the key again")
		case c < 0x21 || c == 0x7f:
			return bad("byte %d of the key's %d is a control character", i+1, len(k)).WithFix("copy the key again")
		case c > 0x7f:
			return bad("byte %d of the key's %d is not ASCII", i+1, len(k)).WithFix("copy the key again, without the typographic characters around it")
		}
	}
	return nil
}

// CheckBase returns a provider's base URL without its trailing slash. It refuses
// one that holds a secret (user, query) and one that would carry a key in clear
// over a network, unless insecure says that the network is trusted.
func CheckBase(base string, hasKey, insecure bool) (string, error) {
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Invalid, format, args...).On("base_url")
	}
	u, err := url.Parse(base)
	// The parse error quotes the URL, which may hold a password: not wrapped.
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", bad("the base URL is not an http or https URL")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", bad("the base URL holds a user, a query or a fragment").WithFix("put the key into the key setting")
	}
	if u.Scheme == "http" && hasKey && !insecure && !loopback(u.Hostname()) {
		return "", bad("the key for %s would travel in clear", u.Host).WithFix("use https, or set insecure: true for a trusted network")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// Bounds of a provider's text in one of our errors, and of the shortest piece of
// a secret that is worth hiding.
const (
	maxQuoted  = 300
	minLeak    = 8
	maskedText = "[secret]"
)

// scrub returns a provider's text fit for an error: no secret nor a piece of one
// of 8 bytes or more, one line, at most 300 bytes.
func scrub(text string, secrets []secret.String) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > 8*maxQuoted {
		text = text[:8*maxQuoted]
	}
	for _, s := range secrets {
		text = hide(text, s.Reveal())
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return text
}

// hide masks every stretch of text that is covered by windows of the secret.
func hide(text, key string) string {
	if len(key) == 0 {
		return text
	}
	n := min(minLeak, len(key))
	covered := make([]bool, len(text))
	any := false
	for i := 0; i+n <= len(text); i++ {
		if strings.Contains(key, text[i:i+n]) {
			any = true
			for j := i; j < i+n; j++ {
				covered[j] = true
			}
		}
	}
	if !any {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			b.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			b.WriteString(maskedText)
		}
	}
	return b.String()
}
