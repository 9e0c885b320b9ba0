// Package secret keeps what must not be seen: texts that never print
// themselves, and the keyring that lives outside the database.
//
// Purpose: String masks a secret wherever it is formatted, logged or encoded.
// Keyring holds the keys that wrap data keys, seal secrets at rest, sign
// checkpoints and hash tokens, and the list of erased subjects. DataKey seals
// the journal's bodies; it is stored wrapped, in the database.
//
// Invariants:
//   - the keyring is one file, 0600 in a folder 0700, written whole, synced and
//     renamed into place: after a crash it is the old one or the new one
//   - a key is never removed by a rotation: what was sealed can be opened, what
//     was signed can be verified
//   - every envelope names its key, and is bound to its purpose and to the
//     caller's additional data: moved anywhere else it does not open
//   - an erased subject stays on the list, also when an older copy is imported
//
// It imports the standard library only and starts no goroutine. A Keyring is
// safe for concurrent use; two processes must not write one file (the lock of
// the data folder sees to that).
package secret
