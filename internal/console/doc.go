// Package console serves the web console: it reads the record, fills the view
// models of package ui, and hands what a person presses to the domain services.
//
// Invariants, each with a test:
//
//   - every page and form stands in one table of routes with its act of the
//     roles table; nothing else is served
//   - a request is taken from this origin only; who sends it is known by the
//     session cookie; the act is authorised before a body is read
//   - every decision is a plain form that carries the digest and version it
//     showed; one that no longer stands answers 409 with what is live now
//   - a sentence that states a fact names its event; titles, reasons and
//     consequences are made here from typed records, never from an agent's prose
//   - one page is one snapshot of the record, a handful of queries, and carries
//     an ETag over its bytes
//
// It imports kit, event, bus, the domains, ui and assets. Ports are filled by app.
// It owns the goroutine of a running verification of the chain, one per Console;
// Close ends it.
package console
