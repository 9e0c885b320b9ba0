package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// AnswerRequest is a person's answer to an approval.
type AnswerRequest struct {
	Approval  id.ID
	Digest    string // that was shown to the person
	Answer    Answer
	Scope     Scope           // of an allowance; "" is once
	Grant     *GrantSpec      // with scope session or grant; nil is the narrowest that covers the call
	Arguments json.RawMessage // of an edit
	Reason    string          // at most 4 KiB; with a denial it goes back to the asker
	Via       Via
}

// Answer takes a person's answer. The first one wins; it holds for exactly the
// call whose digest was shown.
//
//   - allow: the call may go from EffectiveAt on, which is 5 s later for a
//     button press on a call that cannot be taken back, else now. It also lifts
//     an ASK of the labels for this skill, these targets and this run. Scope
//     session or grant makes a Grant besides.
//   - deny: the asker gets the reason; its like is not asked again in this run.
//   - edit: the call gets other arguments and the approval a new digest; policy
//     is applied to it at once, and it stays open.
//
// It returns fault.Denied for anybody but an owner or operator, and for an edit
// that policy denies; *LiveError (fault.Conflict) with what is live when the
// digest or the state is no longer current; fault.Invalid for a grant that does
// not cover the call or could not answer it.
func (s *Service) Answer(ctx context.Context, account, person id.ID, r AnswerRequest) (out Approval, err error) {
	if err := r.check(); err != nil {
		return Approval{}, err
	}
	err = s.journal.Do(ctx, account, func(tx event.Tx) (err error) {
		out, err = s.answer(tx, person, r)
		return err
	})
	return out, err
}

func (r *AnswerRequest) check() error {
	if r.Scope == "" {
		r.Scope = ScopeOnce
	}
	switch {
	case r.Answer != AnswerAllow && r.Answer != AnswerDeny && r.Answer != AnswerEdit:
		return fault.New(fault.Invalid, "%q is no answer", r.Answer).On("answer").WithFix("say allow, deny or edit")
	case r.Scope != ScopeOnce && r.Scope != ScopeSession && r.Scope != ScopeGrant:
		return fault.New(fault.Invalid, "%q is no scope", r.Scope).On("scope").WithFix("say once, session or grant")
	case r.Scope != ScopeOnce && r.Answer != AnswerAllow:
		return fault.New(fault.Invalid, "only an allowance has a scope").On("scope")
	case r.Grant != nil && r.Scope == ScopeOnce:
		return fault.New(fault.Invalid, "an answer for this once makes no grant").On("grant")
	case r.Digest == "":
		return fault.New(fault.Invalid, "an answer names the digest of the call that was shown").On("digest")
	case r.Via != ViaConsole && r.Via != ViaCLI && r.Via != ViaAPI:
		return fault.New(fault.Invalid, "%q is no door", r.Via).On("via").WithFix("say console, cli or api")
	case len(r.Reason) > maxWords:
		return fault.New(fault.Limited, "a reason has at most %d bytes", maxWords).On("reason")
	case (r.Answer == AnswerEdit) != (len(r.Arguments) > 0):
		return fault.New(fault.Invalid, "an edit, and only an edit, brings arguments").On("arguments")
	}
	return nil
}

func (s *Service) answer(tx event.Tx, person id.ID, r AnswerRequest) (Approval, error) {
	if _, err := s.authorised(tx, person); err != nil {
		return Approval{}, err
	}
	a, err := s.store.GetApproval(tx, r.Approval)
	if err != nil {
		return Approval{}, err
	}
	now, err := s.store.Now(tx)
	if err != nil {
		return Approval{}, err
	}
	switch {
	case a.State != StateOpen:
		return Approval{}, stale(a, "%s is %s already", a.Key, a.State)
	case expired(now, a.ExpiresAt):
		return Approval{}, stale(a, "%s has expired", a.Key)
	case a.Erased:
		return Approval{}, stale(a, "the call of %s was erased", a.Key)
	case a.Digest != r.Digest:
		return Approval{}, stale(a, "%s is about another call than the one that was shown", a.Key)
	}
	switch r.Answer {
	case AnswerEdit:
		return s.edit(tx, a, person, r)
	case AnswerDeny:
		a.State, a.EffectiveAt = StateDenied, now
	default:
		a.State, a.EffectiveAt = StateAllowed, now
		if r.Via == ViaConsole && !a.Reversible {
			a.EffectiveAt = now.Add(undoSpan)
		}
	}
	a.Answer, a.AnsweredBy, a.AnsweredAt = r.Answer, person, now
	a.Scope, a.Via, a.Reason = r.Scope, r.Via, r.Reason
	return s.settle(tx, a, r, now)
}

