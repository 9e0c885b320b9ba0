package policy

import (
	"fmt"

	"github.com/witan-run/witan/internal/kit/id"
)

// ReasonCode is one sort of reason of a decision.
type ReasonCode string

// The reasons, in the order in which Decide can give them.
const (
	ReasonDream      ReasonCode = "dream"       // a dream cannot act (INV-15)
	ReasonGuardrail  ReasonCode = "guardrail"   // Rule asks or denies, and nothing overrides it
	ReasonRule       ReasonCode = "rule"        // Rule won
	ReasonDefault    ReasonCode = "default"     // no rule holds
	ReasonCommitment ReasonCode = "commitment"  // a mind's commitment demands approval
	ReasonFloor      ReasonCode = "below_floor" // Have autonomy, Need for risk Name
	ReasonBand       ReasonCode = "band"        // the dial stands in band Name
	ReasonWhy        ReasonCode = "why_outside" // what led to the call came from outside; Name is the risk
	ReasonNamed      ReasonCode = "named"       // Rule names the argument, and its value is known
	ReasonAnswering  ReasonCode = "answering"   // it answers the requester where they are
	ReasonAudience   ReasonCode = "audience"    // recipient Name may not see what would leave
	ReasonUnknown    ReasonCode = "unknown"     // input Name is not known
	ReasonEndorsed   ReasonCode = "endorsed"    // a person endorsed this skill, target and run
	ReasonGranted    ReasonCode = "granted"     // a grant answers the ask
	ReasonApproved   ReasonCode = "approved"    // a person's answer covers the exact call
	ReasonRefused    ReasonCode = "refused"     // the approval or grant does not hold; Name says why
)

// Reason is a typed record; Sentence turns it into words.
type Reason struct {
	Code ReasonCode `json:"code"`
	Rule string     `json:"rule,omitempty"`
	Name string     `json:"name,omitempty"`
	Have int        `json:"have,omitempty"`
	Need int        `json:"need,omitempty"`
	ID   id.ID      `json:"id,omitzero"`
}

// Sentence renders the reason. It is the one place where reasons become words.
func (r Reason) Sentence() string {
	switch r.Code {
	case ReasonDream:
		return "A dream cannot act."
	case ReasonGuardrail:
		return fmt.Sprintf("%s applies, and nothing overrides it.", capital(r.Rule))
	case ReasonRule:
		return fmt.Sprintf("%s is the most specific one that applies.", capital(r.Rule))
	case ReasonDefault:
		return "No rule applies, so the default does."
	case ReasonCommitment:
		return "A commitment demands approval for this."
	case ReasonFloor:
		return fmt.Sprintf("Autonomy stands at %d; %s risk needs %d.", r.Have, r.Name, r.Need)
	case ReasonBand:
		return fmt.Sprintf("Autonomy stands at %d: %s.", r.Have, r.Name)
	case ReasonWhy:
		return fmt.Sprintf("What led to this call came from outside, and its risk is %s.", r.Name)
	case ReasonNamed:
		return fmt.Sprintf("%s names the argument, and its value does not come from outside.", capital(r.Rule))
	case ReasonAnswering:
		return "It answers the requester on their own channel."
	case ReasonAudience:
		return fmt.Sprintf("%s may not see all of what would leave.", r.Name)
	case ReasonUnknown:
		return fmt.Sprintf("The %s is not known, which counts against the call.", r.Name)
	case ReasonEndorsed:
		return "A person endorsed this skill and target for this run."
	case ReasonGranted:
		return "A grant covers this call."
	case ReasonApproved:
		return "A person allowed exactly this call."
	case ReasonRefused:
		return fmt.Sprintf("It was not carried out: %s.", r.Name)
	}
	return string(r.Code)
}

// Sentences renders reasons in order.
func Sentences(list []Reason) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.Sentence()
	}
	return out
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]&^0x20) + s[1:]
}
