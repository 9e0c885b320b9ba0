package policy

import (
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// AskRequest asks a person about a call that Decide said ASK to.
type AskRequest struct {
	Asker    Asker
	AskerID  id.ID // the run, session, plan step or draft
	Request  Request
	Decision Decision // of this request
	Words    string   // the asker's, at most 4 KiB; shown as a claim, never a title
	Evidence []event.Reference
	// Reversible says that what would happen can be taken back, from the manifest.
	Reversible bool
	Life       time.Duration // how long the call may be answered and used; 0 is 24 h, which is also the most
}

// Ask adds an approval and says approval.requested. A call that the asker has
// an open approval for gets that one back. So does a call that is asked about
// again, by the same invoke, after it was allowed and before it was used: look
// at State, for its answer may be there already.
//
// It returns fault.Denied for a call whose like a person denied to this asker
// before (in this run), and fault.Invalid for a decision that is none of this
// request or is no ASK.
func (s *Service) Ask(tx event.Tx, r AskRequest, cause event.Ref) (Approval, error) {
	if err := r.check(); err != nil {
		return Approval{}, err
	}
	now, err := s.store.Now(tx)
	if err != nil {
		return Approval{}, closed(err)
	}
	live, ok, err := s.store.FindLive(tx, r.AskerID, r.Decision.Digest)
	if err != nil {
		return Approval{}, closed(err)
	}
	if ok && !expired(now, live.ExpiresAt) && (live.State == StateOpen || live.Invoke == r.Request.Invoke) {
		return live, nil
	}
	denied, was, err := s.store.FindDenied(tx, r.AskerID, r.Request.Shape())
	if err != nil {
		return Approval{}, closed(err)
	}
	if was {
		why := ""
		if denied.Reason != "" {
			why = ": " + denied.Reason
		}
		return Approval{}, fault.New(fault.Denied, "%s denied this call already%s", denied.Key, why).WithFix("do something else")
	}
	if ok && live.State == StateOpen { // its timer has not fired yet
		if err := s.close(tx, live, StateExpired, live.Requested); err != nil {
			return Approval{}, err
		}
	}
	return s.addApproval(tx, r, now, cause)
}

func (r *AskRequest) check() error {
	switch r.Asker {
	case AskerRun, AskerSession, AskerPlan, AskerDraft:
	default:
		return fault.New(fault.Invalid, "%q is no asker", r.Asker).On("asker")
	}
	switch {
	case r.AskerID.IsZero():
		return fault.New(fault.Invalid, "an approval names who waits for it").On("askerId")
	case r.Decision.Effect != Ask:
		return fault.New(fault.Invalid, "only an ASK is put to a person, not %s", r.Decision.Effect).On("decision")
	case r.Decision.Digest != r.Request.Digest():
		return fault.New(fault.Invalid, "the decision is of another call").On("decision")
	case len(r.Words) > maxWords:
		return fault.New(fault.Limited, "a reason has at most %d bytes", maxWords).On("words")
	case r.Life < 0 || r.Life > approvalLife:
		return fault.New(fault.Invalid, "an approval lives at most %v", approvalLife).On("life")
	}
	return nil
}

func (s *Service) addApproval(tx event.Tx, r AskRequest, now time.Time, cause event.Ref) (Approval, error) {
	n, err := s.store.NextApproval(tx)
	if err != nil {
		return Approval{}, err
	}
	life := r.Life
	if life == 0 {
		life = approvalLife
	}
	a := Approval{
		ID: tx.NewID(), Key: approvalKey(n), Number: n, State: StateOpen, Revision: 1,
		Asker: r.Asker, AskerID: r.AskerID, Invoke: r.Request.Invoke, Subject: r.Request.Subject,
		Request: callOnly(r.Request), Call: r.Decision.Digest, Shape: r.Request.Shape(),
		Asks: r.Decision.Asks, Rule: r.Decision.Rule, Version: r.Decision.Version, Risk: r.Request.Risk,
		Reasons: r.Decision.Reasons, Words: r.Words, Evidence: r.Evidence, Reversible: r.Reversible,
		AskedAt: now, ExpiresAt: now.Add(life), Requested: cause,
	}
	a.Digest = approvalDigest(a.Call, a.ID, clock.Micros(a.ExpiresAt), approvalUses)
	added, err := s.store.AddApproval(tx, a)
	if err != nil {
		return Approval{}, err
	}
	if !added { // asked at the same moment by another transaction
		live, ok, err := s.store.FindLive(tx, r.AskerID, a.Call)
		if err != nil {
			return Approval{}, err
		}
		if !ok {
			return Approval{}, fault.New(fault.Conflict, "this call is being asked about at this moment")
		}
		return live, nil
	}
	if err := s.store.SetTimer(tx, ExpiryTimer, a.ID.String(), a.ExpiresAt); err != nil {
		return Approval{}, err
	}
	e, err := tx.Emit(s.origin, event.Draft{
		Payload: event.ApprovalRequested{
			ApprovalID: a.ID, Key: a.Key, Asker: string(a.Asker), AskerID: a.AskerID, InvokeID: a.Invoke, RunID: a.Request.Run,
			Actor: a.Request.Actor, Requester: a.Request.Requester.Or(""), Skill: a.Request.Skill, Arguments: a.Request.Arguments,
			Call: a.Call, Digest: a.Digest, Asks: words(a.Asks), Rule: a.Rule, Version: a.Version, Risk: a.Risk.Or(0).String(),
			Reasons: Sentences(a.Reasons), Reason: a.Words, ExpiresAt: clock.Micros(a.ExpiresAt),
		},
		Summary: a.summary("asks whether " + a.Request.Actor + " may call " + a.Request.Skill + "."),
		Stream:  a.ID, Causes: []event.Ref{cause}, Subject: a.Subject, Evidence: a.Evidence,
	})
	if err != nil {
		return Approval{}, err
	}
	a.Requested = e.Ref()
	if err := s.store.SetRequested(tx, a.ID, a.Requested); err != nil {
		return Approval{}, err
	}
	return a, nil
}

// callOnly leaves out what belongs to the moment of a decision.
func callOnly(r Request) Request {
	r.Autonomy, r.Now, r.Grants, r.Endorsements = Maybe[int]{}, Maybe[time.Time]{}, Maybe[[]Grant]{}, Maybe[[]Endorsement]{}
	return r
}

// OnTimer is the reaction to timer.fired: it ends an approval whose time is up.
// Another kind of timer is none of its business.
func (s *Service) OnTimer(tx event.Tx, e event.Event) error {
	p, ok := e.Payload.(event.TimerFired)
	if !ok || p.Kind != ExpiryTimer {
		return nil
	}
	approval, err := id.Parse(p.Key)
	if err != nil {
		return fault.New(fault.Corrupt, "timer %s has the key %q", p.Kind, p.Key)
	}
	a, err := s.store.GetApproval(tx, approval)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	case a.State != StateOpen && a.State != StateAllowed:
		return nil
	case p.DueAt < clock.Micros(a.ExpiresAt): // an older, moved timer
		return nil
	}
	return s.close(tx, a, StateExpired, e.Ref(), a.Requested)
}

