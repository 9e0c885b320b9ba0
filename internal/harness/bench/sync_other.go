//go:build !linux

package bench

import "os"

// datasync makes the file durable; this system offers no cheaper call.
func datasync(f *os.File) error { return f.Sync() }
