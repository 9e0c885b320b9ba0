package policydb

import (
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

func scanGrant(scan scanner) (g policy.GrantRow, err error) {
	var grant id.ID
	var holder, spec, label string
	var at, ended int64
	if err = scan(&grant, &holder, &spec, &g.Used, &g.Person, &g.Approval, &g.Subject, &label, &at, &g.Ended, &ended); err != nil {
		return g, err
	}
	var s policy.GrantSpec
	if err = json.Unmarshal([]byte(spec), &s); err != nil {
		return g, fault.New(fault.Corrupt, "grant %s: %w", grant, err)
	}
	if g.Grant, err = policy.RestoreGrant(grant, holder, s); err != nil {
		return g, err
	}
	g.At, g.EndedAt = clock.FromMicros(at), clock.FromMicros(ended)
	g.Label, err = event.ParseLabel(label)
	return g, err
}

// ListGrantsFor implements policy.Store.
func (*Store) ListGrantsFor(tx event.Tx, holder string, now time.Time, use id.ID) ([]policy.GrantRow, error) {
	return list(tx, "list_grants_for", []any{tx.Account(), holder, us(now), us(now), use}, scanGrant)
}

// ListGrants implements policy.Store.
func (*Store) ListGrants(tx event.Tx, all bool) ([]policy.GrantRow, error) {
	return list(tx, "list_grants", []any{tx.Account(), flag(all)}, scanGrant)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// GetGrant implements policy.Store.
func (*Store) GetGrant(tx event.Tx, grant id.ID) (policy.GrantRow, error) {
	return scanGrant(func(dest ...any) error { return q.Row(tx, "get_grant", []any{tx.Account(), grant}, dest...) })
}

// SaveGrant implements policy.Store.
func (*Store) SaveGrant(tx event.Tx, g policy.GrantRow) error {
	spec, err := canon.JSON(g.Spec)
	if err != nil {
		return fault.New(fault.Invalid, "write a grant: %w", err)
	}
	_, err = q.Exec(tx, "add_grant", tx.Account(), g.ID, g.Holder, string(spec), g.Spec.Uses, g.Spec.ExpiresAt, g.Person, g.Approval,
		subject(tx, g.Subject), g.Label.String(), us(g.At))
	return err
}

// subject names the account where nobody in particular is meant, as events do.
func subject(tx event.Tx, s id.ID) id.ID {
	if s.IsZero() {
		return tx.Account()
	}
	return s
}

// UseGrant implements policy.Store.
func (*Store) UseGrant(tx event.Tx, grant, use id.ID, now time.Time) (bool, error) {
	var at int64
	if ok, err := found(q.Row(tx, "was_used", []any{tx.Account(), grant, use}, &at)); err != nil || ok {
		return ok, err
	}
	if ok, err := changed(q.Exec(tx, "use_grant", tx.Account(), grant, us(now), us(now))); err != nil || !ok {
		return false, err
	}
	_, err := q.Exec(tx, "note_use", tx.Account(), grant, use, us(now))
	return err == nil, err
}

// EndGrant implements policy.Store.
func (*Store) EndGrant(tx event.Tx, grant id.ID, how string, at time.Time) (bool, error) {
	return changed(q.Exec(tx, "end_grant", how, us(at), tx.Account(), grant))
}
