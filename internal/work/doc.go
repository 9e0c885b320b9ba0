// Package work holds the work that people and agents share. Here are the
// account's documents (Pano) and reminders.
//
// Invariants:
//   - a document is written on the revision that its writer saw; another one
//     refuses the write and shows both texts, so nothing is lost silently;
//   - a revision never changes; its label is that of the event that wrote it;
//   - who may not read a document's label does not find it, in no list and no
//     search;
//   - a reminder fires once, or is cancelled, never both.
//
// It imports kit and event. It starts no goroutine.
package work
