// Package agent runs resident agents: it gives them their threads, builds what a
// model is asked, and carries each piece of work from its task to its answer.
//
// A run is a log. What a run was given is pinned in its first record; every
// request, reply, call and result is a record of its own, committed with its
// event before the next step. Next is a pure function from those records to the
// next move, and Work only carries moves out: so a run resumes after a crash by
// reading its log, never repeats a recorded call, and Replay proves the log by
// computing it again.
//
// Invariants kept here:
//   - the model proposes text and calls; numbers, authority and labels come from
//     recorded facts and this code (INV-10)
//   - untrusted text stands in fenced data blocks of the user's side; the system
//     role holds our prompt only (INV-11)
//   - a recorded run replays to the same bytes and the same digest (INV-13)
//   - nothing here runs unless a task came: idle costs no model call (INV-14)
//   - one run at a time per thread; later tasks wait in order, as rows
//   - a label is the join of everything that was in the context; only a handle or
//     a quote lifts a single argument, and a withheld text lowers nothing (INV-8)
//
// It imports kit, event, llm and the types of skill/manifest. It starts no
// goroutine: Work runs on its caller's, and the reactions inside the appending
// transaction.
package agent
