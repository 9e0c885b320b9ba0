// Package memory keeps what agents and minds remember and finds it again.
//
// Purpose: Remember writes a row with all that is known about it (kind, how it
// is known, source, times, label, scope, sensitivity) and puts its words into
// the index; Recall ranks rows by BM25 (k1 1.2, b 0.75) with small boosts for
// recency and importance.
//
// The index is our own, so that both engines rank alike, byte for byte: packed
// postings per scope and term, kept per shelf. A shelf holds the rows of one
// scope, label, sensitivity and subject. Hence:
//   - what may not be read is on other shelves: it is not found, not counted and
//     weighs in no score;
//   - erasing a subject deletes whole shelves, the index included.
//
// New rows go to the shelf's fresh list, one row each; every 32 of them are
// folded into the postings.
//
// Invariants: a row's label is the label of the event that wrote it, hence the
// join of its causes (INV-8); all scores are integers; no model sets a number
// here (INV-10). Tokens come from tables that are committed (words.txt), not
// from the Unicode version of the compiler.
//
// It imports kit, event and memory/recall. It starts no goroutine.
package memory
