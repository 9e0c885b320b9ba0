package console

import (
	"time"

	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
)

// quietLines is how many lines either list of the empty Inbox has.
const quietLines = 6

// quiet is the empty Inbox: what ran without a person, and what people decided.
func (x *item) quiet() (*ui.Quiet, error) {
	q := &ui.Quiet{}
	since := x.now.Add(-24 * time.Hour)
	answers, err := x.decided()
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.AnsweredAt.Before(since) || a.AnsweredBy != x.who.PersonID || len(q.Decided) == quietLines {
			continue
		}
		entry, err := x.entry(a.Request.Manifest)
		if err != nil {
			return nil, err
		}
		said, err := x.refTo(a.Requested.ID)
		if err != nil {
			return nil, err
		}
		status := ui.StatusAllowed
		if a.Answer == policy.AnswerDeny {
			status = ui.StatusDenied
		}
		q.Decided = append(q.Decided, ui.QuietLine{Status: status, Fact: ui.Fact{Text: title(entry, a.Request.Skill, a.Request.Arguments), Ref: said},
			Text: a.Key, Right: x.at(a.AnsweredAt, x.now), Href: "/inbox/" + a.ID.String()})
	}
	if n := len(q.Decided); n > 0 {
		q.DecidedNote = plural(n, "answer", "answers") + " in 24 hours"
	}
	done, err := x.Skills.Effects(x.tx, skill.Filter{State: skill.Confirmed, Limit: 3 * quietLines})
	if err != nil {
		return nil, err
	}
	for _, e := range done {
		if e.ChangedAt.Before(since) || !e.Approval.IsZero() || len(q.Unasked) == quietLines {
			continue
		}
		text, err := x.effectTitle(e)
		if err != nil {
			return nil, err
		}
		said, err := x.refTo(e.Result)
		if err != nil {
			return nil, err
		}
		q.Unasked = append(q.Unasked, ui.QuietLine{Status: ui.StatusProven, Fact: ui.Fact{Text: text, Ref: said},
			Text: x.people.actor(e.Actor).Name, Right: x.at(e.ChangedAt, x.now), Href: said.Href})
	}
	return q, nil
}
