// Package policy decides what may be done, and asks a person where it may not
// be done unasked.
//
// Purpose: one pure function, Decide, over everything that bears on a call; the
// versioned documents of guardrails and rules that it reads; the autonomy dial;
// the one approvals table of all askers; grants and endorsements; halt.
//
// Invariants kept here:
//   - Decide is pure, and does not depend on the order of the rules
//   - nothing overrides a guardrail: its DENY is final, its ASK is answered by a
//     person's word on the exact call only (INV-16)
//   - an approval authorises exactly the call that was shown, once (INV-7)
//   - a grant answers an ASK of a rule or of the dial, never of a label, a
//     guardrail or a commitment
//   - only a person can save rules, move the dial, answer, grant or resume; every
//     such method takes a person and looks up the role (INV-10)
//   - what is not known counts against the call: an unknown input meets every
//     condition of a DENY or ASK rule and none of an ALLOW rule
//   - a store that cannot be read gives ErrUnreadable, never an ALLOW
//
// It imports kit and event, never llm, and a YAML reader. It starts no
// goroutine; the cache of compiled documents is guarded by a mutex.
package policy
