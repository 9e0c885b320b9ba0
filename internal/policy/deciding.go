package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Decide decides one call by the rows in force and says so in a
// policy.decision event caused by cause.
//
// What gives authority is read here and never taken from the caller: version,
// grants, endorsements and time. Of Autonomy a caller may only give a lower
// one (an agent's own definition). For actors other than minds, which have no
// commitments and no dreams, an unknown Commitments or Dreaming is filled.
//
// It returns fault.Invalid for a broken request, and fault.Unavailable with
// ErrUnreadable if anything cannot be read: then nothing may be done.
func (s *Service) Decide(tx event.Tx, r Request, cause event.Ref) (Decision, event.Event, error) {
	d, full, err := s.decide(tx, r, id.Nil)
	if err != nil {
		return Decision{}, event.Event{}, err
	}
	e, err := s.record(tx, d, full, cause, false)
	return d, e, err
}

// Execution is a call that is about to take effect.
type Execution struct {
	Request  Request
	Approval id.ID // that a person answered; Nil if the call was allowed unasked
	Use      id.ID // the effect: a second attempt of it is the same use
}

// Confirm decides again right before the effect, in the transaction that
// commits its dispatching, and takes what allows it: the approval, or one use
// of a grant (architecture §6).
//
// The decision's Effect is Allow if the call may go now. It is Deny if policy
// denies it, or if the approval does not hold: not answered with allow, taken
// back, not in force yet, expired, used by another effect, or given for another
// call (INV-7). It is Ask if a person would have to be asked who was not: the
// grant is used up, or an ASK of a guardrail, label or commitment came that
// the approval was not given for. Errors are those of Decide.
func (s *Service) Confirm(tx event.Tx, x Execution, cause event.Ref) (Decision, event.Event, error) {
	if x.Use.IsZero() {
		return Decision{}, event.Event{}, fault.New(fault.Invalid, "an execution names its effect").On("use")
	}
	d, full, err := s.decide(tx, x.Request, x.Use)
	if err != nil {
		return Decision{}, event.Event{}, err
	}
	switch {
	case d.Effect == Deny:
	case !x.Approval.IsZero():
		err = s.approved(tx, &d, x)
	case !d.Grant.IsZero():
		err = s.granted(tx, &d, x, cause)
	}
	if err != nil {
		return Decision{}, event.Event{}, err
	}
	e, err := s.record(tx, d, full, cause, true)
	return d, e, err
}

// approved lets an approval answer what is open, and uses it up.
func (s *Service) approved(tx event.Tx, d *Decision, x Execution) error {
	refuse := func(why string) {
		d.Effect, d.Asks = Deny, nil
		d.Reasons = append(d.Reasons, Reason{Code: ReasonRefused, Name: why, ID: x.Approval})
	}
	a, err := s.store.GetApproval(tx, x.Approval)
	if fault.Is(err, fault.NotFound) {
		refuse("there is no such approval")
		return nil
	}
	if err != nil {
		return closed(err)
	}
	for _, k := range d.Asks {
		// The person saw the exact call, so a rule or the dial that asks now
		// asks nothing new. A limit of another sort that was not shown does.
		if k != AskRule && k != AskAutonomy && !has(a.Asks, k) {
			d.Reasons = append(d.Reasons, Reason{Code: ReasonRefused, Name: "the approval was not given for an ask of kind " + k.String(), ID: a.ID})
			d.Effect = Ask
			return nil
		}
	}
	if err := s.use(tx, a, d.Digest, x.Use); err != nil {
		if !refusal(err) {
			return err
		}
		refuse(message(err))
		return nil
	}
	d.Effect, d.Asks, d.Approval = Allow, nil, a.ID
	// The approval carries the call; a grant that would too is not touched.
	d.Grant = id.Nil
	d.Reasons = append(d.Reasons, Reason{Code: ReasonApproved, ID: a.ID})
	return nil
}

// granted counts a use of the grant that answered.
func (s *Service) granted(tx event.Tx, d *Decision, x Execution, cause event.Ref) error {
	err := s.UseGrant(tx, d.Grant, x.Use, cause)
	if err == nil {
		return nil
	}
	if !refusal(err) {
		return err
	}
	d.Reasons = append(d.Reasons, Reason{Code: ReasonRefused, Name: message(err), ID: d.Grant})
	d.Effect, d.Grant = Ask, id.Nil
	d.add(AskRule)
	return nil
}

