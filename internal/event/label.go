package event

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Integrity says how far a text may be trusted to steer anything
// (architecture §7). Higher is better; joining takes the minimum.
type Integrity uint8

// The four integrities. The zero value is no integrity and refused everywhere.
const (
	Outside Integrity = iota + 1 // anybody's bytes: a stranger, a web page
	Known                        // a verified sender, a registered tool
	House                        // our code, a confirmed contact, the account's own file
	Person                       // a signed-in person of the account
)

var integrityNames = [...]string{"", "outside", "known", "house", "person"}

// String returns the word for i.
func (i Integrity) String() string {
	if int(i) < len(integrityNames) {
		return integrityNames[i]
	}
	return ""
}

// ParseIntegrity is the inverse of String.
func ParseIntegrity(s string) (Integrity, bool) {
	k := slices.Index(integrityNames[:], s)
	return Integrity(max(k, 0)), k > 0
}

// Audience is the set of principals that may read a text. Joining intersects.
// Principals are "person:ID", "agent:ID", "workspace:ID" (inside the account)
// or "contact:ID" (outside it).
type Audience struct {
	kind audienceKind
	who  []string // sorted, unique; only for audienceSet
}

type audienceKind uint8

const (
	audienceNone audienceKind = iota
	audienceSet
	audienceAccount
	audiencePublic
)

// maxPrincipals bounds a set; a larger set is refused at the door, because
// rounding an audience up to "account" would widen it.
const maxPrincipals = 64

// Public is an audience of everybody: a web page, a published document.
func Public() Audience { return Audience{kind: audiencePublic} }

// AccountWide is an audience of all people and agents of the account.
func AccountWide() Audience { return Audience{kind: audienceAccount} }

// Only is an audience of just these principals.
func Only(principals ...string) Audience {
	who := slices.Clone(principals)
	slices.Sort(who)
	return Audience{kind: audienceSet, who: slices.Compact(who)}
}

// inAccount reports whether a principal belongs to the account.
func inAccount(p string) bool { return !strings.HasPrefix(p, "contact:") }

// Intersect returns the principals in both audiences.
func (a Audience) Intersect(b Audience) Audience {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == audienceNone || b.kind == audiencePublic || a.kind == audienceAccount:
		return a
	case b.kind == audienceAccount:
		return Audience{kind: audienceSet, who: keep(a.who, inAccount)}
	}
	return Audience{kind: audienceSet, who: keep(a.who, func(p string) bool {
		_, ok := slices.BinarySearch(b.who, p)
		return ok
	})}
}

func keep(in []string, ok func(string) bool) []string {
	var out []string
	for _, p := range in {
		if ok(p) {
			out = append(out, p)
		}
	}
	return out
}

// Includes reports whether every principal of b may read what a holds.
func (a Audience) Includes(b Audience) bool {
	switch {
	case b.kind == audienceNone:
		return false
	case a.kind == audiencePublic:
		return true
	case a.kind == audienceAccount:
		return b.kind == audienceAccount ||
			b.kind == audienceSet && !slices.ContainsFunc(b.who, func(p string) bool { return !inAccount(p) })
	case a.kind == audienceSet && b.kind == audienceSet:
		return !slices.ContainsFunc(b.who, func(p string) bool {
			_, ok := slices.BinarySearch(a.who, p)
			return !ok
		})
	}
	return false
}

// String renders the audience as it is stored: "*", "a" or "=p1,p2".
func (a Audience) String() string {
	switch a.kind {
	case audiencePublic:
		return "*"
	case audienceAccount:
		return "a"
	case audienceSet:
		return "=" + strings.Join(a.who, ",")
	}
	return ""
}

// Principals returns the members of a set audience, nil for account and public.
func (a Audience) Principals() []string { return slices.Clone(a.who) }

// ParseAudience is the inverse of Audience.String.
func ParseAudience(s string) (Audience, error) {
	switch {
	case s == "*":
		return Public(), nil
	case s == "a":
		return AccountWide(), nil
	case s == "=":
		return Audience{kind: audienceSet}, nil
	case strings.HasPrefix(s, "="):
		who := strings.Split(s[1:], ",")
		if len(who) > maxPrincipals {
			return Audience{}, fault.New(fault.Limited, "an audience holds at most %d principals", maxPrincipals)
		}
		for _, p := range who {
			if k, v, ok := strings.Cut(p, ":"); !ok || k == "" || v == "" || !utf8.ValidString(p) {
				return Audience{}, fault.New(fault.Invalid, "%q is not a principal", p)
			}
		}
		return Only(who...), nil
	}
	return Audience{}, fault.New(fault.Corrupt, "%q is not an audience", s)
}

// Label is (integrity, audience), the taint of a text or a decision.
// The zero Label is no label; Emit and every derived row refuse it.
type Label struct {
	integrity Integrity
	audience  Audience
}

// NewLabel makes a label for something that enters from a source. Whoever
// derives from what exists already must use Join (arch_test lists the callers).
func NewLabel(i Integrity, a Audience) Label { return Label{integrity: i, audience: a} }

// Integrity returns the integrity part.
func (l Label) Integrity() Integrity { return l.integrity }

// Audience returns the audience part.
func (l Label) Audience() Audience { return l.audience }

// IsZero reports whether there is no label.
func (l Label) IsZero() bool { return l.integrity == 0 || l.audience.kind == audienceNone }

// Join returns the label of something derived from all parents: the minimum
// integrity, the intersection of audiences. No parents give the zero Label.
func Join(parents ...Label) Label {
	if len(parents) == 0 {
		return Label{}
	}
	out := parents[0]
	for _, p := range parents[1:] {
		out.integrity = min(out.integrity, p.integrity)
		out.audience = out.audience.Intersect(p.audience)
	}
	return out
}

// AtMost reports whether l is no higher than m: deriving l from m is no rise.
func (l Label) AtMost(m Label) bool {
	nobody := l.audience.kind == audienceSet && len(l.audience.who) == 0
	return l.integrity <= m.integrity && (nobody || m.audience.Includes(l.audience))
}

// String renders the label as it is stored: first letter of the integrity, a
// colon, the audience ("p:a" is a person's text for the whole account).
func (l Label) String() string {
	if l.IsZero() {
		return ""
	}
	return l.integrity.String()[:1] + ":" + l.audience.String()
}

// ParseLabel is the inverse of Label.String.
func ParseLabel(s string) (Label, error) {
	head, tail, ok := strings.Cut(s, ":")
	if !ok || len(head) != 1 {
		return Label{}, fault.New(fault.Corrupt, "%q is not a label", s)
	}
	k := slices.IndexFunc(integrityNames[:], func(n string) bool { return n != "" && n[:1] == head })
	if k < 0 {
		return Label{}, fault.New(fault.Corrupt, "%q is not a label", s)
	}
	a, err := ParseAudience(tail)
	return Label{integrity: Integrity(k), audience: a}, err
}
