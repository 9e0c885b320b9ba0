package skilldb

import (
	"bytes"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// AddEffect implements skill.Store.
func (*Store) AddEffect(tx event.Tx, e skill.Effect, first skill.Step) (bool, error) {
	n, err := q.Exec(tx, "add_effect", tx.Account(), e.ID, e.Cause, e.RunID, e.Step, e.CallID, e.Actor, e.Requester, e.Workspace,
		e.Skill, e.Manifest, e.Catalogue, string(e.Class), string(e.State), e.Attempt, e.Key, e.Call, e.Approval, e.Edit, e.Decision,
		e.Result, e.Fence, e.Node, clock.Micros(e.Deadline), e.Reason, string(e.Before), e.Settling, e.Label.String(), e.Stream,
		clock.Micros(e.CreatedAt), clock.Micros(e.ChangedAt), e.Version)
	if err != nil || n == 0 {
		return false, err
	}
	return true, addStep(tx, e.ID, e.Version, first)
}

// SaveEffect implements skill.Store.
func (*Store) SaveEffect(tx event.Tx, e skill.Effect, step skill.Step, from skill.State, version int64) error {
	n, err := q.Exec(tx, "save_effect", string(e.State), e.Attempt, e.Call, e.Edit, e.Decision, e.Result, e.Fence, e.Node,
		clock.Micros(e.Deadline), e.Reason, string(e.Before), e.Settling, clock.Micros(e.ChangedAt),
		tx.Account(), e.ID, string(from), version, e.Fence)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.Stale, "effect %s is no longer %s at version %d", e.ID, from, version)
	}
	return addStep(tx, e.ID, version+1, step)
}

// addStep numbers the step by the version that the row has now, so that two
// writers can never take the same number.
func addStep(tx event.Tx, effect id.ID, version int64, s skill.Step) error {
	_, err := q.Exec(tx, "add_step", tx.Account(), effect, version, string(s.State), s.Attempt, s.Fence, s.Node, s.EventID, s.Reason, clock.Micros(s.At))
	return err
}

// GetEffect implements skill.Store.
func (*Store) GetEffect(tx event.Tx, effect id.ID) (skill.Effect, error) {
	return one(tx, "effect", effect)
}

// FindByCause implements skill.Store.
func (*Store) FindByCause(tx event.Tx, invoke id.ID) (skill.Effect, error) {
	return one(tx, "by_cause", invoke)
}

// FindByKey implements skill.Store.
func (*Store) FindByKey(tx event.Tx, key string) (skill.Effect, error) {
	return one(tx, "by_key", key)
}

// FindByApproval implements skill.Store.
func (*Store) FindByApproval(tx event.Tx, approval id.ID) (skill.Effect, error) {
	return one(tx, "by_approval", approval)
}

func one(tx event.Tx, name string, arg any) (skill.Effect, error) {
	var r row
	if err := q.Row(tx, name, []any{tx.Account(), arg}, r.dests()...); err != nil {
		return skill.Effect{}, err
	}
	return r.effect()
}

// row is an effect as it is scanned.
type row struct {
	e                          skill.Effect
	class, state, was, label   string
	deadline, created, changed int64
}

func (r *row) dests() []any {
	e := &r.e
	return []any{&e.ID, &e.Cause, &e.RunID, &e.Step, &e.CallID, &e.Actor, &e.Requester, &e.Workspace, &e.Skill, &e.Manifest,
		&e.Catalogue, &r.class, &r.state, &e.Attempt, &e.Key, &e.Call, &e.Approval, &e.Edit, &e.Decision, &e.Result, &e.Fence, &e.Node,
		&r.deadline, &e.Reason, &r.was, &e.Settling, &r.label, &e.Stream, &r.created, &r.changed, &e.Version}
}

func (r *row) effect() (skill.Effect, error) {
	e := r.e
	e.Class, e.State, e.Before = manifest.Class(r.class), skill.State(r.state), skill.State(r.was)
	e.Deadline, e.CreatedAt, e.ChangedAt = clock.FromMicros(r.deadline), clock.FromMicros(r.created), clock.FromMicros(r.changed)
	var err error
	e.Label, err = event.ParseLabel(r.label)
	return e, err
}

// ListEffects implements skill.Store.
func (*Store) ListEffects(tx event.Tx, f skill.Filter) ([]skill.Effect, error) {
	before := f.Before[:]
	if f.Before.IsZero() {
		before = bytes.Repeat([]byte{0xff}, 16)
	}
	name, args := "list", []any{tx.Account()}
	switch {
	case !f.Run.IsZero() && f.State != "":
		name, args = "list_run_state", append(args, f.Run, string(f.State))
	case !f.Run.IsZero():
		name, args = "list_run", append(args, f.Run)
	case f.State != "":
		name, args = "list_state", append(args, string(f.State))
	}
	var out []skill.Effect
	err := q.Each(tx, name, append(args, before, f.Limit), func(scan func(...any) error) error {
		var r row
		if err := scan(r.dests()...); err != nil {
			return err
		}
		e, err := r.effect()
		out = append(out, e)
		return err
	})
	return out, err
}

// ListSteps implements skill.Store.
func (*Store) ListSteps(tx event.Tx, effect id.ID) ([]skill.Step, error) {
	var out []skill.Step
	err := q.Each(tx, "steps", []any{tx.Account(), effect}, func(scan func(...any) error) error {
		var s skill.Step
		var state string
		var at int64
		if err := scan(&s.Number, &state, &s.Attempt, &s.Fence, &s.Node, &s.EventID, &s.Reason, &at); err != nil {
			return err
		}
		s.State, s.At = skill.State(state), clock.FromMicros(at)
		out = append(out, s)
		return nil
	})
	return out, err
}
