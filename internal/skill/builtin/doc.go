// Package builtin holds the skills that come with Witan: the time, the account's
// documents, memory, reminders, files of one folder, pages of the web, and
// messages.
//
// Each skill is a strict manifest in manifests/ and an Executable. What a skill
// needs of other domains stands in ports.go as small interfaces of values;
// app fills them. A skill whose port is missing is not offered.
//
// Invariants:
//   - a skill whose effect lives in our database does all of it in
//     Output.Commit, so that effect and confirmation are one transaction;
//   - whatever is read goes to the actor and the one it answers: both must be in
//     its audience, and the result carries the join of the labels of what was read;
//   - a path never leaves the account's folder, and a file's label stays with its
//     content;
//   - a page is fetched from public addresses only, checked where the connection
//     is made, for every hop.
//
// It imports kit, event, skill and skill/manifest. It starts no goroutine of its
// own; calls run in those of package skill.
package builtin
