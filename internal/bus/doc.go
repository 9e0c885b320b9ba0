// Package bus delivers the journal: reactions, tails, leased work and timers.
//
// Claims, each with a test:
//   - A reaction runs inside the transaction that appends its event, in the
//     order of the table, to depth 16. What failed there or lay deeper is run by
//     the account's router, in seq order per (subscriber, stream). Inside the
//     database every event so takes effect exactly once (INV-4).
//   - A reaction that fails twice in the router is parked with its stream;
//     later events of that stream queue behind it, other streams go on.
//   - A tail sees every event once and in order; it reads the journal, so a slow
//     reader falls behind but never misses. One read per commit serves all.
//   - Leased work is offered at the commit and found by a scan after a crash.
//     In one process a row is worked on by one worker at a time.
//   - Each due timer is said once.
//
// Not promised: any order between streams, or between a reaction and a tail.
//
// It imports kit and event; store implements Engine. Used by app and R4 only.
// Router, Pool, Timers and Tails are lifecycle services that own their
// goroutines and wait for them.
package bus