// settle writes an allowance or a denial, and all that comes with it.
func (s *Service) settle(tx event.Tx, a Approval, r AnswerRequest, now time.Time) (Approval, error) {
	var grant *Grant
	if a.State == StateAllowed {
		var err error
		if grant, err = a.grantFor(tx, r, now); err != nil {
			return Approval{}, err
		}
		if grant != nil {
			a.Grant = grant.ID
		}
		if has(a.Asks, AskLabel) && !a.Request.Run.IsZero() {
			a.Endorsement = tx.NewID()
		}
	}
	if err := s.update(tx, &a); err != nil {
		return Approval{}, err
	}
	if a.State == StateDenied {
		if err := s.store.CancelTimer(tx, ExpiryTimer, a.ID.String()); err != nil {
			return Approval{}, err
		}
	}
	if !a.Endorsement.IsZero() {
		e := Endorsement{ID: a.Endorsement, Run: a.Request.Run, Skill: a.Request.Skill, Targets: a.Request.targetsDigest(), Label: a.Request.seen()}
		if err := s.store.SaveEndorsement(tx, e, a.AnsweredBy, a.ID, now); err != nil {
			return Approval{}, err
		}
	}
	word := "allowed"
	if a.State == StateDenied {
		word = "denied"
	}
	ev, err := s.say(tx, a, r.Digest, "", "A person "+word+" it.")
	if err != nil {
		return Approval{}, err
	}
	if grant != nil {
		// While the answer may be taken back, what it grants carries nothing either.
		row := GrantRow{Grant: *grant, Person: a.AnsweredBy, Approval: a.ID, Subject: a.Subject, At: a.EffectiveAt}
		if err := s.addGrant(tx, row, ev.Ref()); err != nil {
			return Approval{}, err
		}
	}
	return a, nil
}

// say emits approval.answered.
func (s *Service) say(tx event.Tx, a Approval, shown, next, sentence string) (event.Event, error) {
	answer := event.ApprovalAnswered{
		ApprovalID: a.ID, PersonID: a.AnsweredBy, Answer: string(a.Answer), Scope: string(a.Scope), Digest: shown, Next: next,
		Call: a.Call, GrantID: a.Grant, Endorsement: a.Endorsement, InvokeID: a.Invoke, RunID: a.Request.Run,
		Reason: a.Reason, EffectiveAt: clock.Micros(a.EffectiveAt), Via: string(a.Via),
	}
	if a.Original != nil {
		answer.Arguments = a.Request.Arguments
	}
	return tx.Emit(s.origin, event.Draft{Payload: answer, Summary: a.summary(sentence), Stream: a.ID,
		Causes: []event.Ref{a.Requested}, Subject: a.Subject})
}

// grantFor works out the grant that an allowance makes, nil for none.
func (a *Approval) grantFor(tx event.Tx, r AnswerRequest, now time.Time) (*Grant, error) {
	if r.Scope == ScopeOnce {
		return nil, nil //nolint:nilnil // once makes no grant
	}
	for _, k := range a.Asks {
		if k == AskGuardrail || k == AskCommitment {
			return nil, fault.New(fault.Invalid, "no grant can answer a %s", k).On("scope").WithFix("allow it once")
		}
	}
	if !has(a.Asks, AskRule) && !has(a.Asks, AskAutonomy) {
		return nil, fault.New(fault.Invalid, "no grant can answer an ask of the labels").On("scope").
			WithFix("allow it once: that covers this skill and target for the whole run")
	}
	var spec GrantSpec
	if r.Grant != nil {
		spec = *r.Grant
	} else {
		var err error
		if spec, err = NarrowestGrant(a.Request); err != nil {
			return nil, err
		}
		if r.Scope == ScopeGrant {
			spec.Uses = grantUses
		}
	}
	if r.Scope == ScopeSession {
		if a.Request.Run.IsZero() {
			return nil, fault.New(fault.Invalid, "this call belongs to no run that a grant could last for").On("scope")
		}
		spec.Run = a.Request.Run
	}
	if spec.ExpiresAt == 0 {
		life := grantLife
		if r.Scope == ScopeSession {
			life = approvalLife
		}
		spec.ExpiresAt = clock.Micros(now.Add(life))
	}
	g, err := newGrant(tx.NewID(), a.Request.Actor, spec)
	if err != nil {
		return nil, on(err, "grant", -1)
	}
	if err := g.lasts(now); err != nil {
		return nil, err
	}
	call := a.Request
	call.Now = Known(now)
	if !g.covers(&facts{Request: &call}) {
		return nil, fault.New(fault.Invalid, "this grant does not cover the call that it was opened for").On("grant")
	}
	return &g, nil
}

