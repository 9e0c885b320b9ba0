// Package recall is the vocabulary of asking the account's memory: scopes,
// queries, hits and the port behind which the ranking lives.
//
// Invariants:
//   - a query names the scopes and the readers; a row outside the scopes, or
//     whose audience does not include every reader, is not found, not counted
//     and does not weigh in any score;
//   - scores are integers in micro-units and the same on both engines.
//
// It imports kit and event only and may be imported by agent, mind and work
// (types and the port). It starts no goroutine.
package recall
