package policy

import (
	"errors"
	"slices"
	"strconv"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Check lets an approval carry one call, at its execution, and uses it up.
// call is the digest of the exact call that is about to go (Request.Digest),
// and use names the effect: a second attempt of the same effect is the same
// use and passes again.
//
// It refuses everything else: fault.Stale for another call than the one that
// was shown, also by one byte of one argument, and for an approval that has
// expired (INV-7); fault.Conflict for one that was used by another effect or is
// not in force yet; fault.Denied for one that nobody allowed. The state changes
// with the event of the caller's own step, in the same commit.
func (s *Service) Check(tx event.Tx, approval id.ID, call string, use id.ID) error {
	if use.IsZero() {
		return fault.New(fault.Invalid, "an execution names its effect").On("use")
	}
	a, err := s.store.GetApproval(tx, approval)
	if err != nil {
		return err
	}
	return s.use(tx, a, call, use)
}

func (s *Service) use(tx event.Tx, a Approval, call string, use id.ID) error {
	if a.Call != call || a.Erased {
		return fault.New(fault.Stale, "the call is not the one that %s was answered for", a.Key)
	}
	switch a.State {
	case StateUsed:
		if a.Use == use {
			return nil
		}
		return fault.New(fault.Conflict, "%s was used already", a.Key)
	case StateAllowed:
	default:
		return fault.New(fault.Denied, "%s is %s", a.Key, a.State)
	}
	now, err := s.store.Now(tx)
	if err != nil {
		return err
	}
	if expired(now, a.ExpiresAt) {
		return fault.New(fault.Stale, "%s has expired", a.Key)
	}
	if !expired(now, a.EffectiveAt) {
		return fault.New(fault.Conflict, "%s is not in force yet", a.Key)
	}
	a.State, a.Use = StateUsed, use
	if err := s.update(tx, &a); err != nil {
		return err
	}
	return s.store.CancelTimer(tx, ExpiryTimer, a.ID.String())
}

// UseGrant counts one use of a grant, once for each effect, and ends the grant
// with its last one. It returns fault.Conflict if there is no use left or the
// grant has ended.
func (s *Service) UseGrant(tx event.Tx, grant, use id.ID, cause event.Ref) error {
	now, err := s.store.Now(tx)
	if err != nil {
		return err
	}
	g, err := s.store.GetGrant(tx, grant)
	if err != nil {
		return err
	}
	counted, err := s.store.UseGrant(tx, grant, use, now)
	if err != nil {
		return err
	}
	if !counted {
		return fault.New(fault.Conflict, "the grant has no use left or has ended")
	}
	if g.Spec.Uses == 0 || g.Ended != "" {
		return nil
	}
	if g, err = s.store.GetGrant(tx, grant); err != nil || g.Used < g.Spec.Uses || g.Ended != "" {
		return err
	}
	return s.endGrant(tx, grant, "used", id.Nil, now, cause)
}

// refusal reports whether err says no, as against that something broke.
func refusal(err error) bool {
	switch fault.KindOf(err) {
	case fault.Conflict, fault.Stale, fault.Denied, fault.NotFound:
		return true
	}
	return false
}

func message(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "it does not hold"
}

func has[T comparable](list []T, v T) bool { return slices.Contains(list, v) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