const (
	grantUses = 5
	grantLife = 7 * 24 * time.Hour
)

// lasts refuses an end that is past or too far.
func (g *Grant) lasts(now time.Time) error {
	switch at := clock.FromMicros(g.Spec.ExpiresAt); {
	case expired(now, at):
		return fault.New(fault.Invalid, "a grant ends later than now").On("grant.expiresAt")
	case at.Sub(now) > maxGrantLife:
		return fault.New(fault.Invalid, "a grant lasts at most %d days", int(maxGrantLife.Hours())/24).On("grant.expiresAt")
	}
	return nil
}

// edit gives the call other arguments.
func (s *Service) edit(tx event.Tx, a Approval, person id.ID, r AnswerRequest) (Approval, error) {
	if s.rewrite == nil {
		return Approval{}, fault.New(fault.Invalid, "the calls of this asker cannot be edited").On("answer")
	}
	args, err := canon.CanonicalizeMax(r.Arguments, maxEdited)
	if err != nil {
		return Approval{}, fault.New(fault.Invalid, "the arguments have no canonical form: %v", err).On("arguments")
	}
	first := a.Original
	if first == nil {
		first = a.Request.Arguments
	}
	call, err := s.rewrite(tx, a, args)
	if err != nil {
		return Approval{}, err
	}
	if call.Skill != a.Request.Skill || call.Manifest != a.Request.Manifest || call.Actor != a.Request.Actor ||
		call.Run != a.Request.Run || string(call.Arguments) != string(args) {
		return Approval{}, fault.New(fault.Internal, "an edit may change the arguments only")
	}
	if call, err = MarkEdited(call, first); err != nil {
		return Approval{}, err
	}
	d, full, err := s.decide(tx, call, id.Nil)
	if err != nil {
		return Approval{}, err
	}
	if d.Effect == Deny {
		return Approval{}, fault.New(fault.Denied, "%s denies the edited call", d.Rule).On("arguments")
	}
	if d.Digest == a.Call {
		return Approval{}, fault.New(fault.Invalid, "the edit changes nothing").On("arguments")
	}
	if other, ok, err := s.store.FindLive(tx, a.AskerID, d.Digest); err != nil {
		return Approval{}, err
	} else if ok {
		return Approval{}, fault.New(fault.Conflict, "%s is about that call already", other.Key).On("arguments")
	}
	shown := a.Digest
	a.Original, a.Request = first, callOnly(full)
	if string(first) == string(args) {
		a.Original = nil
	}
	a.Call, a.Shape = d.Digest, call.Shape()
	a.Digest = approvalDigest(a.Call, a.ID, clock.Micros(a.ExpiresAt), approvalUses)
	a.Asks, a.Rule, a.Version, a.Reasons, a.Risk = d.Asks, d.Rule, d.Version, d.Reasons, call.Risk
	if err := s.update(tx, &a); err != nil {
		return Approval{}, err
	}
	said := a // the row stays open and unanswered
	said.Answer, said.AnsweredBy, said.Scope, said.Via, said.Reason = AnswerEdit, person, ScopeOnce, r.Via, r.Reason
	if said.Original == nil {
		said.Original = first // the event always carries what the edit made
	}
	_, err = s.say(tx, said, shown, a.Digest, "A person edited the call.")
	return a, err
}

const maxEdited = 1 << 20 // bytes of arguments

