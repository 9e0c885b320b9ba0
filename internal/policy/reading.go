package policy

import (
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Current returns the compiled policy in force.
func (s *Service) Current(tx event.Tx) (*Table, error) { return s.table(tx) }

// Versions lists all versions of the policy, newest first.
func (s *Service) Versions(tx event.Tx) ([]Version, error) { return s.store.ListVersions(tx) }

// GetVersion returns one stored version.
func (s *Service) GetVersion(tx event.Tx, n int) (Version, error) { return s.store.GetVersion(tx, n) }

// Preview decides a call by the rows in force without saying so: for a test
// bench. Nothing may act on it.
func (s *Service) Preview(tx event.Tx, r Request) (Decision, error) {
	d, _, err := s.decide(tx, r, id.Nil)
	return d, err
}

// GetApproval returns one approval; fault.NotFound also for another account's.
func (s *Service) GetApproval(tx event.Tx, approval id.ID) (Approval, error) {
	return s.store.GetApproval(tx, approval)
}

// GetApprovalByKey returns the approval with a key such as "AP-318".
func (s *Service) GetApprovalByKey(tx event.Tx, key string) (Approval, error) {
	n, ok := strings.CutPrefix(strings.ToUpper(key), "AP-")
	number, err := strconv.ParseInt(n, 10, 64)
	if !ok || err != nil || number < 1 {
		return Approval{}, fault.New(fault.Invalid, "%q is no key of an approval", key).On("key").WithFix("write it as AP-318")
	}
	return s.store.GetApprovalByNumber(tx, number)
}

// ListApprovals lists approvals, newest first.
func (s *Service) ListApprovals(tx event.Tx, f ApprovalFilter) ([]Approval, error) {
	if f.Limit < 0 || f.Limit > maxList {
		return nil, fault.New(fault.Invalid, "a page has at most %d approvals", maxList).On("limit")
	}
	return s.store.ListApprovals(tx, f)
}

// ListGrants lists the grants that were not ended, newest first; with all, the
// ended ones too. See GrantRow.InForce.
func (s *Service) ListGrants(tx event.Tx, all bool) ([]GrantRow, error) {
	return s.store.ListGrants(tx, all)
}

// Autonomy returns the dial that counts for an actor; for "account" the account's.
func (s *Service) Autonomy(tx event.Tx, actor string) (int, error) {
	if actor == accountScope {
		actor = ""
	}
	return s.dial(tx, actor)
}

// ListAutonomy lists the dials that were set.
func (s *Service) ListAutonomy(tx event.Tx) ([]AutonomyMove, error) { return s.store.ListAutonomy(tx) }

// AutonomyHistory lists the moves of one dial, newest first.
func (s *Service) AutonomyHistory(tx event.Tx, scope string) ([]AutonomyMove, error) {
	return s.store.ListAutonomyHistory(tx, scope)
}
