package identity

import "slices"

// Role is what a person is to the account.
type Role string

// The three roles (issue 2, part 2, item 6).
const (
	Owner    Role = "owner"    // everything, people and policy included
	Operator Role = "operator" // runs it: answers, sends, resumes
	Viewer   Role = "viewer"   // reads, and may halt
)

// Roles returns the roles, from most to least.
func Roles() []Role { return []Role{Owner, Operator, Viewer} }

// Valid reports whether r is one of the three.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// rank orders roles: a higher rank may do everything that a lower one may. It
// is a property of the table that a test checks, not a second source of it.
func (r Role) rank() int { return len(Roles()) - slices.Index(Roles(), r) }

// lower returns the lesser of two roles: what a token narrowed to b may do
// when its person has a.
func lower(a, b Role) Role {
	if b.Valid() && b.rank() < a.rank() {
		return b
	}
	return a
}