// MarkEdited returns the call with the label "person" on every argument value
// that is not in the first arguments, or differs there: a person wrote it, and
// that is one of the ways up for a label (INV-8). Whoever builds an edited call
// again, for its execution, applies it too, and gets the same digest.
func MarkEdited(call Request, first json.RawMessage) (Request, error) {
	before, err := leaves(first)
	if err != nil {
		return Request{}, err
	}
	after, err := leaves(call.Arguments)
	if err != nil {
		return Request{}, err
	}
	was := make(map[string]string, len(before))
	for _, l := range before {
		was[l.pointer] = l.text
	}
	what := slices.Clone(call.What)
	for _, l := range after {
		if t, ok := was[l.pointer]; ok && t == l.text || !validPointer(l.pointer) {
			continue
		}
		what = slices.DeleteFunc(what, func(w ArgumentLabel) bool { return w.Pointer == l.pointer })
		what = append(what, ArgumentLabel{l.pointer, byPerson()})
	}
	slices.SortFunc(what, func(a, b ArgumentLabel) int { return strings.Compare(a.Pointer, b.Pointer) })
	call.What = what
	return call, nil
}

// update writes the next revision; somebody else's change in between is a
// LiveError with theirs.
func (s *Service) update(tx event.Tx, a *Approval) error {
	a.Revision++
	ok, err := s.store.UpdateApproval(tx, *a)
	if err != nil {
		return err
	}
	if ok {
		return nil
	}
	live, err := s.store.GetApproval(tx, a.ID)
	if err != nil {
		return err
	}
	return stale(live, "%s changed at this moment", a.Key)
}

// Withdraw takes an allowance back before it takes effect. The approval is open
// again, or superseded if its asker has asked about the same call anew since;
// the grant and the endorsement that came with it are gone. After EffectiveAt,
// or once the call has gone, it is a *LiveError.
func (s *Service) Withdraw(ctx context.Context, account, person, approval id.ID) (out Approval, err error) {
	err = s.journal.Do(ctx, account, func(tx event.Tx) (err error) {
		out, err = s.withdraw(tx, person, approval)
		return err
	})
	return out, err
}

func (s *Service) withdraw(tx event.Tx, person, approval id.ID) (Approval, error) {
	if _, err := s.authorised(tx, person); err != nil {
		return Approval{}, err
	}
	a, err := s.store.GetApproval(tx, approval)
	if err != nil {
		return Approval{}, err
	}
	now, err := s.store.Now(tx)
	if err != nil {
		return Approval{}, err
	}
	switch {
	case a.State != StateAllowed:
		return Approval{}, stale(a, "%s is %s and cannot be taken back", a.Key, a.State)
	case expired(now, a.EffectiveAt):
		return Approval{}, stale(a, "%s has taken effect", a.Key)
	}
	other, again, err := s.store.FindLive(tx, a.AskerID, a.Call)
	if err != nil {
		return Approval{}, err
	}
	again = again && other.ID != a.ID
	grant, endorsement := a.Grant, a.Endorsement
	a.State, a.Answer, a.AnsweredBy, a.AnsweredAt, a.Scope, a.Via, a.Reason = StateOpen, "", id.Nil, time.Time{}, "", "", ""
	a.EffectiveAt, a.Grant, a.Endorsement = time.Time{}, id.Nil, id.Nil
	if again {
		a.State = StateSuperseded
	}
	if err := s.update(tx, &a); err != nil {
		return Approval{}, err
	}
	e, err := tx.Emit(s.origin, event.Draft{
		Payload: event.ApprovalWithdrawn{ApprovalID: a.ID, InvokeID: a.Invoke, RunID: a.Request.Run, PersonID: person},
		Summary: a.summary("A person took the answer back."), Stream: a.ID, Causes: []event.Ref{a.Requested}, Subject: a.Subject,
	})
	if err != nil {
		return Approval{}, err
	}
	if !endorsement.IsZero() {
		if err := s.store.DropEndorsement(tx, endorsement); err != nil {
			return Approval{}, err
		}
	}
	if !grant.IsZero() {
		if err := s.endGrant(tx, grant, "withdrawn", person, now, e.Ref()); err != nil {
			return Approval{}, err
		}
	}
	if again { // it was never open: one call has one open approval
		_, err = tx.Emit(s.origin, event.Draft{
			Payload: event.ApprovalClosed{ApprovalID: a.ID, InvokeID: a.Invoke, RunID: a.Request.Run, How: string(StateSuperseded)},
			Summary: a.summary("is superseded by " + other.Key + "."), Stream: a.ID, Causes: []event.Ref{e.Ref()}, Subject: a.Subject,
		})
	}
	return a, err
}
