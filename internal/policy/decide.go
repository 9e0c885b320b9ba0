package policy

import (
	"slices"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Decide says whether a call is allowed, must be asked about, or is denied. It
// is pure: the same table and request give the same decision, whatever the
// order of rules, grants and endorsements.
//
// In this order (architecture §6):
//
//  1. A dream is denied.
//  2. Guardrails: any DENY that holds is final; any ASK stands whatever follows.
//  3. Rules: the most specific one that holds wins; at equal specificity DENY
//     beats ASK beats ALLOW, then the lower number. Without one, the default.
//  4. Commitments may add an ASK.
//  5. Autonomy below the floor of the risk turns ALLOW into ASK.
//  6. Labels (architecture §7) may add an ASK; only an endorsement answers it.
//  7. A grant answers the ASKs of rule and autonomy, and no other.
//
// An input that is not known counts as the worst: critical risk, autonomy 0,
// an outside context that nobody may read, anyone as recipient, a dream.
func Decide(t *Table, r Request) Decision {
	f := facts{Request: &r}
	requester, channel := r.requester()
	for _, to := range r.Recipients.Or(nil) {
		f.classes = append(f.classes, to.class(requester, channel))
	}
	d := Decision{Effect: Allow, Version: t.version, Digest: r.Digest(),
		Losers: make([]Loser, 0, len(t.rules)+len(t.guardrails)), Reasons: make([]Reason, 0, 4)}
	if r.Dreaming.Or(true) {
		d.Effect, d.Rule, d.Reasons = Deny, "dream", append(d.Reasons, Reason{Code: ReasonDream})
		if r.Dreaming.IsZero() {
			d.Reasons = append(d.Reasons, Reason{Code: ReasonUnknown, Name: "mode of the actor"})
		}
		d.Losers = lose(lose(d.Losers, t.guardrails, lostOverridden), t.rules, lostOverridden)
		return d
	}
	if d.guard(t, &f) {
		d.Losers = lose(d.Losers, t.rules, lostOverridden)
		return d
	}
	v := d.rules(t, &f)
	if d.Effect == Deny {
		d.Asks = nil
		return d
	}
	d.commitments(&f)
	d.autonomy(&r)
	d.labels(&f, v)
	d.endorse(&f)
	d.grant(&f)
	d.Effect = Allow
	if len(d.Asks) > 0 {
		d.Effect = Ask
	}
	return d
}

func lose(out []Loser, list []*rule, why string) []Loser {
	for _, r := range list {
		out = append(out, Loser{r.ref, r.Effect, why})
	}
	return out
}

// guard applies the guardrails and reports whether one denies.
func (d *Decision) guard(t *Table, f *facts) (denied bool) {
	var deny, asks *rule
	for _, g := range t.guardrails {
		m := g.match(f)
		switch {
		case m.failed != "":
			d.Losers = append(d.Losers, Loser{g.ref, g.Effect, m.failed})
		case g.Effect == Deny && deny == nil:
			deny = g
		case g.Effect == Ask && asks == nil:
			asks = g
		default:
			d.Losers = append(d.Losers, Loser{g.ref, g.Effect, lostLater})
		}
	}
	if deny != nil {
		if asks != nil {
			d.Losers = append(d.Losers, Loser{asks.ref, asks.Effect, lostWeaker})
		}
		d.Effect, d.Rule, d.Asks = Deny, deny.ref, nil
		d.Reasons = append(d.Reasons, Reason{Code: ReasonGuardrail, Rule: deny.ref})
		return true
	}
	if asks != nil {
		d.Effect, d.Rule = Ask, asks.ref
		d.add(AskGuardrail)
		d.Reasons = append(d.Reasons, Reason{Code: ReasonGuardrail, Rule: asks.ref})
	}
	return false
}

// verdict is what the rules say.
type verdict struct {
	winner *rule // nil for the default
	// clear is false if an unknown input had a part in any rule: then a rule
	// that was not seen to hold might have won, and the winner gives nothing
	// beyond its effect.
	clear bool
}

// rules finds the winner. Rules that hold only because an input is unknown can
// make the outcome stricter, never milder: of those that would beat the surest
// winner, the strictest decides.
func (d *Decision) rules(t *Table, f *facts) verdict {
	v := verdict{clear: true}
	var top specificity
	var maybe []candidate
	for _, r := range t.rules {
		m := r.match(f)
		v.clear = v.clear && m.sure
		switch {
		case m.failed != "":
			d.Losers = append(d.Losers, Loser{r.ref, r.Effect, m.failed})
			continue
		case !m.sure:
			maybe = append(maybe, candidate{r, m.s})
			continue
		case v.winner == nil:
			v.winner, top = r, m.s
			continue
		}
		loser, why := r, lostSpecific
		switch c := m.s.compare(top); {
		case c > 0:
			loser, v.winner, top = v.winner, r, m.s
		case c == 0 && r.Effect > v.winner.Effect:
			loser, v.winner, why = v.winner, r, lostWeaker
		case c == 0 && r.Effect < v.winner.Effect:
			why = lostWeaker
		case c == 0:
			why = lostLater
		}
		d.Losers = append(d.Losers, Loser{loser.ref, loser.Effect, why})
	}
	effect := t.document.Default
	if v.winner != nil {
		effect = v.winner.Effect
	}
	sure := v.winner
	for _, m := range maybe {
		if m.rule.Effect > effect && (sure == nil || m.s.compare(top) >= 0) {
			if v.winner != nil {
				d.Losers = append(d.Losers, Loser{v.winner.ref, v.winner.Effect, lostWeaker})
			}
			v.winner, effect = m.rule, m.rule.Effect
			continue
		}
		d.Losers = append(d.Losers, Loser{m.rule.ref, m.rule.Effect, lostWeaker})
	}
	ref, reason := "default", Reason{Code: ReasonDefault}
	if v.winner != nil {
		ref, reason = v.winner.ref, Reason{Code: ReasonRule, Rule: v.winner.ref}
	}
	d.Reasons = append(d.Reasons, reason)
	switch effect {
	case Deny:
		d.Effect, d.Rule = Deny, ref
	case Ask:
		d.add(AskRule)
	}
	if d.Rule == "" { // else a guardrail asks, and stays what a person is shown
		d.Rule = ref
	}
	return v
}

// candidate is a rule that may hold.
type candidate struct {
	rule *rule
	s    specificity
}

func (d *Decision) commitments(f *facts) {
	list, ok := f.Commitments.Get()
	if !ok {
		d.add(AskCommitment)
		d.Reasons = append(d.Reasons, Reason{Code: ReasonUnknown, Name: "list of commitments"})
		return
	}
	for _, c := range list {
		if c.holds(f) {
			d.add(AskCommitment)
			d.Reasons = append(d.Reasons, Reason{Code: ReasonCommitment, ID: c.ID})
		}
	}
}

// holds reports whether the commitment speaks of this call. One that cannot be
// read speaks of every call.
func (c Commitment) holds(f *facts) bool {
	skill, err := CompileGlob(c.Skill)
	if err != nil {
		return true
	}
	if !skill.Restricts(f.Skill) {
		return false
	}
	if c.Target == "" {
		return true
	}
	target, err := CompileGlob(c.Target)
	if err != nil {
		return true
	}
	_, a := f.targets([]Glob{target}, true)
	return a != no
}

func (d *Decision) autonomy(r *Request) {
	risk, known := r.Risk.Get()
	if !known {
		risk = RiskCritical
		d.Reasons = append(d.Reasons, Reason{Code: ReasonUnknown, Name: "risk"})
	}
	dial, known := r.Autonomy.Get()
	if known {
		d.Band = BandOf(dial)
		d.Reasons = append(d.Reasons, Reason{Code: ReasonBand, Name: string(d.Band), Have: dial})
	} else {
		d.Reasons = append(d.Reasons, Reason{Code: ReasonUnknown, Name: "autonomy"})
	}
	if dial < risk.Floor() {
		d.add(AskAutonomy)
		d.Reasons = append(d.Reasons, Reason{Code: ReasonFloor, Name: risk.String(), Have: dial, Need: risk.Floor()})
	}
}

// labels applies the rules of architecture §7.
func (d *Decision) labels(f *facts, v verdict) {
	reading := f.Access.Or(0) == AccessRead
	if risk := f.Risk.Or(RiskCritical); risk >= RiskMedium && !reading && f.why().Integrity() < event.Known {
		switch {
		case f.answering():
			d.Reasons = append(d.Reasons, Reason{Code: ReasonAnswering})
		case v.clear && v.winner != nil && v.winner.Effect == Allow && f.named(v.winner):
			d.Reasons = append(d.Reasons, Reason{Code: ReasonNamed, Rule: v.winner.ref})
		default:
			d.add(AskLabel)
			d.Reasons = append(d.Reasons, Reason{Code: ReasonWhy, Name: risk.String()})
		}
	}
	// Audience always holds, the requester included.
	to, known := f.Recipients.Get()
	if !known {
		to = []Recipient{{Principal: Anyone}}
	}
	if len(to) == 0 {
		return
	}
	leaving := f.leaving().Audience()
	for _, r := range to {
		if leaving.Includes(r.audience()) {
			continue
		}
		d.add(AskLabel)
		if !known {
			d.Reasons = append(d.Reasons, Reason{Code: ReasonUnknown, Name: "list of recipients"})
			return
		}
		d.Reasons = append(d.Reasons, Reason{Code: ReasonAudience, Name: r.Principal})
	}
}

// answering reports whether all that leaves goes to the requester where they are.
func (f *facts) answering() bool {
	return len(f.classes) > 0 && !slices.ContainsFunc(f.classes, func(c recipientClass) bool { return c != toRequester })
}

// named reports whether the rule names what the call acts on, and all that it
// names has a value that is at least known. Every target must be named, by a
// target glob or by its argument; a call without targets needs a named argument.
func (f *facts) named(r *rule) bool {
	targets, ok := f.Targets.Get()
	if !ok {
		return false
	}
	if len(targets) == 0 && len(r.arguments) == 0 {
		return false
	}
	known := func(pointer string) bool { return f.whatOf(pointer).Integrity() >= event.Known }
	for _, t := range targets {
		if !(r.namesTarget() || t.Pointer != "" && r.names(t.Pointer)) || !known(t.Pointer) {
			return false
		}
	}
	values, err := f.values()
	if err != nil {
		return false
	}
	for i := range values {
		if r.names(values[i].pointer) && !known(values[i].pointer) {
			return false
		}
	}
	return true
}

// leaving is the label of what leaves: the join over the argument values. A
// value that is not raised by a label of its own carries why.
func (f *facts) leaving() event.Label {
	values, err := f.values()
	if err != nil || len(values) == 0 || len(f.What) == 0 {
		return f.why()
	}
	parts := make([]event.Label, len(values))
	for i := range values {
		parts[i] = f.whatOf(values[i].pointer)
	}
	return event.Join(parts...)
}

// endorse lets an endorsement answer the label ASK.
func (d *Decision) endorse(f *facts) {
	if !d.Asked(AskLabel) {
		return
	}
	var with id.ID
	for _, e := range f.Endorsements.Or(nil) {
		if e.covers(f) && (with.IsZero() || e.ID.String() < with.String()) {
			with = e.ID
		}
	}
	if !with.IsZero() {
		d.answered(AskLabel)
		d.Endorsement = with
		d.Reasons = append(d.Reasons, Reason{Code: ReasonEndorsed, ID: with})
	}
}

// covers reports whether the endorsement speaks of this call: its run, skill
// and targets, and data that no fewer may read than what the person saw.
func (e Endorsement) covers(f *facts) bool {
	if f.Run.IsZero() || e.Run != f.Run || e.Skill != f.Skill || f.Targets.IsZero() || e.Targets != f.targetsDigest() {
		return false
	}
	return e.Label.AtMost(f.seen())
}

// seen is the join of why and every what: what an endorsement is given for.
func (r *Request) seen() event.Label {
	parts := []event.Label{r.why()}
	for _, w := range r.What {
		parts = append(parts, w.Label)
	}
	return event.Join(parts...)
}

// grant lets a grant answer the ASKs of rule and dial. It is not used up for a
// call that must be asked about anyway.
func (d *Decision) grant(f *facts) {
	if len(d.Asks) == 0 || slices.ContainsFunc(d.Asks, func(k AskKind) bool { return k != AskRule && k != AskAutonomy }) {
		return
	}
	var with id.ID
	for _, g := range f.Grants.Or(nil) {
		if (with.IsZero() || g.ID.String() < with.String()) && g.covers(f) {
			with = g.ID
		}
	}
	if !with.IsZero() {
		d.answered(AskRule, AskAutonomy)
		d.Grant = with
		d.Reasons = append(d.Reasons, Reason{Code: ReasonGranted, ID: with})
	}
}
