//go:build !unix

package killer

import (
	"errors"
	"os"
	"os/exec"
)

func stopSignal() os.Signal { return os.Interrupt }

// killedBySignal reports whether a process was ended from outside, as far as
// this system tells: by its exit code.
func killedBySignal(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e) && !e.Success()
}
