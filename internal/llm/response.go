package llm

import "strings"

// StopReason says why the model stopped.
type StopReason string

// The reasons, one word for all providers.
const (
	StopEnd       StopReason = "end"       // it had said what it had to say
	StopToolUse   StopReason = "toolUse"   // it waits for tool results
	StopMaxTokens StopReason = "maxTokens" // it was cut; the last call may be malformed
	StopRefusal   StopReason = "refusal"   // it, or its provider's filter, declined
	StopSequence  StopReason = "sequence"  // a stop sequence was met
	StopContext   StopReason = "context"   // the conversation no longer fits its window
	StopOther     StopReason = "other"     // a word we do not know; see RawStop
)

// Usage counts the tokens of one call.
type Usage struct {
	Input      int64 `json:"input"`            // all that was read, cached or not
	Cached     int64 `json:"cached,omitempty"` // of Input: read from the provider's cache
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	Output     int64 `json:"output"`
	// Reported is false where the provider gave no counts. Such a call is not
	// free: a budget settles it at what was reserved.
	Reported bool `json:"reported"`
}

// Add returns the sum of two usages; it is reported only if both are.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Cached: u.Cached + v.Cached, CacheWrite: u.CacheWrite + v.CacheWrite,
		Output: u.Output + v.Output, Reported: u.Reported && v.Reported,
	}
}

// maxCount bounds a plausible token count; a provider that says more is wrong.
const maxCount = 1 << 40

// Plausible reports whether the counts can be true.
func (u Usage) Plausible() bool {
	for _, n := range []int64{u.Input, u.Cached, u.CacheWrite, u.Output} {
		if n < 0 || n > maxCount {
			return false
		}
	}
	return u.Cached+u.CacheWrite <= u.Input
}

// Response is a whole reply, as the model gave it.
type Response struct {
	Parts   []Part     `json:"parts"`
	Stop    StopReason `json:"stop"`
	RawStop string     `json:"rawStop,omitempty"`
	Usage   Usage      `json:"usage"`
	Model   string     `json:"model,omitempty"`
	ID      string     `json:"id,omitempty"`
}

// Text returns all text of the reply.
func (r Response) Text() string {
	var b strings.Builder
	for _, p := range r.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Calls returns the tool calls of the reply in order.
func (r Response) Calls() []ToolCall { return r.Message().Calls() }

// Message returns the reply as a turn of the conversation.
func (r Response) Message() Message { return Message{Role: RoleAssistant, Parts: r.Parts} }

// Events returns the events that Collect would turn into r again.
func (r Response) Events() []Event {
	out := make([]Event, 0, len(r.Parts)+1)
	for _, p := range r.Parts {
		out = append(out, Event{Text: p.Text, Call: p.Call})
	}
	return append(out, Event{End: &End{Stop: r.Stop, RawStop: r.RawStop, Usage: r.Usage, Model: r.Model, ID: r.ID}})
}

// add appends one event; neighbouring texts become one part.
func (r *Response) add(e Event) {
	switch {
	case e.End != nil:
		r.Stop, r.RawStop, r.Usage, r.Model, r.ID = e.End.Stop, e.End.RawStop, e.End.Usage, e.End.Model, e.End.ID
	case e.Call != nil:
		c := *e.Call
		r.Parts = append(r.Parts, Part{Call: &c})
	case e.Text != "":
		if n := len(r.Parts); n > 0 && r.Parts[n-1].Call == nil {
			r.Parts[n-1].Text += e.Text
			return
		}
		r.Parts = append(r.Parts, Part{Text: e.Text})
	}
}
