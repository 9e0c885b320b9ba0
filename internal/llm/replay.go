package llm

import (
	"context"
	"iter"
	"sync"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Replay is a model that gives recorded replies: the same request gets the reply
// that it got, and another request is refused. It needs no network. Two equal
// requests get their replies in the order of the record. It is safe for
// concurrent use.
type Replay struct {
	mu      sync.Mutex
	replies map[string][]recorded // by digest of the request; guarded by mu
}

type recorded struct {
	reply Response
	err   error
}

// NewReplay returns a model over recorded events, in the order of the journal.
// Events of other types are passed over. It fails with Corrupt where a request or
// a reply does not match its digest, and does not serve a call without a reply.
func NewReplay(events []event.Event) (*Replay, error) {
	r := &Replay{replies: map[string][]recorded{}}
	asked := map[id.ID]string{} // call id to digest
	for _, e := range events {
		switch p := e.Payload.(type) {
		case event.LLMRequest:
			if _, err := RequestOf(e); err != nil {
				return nil, err
			}
			asked[p.CallID] = p.Rendered
		case event.LLMResponse:
			digest, ok := asked[p.CallID]
			if !ok {
				return nil, fault.New(fault.Corrupt, "a response to call %s, which was not asked", p.CallID)
			}
			delete(asked, p.CallID)
			reply, err := ResponseOf(e)
			if fault.Is(err, fault.Corrupt) {
				return nil, err
			}
			r.replies[digest] = append(r.replies[digest], recorded{reply, err})
		default: // no part of a model call
		}
	}
	return r, nil
}

// Stream implements Model.
func (r *Replay) Stream(_ context.Context, q Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, digest, err := RequestDigest(q)
		if err != nil {
			yield(Event{}, err)
			return
		}
		r.mu.Lock()
		queue := r.replies[digest]
		if len(queue) > 0 {
			r.replies[digest] = queue[1:]
		}
		r.mu.Unlock()
		if len(queue) == 0 {
			yield(Event{}, NewFailure("replay", Unanswerable, "no reply is recorded for request %s", digest))
			return
		}
		if queue[0].err != nil {
			yield(Event{}, queue[0].err)
			return
		}
		for _, e := range queue[0].reply.Events() {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Left returns how many recorded replies were not asked for.
func (r *Replay) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.replies {
		n += len(q)
	}
	return n
}
