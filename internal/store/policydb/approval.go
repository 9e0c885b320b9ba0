package policydb

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
)

// NextApproval implements policy.Store.
func (*Store) NextApproval(tx event.Tx) (n int64, err error) {
	err = q.Row(tx, "next_approval", []any{tx.Account()}, &n)
	return n, err
}

// texts are the columns of an approval that hold JSON.
type texts struct{ request, original, asks, reasons, evidence string }

func textsOf(a policy.Approval) (t texts, err error) {
	for _, c := range []struct {
		to *string
		v  any
	}{{&t.request, a.Request}, {&t.asks, a.Asks}, {&t.reasons, a.Reasons}, {&t.evidence, evidenceOf(a.Evidence)}} {
		b, err := canon.JSON(c.v)
		if err != nil {
			return t, fault.New(fault.Invalid, "write an approval: %w", err)
		}
		*c.to = string(b)
	}
	t.original = string(a.Original)
	if a.Erased { // stays so
		t.request, t.original, t.reasons = "", "", ""
	}
	return t, nil
}

type reference struct {
	Kind event.RefKind `json:"kind"`
	ID   id.ID         `json:"id"`
}

func evidenceOf(refs []event.Reference) []reference {
	out := make([]reference, len(refs))
	for i, r := range refs {
		out[i] = reference(r)
	}
	return out
}

// AddApproval implements policy.Store.
func (*Store) AddApproval(tx event.Tx, a policy.Approval) (bool, error) {
	t, err := textsOf(a)
	if err != nil {
		return false, err
	}
	return changed(q.Exec(tx, "add_approval", tx.Account(), a.ID, a.Number, string(a.State), a.Revision, string(a.Asker), a.AskerID,
		a.Request.Run, a.Invoke, subject(tx, a.Subject), t.request, t.original, a.Call, a.Digest, a.Shape, t.asks, a.Rule, a.Version,
		a.Risk.Or(0).String(), t.reasons, a.Words, t.evidence, a.Reversible, us(a.AskedAt), us(a.ExpiresAt),
		a.Requested.ID, a.Requested.Correlation, a.Requested.Label.String(),
		string(a.Answer), a.AnsweredBy, us(a.AnsweredAt), string(a.Scope), string(a.Via), a.Reason, us(a.EffectiveAt),
		a.Grant, a.Endorsement, a.Use))
}

// SetRequested implements policy.Store.
func (*Store) SetRequested(tx event.Tx, approval id.ID, ref event.Ref) error {
	_, err := q.Exec(tx, "set_requested", ref.ID, ref.Correlation, ref.Label.String(), tx.Account(), approval)
	return err
}

// UpdateApproval implements policy.Store.
func (*Store) UpdateApproval(tx event.Tx, a policy.Approval) (bool, error) {
	t, err := textsOf(a)
	if err != nil {
		return false, err
	}
	return changed(q.Exec(tx, "update_approval", string(a.State), a.Revision, t.request, t.original, a.Call, a.Digest, a.Shape, t.asks, a.Rule,
		a.Version, a.Risk.Or(0).String(), t.reasons, string(a.Answer), a.AnsweredBy, us(a.AnsweredAt), string(a.Scope), string(a.Via), a.Reason,
		us(a.EffectiveAt), a.Grant, a.Endorsement, a.Use, tx.Account(), a.ID, a.Revision-1))
}

func scanApproval(scan scanner) (a policy.Approval, err error) {
	var t texts
	var run id.ID
	var risk, label string
	var asked, expires, answered, effective int64
	if err = scan(&a.ID, &a.Number, (*string)(&a.State), &a.Revision, (*string)(&a.Asker), &a.AskerID, &run, &a.Invoke, &a.Subject,
		&t.request, &t.original, &a.Call, &a.Digest, &a.Shape, &t.asks, &a.Rule, &a.Version, &risk, &t.reasons, &a.Words, &t.evidence,
		&a.Reversible, &asked, &expires, &a.Requested.ID, &a.Requested.Correlation, &label,
		(*string)(&a.Answer), &a.AnsweredBy, &answered, (*string)(&a.Scope), (*string)(&a.Via), &a.Reason, &effective,
		&a.Grant, &a.Endorsement, &a.Use); err != nil {
		return a, err
	}
	a.Key = "AP-" + strconv.FormatInt(a.Number, 10)
	a.AskedAt, a.ExpiresAt = clock.FromMicros(asked), clock.FromMicros(expires)
	a.AnsweredAt, a.EffectiveAt = clock.FromMicros(answered), clock.FromMicros(effective)
	if a.Requested.Label, err = event.ParseLabel(label); err != nil {
		return a, err
	}
	if risk != "" {
		k, err := policy.ParseRisk(risk)
		if err != nil {
			return a, err
		}
		a.Risk = policy.Known(k)
	}
	var refs []reference
	if err = read(a.ID, t.asks, &a.Asks); err == nil {
		err = read(a.ID, t.evidence, &refs)
	}
	for _, r := range refs {
		a.Evidence = append(a.Evidence, event.Reference(r))
	}
	if a.Erased = t.request == ""; a.Erased || err != nil {
		a.Request.Run, a.Request.Invoke = run, a.Invoke
		return a, err
	}
	if err = read(a.ID, t.request, &a.Request); err == nil {
		err = read(a.ID, t.reasons, &a.Reasons)
	}
	if t.original != "" {
		a.Original = json.RawMessage(t.original)
	}
	a.Request.Invoke, a.Request.Subject = a.Invoke, a.Subject
	return a, err
}

func read(approval id.ID, text string, to any) error {
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fault.New(fault.Corrupt, "approval %s: %w", approval, err)
	}
	return nil
}

func one(tx event.Tx, name string, args ...any) (policy.Approval, error) {
	return scanApproval(func(dest ...any) error { return q.Row(tx, name, args, dest...) })
}

// GetApproval implements policy.Store.
func (*Store) GetApproval(tx event.Tx, approval id.ID) (policy.Approval, error) {
	return one(tx, "get_approval", tx.Account(), approval)
}

// GetApprovalByNumber implements policy.Store.
func (*Store) GetApprovalByNumber(tx event.Tx, n int64) (policy.Approval, error) {
	return one(tx, "get_approval_by_number", tx.Account(), n)
}

// FindLive implements policy.Store.
func (*Store) FindLive(tx event.Tx, asker id.ID, call string) (policy.Approval, bool, error) {
	a, err := one(tx, "find_live", tx.Account(), asker, call)
	ok, err := found(err)
	return a, ok, err
}

// FindDenied implements policy.Store.
func (*Store) FindDenied(tx event.Tx, asker id.ID, shape string) (policy.Approval, bool, error) {
	a, err := one(tx, "find_denied", tx.Account(), asker, shape)
	ok, err := found(err)
	return a, ok, err
}

// ListApprovals implements policy.Store.
func (*Store) ListApprovals(tx event.Tx, f policy.ApprovalFilter) ([]policy.Approval, error) {
	before, limit := f.Before, f.Limit
	if before == 0 {
		before = math.MaxInt64
	}
	if limit == 0 {
		limit = 100
	}
	return list(tx, "list_approvals", []any{tx.Account(), before, string(f.State), string(f.State),
		flag(!f.Run.IsZero()), f.Run, flag(!f.Asker.IsZero()), f.Asker, limit}, scanApproval)
}
