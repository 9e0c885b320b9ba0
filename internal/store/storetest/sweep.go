package storetest

import (
	"os"
	"os/exec"
	"syscall"
)

// sweep waits until the test process is gone, however it ended: that closes the
// other end of its input. Then it waits until the server has followed, and
// removes the folder, which may hold hundreds of megabytes. It looks at no folder
// but its own: whether another's server lives cannot be told from outside (initdb
// leaves a process number that is none).
const sweep = `trap "" INT TERM HUP
read -r _
n=0
while [ "$n" -lt 100 ] && pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null; do
  n=$((n + 1)); sleep 0.1
done
rm -rf -- "$0"`

// sweepAfter sees to it that nothing of dir outlives this process: a test binary
// has no last moment of its own in which a server that all tests share could go.
func sweepAfter(dir string) error {
	var ends [2]int // the writing end belongs to the process and is never closed, not even by the collector
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	r := os.NewFile(uintptr(ends[0]), "sweep")
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", sweep, dir)
	cmd.Stdin, cmd.Dir = r, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	return cmd.Start()
}
