package storetest

import (
	"os/exec"
	"runtime"
)

// startPinned starts cmd from a thread that lives as long as this process: the
// kernel's parent-death signal fires when the starting thread ends, not when
// the process does.
func startPinned(cmd *exec.Cmd) error {
	err := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err <- cmd.Start()
		select {} // owns the thread until the process ends
	}()
	return <-err
}
