package policy

import (
	"context"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Halt stops everything in a scope: "account", "workspace:ID" or "agent:NAME".
// Anyone may, so by is a principal of any sort; the caller has made sure of who
// it is. Halting what stands still already changes nothing.
func (s *Service) Halt(ctx context.Context, account id.ID, by, scope, reason string) error {
	if kind, name, ok := strings.Cut(by, ":"); !ok || kind == "" || name == "" {
		return fault.New(fault.Invalid, "%q is no principal", by).On("by")
	}
	if err := haltScope(scope); err != nil {
		return err
	}
	if len(reason) > maxWords {
		return fault.New(fault.Limited, "a reason has at most %d bytes", maxWords).On("reason")
	}
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		stops, err := s.store.Stops(tx)
		if err != nil {
			return err
		}
		for _, st := range stops {
			if st.Scope == scope {
				return nil
			}
		}
		if err := s.store.Stop(tx, scope); err != nil {
			return err
		}
		_, err = tx.Emit(s.origin, event.Draft{Payload: event.HaltSet{Scope: scope, By: by, Reason: reason},
			Summary: clip("Halted: "+scope+".", maxSummary), Label: house()})
		return err
	})
}

// Resume lifts a stop. Only an owner or operator can; fault.NotFound if nothing
// is halted under that scope.
func (s *Service) Resume(ctx context.Context, account, person id.ID, scope string) error {
	if err := haltScope(scope); err != nil {
		return err
	}
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		if _, err := s.authorised(tx, person); err != nil {
			return err
		}
		if err := s.store.Unstop(tx, scope); err != nil {
			return err
		}
		_, err := tx.Emit(s.origin, event.Draft{Payload: event.HaltCleared{Scope: scope, By: principal(person)},
			Summary: clip("Resumed: "+scope+".", maxSummary), Label: byPerson()})
		return err
	})
}

// Halts lists the stops in force, oldest first.
func (s *Service) Halts(tx event.Tx) ([]Stop, error) { return s.store.Stops(tx) }

func haltScope(scope string) error {
	kind, name, ok := strings.Cut(scope, ":")
	switch {
	case scope == accountScope, ok && kind == "agent" && name != "":
		return nil
	case ok && kind == "workspace":
		if w, err := id.Parse(name); err == nil && !w.IsZero() {
			return nil
		}
	}
	return fault.New(fault.Invalid, "%q is nothing that can be halted", scope).On("scope").WithFix(`write "account", "workspace:ID" or "agent:NAME"`)
}