// CloseApproval ends an approval that nobody needs any more: cancelled when its
// asker went away, superseded when something newer took its place. An approval
// that is neither open nor allowed is left as it is.
func (s *Service) CloseApproval(tx event.Tx, approval id.ID, how State, cause event.Ref) error {
	if how != StateCancelled && how != StateSuperseded {
		return fault.New(fault.Invalid, "an approval is closed as cancelled or superseded, not %q", how).On("how")
	}
	a, err := s.store.GetApproval(tx, approval)
	if err != nil {
		return err
	}
	if a.State != StateOpen && a.State != StateAllowed {
		return nil
	}
	return s.close(tx, a, how, cause, a.Requested)
}

// CloseRun cancels whatever a run still asks for.
func (s *Service) CloseRun(tx event.Tx, run id.ID, cause event.Ref) error {
	for _, state := range []State{StateOpen, StateAllowed} {
		list, err := s.store.ListApprovals(tx, ApprovalFilter{Run: run, State: state, Limit: maxList})
		if err != nil {
			return err
		}
		for _, a := range list {
			if err := s.close(tx, a, StateCancelled, cause, a.Requested); err != nil {
				return err
			}
		}
	}
	return nil
}

const maxList = 1000

// close ends an approval without an answer.
func (s *Service) close(tx event.Tx, a Approval, how State, causes ...event.Ref) error {
	a.State, a.Revision = how, a.Revision+1
	ok, err := s.store.UpdateApproval(tx, a)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.Conflict, "%s changed at this moment", a.Key)
	}
	if how != StateExpired {
		if err := s.store.CancelTimer(tx, ExpiryTimer, a.ID.String()); err != nil {
			return err
		}
	}
	_, err = tx.Emit(s.origin, event.Draft{
		Payload: event.ApprovalClosed{ApprovalID: a.ID, InvokeID: a.Invoke, RunID: a.Request.Run, How: string(how)},
		Summary: a.summary("is " + string(how) + "."), Stream: a.ID, Causes: causes, Subject: a.Subject,
	})
	return err
}

func approvalKey(n int64) string { return "AP-" + itoa(n) }

func isMind(actor string) bool { return strings.HasPrefix(actor, "mind:") }
