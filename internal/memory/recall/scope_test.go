package recall_test

import (
	"testing"

	"github.com/witan-run/witan/internal/memory/recall"
)

func TestScopesAreSpelledInOneWay(t *testing.T) {
	t.Parallel()
	ws := "workspace:06e2m8z8xm000w0000000000zz"
	for text, ok := range map[string]bool{
		"account": true, ws: true, "agent:coordinator": true, "mind:06e2m8z8xm000w0000000000zz": true,
		"": false, "Account": false, "account:x": false, "workspace:": false, "workspace:06E2M8Z8XM000W0000000000ZZ": false,
		"agent:": false, "agent:A b": false, "agent:../x": false, "person:x": false,
	} {
		s, err := recall.ParseScope(text)
		if (err == nil) != ok {
			t.Errorf("ParseScope(%q) = %v, want ok %t", text, err, ok)
		}
		if ok && string(s) != text {
			t.Errorf("ParseScope(%q) = %q", text, s)
		}
	}
	if recall.Account.ID() == recall.Scope("agent:account").ID() || recall.Account.ID() != recall.Scope("account").ID() {
		t.Error("scope ids do not tell scopes apart")
	}
}

func TestSensitivitiesReadBack(t *testing.T) {
	t.Parallel()
	for s := recall.Open; s <= recall.Restricted; s++ {
		back, err := recall.ParseSensitivity(s.String())
		if err != nil || back != s {
			t.Errorf("%v reads back as %v, %v", s, back, err)
		}
	}
	if _, err := recall.ParseSensitivity(""); err == nil {
		t.Error("the empty word is a sensitivity")
	}
}
