// Package workdb keeps workspaces, tasks, threads, documents and reminders on both
// engines: it implements work.Store, work.PanoStore and work.ReminderStore.
//
// Every method runs in the caller's transaction and names its account. It
// imports work, the parent store and kit, holds no state and starts no
// goroutine.
package workdb
