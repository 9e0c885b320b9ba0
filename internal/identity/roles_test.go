package identity

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

//go:generate go test . -run ^TestRolesPageIsFresh$ -update

var update = flag.Bool("update", false, "write docs/roles.md")

func TestRolesPageIsFresh(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "roles.md")
	if *update {
		if err := os.WriteFile(path, []byte(RolesPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), RolesPage()); d != "" {
		t.Errorf("docs/roles.md is stale: run go generate ./internal/identity\n%s", d)
	}
}

func TestRolesTableIsWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[Act]bool{}
	for _, r := range Rows() {
		if seen[r.Act] {
			t.Errorf("%s stands twice", r.Act)
		}
		seen[r.Act] = true
		kinds := 0
		for _, on := range []bool{r.Public, r.Machine, len(r.Roles) > 0} {
			if on {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s is public, of the machine and of roles %d times, want once", r.Act, kinds)
		}
		if r.StepUp && len(r.Roles) == 0 {
			t.Errorf("%s asks for a step-up of nobody", r.Act)
		}
		if r.Doc == "" {
			t.Errorf("%s has no sentence", r.Act)
		}
		if r.Machine || r.Public {
			continue
		}
		for _, high := range Roles() {
			for _, low := range Roles() {
				if high.rank() > low.rank() && Allowed(low, r.Act) && !Allowed(high, r.Act) {
					t.Errorf("%s may do %s, %s may not: lower() would widen a token", low, r.Act, high)
				}
			}
		}
	}
}

func TestRolesSayWhatTheIssueSays(t *testing.T) {
	t.Parallel()
	yes := func(r ...Role) []Role { return r }
	for act, want := range map[Act][]Role{
		ActHaltSet: yes(Owner, Operator, Viewer), ActHaltClear: yes(Owner, Operator), ActPolicyWrite: yes(Owner),
		ActPeopleManage: yes(Owner), ActTokenCreate: yes(Owner, Operator, Viewer), ActJournalRead: yes(Owner, Operator, Viewer),
		ActInboxRead: yes(Owner, Operator, Viewer), ActApprovalAnswer: yes(Owner, Operator), ActBackupRun: yes(Owner),
		ActMessageSend: yes(Owner, Operator), "no.such.act": nil, ActRestore: nil,
	} {
		var got []Role
		for _, r := range Roles() {
			if Allowed(r, act) {
				got = append(got, r)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", act, d)
		}
	}
	if Allowed("", ActHaltSet) || Allowed("root", ActHaltSet) {
		t.Error("an unknown role was allowed something")
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	person := id.MustParse("01jzzzzzzzzzzzzzzzzzzzzzzz")
	owner := Principal{PersonID: person, Role: Owner, Via: ViaSession, VerifiedAt: now}
	stale, token, viewer := owner, owner, owner
	stale.VerifiedAt = now.Add(-StepUpWindow - time.Second)
	future := owner
	future.VerifiedAt = now.Add(time.Hour)
	token.Via = ViaToken
	viewer.Role = Viewer
	for name, c := range map[string]struct {
		p    Principal
		act  Act
		want fault.Kind
		ok   bool
	}{
		"nobody may sign in":                             {Principal{}, ActSignIn, 0, true},
		"nobody may not read the inbox":                  {Principal{}, ActInboxRead, fault.Unauthorized, false},
		"an owner writes policy":                         {owner, ActPolicyWrite, 0, true},
		"an owner who signed in long ago is asked again": {stale, ActPolicyWrite, fault.Denied, false},
		"a proof from the future is none":                {future, ActPolicyWrite, fault.Denied, false},
		"a token makes no tokens":                        {token, ActTokenCreate, fault.Denied, false},
		"a token reads":                                  {token, ActInboxRead, 0, true},
		"a viewer may halt":                              {viewer, ActHaltSet, 0, true},
		"a viewer may not resume":                        {viewer, ActHaltClear, fault.Denied, false},
		"an unknown act is nobody's":                     {owner, "x.y", fault.Denied, false},
		"no browser restores":                            {owner, ActRestore, fault.Denied, false},
		"the machine restores":                           {Machine(person), ActRestore, 0, true},
		"the machine manages people":                     {Machine(person), ActPeopleManage, 0, true},
	} {
		err := Authorize(c.p, c.act, now)
		if (err == nil) != c.ok || err != nil && fault.KindOf(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
		if asks := errors.Is(err, ErrStepUp); asks != slices.Contains([]string{
			"an owner who signed in long ago is asked again", "a proof from the future is none"}, name) {
			t.Errorf("%s: asks for a step-up: %v", name, asks)
		}
	}
}

func TestLowerNeverWidens(t *testing.T) {
	t.Parallel()
	for _, a := range Roles() {
		for _, b := range append(Roles(), "", "root") {
			for _, act := range Acts() {
				if got := lower(a, b); Allowed(got, act) && !Allowed(a, act) {
					t.Errorf("lower(%s, %s) = %s may do %s", a, b, got, act)
				}
			}
		}
	}
}
