package work

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of triggers.
const (
	maxTemplate = 64 << 10 // bytes of a body
	maxFanOut   = 100      // triggers of a signal
	maxTriggers = 2000     // of an account
)

// Trigger is a subscription: each publish of its signal makes a task of it.
type Trigger struct {
	ID               id.ID
	SignalID         id.ID
	WorkspaceID      id.ID
	Title            string // of the tasks, as it stands
	Body             string // a template
	Assignee         Assignee
	AssigneeRef      string
	AllowAllCommands bool
	EmitID           id.ID // the signal that its tasks are to publish; Nil for none
	Enabled          bool
	CreatedBy        string
	Trust            int32 // of everybody who wrote its words, the least; micro-units
	Label            event.Label
	CreatedAt        time.Time
	UpdatedAt        time.Time
	Revision         int64
	Revisions        Revisions
}

func noTrigger() error { return fault.New(fault.NotFound, "there is no such trigger").On("trigger") }

// NewTrigger is a trigger to be.
type NewTrigger struct {
	Signal           id.ID
	Workspace        id.ID
	Title            string
	Body             string
	Assignee         Assignee // "" is agent
	AssigneeRef      string
	AllowAllCommands bool
	Emit             id.ID
	Disabled         bool
}

// TriggerChange is what is to change of a trigger; nil leaves a field alone.
type TriggerChange struct {
	Seen             int64 // the revision that was shown; 0 writes over whatever stands there
	Workspace        *id.ID
	Title            *string
	Body             *string
	Assignee         *Assignee
	AssigneeRef      *string // an assignee without one clears it
	AllowAllCommands *bool
	Emit             *id.ID // Nil ends the chain
	Enabled          *bool
}

// check refuses what no trigger may be.
func (g Trigger) check() error {
	if !g.Assignee.Valid() {
		return fault.New(fault.Invalid, "%q is neither human nor agent", clip(string(g.Assignee))).On("assignee")
	}
	if err := checkRef(g.Assignee, g.AssigneeRef); err != nil {
		return err
	}
	if err := checkText("title", g.Title, maxTitle, true); err != nil {
		return err
	}
	if err := checkText("body", g.Body, maxTemplate, false); err != nil {
		return err
	}
	if g.EmitID == g.SignalID {
		return fault.New(fault.Conflict, "the signal that it emits leads back to its own: that would be a circle").On("emitEventId")
	}
	return nil
}

// apply returns the trigger with the change, and what it changes.
func (g Trigger) apply(c TriggerChange) (Trigger, *edit) {
	e := begin(c.Seen, g.Revision, g.Revisions)
	if c.Assignee != nil && c.AssigneeRef == nil && *c.Assignee != g.Assignee {
		c.AssigneeRef = new(string)
	}
	set(e, "workspaceId", &g.WorkspaceID, c.Workspace)
	set(e, "title", &g.Title, c.Title)
	set(e, "body", &g.Body, c.Body)
	set(e, "assignee", &g.Assignee, c.Assignee)
	set(e, "assigneeRef", &g.AssigneeRef, c.AssigneeRef)
	set(e, "allowAllCommands", &g.AllowAllCommands, c.AllowAllCommands)
	set(e, "emitEventId", &g.EmitID, c.Emit)
	set(e, "enabled", &g.Enabled, c.Enabled)
	if e.err == nil {
		e.err = g.check()
	}
	return g, e
}
