package work

import (
	"slices"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Status is where a task stands, in the seed's words.
type Status string

// The six statuses.
const (
	NotStarted Status = "notstarted" // in the queue
	Ongoing    Status = "ongoing"    // somebody holds it
	Completed  Status = "completed"  // its worker says that it is done
	Rejected   Status = "rejected"   // it will not be done
	Blocked    Status = "blocked"    // somebody must do something else first
	Cron       Status = "cron"       // a template; its schedule makes tasks of it
)

// Statuses lists them in the order of a board.
func Statuses() []Status { return []Status{NotStarted, Ongoing, Blocked, Completed, Rejected, Cron} }

// Valid reports whether s is one of the six.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Done reports whether nothing is left to do.
func (s Status) Done() bool { return s == Completed || s == Rejected }

// Way is how a task gets from one status to another.
type Way uint8

// The ways. Saying the status that a task has already changes nothing.
const (
	NoWay     Way = iota
	Told          // somebody says so, or takes the task
	Scheduled     // a schedule is set or taken away
)

// WayOf is the status graph.
//
//	from \ to   notstarted ongoing completed rejected blocked cron
//	notstarted      =        told    told      told     told  scheduled
//	ongoing        told       =      told      told     told    -
//	completed      told      told     =         -        -      -
//	rejected       told      told     -         =        -      -
//	blocked        told      told    told      told      =      -
//	cron         scheduled    -       -         -        -      =
//
// What is done can be opened again, into the queue or into somebody's hands, and
// be done anew; from done to done there is no way, because the first word would
// be lost. A template moves by its schedule only.
func WayOf(from, to Status) Way {
	switch {
	case !from.Valid() || !to.Valid() || from == to:
		return NoWay
	case from == NotStarted && to == Cron, from == Cron && to == NotStarted:
		return Scheduled
	case from == Cron, to == Cron:
		return NoWay
	case from.Done():
		return way(to == NotStarted || to == Ongoing)
	}
	return Told
}

func way(ok bool) Way {
	if ok {
		return Told
	}
	return NoWay
}

// checkMove refuses a move that the graph does not have.
func checkMove(from, to Status) error {
	switch {
	case !to.Valid():
		return fault.New(fault.Invalid, "%q is no status", clip(string(to))).On("status").
			WithFix("write notstarted, ongoing, completed, rejected or blocked")
	case from == to || WayOf(from, to) == Told:
		return nil
	case WayOf(from, to) == Scheduled || from == Cron || to == Cron:
		return fault.New(fault.Conflict, "only a schedule makes a template of a task, or a task of a template").On("status").
			WithFix("set or clear its cronSchedule")
	}
	return fault.New(fault.Conflict, "a task that is %s cannot become %s", from, to).On("status").
		WithFix("open it again first: move it to notstarted or ongoing")
}
