package work

import (
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Claim is who holds a task. A task is ongoing exactly while somebody does.
// Times are those of the database's clock.
type Claim struct {
	Claimant string // principal; "" while nobody holds it
	// Fence grows with each claim, and when one is taken away: what carries a lower
	// one is refused. It stays when a claimant lets go by itself, so that its last
	// words still come in.
	Fence  int64
	Span   time.Duration // what a renewal adds from then on
	Until  time.Time
	Losses int // leases that ran out since the task was last opened by a person
}

// The causes of a change of status or of hands: a closed list.
const (
	CauseMoved       = "moved"       // somebody said so
	CauseClaimed     = "claimed"     // somebody took it
	CauseResumed     = "resumed"     // its holder came back and took it anew
	CauseReleased    = "released"    // its holder gave it back
	CauseReassigned  = "reassigned"  // it was given to somebody else
	CauseRevoked     = "revoked"     // it was taken out of its holder's hands
	CauseLapsed      = "lapsed"      // the lease ran out; it is offered again
	CauseLost        = "lost"        // the lease ran out too often; a person must look
	CauseHeld        = "held"        // a restore holds what was ongoing
	CauseScheduled   = "scheduled"   // it became a template
	CauseUnscheduled = "unscheduled" // it is a template no more
	CauseCreated     = "created"
)

func errStale() error {
	return fault.New(fault.Stale, "the task is no longer held by this claim").On("fence").WithFix("ask for a task again")
}

// take gives the task to a claimant: one that is in the queue, was blocked or is
// done, or its own again. Whoever comes back gets a new fence, so that of two
// processes under one name only the later one writes.
func (t Task) take(who string, now time.Time, span time.Duration) (Task, error) {
	resumed := t.Status == Ongoing && t.Claim.Claimant == who
	switch {
	case t.Status == Ongoing && !resumed:
		return t, fault.New(fault.Conflict, "%s holds the task until %s", t.Claim.Claimant, t.Claim.Until.Format(time.RFC3339)).On("task")
	case !resumed && WayOf(t.Status, Ongoing) != Told:
		return t, checkMove(t.Status, Ongoing)
	case t.Waits > 0:
		return t, fault.New(fault.Conflict, "the task waits for %d others", t.Waits).On("task")
	}
	t.Cause = CauseClaimed
	if resumed {
		t.Cause = CauseResumed
	}
	t.Status = Ongoing
	t.Claim.Claimant = who
	t.Claim.Fence++
	t.Claim.Span = span
	t.Claim.Until = now.Add(span)
	return t, nil
}

// holds refuses whoever does not hold the task now under this fence: an expired
// lease is none, whether anybody noticed already or not.
func (t Task) holds(who string, fence int64, now time.Time) error {
	if t.Status != Ongoing || t.Claim.Claimant != who || t.Claim.Fence != fence || !now.Before(t.Claim.Until) {
		return errStale()
	}
	return nil
}

// heard refuses the words of somebody who lost the task. Who let it go by itself
// is still heard, until somebody takes it.
func (t Task) heard(who string, fence int64, now time.Time) error {
	if t.Status == Ongoing {
		return t.holds(who, fence, now)
	}
	if fence != 0 && fence != t.Claim.Fence {
		return errStale()
	}
	return nil
}

// renew moves the end of the lease.
func (t Task) renew(now time.Time) Task {
	t.Claim.Until = now.Add(t.Claim.Span)
	return t
}

// letGo ends the claim; the task goes on to another status.
func (t Task) letGo(to Status, cause string) Task {
	t.Status, t.Cause = to, cause
	t.Claim.Claimant, t.Claim.Until = "", time.Time{}
	if to.Done() {
		t.Claim.Losses = 0
	}
	return t
}

// takeAway ends the claim without its holder, whose fence is worth nothing from
// now on.
func (t Task) takeAway(to Status, cause string) Task {
	t = t.letGo(to, cause)
	t.Claim.Fence++
	return t
}

// lapse takes the task from a holder whose lease ran out. It is offered again,
// until it was lost so often that a person must look.
func (t Task) lapse(now time.Time, most int) (Task, bool) {
	if t.Status != Ongoing || now.Before(t.Claim.Until) {
		return t, false
	}
	if !(Actor{Principal: t.Claim.Claimant}).person() { // a person who let it lie is no worker that vanished
		t.Claim.Losses++
	}
	if t.Claim.Losses >= most {
		return t.takeAway(Blocked, CauseLost), true
	}
	return t.takeAway(NotStarted, CauseLapsed), true
}
