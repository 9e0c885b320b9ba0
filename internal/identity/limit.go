package identity

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// LimitRow counts the tries of one name or one source address.
type LimitRow struct {
	Failures    int64
	LockedUntil time.Time
	UpdatedAt   time.Time
}

// rule says how many tries are free, how long the first lock is, how long a
// lock can get (each doubles the last), and when all is forgotten.
type rule struct {
	scope     string
	free      int64
	base, max time.Duration
	forget    time.Duration
}

// The limits. A name's lock is short, so that a stranger cannot keep its owner
// out for long, and it does not hold for passkeys, which cannot be guessed.
func nameRule() rule {
	return rule{scope: "name", free: 5, base: 30 * time.Second, max: 15 * time.Minute, forget: 24 * time.Hour}
}

func addressRule() rule {
	return rule{scope: "address", free: 20, base: time.Minute, max: time.Hour, forget: 6 * time.Hour}
}

// ceremonyRule bounds rows that strangers can cause without guessing anything.
func ceremonyRule() rule {
	return rule{scope: "ceremony", free: 30, base: time.Minute, max: 10 * time.Minute, forget: 10 * time.Minute}
}

// keepLimits is how long a row may be of use to any rule.
const keepLimits = 26 * time.Hour

// locked reports until when no try is looked at.
func (r rule) locked(l LimitRow, now time.Time) (until time.Time, yes bool) {
	return l.LockedUntil, now.Before(l.LockedUntil)
}

// charge counts one try that is about to be made, as if it had failed: tries
// that run at the same time cannot share one. It returns the row to store and
// how many free tries are left after it.
func (r rule) charge(l LimitRow, now time.Time) (LimitRow, int64) {
	if now.Sub(l.UpdatedAt) > r.forget {
		l = LimitRow{}
	}
	l.Failures++
	l.UpdatedAt = now
	if over := l.Failures - r.free; over >= 0 {
		lock := r.max
		if over < 20 && r.base<<over < r.max {
			lock = r.base << over
		}
		l.LockedUntil = now.Add(lock)
	}
	return l, max(0, r.free-l.Failures)
}

// refund takes back a charge: the try was good.
func (r rule) refund(l LimitRow, now time.Time) LimitRow {
	l.Failures = max(0, l.Failures-1)
	l.UpdatedAt = now
	if l.Failures < r.free {
		l.LockedUntil = time.Time{}
	}
	return l
}

// SignInError is a refused sign-in. It says the same for a wrong password, an
// unknown name and a disabled person. It unwraps to a *fault.Error of kind
// Unauthorized, or Limited while a lock holds.
type SignInError struct {
	Left  int64     // tries before the next lock; 0 while locked
	Until time.Time // when the lock ends; zero if there is none
	fault *fault.Error
}

// Error implements error.
func (e *SignInError) Error() string { return e.fault.Error() }

// Unwrap returns the classified error.
func (e *SignInError) Unwrap() error { return e.fault }

func refusedSignIn(left int64, until, now time.Time) *SignInError {
	f := fault.New(fault.Unauthorized, "that pair is wrong")
	if left > 0 {
		f = f.WithFix("%s left", count(left, "try is", "tries are"))
	} else {
		f = f.WithFix("wait %s", wait(until.Sub(now)))
	}
	return &SignInError{Left: left, Until: until, fault: f}
}

func lockedSignIn(until, now time.Time) *SignInError {
	return &SignInError{Until: until,
		fault: fault.New(fault.Limited, "too many tries").WithFix("wait %s, or use a passkey", wait(until.Sub(now)))}
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// wait renders a duration for a person, rounded up.
func wait(d time.Duration) string {
	if d <= time.Minute {
		return count(int64((d+time.Second-1)/time.Second), "second", "seconds")
	}
	return count(int64((d+time.Minute-1)/time.Minute), "minute", "minutes")
}

// sourceKey returns the form of an address that tries are counted by: an IPv4
// address, or the /64 of an IPv6 one, which is what one household has.
func sourceKey(address string) string {
	address = strings.TrimSpace(address)
	if ap, err := netip.ParseAddrPort(address); err == nil {
		address = ap.Addr().String()
	}
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return "none" // a local socket: all of them together
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	p, _ := ip.Prefix(64)
	return p.String()
}

// counter is one row to charge.
type counter struct {
	rule rule
	key  []byte
}

// counterOf keys a row by a MAC: the table holds neither addresses nor the
// names that were tried, which may be somebody's password in the wrong field.
func (s *Service) counterOf(r rule, text string) (counter, error) {
	key, err := s.keyring.MAC(secret.PurposeToken, []byte("witan/limit/"+r.scope+"\x00"+text))
	if err != nil {
		return counter{}, fault.Wrap(fault.Internal, err, "key a counter of tries")
	}
	return counter{rule: r, key: key}, nil
}

// charge counts a try against all counters, or refuses it before the first
// write if one of them is locked. left and until tell what the try costs if it
// turns out to be bad.
func (s *Service) charge(tx event.Tx, counters ...counter) (left int64, until time.Time, err error) {
	now := tx.Now()
	for _, c := range counters {
		l, found, err := s.store.FindLimit(tx, c.rule.scope, c.key)
		if err != nil {
			return 0, time.Time{}, err
		}
		if u, yes := c.rule.locked(l, now); found && yes {
			return 0, u, lockedSignIn(u, now)
		}
	}
	if err := s.store.PurgeLimits(tx, now.Add(-keepLimits)); err != nil {
		return 0, time.Time{}, err
	}
	for i, c := range counters {
		l, err := s.store.LockLimit(tx, c.rule.scope, c.key)
		if err != nil {
			return 0, time.Time{}, err
		}
		if u, yes := c.rule.locked(l, now); yes {
			return 0, u, lockedSignIn(u, now)
		}
		next, free := c.rule.charge(l, now)
		if err := s.store.SaveLimit(tx, c.rule.scope, c.key, next); err != nil {
			return 0, time.Time{}, err
		}
		if i == 0 || free < left {
			left = free
		}
		if next.LockedUntil.After(until) {
			until = next.LockedUntil
		}
	}
	return left, until, nil
}

// forgive takes the charge of a good try back: the name starts afresh, the
// address keeps its earlier failures, so that somebody with an account of their
// own cannot wipe them.
func (s *Service) forgive(tx event.Tx, counters ...counter) error {
	for _, c := range counters {
		if c.rule.scope == nameRule().scope {
			if err := s.store.DeleteLimit(tx, c.rule.scope, c.key); err != nil {
				return err
			}
			continue
		}
		if err := s.refund(tx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) refund(tx event.Tx, c counter) error {
	l, err := s.store.LockLimit(tx, c.rule.scope, c.key)
	if err != nil {
		return err
	}
	return s.store.SaveLimit(tx, c.rule.scope, c.key, c.rule.refund(l, tx.Now()))
}
