// Package channel is the port between Witan and an outside medium: what an
// adapter gives in, what it is asked to deliver, and how both survive a crash.
//
// Purpose: an adapter turns one medium's messages into Inbound values and hands
// them to Intake.Accept, which returns only after the journal has them; it
// delivers Outgoing parts under an idempotency key. Nothing here decides whether
// a message is welcome; that is dispatch (seed 000, "Dispatch").
//
// Invariants:
//   - a message with a provider id is taken in once; a repeat returns the first ids
//   - the cursor of a medium moves in the transaction that takes its messages in
//   - text is valid UTF-8 without U+0000 and within its limit, or refused by name
//   - a thread with an address is that address's own, unless the medium vouches
//     that several people share it
//   - a split message never breaks a grapheme and joins to the original
//   - channel.changed is said on a change only
//
// It imports kit and event, and uniseg for grapheme clusters. It starts no
// goroutine; whoever runs an adapter's Run owns that goroutine.
package channel
