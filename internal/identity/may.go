package identity

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// May says whether a principal, as events name it, may do an act by the role
// that it has in this moment. It is for the services that do what a person
// wants: a door that forgets to ask is then no way around the table. The
// machine has an owner's reach. Denied for everybody else who is no active
// person of the account, and for a role that may not.
func May(tx event.Tx, s Store, principal string, a Act) error {
	row, ok := LookupAct(a)
	if !ok {
		return fault.New(fault.Internal, "%q is not an act of the roles table", a)
	}
	if principal == string(ViaMachine) {
		return nil
	}
	name, _ := strings.CutPrefix(principal, "person:")
	person, err := id.Parse(name)
	if err != nil || person.IsZero() {
		return fault.New(fault.Denied, "only a person can do this").On("person")
	}
	p, err := s.GetPerson(tx, person)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && p.State != Active:
		return fault.New(fault.Denied, "only an active person of this account can do this").On("person")
	case err != nil:
		return err
	case !Allowed(p.Role, a):
		return fault.New(fault.Denied, "the role %s may not do %s", p.Role, a).WithFix("it takes %s", either(row.Roles))
	}
	return nil
}
