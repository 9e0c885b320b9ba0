// Package httpin lets an outside program be a channel without a line of code
// here: it posts what it hears, and reads the answers or has them carried to a
// signed webhook.
//
// What it proves: a token proves the program, not the people it speaks for.
// A request without a sender is the token's person speaking. A request that
// names a sender is that address on this channel; it counts as proven only if
// the owner set the channel to vouch for its senders, or if the request is
// signed with the channel's own secret.
//
// What it sends: POST with a JSON body, the idempotency key of the delivery and
// an HMAC-SHA256 over time and body. Any 2xx acknowledges; redirects are never
// followed; the address that is really connected to is checked by the dialer.
//
// It imports kit, event, channel and net/http. It starts no goroutine of its
// own; the transport's idle connections end with Close.
package httpin
