// Package killer starts the real process, kills it with SIGKILL at a random
// moment or at a named step, and starts it again.
//
// Purpose: the torture tests. A Process is one life of the program: started with
// the failpoint protocol of kit/failpoint, watched until it answers at its ready
// URL, and killed. A Killer leads one life after another by Plans and keeps a
// histogram of the step at which each life ended, so that a run can show that it
// did kill where it matters, and not only while the process was idle.
//
// It imports kit and the standard library only. Each Process owns two
// goroutines (one reads the announced steps, one waits for the exit); both have
// ended when Exited is closed.
package killer
