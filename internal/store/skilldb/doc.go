// Package skilldb keeps the catalogue of skills and the effect ledger on both
// engines: it implements skill.Store.
//
// Invariants kept here: an effect is changed only by whoever saw its latest
// state and version and holds no older fence; its history, manifests and
// snapshots are only appended to. Triggers hold the same against any other
// writer of the database.
//
// It imports skill, skill/manifest, the parent store and kit. It starts no
// goroutine; the cache of snapshots is guarded by a mutex.
package skilldb
