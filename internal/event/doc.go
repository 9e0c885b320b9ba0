// Package event is the vocabulary of Witan: every fact that the journal can
// hold, who may say it, and the one contract for writing it.
//
// Invariants kept here:
//   - the set of payloads is closed: Payload has an unexported method (INV-1)
//   - the right to speak is a value, Origin; the zero Origin may say nothing
//   - a label never rises, except by a Raise that is recorded (INV-8)
//   - stored bytes decode for ever: readers upcast, nobody migrates (ADR-0002)
//
// It imports kit only, holds no state and starts no goroutine.
package event
