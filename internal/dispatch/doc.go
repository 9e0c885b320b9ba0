// Package dispatch stands between the channels and the agents: it knows who
// writes, decides whether a message is welcome, gives it to the agent that
// serves it, and is the one way out for everything that leaves.
//
// Purpose: seed 000, "Dispatch", as durable rows. Everything here runs inside
// the transaction of the event it reacts to, but for Deliver, which is leased
// work.
//
// Invariants:
//   - every agent.task comes from Task, whoever caused it; there is no second road
//   - the gates stand in one order: size, account rate, contact, sender rate,
//     trust; a message passes, is held or is rejected, and an event says which.
//     A gate that cannot read refuses the transaction: never fail-open
//   - a claim (a From line) is no identity, and nobody becomes confirmed by
//     being written to: only a person's word or a sign-in confirms
//   - a held message stays until a person decides; no count drops one
//   - rate windows, reply routes, held messages and the outbox are rows
//   - nothing leaves but through Send; a delivery has one key for all attempts,
//     and in one thread they go out in order
//
// Texts are not kept here: rows point at events, whose bodies are sealed.
//
// It imports kit and event only and starts no goroutine. Contacts, routes and
// settled messages are changed by people; the edge checks their role first.
package dispatch
