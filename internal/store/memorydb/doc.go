// Package memorydb keeps memories and their index on both engines: it
// implements memory.Store.
//
// Every method runs in the caller's transaction and names its account. Rows and
// index carry the subject, so that an erasure takes both. It imports memory,
// memory/recall, the parent store and kit, holds no state and starts no
// goroutine.
package memorydb
