package llm

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Question is a call that is asked now and answered by an event later: whoever
// must not wait for a network asks by a key of its own and looks for the answer
// when it comes by again.
type Question struct {
	Key       string // of the asker, unique in the account
	Agent     string // for its budget and halt; "" for none
	Role      string
	Prompt    string
	Number    int // of the prompt; 0 for the newest
	Values    map[string]Value
	MaxTokens int64
	Draft     event.Draft // the envelope; the values' labels are joined to its label
}

// AnswerState is where a question stands.
type AnswerState string

// The states of a question.
const (
	NotAsked AnswerState = "not_asked"
	NotReady AnswerState = "not_ready"
	Ready    AnswerState = "ready"
	Failed   AnswerState = "failed"
)

// Answer is what is known of a question.
type Answer struct {
	State    AnswerState
	CallID   id.ID
	Response Response  // if Ready
	Digest   string    // of the response, for the asker's record
	Err      error     // if Failed
	Ref      event.Ref // of llm.response, if there is one: whoever uses it derives from it
}

// Queue asks questions and looks for answers, both inside a transaction.
type Queue interface {
	// Enqueue asks; the same key again does nothing and returns the first call.
	// When a budget is met nothing is asked, and it says which.
	Enqueue(tx event.Tx, q Question) (call id.ID, met *event.BudgetMet, err error)
	// Find returns what is known of a key.
	Find(tx event.Tx, key string) (Answer, error)
}

// Desk is the Queue over a Service.
type Desk struct {
	service *Service
	prompts *Prompts
	journal event.Journal
}

var _ Queue = (*Desk)(nil)

// NewDesk returns a desk.
func NewDesk(s *Service, p *Prompts, j event.Journal) *Desk {
	return &Desk{service: s, prompts: p, journal: j}
}

// Enqueue implements Queue.
func (d *Desk) Enqueue(tx event.Tx, q Question) (id.ID, *event.BudgetMet, error) {
	if q.Key == "" || len(q.Key) > 200 {
		return id.Nil, nil, fault.New(fault.Invalid, "want a key of 1 to 200 bytes").On("key")
	}
	s := d.service
	if have, ok, err := s.c.Store.FindCall(tx, q.Key); err != nil || ok {
		return have.ID, nil, err
	}
	target, ok := s.Route(q.Role)
	if !ok {
		return id.Nil, nil, NewFailure(q.Role, NoProvider, "no model is configured for this role")
	}
	v, err := d.prompts.Get(tx, q.Prompt, q.Number)
	if err != nil {
		return id.Nil, nil, err
	}
	r, err := v.Render(q.Values)
	if err != nil {
		return id.Nil, nil, err
	}
	if len(r.Messages) == 0 {
		return id.Nil, nil, fault.New(fault.Invalid, "prompt %s has neither data nor a question", v.Ref()).On("prompt")
	}
	c := Call{
		ID: tx.NewID(), Key: q.Key, Agent: q.Agent, Role: q.Role, Prompt: v.Ref(), Target: target, Draft: q.Draft,
		Request: Request{
			Model: target.Model, System: r.System, Messages: r.Messages, Output: r.Output, MaxTokens: q.MaxTokens,
			TemperatureMicros: target.TemperatureMicros, Seed: target.Seed,
		},
	}
	if c.Draft.Label, err = joined(c.Draft.Label, r.Label); err != nil {
		return id.Nil, nil, err
	}
	_, met, err := s.Begin(tx, c)
	if err != nil || met != nil {
		return id.Nil, met, err
	}
	now, err := s.c.Store.DBNow(tx)
	if err != nil {
		return id.Nil, nil, err
	}
	scope := "account"
	if q.Agent != "" {
		scope = "agent:" + q.Agent
	}
	return c.ID, nil, s.c.Store.EnqueueCall(tx, c.ID, scope, now)
}

// joined returns the join of the labels that are there.
func joined(a, b event.Label) (event.Label, error) {
	switch {
	case a.IsZero() && b.IsZero():
		return a, fault.New(fault.Invalid, "a question needs a label, its own or its values'").On("label")
	case a.IsZero():
		return b, nil
	case b.IsZero():
		return a, nil
	}
	return event.Join(a, b), nil
}

// Find implements Queue.
func (d *Desk) Find(tx event.Tx, key string) (Answer, error) {
	s := d.service
	rec, ok, err := s.c.Store.FindCall(tx, key)
	if err != nil || !ok {
		return Answer{State: NotAsked}, err
	}
	if rec.Status == CallAsked {
		return Answer{State: NotReady, CallID: rec.ID}, nil
	}
	e, err := s.c.Store.GetEvent(tx, rec.ResponseEvent)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{State: Ready, CallID: rec.ID, Ref: e.Ref()}
	p, ok := e.Payload.(event.LLMResponse)
	if !ok {
		return Answer{}, fault.New(fault.NotFound, "the answer to %q is erased", key)
	}
	a.Digest = p.Digest
	if a.Response, err = ResponseOf(e); err != nil {
		if fault.Is(err, fault.Corrupt) {
			return Answer{}, err
		}
		a.State, a.Err = Failed, err
	}
	return a, nil
}

// Work answers one queued call: the worker of its kind of leased work. It claims
// the lease, asks outside of any transaction and ends the call in another.
func (d *Desk) Work(ctx context.Context, account, call id.ID) error {
	s := d.service
	var (
		lease event.Lease
		asked event.Event
		rec   CallRecord
	)
	err := d.journal.Do(ctx, account, func(tx event.Tx) (err error) {
		if lease, err = s.c.Store.ClaimCall(tx, call); err != nil {
			return err
		}
		if rec, err = s.c.Store.LockCall(tx, call); err != nil {
			return err
		}
		if rec.Status != CallAsked {
			return s.c.Store.FinishCall(tx, lease)
		}
		asked, err = s.c.Store.GetEvent(tx, rec.RequestEvent)
		return err
	})
	if err != nil || rec.Status != CallAsked {
		return err
	}
	c := Call{ID: rec.ID, Key: rec.Key, Agent: rec.Agent, Role: rec.Role, Prompt: rec.Prompt,
		Draft: event.Draft{Stream: asked.Stream, Addressee: asked.Addressee, Subject: asked.Subject}}
	var r Reply
	if c.Request, err = RequestOf(asked); err != nil {
		r = Reply{Err: err} // erased or damaged: nothing can be asked any more
	} else {
		r = s.Ask(ctx, c, nil)
	}
	if ctx.Err() != nil {
		// We are going down: whoever claims it next asks again.
		return d.journal.Do(context.WithoutCancel(ctx), account, func(tx event.Tx) error { return d.release(tx, lease, 0) })
	}
	return d.journal.Do(ctx, account, func(tx event.Tx) error {
		if err := s.c.Store.GuardCall(tx, lease); err != nil {
			return err
		}
		if f := failureOf(r.Err); f != nil && f.Reason.again() && lease.Attempt < maxTries {
			return d.release(tx, lease, max(f.RetryAfter, time.Duration(lease.Attempt)*retryQueued))
		}
		if _, err := s.End(tx, c, asked.Ref(), r); err != nil {
			return err
		}
		return s.c.Store.FinishCall(tx, lease)
	})
}

// A queued call outlasts an outage: it is tried again later and later.
const (
	maxTries    = 6
	retryQueued = time.Minute
)

func (d *Desk) release(tx event.Tx, l event.Lease, after time.Duration) error {
	now, err := d.service.c.Store.DBNow(tx)
	if err != nil {
		return err
	}
	return d.service.c.Store.ReleaseCall(tx, l, now.Add(after))
}
