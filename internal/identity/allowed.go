package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// StepUpWindow is how long a proof (sign-in or step-up) is good for acts that
// need a fresh one.
const StepUpWindow = 15 * time.Minute

// ErrStepUp is in the chain of the refusal of an act that needs a fresh proof:
// an edge answers it by asking for the passkey or password again.
var ErrStepUp = errors.New("a fresh proof is needed")

// Acts returns every act, in the order of the table.
func Acts() []Act {
	var out []Act
	for _, r := range Rows() {
		out = append(out, r.Act)
	}
	return out
}

// LookupAct returns the row of an act.
func LookupAct(a Act) (Row, bool) {
	rows := Rows()
	k := slices.IndexFunc(rows, func(r Row) bool { return r.Act == a })
	if k < 0 {
		return Row{}, false
	}
	return rows[k], true
}

// Allowed reports whether a role may do an act. An unknown act and an unknown
// role are allowed nothing; a public act is allowed to every role.
func Allowed(role Role, a Act) bool {
	row, ok := LookupAct(a)
	return ok && role.Valid() && (row.Public || slices.Contains(row.Roles, role))
}

// Authorize says whether a principal may do an act now. The zero Principal is
// somebody who is not signed in. It returns Unauthorized if signing in would
// help, Denied otherwise; a refusal for want of a fresh proof has ErrStepUp in
// its chain.
func Authorize(p Principal, a Act, now time.Time) error {
	row, ok := LookupAct(a)
	switch {
	case !ok:
		return fault.New(fault.Denied, "%q is not an act of the roles table", a)
	case row.Public:
		return nil
	case p.IsZero():
		return fault.New(fault.Unauthorized, "nobody is signed in").WithFix("sign in first")
	case row.Machine && p.Via != ViaMachine:
		return fault.New(fault.Denied, "%s is done on the machine itself, with access to the data folder", a)
	case row.Machine:
		return nil
	case !Allowed(p.Role, a):
		return fault.New(fault.Denied, "the role %s may not do %s", p.Role, a).
			WithFix("it takes %s", either(row.Roles))
	case row.StepUp && p.Via == ViaToken:
		return fault.New(fault.Denied, "an API token may not do %s", a).WithFix("sign in, or run it on the machine itself")
	case row.StepUp && !p.FreshAt(now):
		return fault.New(fault.Denied, "%s needs your passkey or password again: %w", a, ErrStepUp)
	}
	return nil
}

// either renders roles as "an owner or an operator".
func either(roles []Role) string {
	var out []string
	for _, r := range roles {
		article := "a "
		if strings.ContainsRune("aeiou", rune(r[0])) {
			article = "an "
		}
		out = append(out, article+string(r))
	}
	return strings.Join(out, " or ")
}

// RolesPage renders the roles table as the Markdown of docs/roles.md.
func RolesPage() string {
	var b strings.Builder
	b.WriteString("# Who may do what\n\n" +
		"Generated from `internal/identity/act.go` by `go generate`; do not edit.\n\n" +
		"Every HTTP route, command and tool names one act of this table, and a test holds them to it.\n" +
		"A token has the role of its person, or less if it was narrowed.\n\n" +
		"- *public*: nobody needs to be signed in\n" +
		"- *machine*: only with access to the data folder, never over HTTP\n")
	fmt.Fprintf(&b, "- *step-up*: the passkey or password was given in the last %d minutes; an API token cannot do it\n\n",
		int(StepUpWindow.Minutes()))
	b.WriteString("| act | owner | operator | viewer | also | meaning |\n|---|---|---|---|---|---|\n")
	for _, r := range Rows() {
		fmt.Fprintf(&b, "| `%s`", r.Act)
		for _, role := range Roles() {
			mark := ""
			if Allowed(role, r.Act) {
				mark = "yes"
			}
			fmt.Fprintf(&b, " | %s", mark)
		}
		var also []string
		for word, on := range map[string]bool{"public": r.Public, "machine": r.Machine, "step-up": r.StepUp} {
			if on {
				also = append(also, word)
			}
		}
		slices.Sort(also)
		fmt.Fprintf(&b, " | %s | %s |\n", strings.Join(also, ", "), r.Doc)
	}
	return b.String()
}
