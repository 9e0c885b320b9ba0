package recall

import (
	"regexp"
	"strings"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Scope says whose memory a row is: "account", "workspace:ID", "agent:NAME" or
// "mind:ID". The zero Scope is none and is refused.
type Scope string

// Account is the scope shared by the whole account.
const Account Scope = "account"

var agentName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ParseScope checks a scope's spelling; fault.Invalid if it is none.
func ParseScope(s string) (Scope, error) {
	bad := fault.New(fault.Invalid, "%q is no scope", s).On("scope").WithFix("write account, workspace:ID, agent:NAME or mind:ID")
	kind, name, ok := strings.Cut(s, ":")
	switch {
	case s == string(Account):
		return Account, nil
	case !ok:
		return "", bad
	case kind == "workspace" || kind == "mind":
		if k, err := id.Parse(name); err != nil || k.IsZero() || k.String() != name {
			return "", bad
		}
	case kind != "agent" || !agentName.MatchString(name):
		return "", bad
	}
	return Scope(s), nil
}

// ID returns the sixteen bytes that stand for the scope in keys of the index.
func (s Scope) ID() id.ID {
	d := canon.Digest("witan/memory-scope/1", []byte(s))
	return id.ID(d[:16])
}

// Sensitivity says how much harm a leak would do; higher is worse.
type Sensitivity int

// The four sensitivities.
const (
	Open         Sensitivity = iota // may be shown to anybody in the audience
	Internal                        // the default
	Confidential                    // salaries, health, contracts
	Restricted                      // credentials, identity numbers
)

// String returns the word.
func (s Sensitivity) String() string {
	switch s {
	case Open:
		return "public"
	case Internal:
		return "internal"
	case Confidential:
		return "confidential"
	case Restricted:
		return "restricted"
	}
	return ""
}

// ParseSensitivity is the inverse of String; fault.Invalid for another word.
func ParseSensitivity(w string) (Sensitivity, error) {
	for _, s := range []Sensitivity{Open, Internal, Confidential, Restricted} {
		if s.String() == w {
			return s, nil
		}
	}
	return 0, fault.New(fault.Invalid, "%q is no sensitivity", w).On("sensitivity").WithFix("write public, internal, confidential or restricted")
}
