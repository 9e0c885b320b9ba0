package policy

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Store is where policy keeps its rows; store/policydb implements it. No method
// opens or commits a transaction, and every one is bound to tx.Account().
// Conditional writes report whether they changed the row, so that of two
// transactions at once only one wins.
type Store interface {
	// Now is the database's clock, by which expiries are judged.
	Now(tx event.Tx) (time.Time, error)

	// GetHead returns the version in force, and fault.NotFound before the first.
	GetHead(tx event.Tx) (Head, error)
	// GetVersion returns a stored document.
	GetVersion(tx event.Tx, version int) (Version, error)
	ListVersions(tx event.Tx) ([]Version, error)
	// AppendVersion adds v and moves the head from v.Number-1 to it; false if the
	// head stood elsewhere.
	AppendVersion(tx event.Tx, v Version, digest string) (bool, error)

	// FindAutonomy returns the dials of the account and of one actor; nil for
	// one that was never set.
	FindAutonomy(tx event.Tx, actor string) (account, own *int, err error)
	// SaveAutonomy moves a dial and appends to its history.
	SaveAutonomy(tx event.Tx, m AutonomyMove) error
	ListAutonomy(tx event.Tx) ([]AutonomyMove, error)
	ListAutonomyHistory(tx event.Tx, scope string) ([]AutonomyMove, error)

	// ListGrantsFor returns the grants of a holder that are in force at now (begun
	// and not ended) and have a use left, or were already used by use (a retry of the same effect).
	ListGrantsFor(tx event.Tx, holder string, now time.Time, use id.ID) ([]GrantRow, error)
	ListGrants(tx event.Tx, all bool) ([]GrantRow, error)
	GetGrant(tx event.Tx, grant id.ID) (GrantRow, error)
	SaveGrant(tx event.Tx, g GrantRow) error
	// UseGrant counts one use; false if there is none left, it has ended, or now
	// is before its beginning or past its end. A use that was counted before is not counted again.
	UseGrant(tx event.Tx, grant, use id.ID, now time.Time) (counted bool, err error)
	// EndGrant ends a grant that has not ended; false if it had.
	EndGrant(tx event.Tx, grant id.ID, how string, at time.Time) (bool, error)

	ListEndorsements(tx event.Tx, run id.ID) ([]Endorsement, error)
	SaveEndorsement(tx event.Tx, e Endorsement, person, approval id.ID, at time.Time) error
	DropEndorsement(tx event.Tx, endorsement id.ID) error

	// NextApproval returns the next number of the account's approvals, from 1.
	NextApproval(tx event.Tx) (int64, error)
	// AddApproval adds an open approval; false if the asker has an open one with
	// the same call.
	AddApproval(tx event.Tx, a Approval) (bool, error)
	// SetRequested notes the event that asked.
	SetRequested(tx event.Tx, approval id.ID, ref event.Ref) error
	GetApproval(tx event.Tx, approval id.ID) (Approval, error)
	GetApprovalByNumber(tx event.Tx, number int64) (Approval, error)
	// FindLive returns the asker's approval of a call that is open, or allowed and
	// not used; false if there is none.
	FindLive(tx event.Tx, asker id.ID, call string) (Approval, bool, error)
	// FindDenied returns the asker's last denied approval of a shape.
	FindDenied(tx event.Tx, asker id.ID, shape string) (Approval, bool, error)
	// UpdateApproval writes a if its stored revision is a.Revision-1.
	UpdateApproval(tx event.Tx, a Approval) (bool, error)
	ListApprovals(tx event.Tx, f ApprovalFilter) ([]Approval, error)

	SetTimer(tx event.Tx, kind, key string, at time.Time) error
	CancelTimer(tx event.Tx, kind, key string) error

	Stop(tx event.Tx, scope string) error
	Unstop(tx event.Tx, scope string) error
	Stops(tx event.Tx) ([]Stop, error)
}

// Head is the version in force.
type Head struct {
	Version int
	Digest  string // of the document
}

// Version is one version of the policy as it is stored.
type Version struct {
	Number   int
	Document json.RawMessage // canonical JSON
	Person   id.ID           // Nil for the standard policy of a fresh account
	At       time.Time
}

// AutonomyMove is one move of a dial.
type AutonomyMove struct {
	Scope  string // account, or the principal of an actor: agent:NAME
	Value  int    // 0 to 100
	Person id.ID
	At     time.Time
}

// GrantRow is a grant as it is stored.
type GrantRow struct {
	Grant
	Used     int
	Person   id.ID
	Approval id.ID // the approval that it came with; Nil for one made directly
	Subject  id.ID // whose data the patterns are; Nil is the account
	Label    event.Label
	At       time.Time // from when it is in force
	Ended    string    // revoked, used, withdrawn; "" while in force, which expiry ends too
	EndedAt  time.Time
}

// ApprovalFilter picks approvals; zero fields do not filter.
type ApprovalFilter struct {
	State  State
	Run    id.ID
	Asker  id.ID
	Before int64 // numbers below this; for the next page
	Limit  int   // 0 is 100
}

// Stop is one halt in force.
type Stop struct {
	Scope string // account, workspace:ID, agent:NAME
	Since time.Time
}

// People says what a person may do; identity fills it (app/glue.go).
type People interface {
	// RoleOf returns owner, operator or viewer, and fault.NotFound if the account
	// has no such active person.
	RoleOf(tx event.Tx, person id.ID) (string, error)
}

// Starts returns the dial that an actor's own definition starts it with, 0 to
// 100; false if it has none. A dial that a person set for the actor counts
// instead. The owner of the definitions fills it (app/glue.go).
type Starts func(tx event.Tx, actor string) (value int, ok bool, err error)
