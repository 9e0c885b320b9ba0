package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Save makes a document the policy in force, as the version after base. Old and
// new text go into the chain.
//
// An owner or operator may change rules, only an owner guardrails. It returns
// fault.Conflict if base is no longer in force, fault.Invalid with the field of
// a broken rule, and the version in force if the document is the same.
func (s *Service) Save(ctx context.Context, account, person id.ID, base int, d Document, comment string) (version int, err error) {
	text, err := d.JSON()
	if err != nil {
		return 0, err
	}
	if len(text) > maxDocument {
		return 0, fault.New(fault.Limited, "a policy has at most %d bytes", maxDocument)
	}
	if _, err := Compile(base+1, d); err != nil {
		return 0, err
	}
	if len(comment) > maxWords {
		return 0, fault.New(fault.Limited, "a comment has at most %d bytes", maxWords).On("comment")
	}
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		owner, err := s.authorised(tx, person)
		if err != nil {
			return err
		}
		t, err := s.table(tx)
		if err != nil {
			return err
		}
		if t.version != base {
			return fault.New(fault.Conflict, "the policy changed to version %d while you edited", t.version).On("base").WithFix("compare with version %d", t.version)
		}
		old, err := t.document.JSON()
		if err != nil {
			return err
		}
		if string(old) == string(text) {
			version = base
			return nil
		}
		if !owner {
			was, err := canon.JSON(sorted(t.document.Guardrails))
			if err != nil {
				return err
			}
			is, err := canon.JSON(sorted(d.Guardrails))
			if err != nil {
				return err
			}
			if string(was) != string(is) {
				return fault.New(fault.Denied, "only an owner may change guardrails").On("guardrails")
			}
		}
		version = base + 1
		now, err := s.store.Now(tx)
		if err != nil {
			return err
		}
		ok, err := s.store.AppendVersion(tx, Version{Number: version, Document: text, Person: person, At: now}, documentDigest(text))
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Conflict, "the policy changed at this moment").On("base")
		}
		_, err = tx.Emit(s.origin, event.Draft{
			Payload: event.PolicySaved{Version: version, PersonID: person, By: principal(person), Old: old, New: text, Comment: comment},
			Summary: fmt.Sprintf("A person saved policy version %d.", version), Label: byPerson(),
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

func sorted(list []Rule) []Rule {
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b Rule) int { return a.ID - b.ID })
	return out
}

// OnAccount is the reaction to account.created: a fresh account gets the
// standard policy as version 1. An account that has a policy keeps it.
func (s *Service) OnAccount(tx event.Tx, e event.Event) error {
	if _, err := s.store.GetHead(tx); err == nil {
		return nil
	} else if !fault.Is(err, fault.NotFound) {
		return err
	}
	text, err := Standard().JSON()
	if err != nil {
		return err
	}
	now, err := s.store.Now(tx)
	if err != nil {
		return err
	}
	ok, err := s.store.AppendVersion(tx, Version{Number: 1, Document: text, At: now}, documentDigest(text))
	if err != nil || !ok { // another node was first
		return err
	}
	_, err = tx.Emit(s.origin, event.Draft{
		Payload: event.PolicySaved{Version: 1, By: "system", New: text},
		Summary: "The account starts with the standard policy.", Causes: []event.Ref{e.Ref()},
	})
	return err
}

// SetAutonomy moves the dial of the account ("account") or of one actor
// ("agent:NAME"). An actor's own dial counts up to the account's: lowering that
// one lowers everybody.
func (s *Service) SetAutonomy(ctx context.Context, account, person id.ID, scope string, value int) error {
	if value < 0 || value > maxAutonomy {
		return fault.New(fault.Invalid, "autonomy runs from 0 to %d", maxAutonomy).On("value")
	}
	if err := dialScope(scope); err != nil {
		return err
	}
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		if _, err := s.authorised(tx, person); err != nil {
			return err
		}
		top, own, err := s.store.FindAutonomy(tx, scope)
		if err != nil {
			return err
		}
		set := own
		if scope == accountScope {
			set = top
		}
		old := DefaultAutonomy
		if set != nil {
			old = *set
		} else if scope != accountScope && top != nil {
			old = *top
		}
		if set != nil && old == value {
			return nil
		}
		now, err := s.store.Now(tx)
		if err != nil {
			return err
		}
		if err := s.store.SaveAutonomy(tx, AutonomyMove{Scope: scope, Value: value, Person: person, At: now}); err != nil {
			return err
		}
		_, err = tx.Emit(s.origin, event.Draft{
			Payload: event.AutonomyChanged{Scope: scope, Old: old, New: value, PersonID: person},
			Summary: clip(fmt.Sprintf("A person set the autonomy of %s to %d.", scope, value), maxSummary), Label: byPerson(),
		})
		return err
	})
}

const accountScope = "account"

func dialScope(scope string) error {
	kind, name, ok := strings.Cut(scope, ":")
	if scope == accountScope || ok && name != "" && (kind == "agent" || kind == "mind" || kind == "worker") {
		return nil
	}
	return fault.New(fault.Invalid, "%q has no dial", scope).On("scope").WithFix(`write "account" or "agent:NAME"`)
}
