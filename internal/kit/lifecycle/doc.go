// Package lifecycle starts and stops the long-running parts of Witan, and owns
// their goroutines.
//
// Purpose: whatever runs longer than one request is a Service in a Group. The
// Group is the answer to "who started this goroutine, and who waits for it".
//
// Claims:
//  1. Services start in the order of Add, and stop in the reverse order, one at
//     a time: while a service runs, everything added before it runs too.
//  2. A service that has a Start method is ready when Start returns; the next
//     one is not started before that.
//  3. The first failure wins. It is the error of Run, and the cause of every
//     later cancellation (context.Cause).
//  4. A panic in a service is a failure that carries the service's name and the
//     stack; it never takes the process down past the others' Stop.
//  5. A service that returns before it was told to stop has failed, also with a
//     nil error, unless it returns ErrFinished: silence is not health.
//  6. Stop waits for each service, but not for ever, and names those that hang.
//
// Duties of a service: return soon after its context is done; do not return
// while goroutines of its own are still running.
//
// It imports the standard library only.
package lifecycle
