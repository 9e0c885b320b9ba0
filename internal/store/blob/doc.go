// Package blob keeps files by the digest of their content, one folder per
// account, on the local disk.
//
// Purpose: attachments are stored before the transaction that names them, and
// are the same file however often they come. A digest is SHA-256 in hex.
//
// Invariants:
//   - Put returns after the file and its folder are synced; a reader never sees
//     half a file, because a finished file is renamed into place
//   - what is read is hashed again; bytes that do not match are fault.Corrupt
//   - no name from outside becomes a path: only digests do, and only hex ones
//   - accounts never share a file, so no digest tells what another one holds
//   - Sweep removes abandoned temporary files of its own folder and nothing else
//
// It imports kit and starts no goroutine.
package blob
