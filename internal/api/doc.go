// Package api is Witan over HTTP: one table of routes, the gate in front of all
// of them, and the live stream.
//
// Purpose: programs, the command line and the console's scripts speak to the
// services here. A handler translates and nothing else: what may be done is
// decided by identity's roles table before a body is read, and by the services.
//
// Invariants, each with a test:
//   - every route stands in the table with its act; nothing else is served
//   - host, origin, credential, act, body size: checked in this order, before
//     a handler runs
//   - errors are problem documents (RFC 9457) made from fault kinds in one
//     place; they hold no cause, no secret and no value that was sent (INV-12)
//   - an unknown or repeated member of a body, and an unknown query parameter,
//     is refused by name
//   - an id of another account is "not found" everywhere (INV-9)
//   - a stream sends positions and ids only, ends soon after its credential,
//     and a reader that stands still loses its connection, nobody else's
//   - a panic is one request's 500, with an id that the log knows
//
// The table is our own rather than a framework's, because a framework answers
// bad input by itself: it echoes what was sent (a password among it), with a
// status and a shape of its own that only package variables could change.
//
// It imports kit, event, bus and the domains; net/http, OpenTelemetry's API and
// prometheus. Ports are filled by app. Each stream and each long poll owns at
// most one goroutine and waits for it; Close ends them.
package api
