package identity

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLimitGrowsAndForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	r := nameRule()
	var l LimitRow
	for i, want := range []struct {
		left int64
		lock time.Duration
	}{{4, 0}, {3, 0}, {2, 0}, {1, 0}, {0, 30 * time.Second}, {0, time.Minute}, {0, 2 * time.Minute}, {0, 4 * time.Minute},
		{0, 8 * time.Minute}, {0, 15 * time.Minute}, {0, 15 * time.Minute}} {
		if until, yes := r.locked(l, now); yes {
			now = until
		}
		var left int64
		l, left = r.charge(l, now)
		lock := time.Duration(0)
		if !l.LockedUntil.IsZero() {
			lock = l.LockedUntil.Sub(now)
		}
		if left != want.left || lock != want.lock {
			t.Errorf("try %d: %d left, locked %v; want %d, %v", i+1, left, lock, want.left, want.lock)
		}
	}
	now = now.Add(r.forget + time.Second)
	if _, left := r.charge(l, now); left != r.free-1 {
		t.Errorf("after %v %d tries are left", r.forget, left)
	}
}

// However an attacker times the tries, a day holds no more than a bounded
// number of them.
func TestLimitBoundsTriesOfADay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		r := nameRule()
		var l LimitRow
		tries, end := 0, now.Add(24*time.Hour)
		for range 300 {
			if until, yes := r.locked(l, now); yes {
				now = until.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "late")))
			}
			if now.After(end) {
				break
			}
			l, _ = r.charge(l, now)
			tries++
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "gap")))
		}
		if tries > 5+6+24*4 {
			t.Fatalf("%d tries in a day", tries)
		}
	})
}

func TestRefundUndoesACharge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		r := addressRule()
		before := LimitRow{Failures: rapid.Int64Range(0, r.free-1).Draw(t, "failures"), UpdatedAt: now}
		after, _ := r.charge(before, now)
		if got := r.refund(after, now); got != before {
			t.Fatalf("%+v charged and refunded is %+v", before, got)
		}
	})
}

func TestSourceKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "192.0.2.7:5000": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "[2001:db8::1]:80": "2001:db8::/64",
		"2001:db8::ffff:1": "2001:db8::/64", "[2001:db8::1]": "2001:db8::/64", "fe80::1%eth0": "fe80::/64", "": "none", "@": "none",
	} {
		if got := sourceKey(in); got != want {
			t.Errorf("sourceKey(%q) = %q, want %q", in, got, want)
		}
	}
}
