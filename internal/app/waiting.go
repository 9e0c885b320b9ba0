package app

import (
	"context"
	_ "embed"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

//go:embed waiting.yaml
var waitingManifest []byte

// waiting is the skill inbox.waiting: it stands here because it looks into
// three domains that do not know each other.
type waiting struct{ p *parts }

type waitingItem struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	Text string `json:"text"`
}

const maxWaiting = 50

// registerWaiting returns the skill with its manifest.
func registerWaiting(p *parts) (skill.Registration, error) {
	m, err := manifest.Parse(waitingManifest)
	return skill.Registration{Manifest: m, Exec: waiting{p}}, err
}

// Act implements skill.Executable. What waits may quote strangers only by kind
// and name, never by text, so the answer stays as trusted as our own rows.
func (w waiting) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	items := []waitingItem{}
	err := w.p.db.View(ctx, c.Account, func(tx event.Tx) error {
		items = items[:0]
		open, err := w.p.policy.ListApprovals(tx, policy.ApprovalFilter{State: policy.StateOpen, Limit: maxWaiting})
		if err != nil {
			return err
		}
		for _, a := range open {
			items = append(items, waitingItem{"approval", a.Key, a.Request.Actor + " wants to call " + a.Request.Skill})
		}
		effects, err := w.p.skills.Effects(tx, skill.Filter{State: skill.Unknown, Limit: maxWaiting})
		if err != nil {
			return err
		}
		for _, e := range effects {
			items = append(items, waitingItem{"effect", e.ID.String(), "nobody can tell whether " + e.Skill + " happened"})
		}
		return nil
	})
	if err != nil {
		return skill.Output{}, err
	}
	var held []dispatch.HeldMessage
	if held, _, err = w.p.dispatch.HeldMessages(ctx, c.Account, [16]byte{}, maxWaiting); err != nil {
		return skill.Output{}, err
	}
	for _, h := range held {
		items = append(items, waitingItem{"held", h.ID.String(), "a message on " + h.Channel + " waits: " + h.Reason})
	}
	return skill.Output{Value: map[string]any{"items": items}}, nil
}
