package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestKindSurvivesWrapping(t *testing.T) {
	base := New(Invalid, "name is empty").On("name").WithFix("give one")
	err := fmt.Errorf("save: %w", Wrap(Unavailable, base, "save agent"))
	if KindOf(err) != Invalid {
		t.Fatalf("kind = %v, want invalid", KindOf(err))
	}
	if !Is(fmt.Errorf("x: %w", context.Canceled), Cancelled) {
		t.Fatal("context.Canceled is not Cancelled")
	}
}

func TestPublicHidesCauses(t *testing.T) {
	secret := errors.New("password=hunter2")
	msg, _, _ := Public(New(Unavailable, "open the database: %w", secret))
	if msg != "open the database" {
		t.Fatalf("public message = %q", msg)
	}
	if msg, _, _ := Public(secret); msg != "internal error" {
		t.Fatalf("unclassified error shown as %q", msg)
	}
}

func TestEveryKindHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.String()] {
			t.Fatalf("name %q twice", k)
		}
		seen[k.String()] = true
	}
	if Kind(200).String() != "internal" {
		t.Fatal("an unknown kind must read as internal")
	}
}
