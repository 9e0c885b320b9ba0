package policy

import (
	"slices"

	"github.com/witan-run/witan/internal/kit/id"
)

// Decision is what Decide says of one call, and why.
type Decision struct {
	Effect  Effect
	Rule    string    // the winner: "rule 3", "guardrail 1", "default", "dream"
	Version int       // of the policy
	Digest  string    // of the exact call (Request.Digest)
	Asks    []AskKind // kinds of ASK that nothing has answered, sorted; empty unless Effect is Ask
	Reasons []Reason
	Losers  []Loser
	Band    Band // "" when the autonomy is not known

	Grant       id.ID // answered the ASKs of rule and dial
	Endorsement id.ID // answered the ASK of the labels
	Approval    id.ID // a person's answer; set by Service.Confirm only
}

// Loser is a rule or guardrail that did not decide, and why.
type Loser struct {
	Rule   string `json:"rule"`
	Effect Effect `json:"effect"`
	// Why is the first condition that did not hold ("skill", "arguments/to"),
	// or "less specific", "weaker", "later" or "overridden" for one that did.
	Why string `json:"why"`
}

// Held reports whether the loser's conditions held: it was beaten, not beside
// the point.
func (l Loser) Held() bool {
	switch l.Why {
	case lostSpecific, lostWeaker, lostLater, lostOverridden:
		return true
	}
	return false
}

const (
	lostSpecific   = "less specific" // a narrower rule holds
	lostWeaker     = "weaker"        // as narrow, and another is stricter
	lostLater      = "later"         // as narrow and as strict, and another has a lower number
	lostOverridden = "overridden"    // a guardrail or a dream decided
)

// Sentence says why the rule lost.
func (l Loser) Sentence() string {
	switch l.Why {
	case lostSpecific:
		return capital(l.Rule) + " applies, but a more specific one does too."
	case lostWeaker:
		return capital(l.Rule) + " applies, but one that is as specific is stricter."
	case lostLater:
		return capital(l.Rule) + " applies, but so does one with a lower number that says the same."
	case lostOverridden:
		return capital(l.Rule) + " was not reached."
	}
	return capital(l.Rule) + " does not apply: " + l.Why + "."
}

// Sentences renders the reasons in order.
func (d Decision) Sentences() []string { return Sentences(d.Reasons) }

// Asked reports whether an ASK of kind k is open.
func (d Decision) Asked(k AskKind) bool { return slices.Contains(d.Asks, k) }

// add opens an ASK of kind k.
func (d *Decision) add(k AskKind) {
	if !slices.Contains(d.Asks, k) {
		d.Asks = append(d.Asks, k)
		slices.Sort(d.Asks)
	}
}

// answered closes the ASKs of some kinds and says whether any was open.
func (d *Decision) answered(kinds ...AskKind) bool {
	n := len(d.Asks)
	d.Asks = slices.DeleteFunc(d.Asks, func(k AskKind) bool { return slices.Contains(kinds, k) })
	return len(d.Asks) < n
}
