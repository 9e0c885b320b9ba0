package policy

import (
	"slices"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Effect is what policy says of a call. A larger effect is stricter, so the
// stricter of two is their maximum. The zero Effect says nothing.
type Effect uint8

// The three effects (architecture §6).
const (
	Allow Effect = iota + 1
	Ask
	Deny
)

// AskKind is why a call is asked about; it decides what can answer.
type AskKind uint8

// The kinds of ASK. A grant answers AskRule and AskAutonomy; an endorsement
// answers AskLabel; a person's answer to the exact call answers all five.
const (
	AskRule AskKind = iota + 1
	AskAutonomy
	AskLabel
	AskGuardrail
	AskCommitment // a mind's commitment may demand approval, never give it (seed 001 §9)
)

// Risk is a manifest's action_risk. The zero Risk is no risk that we know of
// and is refused by every reader; use Maybe for "not known".
type Risk uint8

// The five risks (seed 000, "action_risk").
const (
	RiskNone Risk = iota + 1
	RiskLow
	RiskMedium
	RiskHigh
	RiskCritical
)

// Floor is the autonomy, 0 to 100, below which a call of this risk is asked
// about (issue "spine" item 9; seed 000 "autonomy").
func (r Risk) Floor() int {
	switch r {
	case RiskNone:
		return 0
	case RiskLow:
		return 60
	case RiskMedium:
		return 70
	case RiskHigh:
		return 80
	case RiskCritical:
		return 90
	}
	return maxAutonomy + 1
}

// Access is what a skill does with its target.
type Access uint8

// The five accesses of a manifest.
const (
	AccessRead Access = iota + 1
	AccessWrite
	AccessSend
	AccessSpend
	AccessDelete
)

// Sensitivity is how much harm a leak of the data would do.
type Sensitivity uint8

// The four sensitivities (seed 000, knowledge graph).
const (
	Public Sensitivity = iota + 1
	Internal
	Confidential
	Restricted
)

var (
	effectNames      = [...]string{"", "allow", "ask", "deny"}
	askKindNames     = [...]string{"", "rule", "autonomy", "label", "guardrail", "commitment"}
	riskNames        = [...]string{"", "none", "low", "medium", "high", "critical"}
	accessNames      = [...]string{"", "read", "write", "send", "spend", "delete"}
	sensitivityNames = [...]string{"", "public", "internal", "confidential", "restricted"}
)

func nameOf(names []string, k int) string {
	if k < len(names) {
		return names[k]
	}
	return ""
}

func parseName(names []string, what, s string) (uint8, error) {
	if k := slices.Index(names, s); k > 0 {
		return uint8(k), nil
	}
	return 0, fault.New(fault.Invalid, "%q is no %s", s, what).WithFix("use one of %v", names[1:])
}

// String returns the word for e.
func (e Effect) String() string { return nameOf(effectNames[:], int(e)) }

// String returns the word for k.
func (k AskKind) String() string { return nameOf(askKindNames[:], int(k)) }

// String returns the word for r.
func (r Risk) String() string { return nameOf(riskNames[:], int(r)) }

// String returns the word for a.
func (a Access) String() string { return nameOf(accessNames[:], int(a)) }

// String returns the word for s.
func (s Sensitivity) String() string { return nameOf(sensitivityNames[:], int(s)) }

// ParseEffect is the inverse of Effect.String; anything else is fault.Invalid.
func ParseEffect(s string) (Effect, error) {
	k, err := parseName(effectNames[:], "effect", s)
	return Effect(k), err
}

// ParseAskKind is the inverse of AskKind.String.
func ParseAskKind(s string) (AskKind, error) {
	k, err := parseName(askKindNames[:], "kind of ask", s)
	return AskKind(k), err
}

// ParseRisk is the inverse of Risk.String.
func ParseRisk(s string) (Risk, error) {
	k, err := parseName(riskNames[:], "risk", s)
	return Risk(k), err
}

// ParseAccess is the inverse of Access.String.
func ParseAccess(s string) (Access, error) {
	k, err := parseName(accessNames[:], "access", s)
	return Access(k), err
}

// ParseSensitivity is the inverse of Sensitivity.String.
func ParseSensitivity(s string) (Sensitivity, error) {
	k, err := parseName(sensitivityNames[:], "sensitivity", s)
	return Sensitivity(k), err
}

// MarshalText and UnmarshalText give the words their place in documents.
func (e Effect) MarshalText() ([]byte, error)      { return []byte(e.String()), nil }
func (k AskKind) MarshalText() ([]byte, error)     { return []byte(k.String()), nil }
func (r Risk) MarshalText() ([]byte, error)        { return []byte(r.String()), nil }
func (a Access) MarshalText() ([]byte, error)      { return []byte(a.String()), nil }
func (s Sensitivity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Effect) UnmarshalText(b []byte) (err error) { *e, err = ParseEffect(string(b)); return err }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *AskKind) UnmarshalText(b []byte) (err error) { *k, err = ParseAskKind(string(b)); return err }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Risk) UnmarshalText(b []byte) (err error) { *r, err = ParseRisk(string(b)); return err }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Access) UnmarshalText(b []byte) (err error) { *a, err = ParseAccess(string(b)); return err }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sensitivity) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSensitivity(string(b))
	return err
}
