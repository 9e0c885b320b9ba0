package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) messageRoutes() []Route {
	return []Route{
		on("POST", "/api/v1/messages", identity.ActMessageSend, "Say something, as the person who is signed in. Answered once the journal has it.", a.say, status(http.StatusAccepted), atMost(a.Limits.Upload), within(uploadTime)),
		on("GET", "/api/v1/messages/{id}", identity.ActChatRead, "What became of a message, and the answers to it. With wait, as soon as something did.", a.getMessage, within(a.Limits.Wait+10*time.Second)),
	}
}

type sayIn struct {
	Key  string `header:"Idempotency-Key" doc:"the same key again is the same message"`
	Body struct {
		Text        string       `json:"text"`
		ThreadID    id.ID        `json:"threadId,omitzero" doc:"to go on in a thread"`
		Agent       string       `json:"agent,omitempty" doc:"who is asked; the routes choose, if left out"`
		Channel     string       `json:"channel,omitempty" doc:"console (of a session) or cli (of a token or the socket)"`
		Attachments []attachment `json:"attachments,omitempty"`
	}
}

type acceptedView struct {
	MessageID id.ID  `json:"messageId"`
	ThreadID  id.ID  `json:"threadId"`
	Repeat    bool   `json:"repeat,omitempty"` // it was there already
	State     string `json:"state"`            // waiting, answered, held, rejected
	Reason    string `json:"reason,omitempty"` // of held and rejected
}

// say takes a person's message. A session speaks on the console and everything
// else on the command line's channel: the channel says how the person is known.
func (a *API) say(ctx context.Context, c *call, in sayIn) (acceptedView, error) {
	own := "cli"
	if c.who.Via == identity.ViaSession {
		own = "console"
	}
	b := in.Body
	switch {
	case b.Channel != "" && b.Channel != own:
		return acceptedView{}, fault.New(fault.Invalid, "this credential speaks on %s", own).On("channel")
	case c.who.PersonID.IsZero():
		return acceptedView{}, fault.New(fault.Conflict, "there is no person yet who could speak").WithFix("open the setup link first")
	}
	files, err := a.store(ctx, b.Attachments)
	if err != nil {
		return acceptedView{}, err
	}
	m := a.Speakers[own](Said{Account: a.Account, PersonID: c.who.PersonID, Name: c.who.Name, ThreadID: b.ThreadID, Text: b.Text, Agent: b.Agent, Key: in.Key, Files: files})
	acc, err := a.Intake.Accept(ctx, m)
	if err != nil {
		return acceptedView{}, err
	}
	return a.accepted(ctx, acc)
}

// accepted says what the gates made of a message that the journal has. Too many
// in too short a time is told as such; the message stands, as rejected.
func (a *API) accepted(ctx context.Context, acc channel.Accepted) (acceptedView, error) {
	v := acceptedView{MessageID: acc.MessageID, ThreadID: acc.ThreadID, Repeat: acc.Repeat, State: "waiting"}
	f, err := a.Dispatch.Fate(ctx, a.Account, acc.MessageID)
	switch {
	case fault.Is(err, fault.NotFound):
		return v, nil // its reaction was left to the router
	case err != nil:
		return v, err
	case f.Outcome == dispatch.InHold, f.Outcome == dispatch.Rejected:
		v.State, v.Reason = string(f.Outcome), f.Reason
	}
	if f.Outcome == dispatch.Rejected && (f.Reason == "account_rate" || f.Reason == "sender_rate") {
		return v, fault.New(fault.Limited, "too many messages: %s", f.Reason).WithFix("wait, then send it under a new key")
	}
	return v, nil
}

type messageIn struct {
	ID   id.ID `path:"id"`
	Wait int   `query:"wait" doc:"seconds to wait for an answer, 60 at most"`
}

type messageView struct {
	MessageID id.ID        `json:"messageId"`
	ThreadID  id.ID        `json:"threadId"`
	Channel   string       `json:"channel"`
	State     string       `json:"state"` // waiting, answered, held, rejected, or how the run ended without an answer: failed, cancelled, budget
	Reason    string       `json:"reason,omitempty"`
	RunID     id.ID        `json:"runId,omitzero"`
	RunState  string       `json:"runState,omitempty"` // queued, ready, thinking, waiting, resting, finished
	Agent     string       `json:"agent,omitempty"`
	EventID   id.ID        `json:"eventId"`
	At        time.Time    `json:"at"`
	Answers   []answerText `json:"answers"`
}

type answerText struct {
	MessageID id.ID  `json:"messageId"`
	Agent     string `json:"agent,omitempty"`
	Text      string `json:"text"`
	IsError   bool   `json:"isError,omitempty"`
}

// done reports whether waiting longer could change nothing that is waited for.
func (v messageView) done() bool { return v.State != "waiting" }

// fate reads the message, its answers and its run in one view: the run's end and
// the answer are one commit, so no reader sees the one without the other.
func (a *API) fate(ctx context.Context, message id.ID) (messageView, error) {
	return see(ctx, a, func(tx event.Tx) (messageView, error) {
		f, err := a.Dispatch.FateOf(tx, message)
		if err != nil {
			return messageView{}, err
		}
		state, said, err := a.Dispatch.Said(tx, f)
		if err != nil {
			return messageView{}, err
		}
		v := messageView{MessageID: message, ThreadID: f.ThreadID, Channel: f.Channel, State: state, Reason: f.Reason, RunID: f.RunID, Agent: f.Agent,
			EventID: f.EventID, At: f.At, Answers: []answerText{}}
		for _, m := range said {
			v.Answers = append(v.Answers, answerText{m.MessageID, m.Agent, m.Text, m.IsError})
		}
		if f.RunID.IsZero() {
			return v, nil
		}
		run, err := a.Agents.Store.GetRun(tx, f.RunID)
		if fault.Is(err, fault.NotFound) {
			return v, nil
		}
		v.RunState = string(run.State)
		if run.State == agent.Finished && v.State == "waiting" {
			v.State = run.Outcome
		}
		return v, err
	})
}

var errAnswered = errors.New("answered")

// getMessage waits by following the journal from a position that was read before
// the message was: nothing that happens in between is missed.
func (a *API) getMessage(ctx context.Context, _ *call, in messageIn) (v messageView, err error) {
	wait := time.Duration(in.Wait) * time.Second
	if wait > a.Limits.Wait {
		return v, fault.New(fault.Invalid, "at most %d seconds", int(a.Limits.Wait/time.Second)).On("wait")
	}
	tip, err := see(ctx, a, func(tx event.Tx) (bus.Tip, error) {
		tip, _, err := a.Record.Head(tx)
		return tip, err
	})
	if err != nil {
		return v, err
	}
	if v, err = a.fate(ctx, in.ID); err != nil || wait == 0 || v.done() {
		return v, err
	}
	ctx, leave, err := a.stay(ctx)
	if err != nil {
		return v, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = a.Tails.Follow(ctx, a.Account, tip, func(b bus.Batch) error {
		if !slices.ContainsFunc(b.Marks, func(m bus.Mark) bool { return m.Stream == v.ThreadID || m.Correlation == v.EventID }) && !b.Reset {
			return nil
		}
		next, err := a.fate(ctx, in.ID)
		if err != nil {
			return err
		}
		if v = next; v.done() {
			return errAnswered
		}
		return nil
	})
	if errors.Is(err, errAnswered) || errors.Is(err, context.DeadlineExceeded) || err == nil {
		return v, nil // time is up: it still waits, and that is an answer
	}
	return v, err
}
