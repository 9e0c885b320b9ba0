package llm

import (
	"context"
	"iter"
)

// Model is one provider's way to a language model.
type Model interface {
	// Stream asks the model. On success the sequence ends with exactly one event
	// that has End set. On failure it ends with a zero Event and an error whose
	// fault kind says what to do: Unavailable, Limited and Timeout may be tried
	// elsewhere, the others may not. Leaving the loop early ends the call.
	// Stream itself does nothing until the sequence is ranged over, once.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Embedder turns texts into vectors.
type Embedder interface {
	// Embed returns one vector per text, in the order of the texts, all of one
	// dimension and of length 1. The errors are those of Model.
	Embed(ctx context.Context, r EmbedRequest) (EmbedResponse, error)
}

// Event is one piece of a streamed reply: exactly one field is set.
type Event struct {
	Text string    // a piece of the answer, in order
	Call *ToolCall // a complete tool call
	End  *End      // the last event
}

// End closes a reply.
type End struct {
	Stop    StopReason
	RawStop string // the provider's own word, if Stop is StopOther
	Usage   Usage
	Model   string // the model that answered, as the provider names it
	ID      string // the provider's id of the reply
}

// Collect reads a stream to its end. On an error it also returns what had
// arrived by then, with an empty Stop.
func Collect(stream iter.Seq2[Event, error]) (Response, error) {
	var r Response
	for e, err := range stream {
		if err != nil {
			return r, err
		}
		r.add(e)
	}
	return r, nil
}
