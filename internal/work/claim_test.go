package work

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/witan-run/witan/internal/kit/fault"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func queued() Task { return Task{Status: NotStarted, Assignee: Agent} }

func TestAClaimIsHeldRenewedAndLost(t *testing.T) {
	t.Parallel()
	one, err := queued().take("worker:a", noon, time.Minute)
	if err != nil || one.Status != Ongoing || one.Claim.Fence != 1 || !one.Claim.Until.Equal(noon.Add(time.Minute)) {
		t.Fatalf("%+v %v", one, err)
	}
	if _, err := one.take("worker:b", noon, time.Minute); !fault.Is(err, fault.Conflict) {
		t.Errorf("taken twice: %v", err)
	}
	for name, c := range map[string]struct {
		who   string
		fence int64
		at    time.Duration
		ok    bool
	}{
		"its own": {"worker:a", 1, 59 * time.Second, true}, "another": {"worker:b", 1, 0, false}, "an old fence": {"worker:a", 0, 0, false},
		"too late, noticed or not": {"worker:a", 1, time.Minute, false},
	} {
		if err := one.holds(c.who, c.fence, noon.Add(c.at)); (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Stale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, lapsed := one.renew(noon.Add(30*time.Second)).lapse(noon.Add(time.Minute), 3); lapsed {
		t.Error("a renewed lease ran out")
	}
	back, err := one.take("worker:a", noon.Add(time.Second), time.Minute)
	if err != nil || back.Claim.Fence != 2 || back.Cause != CauseResumed || back.holds("worker:a", 1, noon.Add(2*time.Second)) == nil {
		t.Errorf("who comes back shuts its former self out: %+v %v", back, err)
	}
}

func TestALeaseThatRunsOutTooOftenNeedsAPerson(t *testing.T) {
	t.Parallel()
	task, now := queued(), noon
	for n := 1; n <= 3; n++ {
		task, _ = task.take("worker:a", now, time.Minute)
		now = now.Add(time.Minute)
		task, _ = task.lapse(now, 3)
		want, why := NotStarted, AfterLoss
		if n == 3 {
			want, why = Blocked, LostTooOften
		}
		if task.Status != want || Why(task, Facts{}) != why || task.Claim.Claimant != "" {
			t.Fatalf("after %d: %s because %s", n, task.Status, Why(task, Facts{}))
		}
	}
}

func TestWhoLetGoIsStillHeardAndWhoLostItIsNot(t *testing.T) {
	t.Parallel()
	task, _ := queued().take("worker:a", noon, time.Minute)
	done := task.letGo(Completed, CauseMoved)
	if err := done.heard("worker:a", 1, noon.Add(time.Hour)); err != nil {
		t.Errorf("a reply to what it completed: %v", err)
	}
	gone, _ := task.lapse(noon.Add(time.Minute), 3)
	if err := gone.heard("worker:a", 1, noon.Add(time.Minute)); !fault.Is(err, fault.Stale) {
		t.Errorf("late words: %v", err)
	}
	next, _ := done.take("worker:b", noon, time.Minute)
	if err := next.heard("worker:a", 1, noon); !fault.Is(err, fault.Stale) {
		t.Errorf("words into another's hands: %v", err)
	}
	if err := queued().heard("worker:a", 0, noon); err != nil {
		t.Errorf("a word on what nobody holds: %v", err)
	}
}

// TestNoInterleavingGivesOneTaskToTwo lets workers claim, pause, come back and
// write late, in any order, while time passes and leases run out: the task is
// completed once, and only by whoever held it.
func TestNoInterleavingGivesOneTaskToTwo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task, now, effects := queued(), noon, 0
		fences := map[string]int64{} // what each worker believes to hold
		owners := map[int64]string{}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			who := fmt.Sprintf("worker:%d", rapid.IntRange(0, 3).Draw(t, "worker"))
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			case 0:
				if next, err := task.take(who, now, time.Minute); err == nil && task.Status != Completed {
					if was := owners[next.Claim.Fence]; was != "" {
						t.Fatalf("fence %d was given to %s and to %s", next.Claim.Fence, was, who)
					}
					task, fences[who], owners[next.Claim.Fence] = next, next.Claim.Fence, who
				}
			case 1:
				if task.holds(who, fences[who], now) == nil {
					task = task.renew(now)
				}
			case 2: // a late or a timely completion
				if task.holds(who, fences[who], now) != nil {
					continue
				}
				if owners[task.Claim.Fence] != who || !now.Before(task.Claim.Until) {
					t.Fatalf("%s wrote under a claim of %s", who, owners[task.Claim.Fence])
				}
				effects++
				task = task.letGo(Completed, CauseMoved)
			case 3:
				now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			case 4:
				task, _ = task.lapse(now, 1000)
			}
			if (task.Status == Ongoing) != (task.Claim.Claimant != "") {
				t.Fatalf("%s in the hands of %q", task.Status, task.Claim.Claimant)
			}
		}
		if effects > 1 {
			t.Fatalf("completed %d times", effects)
		}
	})
}
