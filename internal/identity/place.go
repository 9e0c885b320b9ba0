package identity

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Place says whether a passkey can be made or used at an address. A passkey
// belongs to a host name and needs a secure context: https, or http on
// localhost; never an IP address (WebAuthn §5.1.3, Secure Contexts §3.1).
type Place struct {
	OK     bool
	Host   string // the name that passkeys belong to; "" when not OK
	Origin string // "https://witan.example.org", without path; "" when not OK
	Why    string // one sentence for the page, when not OK
	Better string // the address where it would work, if we know one
}

// PlaceError is the refusal to make or use a passkey at a place.
type PlaceError struct{ Place Place }

// Error implements error.
func (e *PlaceError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the classified error.
func (e *PlaceError) Unwrap() error {
	f := fault.New(fault.Conflict, "%s", strings.TrimSuffix(e.Place.Why, "."))
	if e.Place.Better != "" {
		f = f.WithFix("open %s, or use the password", e.Place.Better)
	} else {
		f = f.WithFix("use the password")
	}
	return f
}

// PlaceOf judges an address such as "http://127.0.0.1:7420".
func PlaceOf(address string) Place {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Place{Why: "This address cannot be read, so no passkey can belong to it."}
	}
	host := strings.ToLower(u.Hostname())
	port := ""
	if p := u.Port(); p != "" && !(u.Scheme == "https" && p == "443") && !(u.Scheme == "http" && p == "80") {
		port = ":" + p
	}
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if _, err := netip.ParseAddr(host); err == nil {
		p := Place{Why: "This address is an IP number, and a passkey belongs to a name."}
		if ip, _ := netip.ParseAddr(host); ip.IsLoopback() {
			p.Better = u.Scheme + "://localhost" + port
		}
		return p
	}
	switch {
	case u.Scheme == "http" && !local:
		return Place{Why: "This address is plain http, and browsers make passkeys over https only.", Better: "https://" + host}
	case protocol.ValidateRPID(host) != nil || strings.HasSuffix(host, "."):
		return Place{Why: "This address is not a name that a passkey can belong to."}
	}
	return Place{OK: true, Host: host, Origin: u.Scheme + "://" + host + port}
}

// PlaceAt judges the address that a request came to: passkeys work where the
// configured public address is, and nowhere else.
func (s *Service) PlaceAt(address string) Place {
	p := PlaceOf(address)
	switch {
	case !s.place.OK:
		return s.place
	case !p.OK:
		p.Better = s.place.Origin
		return p
	case p.Origin != s.place.Origin:
		return Place{Why: "Passkeys here belong to " + s.place.Host + ", and this is another address.", Better: s.place.Origin}
	}
	return p
}

// newParty returns the relying party of a place. User verification is required:
// a passkey stands alone, so it must be two factors in one.
func newParty(p Place) (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{
		RPID: p.Host, RPDisplayName: "Witan", RPOrigins: []string{p.Origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "passkeys at %s: %w", p.Origin, err).On("publicUrl")
	}
	return w, nil
}

// passkeys returns the relying party, or a *PlaceError that says why there is none.
func (s *Service) passkeys() (*webauthn.WebAuthn, error) {
	if s.party == nil {
		return nil, &PlaceError{Place: s.place}
	}
	return s.party, nil
}
