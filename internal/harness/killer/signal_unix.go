//go:build unix

package killer

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func stopSignal() os.Signal { return syscall.SIGTERM }

// killedBySignal reports whether a process ended by SIGKILL.
func killedBySignal(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	ws, ok := e.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}
