// Package canon gives every value exactly one byte form, so that equal values
// have equal digests on every machine and under every version of Go.
//
// Purpose: canonical JSON for sealed bodies, call digests and approvals; a
// fixed-order binary form for the hash header of the journal; digests over both.
//
// Canonical JSON here is JSON with
//   - no white space;
//   - object keys in ascending order of code points, none twice;
//   - integers only, |n| < 2^53, written without sign tricks ("-0" becomes "0");
//   - strings in UTF-8, escaped only where JSON demands it, never normalised;
//   - no U+0000 and no lone surrogate anywhere.
//
// What has no canonical form is refused by name, with the path of the culprit.
// Invariants: Canonicalize is idempotent, and two documents have equal bytes
// exactly when they have equal values.
//
// It imports the standard library only and starts no goroutine.
package canon