// decide fills the request from the rows and decides.
func (s *Service) decide(tx event.Tx, r Request, use id.ID) (Decision, Request, error) {
	if err := r.check(); err != nil {
		return Decision{}, r, err
	}
	args, err := canon.Canonicalize(r.Arguments)
	if err != nil || string(args) != string(r.Arguments) {
		return Decision{}, r, fault.New(fault.Invalid, "the arguments are not canonical JSON").On("arguments")
	}
	t, err := s.table(tx)
	if err != nil {
		return Decision{}, r, closed(err)
	}
	now, err := s.store.Now(tx)
	if err != nil {
		return Decision{}, r, closed(err)
	}
	r.Now = Known(now)
	dial, err := s.dial(tx, r.Actor)
	if err != nil {
		return Decision{}, r, closed(err)
	}
	r.Autonomy = Known(min(dial, r.Autonomy.Or(dial)))
	if r.Recipients, err = s.known(tx, r.Recipients); err != nil {
		return Decision{}, r, closed(err)
	}
	rows, err := s.store.ListGrantsFor(tx, r.Actor, now, use)
	if err != nil {
		return Decision{}, r, closed(err)
	}
	grants := make([]Grant, 0, len(rows))
	for _, g := range rows {
		grants = append(grants, g.Grant)
	}
	r.Grants = Known(grants)
	nods := []Endorsement{}
	if !r.Run.IsZero() {
		if nods, err = s.store.ListEndorsements(tx, r.Run); err != nil {
			return Decision{}, r, closed(err)
		}
	}
	r.Endorsements = Known(nods)
	if !isMind(r.Actor) {
		if r.Commitments.IsZero() {
			r.Commitments = Known([]Commitment{})
		}
		if r.Dreaming.IsZero() {
			r.Dreaming = Known(false)
		}
	}
	return Decide(t, r), r, nil
}

// known marks the recipients that are called persons and are none of the account.
func (s *Service) known(tx event.Tx, to Maybe[[]Recipient]) (Maybe[[]Recipient], error) {
	list, ok := to.Get()
	if !ok {
		return to, nil
	}
	list = slices.Clone(list)
	for i := range list {
		name, person := strings.CutPrefix(list[i].Principal, "person:")
		if !person {
			continue
		}
		who, err := id.Parse(name)
		if err == nil {
			_, err = s.people.RoleOf(tx, who)
		} else {
			err = fault.New(fault.NotFound, "%q is no id", name)
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return to, err
		}
		list[i].Stranger = err != nil
	}
	return Known(list), nil
}

// record says the decision.
func (s *Service) record(tx event.Tx, d Decision, r Request, cause event.Ref, execution bool) (event.Event, error) {
	stream := r.Run
	if !r.Invoke.IsZero() {
		r.Arguments = nil // they stand in the skill.invoke, whose call Digest proves
	}
	request, err := canon.JSON(r)
	if err != nil {
		return event.Event{}, fault.New(fault.Invalid, "record a decision: %w", err)
	}
	var beaten []Loser
	for _, l := range d.Losers {
		if l.Held() {
			beaten = append(beaten, l)
		}
	}
	var losers json.RawMessage
	if len(beaten) > 0 {
		if losers, err = canon.JSON(beaten); err != nil {
			return event.Event{}, fault.New(fault.Internal, "record a decision: %w", err)
		}
	}
	return tx.Emit(s.origin, event.Draft{
		Payload: event.PolicyDecision{
			InvokeID: r.Invoke, RunID: r.Run, Skill: r.Skill, Effect: d.Effect.String(), Asks: words(d.Asks), Rule: d.Rule,
			Version: d.Version, Reasons: d.Sentences(), Losers: losers, Digest: d.Digest, GrantID: d.Grant,
			Execution: execution, Request: request, ApprovalID: d.Approval,
		},
		Summary: clip("Policy: "+d.Effect.String()+" "+r.Skill+" for "+r.Actor+" by "+d.Rule+".", maxSummary),
		Stream:  stream, Causes: []event.Ref{cause}, Subject: r.Subject,
	})
}

const maxSummary = 400

// dial returns the autonomy of an actor: its own, which a person set or its
// definition starts with, capped by the account's, so that lowering the
// account's dial lowers everybody.
func (s *Service) dial(tx event.Tx, actor string) (int, error) {
	account, own, err := s.store.FindAutonomy(tx, actor)
	if err != nil {
		return 0, err
	}
	top := DefaultAutonomy
	if account != nil {
		top = *account
	}
	if own == nil && actor != "" && s.starts != nil {
		if v, ok, err := s.starts(tx, actor); err != nil {
			return 0, err
		} else if ok {
			own = &v
		}
	}
	if own != nil {
		top = min(top, *own)
	}
	return top, nil
}

// expired reports whether a moment is reached.
func expired(now, at time.Time) bool { return !now.Before(at) }
