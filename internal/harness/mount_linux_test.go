package harness_test

import (
	"fmt"
	"syscall"
	"testing"
)

// mountSmall puts a file system of so many bytes at dir, if this process may.
func mountSmall(t *testing.T, dir string, bytes int) bool {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Logf("mount: %v", err)
		return false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return true
}
