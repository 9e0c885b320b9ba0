package llm

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// CallStatus is where a call stands.
type CallStatus string

// The statuses.
const (
	CallAsked    CallStatus = "asked" // it is under way; its budget is held
	CallAnswered CallStatus = "answered"
	CallFailed   CallStatus = "failed"
)

// CallRecord is the row of llm_calls. It holds no content: the canonical request
// stands in the sealed body of RequestEvent, the raw reply in that of
// ResponseEvent, where erasing a subject reaches them.
type CallRecord struct {
	ID       id.ID
	Key      string // of a queued call; "" for others
	RunID    id.ID
	Step     int
	Agent    string
	Role     string
	Provider string // that was to answer; once answered, that did
	Model    string
	Prompt   string // NAME@N
	Rendered string // digest of the canonical request

	MaxTokens         int64
	TemperatureMicros *int64
	Seed              *int64

	Held    Amount // while it is under way
	Limits  []SpendKey
	Usage   Usage
	Cost    int64 // micro-USD; 0 if not known
	Known   bool  // whether the price is known
	Latency time.Duration

	Status        CallStatus
	Stop          StopReason
	ErrorKind     string
	Attempts      int
	RequestEvent  id.ID
	ResponseEvent id.ID // zero until it ended
	AskedAt       time.Time
	EndedAt       time.Time
}

// RequestDigest returns the canonical JSON of a request and its digest in hex.
func RequestDigest(r Request) (body json.RawMessage, digest string, err error) {
	body, err = canon.JSON(r)
	if err != nil {
		return nil, "", fault.Wrap(fault.Invalid, err, "encode the request")
	}
	return body, digestOf("witan/llm-request/1", body), nil
}

// ResponseDigest returns the canonical JSON of a response and its digest in hex.
func ResponseDigest(r Response) (body json.RawMessage, digest string, err error) {
	body, err = canon.JSON(r)
	if err != nil {
		return nil, "", fault.Wrap(fault.Invalid, err, "encode the response")
	}
	return body, digestOf("witan/llm-response/1", body), nil
}

func digestOf(domain string, body []byte) string {
	sum := canon.Digest(domain, body)
	return hex.EncodeToString(sum[:])
}

// RequestOf returns the request of a recorded call. It is the one way back from
// bytes to a system prompt, and takes a journal's event for it, whose digest must
// match: Corrupt if it does not.
func RequestOf(e event.Event) (Request, error) {
	p, ok := e.Payload.(event.LLMRequest)
	if !ok || len(p.Request) == 0 {
		return Request{}, fault.New(fault.NotFound, "event %s holds no request", e.ID)
	}
	if digestOf("witan/llm-request/1", p.Request) != p.Rendered {
		return Request{}, fault.New(fault.Corrupt, "the request of call %s does not match its digest", p.CallID)
	}
	var v struct {
		System string `json:"system"`
		Request
	}
	if err := json.Unmarshal(p.Request, &v); err != nil {
		return Request{}, fault.New(fault.Corrupt, "the request of call %s cannot be read: %w", p.CallID, err)
	}
	v.Request.System = Instruction{text: v.System}
	return v.Request, nil
}

// ResponseOf returns the reply of a recorded call, or the failure that it ended in.
func ResponseOf(e event.Event) (Response, error) {
	p, ok := e.Payload.(event.LLMResponse)
	if !ok {
		return Response{}, fault.New(fault.NotFound, "event %s holds no response", e.ID)
	}
	if p.ErrorKind != "" {
		return Response{}, recordedFailure(p)
	}
	if digestOf("witan/llm-response/1", p.Response) != p.Digest {
		return Response{}, fault.New(fault.Corrupt, "the response of call %s does not match its digest", p.CallID)
	}
	var r Response
	if err := json.Unmarshal(p.Response, &r); err != nil {
		return Response{}, fault.New(fault.Corrupt, "the response of call %s cannot be read: %w", p.CallID, err)
	}
	return r, nil
}

// recordedFailure gives back an error of the kind that was recorded.
func recordedFailure(p event.LLMResponse) error {
	for _, k := range fault.Kinds() {
		if k.String() == p.ErrorKind {
			return fault.New(k, "%s", p.Error)
		}
	}
	return fault.New(fault.Internal, "%s", p.Error)
}
