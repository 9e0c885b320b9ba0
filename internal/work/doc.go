// Package work holds the work that people and agents share: workspaces with their
// tasks, threads and claims, the account's documents (Pano), and reminders.
//
// Invariants:
//   - a task is ongoing exactly while one claimant holds it: every claim has a
//     lease on the database's clock, so nothing is ongoing for ever, and a fencing
//     number, so what a claimant writes after it lost the task is refused;
//   - statuses change along one graph (WayOf); a template changes by its schedule;
//   - of two writers on two fields of one row both win; of two on one field the
//     one that saw less is told which field it was;
//   - what cannot be offered hides nothing behind it, and every task that is not
//     running says why, from one closed list (Why);
//   - neither parents nor links close a circle;
//   - an archived workspace refuses every write, whoever holds what in it;
//   - what is not there, foreign, or in another workspace gets one answer;
//   - a document is written on the revision that its writer saw; another one
//     refuses the write and shows both texts, so nothing is lost silently;
//   - a revision never changes; its label is that of the event that wrote it;
//   - who may not read a document's label does not find it, in no list and no
//     search; a board is for all of the account, so narrower words do not reach it;
//   - a reminder fires once, or is cancelled, never both.
//
// It imports kit and event. It starts no goroutine.
package work
