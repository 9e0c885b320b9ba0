// Package store is the engine under Witan: it opens SQLite or PostgreSQL, runs
// every transaction, appends events to the hash-chained journal in the same
// commit, and hands out leased work and timers.
//
// Invariants kept here, each with its test (docs/invariants.md):
//   - INV-1 rows and events commit together: journal.Do is the only way to write
//   - INV-2 seq is dense per account and commit order equals seq order
//   - INV-3 events are append-only by trigger and verify as a chain
//   - INV-6 a stale lease changes nothing: Guard is part of the transaction
//   - INV-9 every named query names its account
//
// SQLite runs one write lane (lane.go): closures share a transaction, a batch
// that fails is rolled back whole and re-run one by one. PostgreSQL runs one
// plain transaction per closure, at most four at once per account.
//
// It imports kit, event and the two drivers; it is the only importer of
// drivers. Its goroutines (lane, heartbeat, notifier, checkpointer) belong to
// DB and end in Close.
package store
