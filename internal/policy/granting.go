package policy

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// MakeGrant gives an actor a scoped, expiring permission, without an approval
// that it answers. Only an owner or operator can; ExpiresAt is required and at
// most 366 days away.
func (s *Service) MakeGrant(ctx context.Context, account, person id.ID, holder string, spec GrantSpec) (out GrantRow, err error) {
	err = s.journal.Do(ctx, account, func(tx event.Tx) error {
		if _, err := s.authorised(tx, person); err != nil {
			return err
		}
		now, err := s.store.Now(tx)
		if err != nil {
			return err
		}
		g, err := newGrant(tx.NewID(), holder, spec)
		if err != nil {
			return on(err, "grant", -1)
		}
		if err := g.lasts(now); err != nil {
			return err
		}
		out = GrantRow{Grant: g, Person: person, At: now}
		return s.addGrant(tx, out)
	})
	return out, err
}

// addGrant writes a grant and says grant.made.
func (s *Service) addGrant(tx event.Tx, g GrantRow, causes ...event.Ref) error {
	draft := event.Draft{
		Payload: event.GrantMade{
			GrantID: g.ID, Holder: g.Holder, Skill: g.Spec.Skill, Manifest: g.Spec.Manifest, Targets: g.Spec.Targets,
			Arguments: g.Spec.Arguments, Access: words(g.Spec.Access), MaxRisk: g.Spec.MaxRisk.String(), Uses: g.Spec.Uses,
			ExpiresAt: g.Spec.ExpiresAt, RunID: g.Spec.Run, PersonID: g.Person, Cause: g.Approval,
		},
		Summary: clip(g.Sentence(), maxSummary), Causes: causes, Subject: g.Subject,
	}
	if len(causes) == 0 {
		draft.Label = byPerson()
	}
	e, err := tx.Emit(s.origin, draft)
	if err != nil {
		return err
	}
	g.Label = e.Label
	return s.store.SaveGrant(tx, g)
}

// RevokeGrant ends a grant. One that has ended is fault.Conflict.
func (s *Service) RevokeGrant(ctx context.Context, account, person, grant id.ID) error {
	return s.journal.Do(ctx, account, func(tx event.Tx) error {
		if _, err := s.authorised(tx, person); err != nil {
			return err
		}
		if _, err := s.store.GetGrant(tx, grant); err != nil {
			return err
		}
		now, err := s.store.Now(tx)
		if err != nil {
			return err
		}
		return s.endGrant(tx, grant, "revoked", person, now)
	})
}

func (s *Service) endGrant(tx event.Tx, grant id.ID, how string, person id.ID, now time.Time, causes ...event.Ref) error {
	ok, err := s.store.EndGrant(tx, grant, how, now)
	if err != nil {
		return err
	}
	if !ok {
		if how != "revoked" {
			return nil
		}
		return fault.New(fault.Conflict, "the grant has ended already")
	}
	draft := event.Draft{Payload: event.GrantEnded{GrantID: grant, How: how, PersonID: person}, Summary: "A grant ended: " + how + ".", Causes: causes}
	if len(causes) == 0 {
		draft.Label = byPerson()
	}
	_, err = tx.Emit(s.origin, draft)
	return err
}

// InForce reports whether a grant can answer anything at now.
func (g GrantRow) InForce(now time.Time) bool {
	return g.Ended == "" && !now.Before(g.At) && clock.Micros(now) < g.Spec.ExpiresAt && (g.Spec.Uses == 0 || g.Used < g.Spec.Uses)
}
