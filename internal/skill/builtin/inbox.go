package builtin

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
)

type inboxWaiting struct {
	journal event.Journal
	inbox   Inbox
}

// Act implements skill.Executable. Only the requester's own items are told.
func (i inboxWaiting) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	if err := c.Bind(&struct{}{}); err != nil {
		return skill.Output{}, err
	}
	if c.Recipient != "" && c.Recipient != c.Requester {
		return skill.Output{}, fault.New(fault.Denied, "what waits for %s is told to nobody else", c.Requester)
	}
	var items []Item
	err := i.journal.View(ctx, c.Account, func(tx event.Tx) (err error) {
		items, err = i.inbox.Waiting(tx, c.Requester)
		return err
	})
	type item struct {
		Key   string `json:"key"`
		Kind  string `json:"kind"`
		Title string `json:"title"`
		Note  string `json:"note,omitempty"`
	}
	out := []item{}
	for _, x := range items {
		out = append(out, item{x.Key, x.Kind, x.Title, x.Note})
	}
	return skill.Output{Value: map[string]any{"items": out}, Label: joined(items, func(x Item) event.Label { return x.Label })}, err
}
